//! A WebSocket that a user gives, whose server sends messages back: not a contract, but enough is seen of it before a
//! load to tell a server that echoes from one that does not.

use crate::contract::echoes;
use prony_engine::Dialogue;
use prony_engine::protocol::ws::{Upgrade, WsMessages};
use prony_engine::protocol::{HttpRequest, Limits};
use prony_record::Load;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;

/// How a connection begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Socket {
    /// Path and query.
    pub path: String,
    /// Further header fields of the handshake.
    pub headers: Vec<(String, String)>,
    /// Subprotocols that are offered.
    pub protocols: Vec<String>,
    /// How much of an answer is accepted.
    pub limits: Limits,
}

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "messages over WebSocket at {}", self.path)
    }
}

impl Socket {
    fn request(&self, authority: &str) -> HttpRequest {
        HttpRequest {
            headers: self.headers.clone(),
            ..HttpRequest::get(authority, self.path.as_str())
        }
    }

    /// How a connection begins with the server of this name.
    ///
    /// # Errors
    /// A header field that the handshake has itself, in words.
    pub fn upgrade(&self, authority: &str) -> Result<Upgrade, String> {
        Upgrade::new(&self.request(authority), &self.protocols)
            .map_err(|reserved| reserved.to_string())
    }

    /// Some messages come back from the server that answers at `addr` without TLS. Another implementation of WebSocket
    /// than the one that loads reads them. `authority` is what handshakes call the server.
    ///
    /// # Errors
    /// When it does not agree, or what comes back is not what was sent, in words.
    pub fn prove(&self, addr: SocketAddr, authority: &str, load: &Load) -> Result<(), String> {
        let request = self.request(authority);
        echoes(addr, &request, &self.protocols, (load.size, load.text))
            .map_err(|wrong| format!("{}: {wrong}", self.path))
    }

    /// Returns the messages of a load.
    ///
    /// # Errors
    /// A header field that the handshake has itself, in words.
    pub fn dialogue(&self, authority: &str, load: &Load) -> Result<Dialogue, String> {
        Ok(Dialogue::Ws(Box::new(WsMessages {
            upgrade: self.upgrade(authority)?,
            text: load.text,
            size: load.size,
            limits: self.limits,
        })))
    }
}

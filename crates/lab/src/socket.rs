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
}

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "messages over WebSocket at {}", self.path)
    }
}

impl Socket {
    /// Returns the messages of a load to the server that answers at `addr` without TLS, after some of them have come
    /// back. Another implementation of WebSocket than the one that loads reads those. `authority` is what handshakes
    /// call the server.
    ///
    /// # Errors
    /// When it does not agree, or what comes back is not what was sent, in words.
    pub fn dialogue(
        &self,
        addr: SocketAddr,
        authority: &str,
        load: &Load,
    ) -> Result<Dialogue, String> {
        let request = HttpRequest {
            headers: self.headers.clone(),
            ..HttpRequest::get(authority, self.path.as_str())
        };
        let upgrade =
            Upgrade::new(&request, &self.protocols).map_err(|reserved| reserved.to_string())?;
        echoes(addr, &request, &self.protocols, (load.size, load.text))
            .map_err(|wrong| format!("{}: {wrong}", self.path))?;
        Ok(Dialogue::Ws(Box::new(WsMessages {
            upgrade,
            text: load.text,
            size: load.size,
            limits: Limits::default(),
        })))
    }
}

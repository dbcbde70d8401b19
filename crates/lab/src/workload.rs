//! Requests that a server gets, and what is a right response to them.

use crate::contract::Contract;
use crate::contract::parts::Routes;
use crate::get::Get;
use crate::grpc::Rpc;
use crate::requests::verify::RequestFile;
use crate::side::HttpStreams;
use crate::socket::Socket;
use prony_engine::Dialogue;
use prony_engine::protocol::Mix;
use prony_engine::protocol::mix::{MixStreams, text};
use prony_engine::protocol::proxy::{Proxy, ProxyWay};
use prony_record::Load;
use std::fmt;
use std::sync::Arc;

/// Requests that all sides get.
#[derive(Debug, Clone)]
pub enum Workload {
    /// A contract, which is verified.
    Contract(Contract),
    /// A message over TCP, which comes back.
    Echo(Vec<u8>),
    /// A request.
    Get(Get),
    /// A call of gRPC.
    Call(Box<Rpc>),
    /// Messages over WebSocket, which come back.
    Socket(Socket),
    /// The requests of a file, which are verified.
    Requests {
        /// The contract by which a server of the catalog is started.
        contract: Contract,
        /// Requests of the file.
        asked: Arc<RequestFile>,
    },
}

impl Workload {
    /// The contract by which a server is started and probed.
    #[must_use]
    pub fn contract(&self) -> Contract {
        match self {
            Self::Contract(contract) | Self::Requests { contract, .. } => *contract,
            Self::Echo(_) => Contract::TcpEcho,
            Self::Get(_) | Self::Call(_) => Contract::Http,
            Self::Socket(_) => Contract::WsEcho,
        }
    }

    /// The requests of a file; none: there is no file.
    #[must_use]
    pub fn mix(&self) -> Option<&Mix> {
        match self {
            Self::Requests { asked, .. } => Some(&asked.mix),
            _ => None,
        }
    }

    /// Returns what a load sends, and what it expects where nothing is learnt from the server. With `keepalive`,
    /// requests ask for connections that stay open.
    ///
    /// # Errors
    /// When it cannot be sent in this way, in words. Contracts cannot: their right responses come from a verification.
    pub fn dialogue(
        &self,
        endpoint: &Endpoint<'_>,
        load: &Load,
        keepalive: bool,
    ) -> Result<Dialogue, String> {
        match self {
            Self::Contract(contract) => Err(format!("{contract} is verified before a load")),
            Self::Echo(message) => Ok(Dialogue::Echo(message.clone())),
            Self::Get(get) => get.expecting(get.expect.clone(), endpoint, keepalive),
            Self::Call(rpc) => rpc.expecting(rpc.expect.clone(), endpoint),
            Self::Socket(socket) => socket.dialogue(endpoint.authority, load),
            Self::Requests { asked, .. } => asked.dialogue(endpoint, keepalive),
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contract(contract) => contract.fmt(f),
            Self::Echo(_) => f.write_str("echo"),
            Self::Get(get) => {
                write!(f, "{} {}", get.method, get.path)?;
                match get.stream {
                    Some(_) => f.write_str(" as a stream"),
                    None => Ok(()),
                }
            }
            Self::Call(rpc) => write!(f, "calls of {} over gRPC", rpc.call.path),
            Self::Socket(socket) => socket.fmt(f),
            Self::Requests { asked, .. } => asked.fmt(f),
        }
    }
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint<'a> {
    /// Name by which requests call the server: the `Host` field of HTTP/1.1, and `:authority` of HTTP/2.
    pub authority: &'a str,
    /// The server is loaded over TLS.
    pub tls: bool,
    /// How HTTP/2, or HTTP/3, is spoken; none: HTTP/1.1 is.
    pub http2: Option<HttpStreams>,
    /// Proxy before the server; None: none.
    pub proxy: Option<&'a Proxy>,
    /// Parts of a contract that the server keeps, and where; none: all of them, where the contract has them.
    pub routes: Option<Routes<'a>>,
}

/// Additions to requests for a proxy that forwards them.
pub(crate) struct Forwarded {
    /// Stands before every path: `http://HOST:PORT`.
    pub(crate) origin: String,
    /// Further header fields.
    pub(crate) fields: Option<(String, String)>,
}

impl Endpoint<'_> {
    /// Additions to requests; None: no proxy forwards them.
    pub(crate) fn forwarded(&self) -> Option<Forwarded> {
        let proxy = self.proxy.filter(|it| it.way == ProxyWay::Forward)?;
        let credentials = proxy.credentials.as_ref();
        Some(Forwarded {
            origin: format!("http://{}", self.authority),
            fields: credentials.map(|it| ("Proxy-Authorization".to_owned(), it.basic())),
        })
    }

    /// A mix, spoken so.
    ///
    /// # Errors
    /// When it has a field that HTTP/2 has no place for, in words.
    pub fn mix(&self, mut mix: Mix) -> Result<Mix, String> {
        if let Some(routes) = self.routes {
            mix = routes.mix(mix);
        }
        if let Some(Forwarded { origin, fields }) = self.forwarded() {
            for request in &mut mix.requests {
                request.path.insert(0, text(origin.as_str()));
                let fields = fields.iter();
                let fields = fields.map(|(name, value)| (name.clone(), vec![text(value.as_str())]));
                request.headers.extend(fields);
            }
        }
        if let Some(HttpStreams { window, http3 }) = self.http2 {
            let how = MixStreams {
                window,
                secure: self.tls,
                http3,
            };
            mix.speak_http2(how)
                .map_err(|forbidden| forbidden.to_string())?;
        }
        Ok(mix)
    }
}

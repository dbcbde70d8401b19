//! Proxies between the generator and a server, and the header of a balancer: bytes that a connection begins with.
//!
//! `Tunnel` (HTTP CONNECT, SOCKS5) and `header` (PROXY protocol) are without I/O. `Through` puts them in front of
//! any session of a load, [`dial`] in front of a blocking connection.

mod connect;
mod dial;
mod fault;
mod header;
mod layers;
mod socks5;
mod through;
mod tunnel;

pub use dial::{DialError, Dialed, dial};
pub use fault::{ProxyFault, Refusal};
pub(crate) use layers::layers;
pub(crate) use through::Through;

use super::tls::TlsOptions;
use crate::plan::Plan;
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use prony_record::load::{Invalid, ProxyProtocol};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Proxy that the connections of a load go through. The plan's target is the proxy's address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proxy {
    /// `HOST:PORT` of the proxy, as errors name it.
    pub name: String,
    /// How it is asked for the server.
    pub way: ProxyWay,
    /// Name or address of the server, an IPv6 address without brackets.
    pub host: String,
    /// Port of the server.
    pub port: u16,
    /// User and password for the proxy; None: none are sent.
    pub credentials: Option<Credentials>,
    /// How TLS is spoken with the proxy; None: not at all.
    pub tls: Option<TlsOptions>,
}

/// How a proxy is asked for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProxyWay {
    /// Each HTTP/1.1 request names the server (absolute form, RFC 9112, 3.2.2): the dialogue has it so.
    Forward,
    /// HTTP CONNECT (RFC 9110, 9.3.6).
    Connect,
    /// SOCKS version 5 (RFC 1928), with user and password by RFC 1929.
    Socks5,
}

/// User and password for a proxy. Neither is ever printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// User; over SOCKS5 1 to 255 bytes.
    pub user: String,
    /// Password; over SOCKS5 1 to 255 bytes.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

impl Credentials {
    /// Value of the field `Proxy-Authorization` (RFC 7617).
    #[must_use]
    pub fn basic(&self) -> String {
        let both = format!("{}:{}", self.user, self.password);
        format!("Basic {}", BASE64.encode(both))
    }
}

/// Bytes that are exchanged on a connection before its session begins.
#[derive(Debug, Clone)]
pub(crate) enum Prelude {
    /// Header of a balancer, to which nothing is answered.
    Header(ProxyProtocol),
    /// Tunnel through a proxy.
    Tunnel(Box<Proxy>),
}

impl Prelude {
    /// Prelude of a plan's connections; None: their session begins at once.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        match (&plan.proxy, plan.load.proxy_protocol) {
            (Some(proxy), _) if proxy.way != ProxyWay::Forward => {
                Some(Self::Tunnel(Box::new(proxy.clone())))
            }
            (Some(_), _) | (None, None) => None,
            (None, Some(version)) => Some(Self::Header(version)),
        }
    }
}

/// Can the connections of a plan begin as it says?
///
/// # Errors
/// The option that they cannot begin with.
pub(crate) fn check(plan: &Plan, udp: bool) -> Result<(), Invalid> {
    let several = match plan.addresses.is_empty() {
        true => None,
        false if udp => Some("first over HTTP/3"),
        false if plan.proxy.is_some() => Some("first where a proxy connects to the server"),
        false => None,
    };
    if let Some(must) = several {
        return Err(Invalid {
            option: "addresses",
            must,
            found: plan.load.addresses.to_string(),
        });
    }
    let header = plan.load.proxy_protocol;
    let (option, must) = match (&plan.proxy, header) {
        (None, None) => return Ok(()),
        (Some(_), Some(_)) => (
            "proxy-protocol",
            "left out where connections go through a proxy: the header would reach the proxy",
        ),
        (Some(_), None) if udp => ("proxy", "left out over HTTP/3, which no proxy forwards"),
        (None, Some(_)) if udp => ("proxy-protocol", "left out over HTTP/3: it is for TCP"),
        _ => return Ok(()),
    };
    let found = header.map(|version| version.to_string());
    Err(Invalid {
        option,
        must,
        found: found
            .or_else(|| plan.proxy.as_ref().map(|it| it.name.clone()))
            .unwrap_or_default(),
    })
}

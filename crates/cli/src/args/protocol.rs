//! Protocols, and how HTTP/2 and HTTP/3 are spoken.

use super::number::count;
use clap::Args;
use prony_engine::protocol::h2::{MOST_WINDOW, WINDOW};
use prony_record::load::{KeyKind, Protocol};
use std::fmt;
use std::str::FromStr;

/// Protocol between the generator and a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolChoice {
    Http(Protocol),
    WebSocket,
    /// The newest that the server of a URL offers.
    Auto,
}

impl FromStr for ProtocolChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ws" => Ok(Self::WebSocket),
            "auto" => Ok(Self::Auto),
            text => text.parse().map(Self::Http).map_err(|_| {
                format!("{text:?} is not a protocol: expected plain, tls, h2c, h2, h3, ws or auto")
            }),
        }
    }
}

impl fmt::Display for ProtocolChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(over) => over.fmt(f),
            Self::WebSocket => f.write_str("ws"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

/// The protocol of each server, and the options of HTTP/2 and HTTP/3.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Protocol")]
pub struct ProtocolArgs {
    /// Protocol: plain, tls, h2c, h2, h3, ws or auto
    ///
    /// plain is HTTP/1.1, tls HTTP/1.1 over TLS, h2c HTTP/2 without TLS, h2 HTTP/2 over TLS, h3
    /// HTTP/3, and ws WebSocket. Of a URL the scheme says it; h2 (by ALPN) and h3 (over UDP) are for
    /// https:// too. auto asks the server of a URL for the newest: HTTP/3 by its Alt-Svc, HTTP/2 by
    /// ALPN. Give one for all servers, or one for each, separated by commas.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub protocol: Vec<ProtocolChoice>,
    /// Same as --protocol h2, as in curl
    #[arg(long, hide = true, conflicts_with = "protocol")]
    pub http2: bool,
    /// Same as --protocol h3, as in curl
    #[arg(long, hide = true, conflicts_with_all = ["protocol", "http2"])]
    pub http3: bool,
    /// HTTP/2 or HTTP/3 streams on each connection [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    pub streams: Option<u32>,
    /// Flow-control window of HTTP/2 and HTTP/3, of streams and connections
    ///
    /// A connection has at least 65535. By default 1073741823, as in h2load.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_WINDOW)))]
    pub window: Option<u32>,
    /// HTTP/3: sockets of each thread, shared by its connections
    ///
    /// By default each connection has its own, and the kernel spreads them over a server's workers.
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    pub udp_sockets: Option<u32>,
}

/// The certificate of servers that prony starts.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Protocol")]
pub struct ServerKey {
    /// Certificate's key: ecdsa-p256 or rsa2048
    ///
    /// For tls, h2 and h3. By default ecdsa-p256.
    #[arg(long, value_name = "KIND", requires = "protocol")]
    pub server_key: Option<KeyKind>,
}

impl ProtocolArgs {
    /// Given protocols: one for all servers, or one for each.
    pub fn given(&self) -> &[ProtocolChoice] {
        match (self.http2, self.http3) {
            (true, _) => &[ProtocolChoice::Http(Protocol::H2)],
            (_, true) => &[ProtocolChoice::Http(Protocol::H3)],
            (false, false) => &self.protocol,
        }
    }

    /// Given protocol of the server at this place among all.
    pub fn at(&self, place: usize) -> Option<ProtocolChoice> {
        match self.given() {
            [one] => Some(*one),
            all => all.get(place).copied(),
        }
    }

    /// Transport of HTTP to the server at this place, if prony starts it.
    pub fn over(&self, place: usize) -> Protocol {
        match self.at(place) {
            Some(ProtocolChoice::Http(over)) => over,
            Some(ProtocolChoice::WebSocket | ProtocolChoice::Auto) | None => Protocol::Plain,
        }
    }

    /// Is WebSocket spoken with all servers?
    pub fn is_ws(&self) -> bool {
        self.given().contains(&ProtocolChoice::WebSocket)
    }

    /// The window of HTTP/2 and HTTP/3.
    pub fn window(&self) -> u32 {
        self.window.unwrap_or(WINDOW)
    }
}

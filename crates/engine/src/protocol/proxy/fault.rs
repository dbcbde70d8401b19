//! Faults of proxies.

use crate::remedy::Remedy;

/// A proxy did not make a connection to the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the proxy {proxy} {refusal}")]
pub struct ProxyFault {
    /// `HOST:PORT` of the proxy.
    pub proxy: String,
    /// Behaviour of the proxy.
    pub refusal: Refusal,
}

/// Behaviour of a proxy that makes no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// CONNECT was answered with another status than 2xx.
    #[error("answered {status}{reason}")]
    Status {
        /// Status of the answer.
        status: u16,
        /// Empty, or a space and the reason phrase in printable ASCII, at most 60 characters.
        reason: String,
        /// User and password were sent.
        authorized: bool,
    },
    /// The answer is no answer of HTTP.
    #[error("does not answer in HTTP")]
    NotHttp,
    /// The answer's head breaks HTTP.
    #[error("sent a malformed answer to CONNECT")]
    Malformed,
    /// The answer's head is longer than this many bytes.
    #[error("sent an answer to CONNECT whose head is longer than {0} bytes")]
    TooLong(usize),
    /// The answer is no answer of SOCKS5.
    #[error("does not answer in SOCKS5")]
    NotSocks,
    /// SOCKS5: none of the offered ways to authenticate suits the proxy.
    #[error("asks for a user and a password, or another way to authenticate")]
    Unauthenticated,
    /// SOCKS5: user and password were refused.
    #[error("refused the user or the password")]
    WrongCredentials,
    /// SOCKS5: the proxy cannot or may not connect, with its number for the reason.
    #[error("cannot connect to the server: {}", reply(*.0))]
    Socks(u8),
    /// The proxy closed the connection before it answered.
    #[error("closed the connection before the tunnel was made")]
    Closed,
    /// The proxy did not answer in time.
    #[error("did not answer in time")]
    Silent,
}

impl ProxyFault {
    /// Returns the action of the user that may help.
    #[must_use]
    pub fn remedy(&self) -> Remedy {
        match self.refusal {
            Refusal::Status {
                status: 407,
                authorized: false,
                ..
            }
            | Refusal::Unauthenticated => Remedy::ProxyCredentials,
            Refusal::Status { status: 407, .. } | Refusal::WrongCredentials => {
                Remedy::ProxyOtherCredentials
            }
            Refusal::Status {
                status: 403 | 405, ..
            }
            | Refusal::Socks(2) => Remedy::ProxyRules,
            Refusal::NotHttp | Refusal::NotSocks | Refusal::Silent => Remedy::ProxyScheme,
            _ => Remedy::ProxyLog,
        }
    }
}

/// Meaning of a SOCKS5 reply (RFC 1928, 6).
fn reply(number: u8) -> &'static str {
    match number {
        1 => "general failure",
        2 => "its rules do not allow it",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "time to live expired",
        7 => "command not supported",
        8 => "address type not supported",
        _ => "unknown reason",
    }
}

//! Contracts: the answers of a server.

use std::fmt;
use std::str::FromStr;

use crate::ParseError;

/// Answers that the server promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contract {
    /// Every byte comes back unchanged, in order; after the peer's FIN, what came before it comes
    /// back and then the connection closes.
    TcpEcho,
    /// HTTP/1.0 and 1.1. Any well-formed request is answered `200`, `text/plain`, with the body
    /// `<target> at <date>`: the request target as it was sent and an RFC 9110 IMF-fixdate.
    /// A malformed request (also HTTP/1.1 without exactly one `Host`) is answered `400`, a header
    /// section beyond 16 KiB `431`; the connection then ends.
    HttpEcho,
    /// WebSocket, at any path: every message comes back, text as text and binary as binary; pings and close frames are
    /// answered; what no client may send ends the connection.
    WsEcho,
}

impl Contract {
    /// All contracts, in the order in which they are listed to users.
    pub const ALL: [Self; 3] = [Self::TcpEcho, Self::HttpEcho, Self::WsEcho];
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TcpEcho => "tcp-echo",
            Self::HttpEcho => "http-echo",
            Self::WsEcho => "ws-echo",
        })
    }
}

impl FromStr for Contract {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        ParseError::choose("contract", text, &Self::ALL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for contract in Contract::ALL {
            assert_eq!(contract.to_string().parse(), Ok(contract));
        }
        assert_eq!(
            "echo".parse::<Contract>().unwrap_err().to_string(),
            "`echo` is not a contract: expected tcp-echo or http-echo or ws-echo"
        );
    }
}

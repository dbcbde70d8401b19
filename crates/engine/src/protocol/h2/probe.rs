//! One connection before a load, so that what cannot work is said before it and in one line.

use super::frame::{FrameHeader, HEADER, SETTINGS};
use super::session::greet;
use crate::remedy::Remedy;
use crate::target::Target;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Why a server cannot be loaded over HTTP/2 with prior knowledge.
#[derive(Debug, thiserror::Error)]
pub enum H2ProbeError {
    /// The connection could not be made, or broke.
    #[error("{0}")]
    Connection(io::Error),
    /// The server closed it without a word.
    #[error("the server closed the connection when it was spoken to in HTTP/2")]
    Closed,
    /// Nothing came in this time.
    #[error("the server did not answer HTTP/2's greeting in {0:?}")]
    Silent(Duration),
    /// The server uses HTTP/1.1.
    #[error("the server speaks HTTP/1.1, not HTTP/2")]
    Http1,
    /// The server uses something else.
    #[error("the server does not speak HTTP/2")]
    Other,
}

impl H2ProbeError {
    /// Returns the action of the user that may help.
    #[must_use]
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Http1 => Remedy::Http1,
            _ => Remedy::Http2Port,
        }
    }
}

/// Makes one connection without TLS, greets, and waits for the server's settings.
///
/// # Errors
/// Why it does not speak HTTP/2. No step takes longer than `timeout`.
pub fn probe(target: &Target, timeout: Duration) -> Result<(), H2ProbeError> {
    let first = match target {
        Target::Tcp(address) => TcpStream::connect_timeout(address, timeout).and_then(|stream| {
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            talk(stream)
        }),
        Target::Unix(path) => UnixStream::connect(path).and_then(|stream| {
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            talk(stream)
        }),
    };
    match first {
        Ok(first) if first.starts_with(b"HTTP/1.") => Err(H2ProbeError::Http1),
        Ok(first) => match FrameHeader::parse(&first) {
            FrameHeader {
                kind: SETTINGS,
                flags: 0,
                stream: 0,
                ..
            } => Ok(()),
            _ => Err(H2ProbeError::Other),
        },
        Err(error) => Err(match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => H2ProbeError::Silent(timeout),
            ErrorKind::UnexpectedEof => H2ProbeError::Closed,
            _ => H2ProbeError::Connection(error),
        }),
    }
}

/// Greets, and gives the first bytes that come.
fn talk(mut wire: impl Read + Write) -> io::Result<[u8; HEADER]> {
    let mut out = Vec::new();
    greet(super::WINDOW, super::WINDOW, &mut out);
    wire.write_all(&out)?;
    let mut first = [0; HEADER];
    wire.read_exact(&mut first)?;
    Ok(first)
}

//! One connection before a load, so that what cannot work is said before it and in one line.

use super::Upgrade;
use crate::protocol::Fault;
use crate::protocol::tls::{TlsOptions, TlsStream, speaks_tls};
use crate::remedy::Remedy;
use crate::target::Target;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The longest answer to the handshake that is read.
const MOST_HEAD: usize = 64 << 10;

/// Why a server cannot be loaded over WebSocket.
#[derive(Debug, thiserror::Error)]
pub enum WsProbeError {
    /// The connection could not be made, or broke.
    #[error("{0}")]
    Connection(io::Error),
    /// The server closed it without a word.
    #[error("the server closed the connection when it was asked for WebSocket")]
    Closed,
    /// No whole answer came in this time.
    #[error("the server did not answer WebSocket's handshake in {0:?}")]
    Silent(Duration),
    /// The server uses TLS on this port.
    #[error("the server speaks TLS on this port")]
    Tls,
    /// The server answered, and refused the handshake.
    #[error("{0}")]
    Refused(Fault),
}

impl WsProbeError {
    /// Returns the action of the user that may help.
    #[must_use]
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Tls => Remedy::SecureWebSocket,
            Self::Refused(Fault::Refused(401 | 403 | 407)) => Remedy::Identity,
            Self::Refused(Fault::Refused(404)) => Remedy::WebSocketPath,
            Self::Refused(Fault::Refused(300..=399)) => Remedy::RedirectTarget,
            Self::Refused(Fault::Refused(200..=299)) => Remedy::AnotherPath,
            Self::Refused(Fault::Refused(_)) => Remedy::Subprotocol,
            Self::Refused(_) => Remedy::WebSocketServer,
            _ => Remedy::WebSocketPort,
        }
    }
}

/// Makes one connection, carries out the handshake, and closes it.
///
/// # Errors
/// Why that cannot be done. No step takes longer than `timeout`.
pub fn probe(
    target: &Target,
    tls: Option<&TlsOptions>,
    upgrade: &Upgrade,
    timeout: Duration,
) -> Result<(), WsProbeError> {
    let result = match (target, tls) {
        (Target::Tcp(address), Some(options)) => {
            let stream = TlsStream::connect(*address, options, timeout)
                .map_err(|error| WsProbeError::Connection(io::Error::other(error)))?;
            let result = talk(&stream, &stream, upgrade);
            let _ = stream.finish();
            result
        }
        (Target::Tcp(address), None) => {
            TcpStream::connect_timeout(address, timeout).and_then(|stream| {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))?;
                talk(&stream, &stream, upgrade)
            })
        }
        (Target::Unix(path), _) => UnixStream::connect(path).and_then(|stream| {
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            talk(&stream, &stream, upgrade)
        }),
    };
    let speaks_tls = || tls.is_none() && speaks_tls(target, timeout.min(Duration::from_secs(1)));
    match result {
        Ok(Ok(())) => Ok(()),
        // The answer to what is no TLS: an alert.
        Ok(Err((_, first))) if first == Some(0x15) && speaks_tls() => Err(WsProbeError::Tls),
        Ok(Err((fault, _))) => Err(WsProbeError::Refused(fault)),
        Err(error) => Err(match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => WsProbeError::Silent(timeout),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                match speaks_tls() {
                    true => WsProbeError::Tls,
                    false => WsProbeError::Closed,
                }
            }
            _ => WsProbeError::Connection(error),
        }),
    }
}

/// Carries out the handshake. What is wrong with the answer comes with its first byte.
#[allow(clippy::type_complexity, reason = "used once")]
fn talk(
    mut from: impl Read,
    mut to: impl Write,
    upgrade: &Upgrade,
) -> io::Result<Result<(), (Fault, Option<u8>)>> {
    let mut out = Vec::new();
    let accept = upgrade.put(rand::random(), &mut out);
    to.write_all(&out)?;
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match from.read(&mut buffer)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            n => answer.extend_from_slice(&buffer[..n]),
        }
        match upgrade.answered(&accept, &answer) {
            Ok(None) if answer.len() < MOST_HEAD => {}
            Ok(None) => {
                let limit = MOST_HEAD as u64;
                let part = "the head";
                return Ok(Err((Fault::TooLong { part, limit }, None)));
            }
            Ok(Some(_)) => break,
            Err(fault) => return Ok(Err((fault, answer.first().copied()))),
        }
    }
    // Masked, code 1000; the connection is closed anyway.
    let _ = to.write_all(&[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);
    Ok(Ok(()))
}

//! Probe of a server before a load: one QUIC handshake, whose failure is reported in one line.

use super::conn::OpenConn;
use super::session::QuicSide;
use super::tls::Agreed;
use crate::protocol::h2::Plain;
use crate::protocol::h2::WINDOW;
use crate::protocol::tls::{Connector, ProbeError, TlsOptions};
use crate::remedy::Remedy;
use crate::target::Target;
use crate::transport::datagrams::Run;
use crate::transport::unfragmented;
use prony_record::Tls;
use quinn_proto::{ConnectionError, Event, TransportErrorCode};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Why a server cannot be loaded over HTTP/3.
#[derive(Debug, thiserror::Error)]
pub enum H3ProbeError {
    /// TLS is at fault: options, or the certificate.
    #[error(transparent)]
    Tls(#[from] ProbeError),
    /// HTTP/3 needs a host with a port.
    #[error("HTTP/3 is spoken over UDP, which a unix socket does not have")]
    Unix,
    /// Nothing listens there.
    #[error("nothing listens on UDP port {0}")]
    Refused(u16),
    /// Nothing came in this time.
    #[error("no datagram came back on UDP port {port} in {timeout:?}")]
    Silent {
        /// The port.
        port: u16,
        /// How long was waited.
        timeout: Duration,
    },
    /// The path takes no datagram that is long enough for QUIC.
    #[error(
        "datagrams of 1,200 bytes, which QUIC needs, do not fit the path to the server: its MTU is too small"
    )]
    Mtu,
    /// The server does not agree to HTTP/3.
    #[error("the server speaks QUIC, and does not agree to HTTP/3 (ALPN h3)")]
    NoHttp3,
    /// The server uses another version of QUIC.
    #[error("the server does not speak version 1 of QUIC")]
    Version,
    /// Anything else that ends a handshake.
    #[error("the QUIC handshake failed: {0}")]
    Handshake(String),
}

impl H3ProbeError {
    /// Returns the action of the user that may help.
    #[must_use]
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Tls(error) => error.remedy(),
            Self::Unix | Self::NoHttp3 | Self::Version => Remedy::NoHttp3,
            Self::Refused(_) | Self::Silent { .. } => Remedy::UdpPort,
            Self::Mtu => Remedy::Mtu,
            Self::Handshake(_) => Remedy::ServerLog,
        }
    }
}

/// Makes one connection, carries out the handshake, and says what was agreed on.
///
/// # Errors
/// Why that cannot be done. It takes no longer than `timeout`.
pub fn probe(
    target: &Target,
    options: &TlsOptions,
    timeout: Duration,
) -> Result<Tls, H3ProbeError> {
    let Target::Tcp(remote) = *target else {
        return Err(H3ProbeError::Unix);
    };
    let connector = Connector::new(options).map_err(ProbeError::Invalid)?;
    let mut side = QuicSide::new(&connector, remote, WINDOW).map_err(ProbeError::Invalid)?;
    let broken = |error: io::Error| H3ProbeError::Tls(ProbeError::Connection(error));
    let socket = socket(remote).map_err(broken)?;
    let Some(mut conn) = side.connect::<Plain>(0) else {
        let name = options.server_name.clone();
        return Err(ProbeError::Invalid(crate::protocol::tls::TlsInvalid::Name(name)).into());
    };
    let handshake = handshake(&mut conn, &mut side, &socket, timeout);
    goodbye(&mut conn, &socket);
    match handshake {
        Ok(()) => {
            let agreed = conn.quic.crypto_session().handshake_data();
            let agreed = agreed.and_then(|agreed| agreed.downcast::<Agreed>().ok());
            Ok(agreed.map_or_else(Tls::default, |agreed| agreed.tls(&connector)))
        }
        Err(Ended::Silent) => Err(H3ProbeError::Silent {
            port: remote.port(),
            timeout,
        }),
        Err(Ended::Io(error)) if error.kind() == ErrorKind::ConnectionRefused => {
            Err(H3ProbeError::Refused(remote.port()))
        }
        Err(Ended::Io(error)) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
            Err(H3ProbeError::Mtu)
        }
        Err(Ended::Io(error)) => Err(broken(error)),
        Err(Ended::Lost(why)) => Err(explain(&why, &connector)),
    }
}

/// Why a handshake did not go on.
enum Ended {
    Silent,
    Io(io::Error),
    Lost(ConnectionError),
}

fn socket(remote: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match remote {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    let _ = unfragmented(&socket, remote.is_ipv6());
    socket.connect(remote)?;
    Ok(socket)
}

/// Sends what a connection wants to send.
fn transmit(conn: &mut OpenConn<Plain>, socket: &UdpSocket) -> io::Result<()> {
    let mut sent = Ok(());
    conn.transmit(Instant::now(), &mut Vec::new(), |run| {
        for datagram in run.bytes.chunks(run.segment) {
            if let Err(error) = socket.send(datagram) {
                sent = Err(error);
            }
        }
    });
    sent
}

fn handshake(
    conn: &mut OpenConn<Plain>,
    side: &mut QuicSide,
    socket: &UdpSocket,
    timeout: Duration,
) -> Result<(), Ended> {
    let until = Instant::now() + timeout;
    let mut buffer = vec![0; 65_536];
    let mut heard = false;
    loop {
        side.attend(conn);
        match conn.quic.poll() {
            Some(Event::Connected) => return Ok(()),
            Some(Event::ConnectionLost { reason }) => return Err(Ended::Lost(reason)),
            Some(_) => continue,
            None => {}
        }
        transmit(conn, socket).map_err(Ended::Io)?;
        let now = Instant::now();
        if now >= until {
            return Err(match heard {
                false => Ended::Silent,
                true => Ended::Lost(ConnectionError::TimedOut),
            });
        }
        let wake = conn.quic.poll_timeout().map_or(until, |at| at.min(until));
        let wait = wake.saturating_duration_since(now);
        let wait = wait.max(Duration::from_millis(1));
        socket.set_read_timeout(Some(wait)).map_err(Ended::Io)?;
        match socket.recv(&mut buffer) {
            Ok(n) => {
                heard = true;
                let mut bytes = Vec::new();
                let run = Run {
                    segment: n,
                    mark: 0,
                    bytes: &buffer[..n],
                };
                run.put(&mut bytes);
                side.received(conn, &bytes);
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                _ => return Err(Ended::Io(error)),
            },
        }
        conn.quic.handle_timeout(Instant::now());
    }
}

/// Says goodbye, so that the server keeps nothing of the connection.
fn goodbye(conn: &mut OpenConn<Plain>, socket: &UdpSocket) {
    let code = quinn_proto::VarInt::from_u32(super::frame::NO_ERROR);
    conn.quic.close(Instant::now(), code, bytes::Bytes::new());
    let _ = transmit(conn, socket);
}

/// In the words of the one who wants to load this server.
fn explain(why: &ConnectionError, connector: &Connector) -> H3ProbeError {
    /// TLS's alerts, as codes of QUIC (RFC 9001, 4.8).
    const NO_APPLICATION_PROTOCOL: u8 = 120;
    const CERTIFICATE_REQUIRED: u8 = 116;
    if let Some(error) = connector.refused() {
        return error.into();
    }
    let code = match why {
        ConnectionError::VersionMismatch => return H3ProbeError::Version,
        ConnectionError::TransportError(error) => Some(error.code),
        ConnectionError::ConnectionClosed(close) => Some(close.error_code),
        _ => None,
    };
    if code == Some(TransportErrorCode::crypto(NO_APPLICATION_PROTOCOL)) {
        return H3ProbeError::NoHttp3;
    }
    if code == Some(TransportErrorCode::crypto(CERTIFICATE_REQUIRED)) {
        return ProbeError::ClientCertificate.into();
    }
    H3ProbeError::Handshake(super::in_words(why))
}

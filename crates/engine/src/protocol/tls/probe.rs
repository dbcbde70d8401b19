//! One connection before a load, so that what cannot work is said before it and in one line.

use super::certificate::description;
use super::connector::{Connector, TlsInvalid, TlsOptions};
use super::{Seen, TlsFault, agreed};
use crate::remedy::Remedy;
use crate::target::Target;
use rustls::{AlertDescription, CertificateError, ClientConnection, Error};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Why a server cannot be loaded over TLS.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The options are at fault.
    #[error(transparent)]
    Invalid(#[from] TlsInvalid),
    /// The connection could not be made, or broke.
    #[error("{0}")]
    Connection(io::Error),
    /// The server closed the connection in the handshake.
    #[error("the server closed the connection during the TLS handshake")]
    Closed,
    /// The handshake was not done in this time.
    #[error("the TLS handshake was not done in {0:?}")]
    Silent(Duration),
    /// The server does not use TLS on this port.
    #[error("the server does not speak TLS on this port")]
    NotTls,
    /// The certificate was refused.
    #[error("{why} ({certificate})")]
    Certificate {
        /// Why the certificate was refused.
        why: String,
        /// Description of the certificate: its subject, issuer and end of validity.
        certificate: String,
        /// Action of the user that may help.
        remedy: Remedy,
    },
    /// The server wants a certificate of the client.
    #[error("the server requires a client certificate")]
    ClientCertificate,
    /// No version, cipher suite or group in common.
    #[error("no TLS version, cipher suite or group in common with the server: {0}")]
    Incompatible(String),
    /// HTTP/1.1 was offered alone, and not agreed to.
    #[error("the server does not speak HTTP/1.1 on this port")]
    NoHttp1,
    /// HTTP/2 was offered alone, and not agreed to.
    #[error("the server does not agree to HTTP/2 (ALPN h2)")]
    NoHttp2,
    /// The server has no certificate for the name that it was asked for.
    #[error("the TLS handshake failed: the server does not know the name {0:?}")]
    UnknownName(String),
    /// Anything else that ends a handshake.
    #[error("the TLS handshake failed: {0}")]
    Handshake(String),
}

impl ProbeError {
    /// Returns the action of the user that may help.
    #[must_use]
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Invalid(TlsInvalid::Pem { file, .. }) => Remedy::TlsFile(*file),
            Self::Invalid(_) => Remedy::TlsOptions,
            Self::Connection(_) | Self::Closed => Remedy::TlsPort,
            Self::Silent(_) => Remedy::PerhapsPlain,
            Self::NotTls => Remedy::Plain,
            Self::Certificate { remedy, .. } => *remedy,
            Self::ClientCertificate => Remedy::ClientCertificate,
            Self::Incompatible(_) => Remedy::TlsVersions,
            Self::NoHttp1 => Remedy::Http2,
            Self::NoHttp2 => Remedy::NoHttp2,
            Self::UnknownName(_) => Remedy::KnownName,
            Self::Handshake(_) => Remedy::ServerLog,
        }
    }
}

pub(super) trait ProbeStream: Read + Write {}
impl<T: Read + Write> ProbeStream for T {}

/// Makes one connection, carries out the handshake, and says what was agreed on.
///
/// # Errors
/// Why that cannot be done. No step takes longer than `timeout`.
pub fn probe(target: &Target, options: &TlsOptions, timeout: Duration) -> Result<Seen, ProbeError> {
    let connector = Connector::new(options)?;
    let mut wire = connect(target, timeout).map_err(ProbeError::Connection)?;
    let mut tls = handshake(&connector, &mut wire, timeout)?;
    if options.alpn == ["h2"] && tls.alpn_protocol() != Some(b"h2") {
        return Err(ProbeError::NoHttp2);
    }
    if connector.client.missing() {
        // TLS 1.3 refuses a client only after the handshake: listen for that. One who has said goodbye is
        // answered by the end of the connection.
        tls.send_close_notify();
        let _ = flush(&mut tls, &mut wire);
        loop {
            match step(&mut tls, &mut wire) {
                Ok(()) => {}
                Err(HandshakeFailure::Tls(Error::AlertReceived(AlertDescription::CloseNotify))) => {
                    break;
                }
                Err(HandshakeFailure::Tls(_)) => return Err(ProbeError::ClientCertificate),
                Err(_) => break,
            }
        }
    }
    Ok(agreed(&tls, &connector))
}

/// Carries out the handshake over a connection whose reads and writes end after `timeout`.
pub(super) fn handshake(
    connector: &Connector,
    wire: &mut dyn ProbeStream,
    timeout: Duration,
) -> Result<ClientConnection, ProbeError> {
    let mut tls = ClientConnection::new(connector.config(), connector.name.clone())
        .map_err(|error| ProbeError::Handshake(error.to_string()))?;
    while tls.is_handshaking() {
        step(&mut tls, wire).map_err(|ended| ended.explain(connector, timeout))?;
    }
    flush(&mut tls, wire)
        .map_err(|error| HandshakeFailure::Io(error).explain(connector, timeout))?;
    Ok(tls)
}

/// Does what listens there answer a client's first bytes of TLS with TLS? False too when it answers
/// nothing within `timeout`.
pub fn speaks_tls(target: &Target, timeout: Duration) -> bool {
    let options = TlsOptions {
        insecure: true,
        ..TlsOptions::default()
    };
    match probe(target, &options, timeout) {
        Ok(_) => true,
        Err(error) => matches!(
            error,
            ProbeError::ClientCertificate
                | ProbeError::Incompatible(_)
                | ProbeError::NoHttp1
                | ProbeError::UnknownName(_)
                | ProbeError::Handshake(_)
        ),
    }
}

fn connect(target: &Target, timeout: Duration) -> io::Result<Box<dyn ProbeStream>> {
    match target {
        Target::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, timeout)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            Ok(Box::new(stream))
        }
        Target::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            Ok(Box::new(stream))
        }
    }
}

/// Why a handshake did not go on.
enum HandshakeFailure {
    Io(io::Error),
    Closed,
    Tls(Error),
}

/// Sends what is to be sent, and reads once.
fn step(tls: &mut ClientConnection, wire: &mut dyn ProbeStream) -> Result<(), HandshakeFailure> {
    // A server that refuses may have closed its side; what it said before is still there.
    let sent = flush(tls, wire);
    match tls.read_tls(wire) {
        Ok(0) => Err(HandshakeFailure::Closed),
        Ok(_) => match tls.process_new_packets() {
            Ok(_) => sent.map_err(HandshakeFailure::Io),
            Err(error) => {
                // The alert that says why.
                let _ = flush(tls, wire);
                Err(HandshakeFailure::Tls(error))
            }
        },
        Err(error) => Err(HandshakeFailure::Io(error)),
    }
}

fn flush(tls: &mut ClientConnection, wire: &mut dyn ProbeStream) -> io::Result<()> {
    let mut wire = wire;
    while tls.wants_write() {
        tls.write_tls(&mut wire)?;
    }
    Ok(())
}

impl HandshakeFailure {
    /// In the words of the one who wants to load this server.
    fn explain(self, connector: &Connector, timeout: Duration) -> ProbeError {
        match self {
            Self::Closed => match connector.client.missing() {
                true => ProbeError::ClientCertificate,
                false => ProbeError::Closed,
            },
            Self::Io(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => ProbeError::Silent(timeout),
                ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => ProbeError::Closed,
                _ => ProbeError::Connection(error),
            },
            Self::Tls(error) => refused(&error, connector),
        }
    }
}

fn refused(error: &Error, connector: &Connector) -> ProbeError {
    if let Error::InvalidCertificate(why) = error {
        return certificate(why, connector);
    }
    if let Error::AlertReceived(alert) = error {
        let missing = connector.client.missing();
        let name = alert.as_str().unwrap_or("(unknown)");
        return match alert {
            AlertDescription::CertificateRequired => ProbeError::ClientCertificate,
            AlertDescription::NoApplicationProtocol
                if connector.config().alpn_protocols == [b"h2"] =>
            {
                ProbeError::NoHttp2
            }
            AlertDescription::NoApplicationProtocol => ProbeError::NoHttp1,
            AlertDescription::HandshakeFailure | AlertDescription::BadCertificate if missing => {
                ProbeError::ClientCertificate
            }
            AlertDescription::HandshakeFailure
            | AlertDescription::ProtocolVersion
            | AlertDescription::InsufficientSecurity => {
                ProbeError::Incompatible(format!("it sent the alert {name}"))
            }
            AlertDescription::UnrecognisedName => {
                ProbeError::UnknownName(connector.name.to_str().into_owned())
            }
            _ => ProbeError::Handshake(format!("the server sent the TLS alert {name}")),
        };
    }
    match TlsFault::from(error) {
        TlsFault::NotTls => ProbeError::NotTls,
        TlsFault::Incompatible => ProbeError::Incompatible(error.to_string()),
        _ => ProbeError::Handshake(error.to_string()),
    }
}

/// Why a certificate was refused, in the words of the one who wants to load its server.
pub(super) fn certificate(why: &CertificateError, connector: &Connector) -> ProbeError {
    let name = connector.name.to_str();
    let untrusted = || {
        (
            "the server's certificate was not issued by an authority that is trusted here"
                .to_owned(),
            Remedy::TrustIssuer,
        )
    };
    let (why, remedy) = match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
            "the server's certificate has expired".to_owned(),
            Remedy::RenewCertificate,
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => (
            "the server's certificate is not valid yet".to_owned(),
            Remedy::CheckClock,
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => (
            format!("the server's certificate is not for {name:?}"),
            Remedy::CertifiedName,
        ),
        // A wrong signature, or one of another kind: an authority of the same name is trusted, and its key is another.
        CertificateError::UnknownIssuer
        | CertificateError::BadSignature
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => untrusted(),
        // A self-signed one that may sign others: webpki takes it for no server's.
        other if other.to_string().contains("CaUsedAsEndEntity") => untrusted(),
        other => (
            format!("the server's certificate cannot be accepted: {other}"),
            Remedy::TrustCertificate,
        ),
    };
    let certificate = connector.verifier.seen.get().and_then(description);
    ProbeError::Certificate {
        why,
        certificate: certificate.unwrap_or_else(|| "it cannot be read".into()),
        remedy,
    }
}

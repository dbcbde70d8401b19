//! Servers over TLS, on rustls, that do what a test says.

use crate::servers::{Connection, Server};
use prony_engine::protocol::tls::{SelfSigned, TlsOptions};
use rustls::crypto::ring::default_provider;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion, version};
use std::io::{self, Read, Write};
use std::sync::Arc;

pub const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
pub const BOTH: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];

pub struct Identity {
    pub pem: String,
    pub config: Arc<ServerConfig>,
}

/// A server of these versions with a certificate of its own, which is valid until this year.
pub fn identity(
    name: &str,
    until: u16,
    versions: &[&'static SupportedProtocolVersion],
) -> Identity {
    identity_for(name, until, versions, false)
}

pub fn identity_for(
    name: &str,
    until: u16,
    versions: &[&'static SupportedProtocolVersion],
    clients_too: bool,
) -> Identity {
    let own = SelfSigned::valid(&[name], 2020..until).unwrap();
    let pem = own.certificate_pem();
    let chain = vec![own.certificate];
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(versions)
        .unwrap();
    let builder = match clients_too {
        false => builder.with_no_client_auth(),
        true => {
            let mut roots = RootCertStore::empty();
            roots.add(chain[0].clone()).unwrap();
            let provider = Arc::new(default_provider());
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    Identity {
        pem,
        config: Arc::new(builder.with_single_cert(chain, own.key.into()).unwrap()),
    }
}

pub fn trusting(identity: &Identity) -> TlsOptions {
    TlsOptions {
        ca: Some(identity.pem.clone()),
        ..TlsOptions::default()
    }
}

/// The server's side of a connection.
pub struct Secure<'a> {
    pub it: &'a Connection,
    pub tls: ServerConnection,
    pending: Vec<u8>,
}

impl<'a> Secure<'a> {
    /// After the handshake.
    pub fn accept(it: &'a Connection, config: &Arc<ServerConfig>) -> io::Result<Self> {
        let tls = ServerConnection::new(config.clone()).unwrap();
        let mut secure = Self {
            it,
            tls,
            pending: Vec::new(),
        };
        while secure.tls.is_handshaking() {
            secure.hear()?;
        }
        secure.flush()?;
        Ok(secure)
    }

    pub fn hear(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        let mut bytes = self.it.read(&mut buffer)?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while !bytes.is_empty() {
            self.tls.read_tls(&mut bytes)?;
            let result = self.tls.process_new_packets();
            self.flush()?;
            result.map_err(io::Error::other)?;
        }
        Ok(())
    }

    pub fn sealed(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut out).unwrap();
        }
        out
    }

    pub fn flush(&mut self) -> io::Result<()> {
        let out = self.sealed();
        self.it.write(&out)
    }

    pub fn say(&mut self, plain: &[u8]) -> io::Result<()> {
        self.tls.writer().write_all(plain)?;
        self.flush()
    }

    /// Waits for a whole request.
    pub fn asked(&mut self) -> io::Result<()> {
        loop {
            let end = self.pending.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                self.pending.drain(..end + 4);
                return Ok(());
            }
            let mut buffer = [0; 4096];
            match self.tls.reader().read(&mut buffer) {
                Ok(n) if n > 0 => self.pending.extend_from_slice(&buffer[..n]),
                Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.hear()?,
                Err(error) => return Err(error),
            }
        }
    }
}

/// Serves with `each` for every request.
pub fn secured(
    identity: &Identity,
    each: impl Fn(&mut Secure<'_>) -> io::Result<bool> + Send + Sync + 'static,
) -> Server {
    let config = identity.config.clone();
    Server::tcp(move |it| {
        let mut secure = Secure::accept(it, &config)?;
        loop {
            secure.asked()?;
            if !each(&mut secure)? {
                return Ok(());
            }
        }
    })
}

pub fn answering(identity: &Identity) -> Server {
    secured(identity, |it| it.say(ANSWER).map(|()| true))
}

/// A server that says this as soon as a client has said something, and then closes or is silent.
pub fn blurting(bytes: &'static [u8], closes: bool) -> Server {
    Server::tcp(move |it| {
        it.read(&mut [0; 4096])?;
        it.write(bytes)?;
        match closes {
            true => Ok(()),
            false => it.swallow(),
        }
    })
}

//! Layers below HTTP: TLS or not, HTTP/1.1 or HTTP/2.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ServerSessionMemoryCache;

use crate::{Contract, Error};

/// Sessions of HTTP/3 that can be resumed: the latest so many.
const SESSIONS: usize = 4_096;

/// Layers below HTTP.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// HTTP/2, with prior knowledge or by ALPN, and no HTTP/1.1.
    pub http2: bool,
    /// TLS, with a certificate and its key from these files, both as PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
}

impl Layers {
    /// The names of its version of HTTP over TCP, for ALPN.
    pub(crate) fn alpn(&self) -> &'static [&'static str] {
        match self.http2 {
            true => &["h2"],
            false => &["http/1.1"],
        }
    }

    /// Can a contract be served over these layers?
    ///
    /// # Errors
    /// [`Error::Options`] if not.
    pub(crate) fn check(&self, contract: Contract) -> Result<(), Error> {
        match contract {
            Contract::TcpEcho if self.http2 || self.tls.is_some() => {
                Err(Error::Options("tcp-echo is no HTTP: it is served plain"))
            }
            Contract::WsEcho if self.http2 => {
                Err(Error::Options("ws-echo is not served over HTTP/2"))
            }
            _ => Ok(()),
        }
    }

    /// The configuration of TLS, if it is spoken: 1.3 and 1.2, sessions that can be resumed, and these names of protocols for
    /// ALPN; for HTTP/3 clients may send requests before the handshake is done.
    ///
    /// # Errors
    /// When the certificate or its key cannot be read, or they do not belong together.
    pub fn config(&self, alpn: &[&str]) -> Result<Option<Arc<ServerConfig>>, Error> {
        let Some((certificate, key)) = &self.tls else {
            return Ok(None);
        };
        let cannot = |what: &PathBuf, error: &dyn std::fmt::Display| {
            Error::Tls(format!("{}: {error}", what.display()))
        };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| cannot(certificate, &error))?;
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| cannot(key, &error))?;
        let tls = |error: rustls::Error| cannot(certificate, &error);
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(tls)?
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(tls)?;
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        if alpn == ["h3"] {
            // rustls takes no early data in sessions that tickets hold: a server must know that it saw none of them before.
            config.max_early_data_size = u32::MAX;
            config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
        } else {
            config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(tls)?;
        }
        Ok(Some(Arc::new(config)))
    }
}

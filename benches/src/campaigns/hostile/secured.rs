//! How servers speak through TLS, and are verified.

use crate::error::{Error, Result};
use prony_engine::protocol::tls::TlsOptions;
use prony_lab::contract::Certificate;
use prony_record::load::{KeyKind, Protocol};
use prony_reference::Layers;
use rustls::ServerConfig;
use std::sync::Arc;

/// How the servers speak through TLS, and are verified.
pub struct Secured {
    pub config: Arc<ServerConfig>,
    pub options: TlsOptions,
}

impl Secured {
    /// # Errors
    /// When there is no certificate.
    pub fn new() -> Result<Self> {
        let scratch = tempfile::tempdir().map_err(Error::io("cannot make a temporary folder"))?;
        let own =
            Certificate::below(scratch.path(), KeyKind::EcdsaP256).map_err(Error::Unusable)?;
        let over = Layers {
            http2: false,
            tls: Some((own.path(), own.key_path())),
        };
        let config = over
            .config(&["http/1.1"])
            .map_err(|error| Error::Unusable(error.to_string()))?;
        Ok(Self {
            config: config.ok_or_else(|| Error::Unusable("no configuration of TLS".into()))?,
            options: own.options(Protocol::Tls),
        })
    }
}

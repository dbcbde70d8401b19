//! Configuration of a worker's connections over TLS.

use super::connector::Connector;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::sync::Arc;

/// Configuration and name that connections are encrypted with.
pub(super) struct Cipher {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
    pub(super) connector: Connector,
}

impl Cipher {
    pub(super) fn of(connector: &Connector) -> Self {
        Self {
            config: connector.config(),
            name: connector.name.clone(),
            connector: connector.clone(),
        }
    }
}

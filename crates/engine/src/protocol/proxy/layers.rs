//! Sessions inside one another, on the way to a server behind a proxy.

use super::{Prelude, Through};
use crate::protocol::Session;
use crate::protocol::tls::{Connector, Tls};

/// A session inside TLS to the server, the prelude, and TLS to the proxy, as far as there are such.
pub(crate) fn layers<'a, P: Session + 'a>(
    session: P,
    connector: Option<&Connector>,
    prelude: Option<&Prelude>,
    proxy: Option<&Connector>,
) -> Tls<'a, P::Token> {
    match (connector, prelude) {
        (Some(connector), Some(prelude)) => {
            let secure = Tls::new(session, connector);
            Tls::to_proxy(Through::new(secure, prelude.clone()), proxy)
        }
        (None, Some(prelude)) => Tls::to_proxy(Through::new(session, prelude.clone()), proxy),
        (Some(connector), None) => Tls::to_proxy(Tls::new(session, connector), proxy),
        (None, None) => Tls::to_proxy(session, proxy),
    }
}

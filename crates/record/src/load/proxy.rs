//! Proxy protocol of connections: the header that a balancer sends before a client's bytes.

use crate::word::words;

words! {
    /// Version of the PROXY protocol, whose header names a connection's source and destination.
    ProxyProtocol {
        /// Version 1, a line of text.
        V1 = "v1",
        /// Version 2, binary.
        V2 = "v2",
    }
}

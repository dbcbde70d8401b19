//! Remedies for servers that cannot be loaded, as data: each front end has its flags and its words.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Action of the user that may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Correct the options of TLS.
    TlsOptions,
    /// Give a file that can be used.
    TlsFile(TlsFile),
    /// Name the right port, at which the server speaks TLS.
    TlsPort,
    /// Leave out TLS, if the server does not speak it there.
    PerhapsPlain,
    /// Leave out TLS, or name another port.
    Plain,
    /// Trust the certificate's issuer or the certificate, or accept every certificate.
    TrustIssuer,
    /// Renew the certificate, or accept every certificate.
    RenewCertificate,
    /// Check the clock, or accept every certificate.
    CheckClock,
    /// Name the server as its certificate does, or accept every certificate.
    CertifiedName,
    /// Trust this certificate, or accept every certificate.
    TrustCertificate,
    /// Name the server by a name that it knows.
    KnownName,
    /// Give a client certificate.
    ClientCertificate,
    /// Allow other versions of TLS, or other cipher suites.
    TlsVersions,
    /// Speak HTTP/2 over TLS.
    Http2,
    /// Speak HTTP/1.1 over TLS, or switch on HTTP/2 in the server.
    NoHttp2,
    /// Speak HTTP/2 or HTTP/1.1 over TLS, or switch on HTTP/3 in the server.
    NoHttp3,
    /// Name the right port, and let UDP through.
    UdpPort,
    /// Let longer packets through.
    Mtu,
    /// Read the server's log.
    ServerLog,
    /// Speak HTTP/1.1 without TLS, or switch on HTTP/2 without TLS in the server.
    Http1,
    /// Name the right port, or speak HTTP/2 over TLS.
    Http2Port,
    /// Speak WebSocket over TLS.
    SecureWebSocket,
    /// Say in the handshake who asks, or from where.
    Identity,
    /// Name the path of the WebSocket service.
    WebSocketPath,
    /// Name the URL that the server redirects to.
    RedirectTarget,
    /// Name another path: the server speaks only HTTP at this one.
    AnotherPath,
    /// Read the server's log, or offer a subprotocol.
    Subprotocol,
    /// Name a WebSocket server.
    WebSocketServer,
    /// Name the right port, at which the server speaks WebSocket.
    WebSocketPort,
    /// Give user and password for the proxy.
    ProxyCredentials,
    /// Give another user or password for the proxy.
    ProxyOtherCredentials,
    /// Have the proxy allow this server and port, or use another proxy.
    ProxyRules,
    /// Name the right port of the proxy, and the protocol that it speaks.
    ProxyScheme,
    /// Read the proxy's log.
    ProxyLog,
}

/// File that TLS is configured with, in PEM form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsFile {
    /// Certificates of the authorities to trust.
    Authorities,
    /// The client's certificate.
    Certificate,
    /// The key of the client's certificate.
    Key,
}

impl fmt::Display for TlsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Authorities => "the file of trusted certificates",
            Self::Certificate => "the file of the client certificate",
            Self::Key => "the file of the client certificate's key",
        })
    }
}

//! How TLS is spoken: the same for `load`, `verify`, `duel` and `capacity`.

use clap::Args;
use std::path::PathBuf;

/// Options for https://.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "TLS")]
pub struct TlsArgs {
    /// Trust the authorities in this PEM file
    ///
    /// By default the system's. Also --cacert, as in curl.
    #[arg(
        long,
        alias = "cacert",
        value_name = "FILE",
        conflicts_with = "insecure"
    )]
    pub ca: Option<PathBuf>,
    /// Accept every certificate
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Client certificate, a PEM file with its chain
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// Key of --cert, a PEM file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Name for SNI and certificate [default: the URL's host]
    #[arg(long, value_name = "NAME")]
    pub sni: Option<String>,
    /// TLS version, 1.2 or 1.3 [default: the best of both sides]
    #[arg(long, value_name = "VERSION", value_parser = ["1.2", "1.3"])]
    pub tls_version: Option<String>,
    /// Cipher suites, separated by colons
    ///
    /// By their IANA or OpenSSL names.
    #[arg(long, value_name = "NAME")]
    pub cipher: Option<String>,
    /// Full handshake for every connection
    #[arg(long)]
    pub no_resumption: bool,
    /// HTTP/3: send requests before the handshake is done (0-RTT)
    ///
    /// On connections that resume an earlier session. Whoever records such a request can have the
    /// server carry it out again: use it only for requests that may be carried out twice.
    #[arg(long, conflicts_with = "no_resumption")]
    pub early_data: bool,
}

//! How TLS is spoken: the same for `load`, `verify`, `duel` and `capacity`.

use clap::Args;
use std::path::PathBuf;

/// What https:// needs to be told, if anything.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "TLS")]
pub struct Tls {
    /// Trust the authorities in this file of PEM certificates [default: the system's]
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub ca: Option<PathBuf>,
    /// Accept every certificate: self-signed, expired, of another name
    #[arg(long)]
    pub insecure: bool,
    /// The client's certificate, as PEM, with those that lead to its authority
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// The key of --cert, as PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// The name that the server is asked for and its certificate must have [default: the URL's host]
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// Speak this version only [default: the best that both sides speak]
    #[arg(long, value_name = "VERSION", value_parser = ["1.2", "1.3"])]
    pub tls_version: Option<String>,
    /// Offer these cipher suites only, by their IANA or OpenSSL names, with colons between them
    #[arg(long, value_name = "NAME")]
    pub cipher: Option<String>,
    /// A full handshake for every connection, no resumed ones
    #[arg(long)]
    pub no_resumption: bool,
}

//! What HTTP is spoken over with servers that prony starts.

use clap::Args;
use prony_record::load::{KeyKind, Over};

/// Servers that prony starts: plain HTTP/1.1 unless said otherwise. Of a URL, its scheme says it.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Servers that prony starts")]
pub struct OverArgs {
    /// Protocol for servers that prony starts
    ///
    /// plain (HTTP/1.1), tls (HTTP/1.1 over TLS), h2c (HTTP/2 without TLS) or h2 (HTTP/2 over TLS).
    /// One for all sides, or one for each, separated by commas.
    #[arg(
        long,
        value_name = "OVER",
        value_delimiter = ',',
        conflicts_with = "http2"
    )]
    pub over: Vec<Over>,
    /// Certificate's key: ecdsa-p256 or rsa2048
    ///
    /// For tls and h2. By default ecdsa-p256.
    #[arg(long, value_name = "KIND", requires = "over")]
    pub server_key: Option<KeyKind>,
}

impl OverArgs {
    /// That of the side at this place among all.
    pub fn of(&self, place: usize) -> Over {
        match self.over.as_slice() {
            [] => Over::Plain,
            [one] => *one,
            several => several.get(place).copied().unwrap_or_default(),
        }
    }
}

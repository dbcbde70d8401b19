//! HTTP/2 as the command line has it, and what is found out about a server before it is loaded.

use crate::args::http2::Http2;
use crate::target::Address;
use miette::{Result, miette};
use prony_engine::Target;
use prony_engine::protocol::h2::probe;
use std::time::Duration;

impl Http2 {
    /// Is a server spoken to over HTTP/2 whose URL this is?
    pub fn is_spoken(&self, address: &Address) -> Result<bool> {
        let help = "h2c://HOST/PATH is HTTP/2 without TLS; https://HOST/PATH with --http2 is HTTP/2 over TLS";
        if self.http2 && !(address.tls && address.http) && !address.h2c {
            return Err(miette!(help = help, "--http2 is for https:// URLs"));
        }
        let spoken = self.http2 || address.h2c;
        if !spoken && (self.streams.is_some() || self.window.is_some()) {
            return Err(miette!(
                help = help,
                "--streams and --window are for HTTP/2"
            ));
        }
        Ok(spoken)
    }
}

/// Tries a server without TLS with one connection, so that what cannot work is said before anything is loaded.
pub fn tried(url: &str, target: &Target, timeout: Duration) -> Result<()> {
    probe(target, timeout).map_err(|error| miette!(help = error.help(), "{url}: {error}"))
}

//! HTTP/2 as the command line has it, and what is found out about a server before it is loaded.

use crate::args::connect::Connect;
use crate::args::http2::Http2;
use crate::args::tls::Tls;
use crate::target::{self, Address, is_url};
use miette::{Result, miette};
use prony_engine::Target;
use prony_engine::protocol::h2::probe;
use prony_lab::side::{self, Side, What};
use std::time::Duration;

/// How the sides of a duel are spoken to.
pub struct Manners<'a> {
    pub tls: &'a Tls,
    pub http2: &'a Http2,
    pub connect: &'a Connect,
}

impl Manners<'_> {
    /// Are options of TLS, of HTTP/2 and of connections given, if at all, where they are used? `sides` are words of the command line.
    pub fn fit(&self, sides: &[String]) -> Result<()> {
        let over_tls = |side: &String| side.starts_with("https://");
        let used = |side: &String| over_tls(side) || !is_url(side);
        let spoken =
            |side: &&String| side.starts_with("h2c://") || (self.http2.http2 && used(side));
        if !sides.iter().any(over_tls) {
            self.tls.unused()?;
        }
        if self.http2.http2 && !sides.iter().any(used) {
            return Err(miette!(
                help = SPOKEN_BY,
                "--http2 is for https:// URLs, and for servers that prony starts"
            ));
        }
        let urls = sides.iter().filter(|side| is_url(side));
        let urls: Vec<Address> = urls.map(|url| target::parse(url)).collect::<Result<_>>()?;
        self.connect.fit(&urls)?;
        let number = sides.iter().filter(spoken).count();
        if number == 0 && (self.http2.streams.is_some() || self.http2.window.is_some()) {
            return Err(miette!(
                help = SPOKEN_BY,
                "--streams and --window are for HTTP/2"
            ));
        }
        if number < sides.len() && self.http2.streams.is_some() {
            return Err(miette!(
                help =
                    "without --streams, one request is in flight on each connection of every side",
                "--streams is for sides that all speak HTTP/2, and one speaks HTTP/1.1: it would have fewer requests in flight"
            ));
        }
        Ok(())
    }

    /// Settles how the sides that prony starts are spoken to; of a URL its scheme says so.
    pub fn speak(&self, sides: &mut [Side]) {
        for side in sides {
            if matches!(side.what, What::Started { .. }) {
                side.http2 = self.http2.http2.then(|| self.http2.settings());
            }
        }
    }
}

const SPOKEN_BY: &str =
    "h2c://HOST/PATH is HTTP/2 without TLS; https://HOST/PATH with --http2 is HTTP/2 over TLS";

impl Http2 {
    /// As a side has it.
    pub fn settings(&self) -> side::Http2 {
        side::Http2 {
            window: self.window(),
        }
    }

    /// Is a server spoken to over HTTP/2 whose URL this is?
    pub fn is_spoken(&self, address: &Address) -> Result<bool> {
        if self.http2 && !(address.tls && address.http) && !address.h2c {
            return Err(miette!(help = SPOKEN_BY, "--http2 is for https:// URLs"));
        }
        let spoken = self.http2 || address.h2c;
        if !spoken && (self.streams.is_some() || self.window.is_some()) {
            return Err(miette!(
                help = SPOKEN_BY,
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

//! HTTP/2 as the command line has it, and what is found out about a server before it is loaded.

use crate::args::connect::Connect;
use crate::args::http2::Http2;
use crate::args::over::OverArgs;
use crate::args::tls::Tls;
use crate::args::ws::Ws;
use crate::target::{self, Address, is_url};
use miette::{Result, miette};
use prony_engine::Target;
use prony_engine::protocol::Mix;
use prony_engine::protocol::h2::probe;
use prony_engine::protocol::mix::MixH2;
use prony_engine::protocol::tls::speaks_tls;
use prony_lab::side::{self, Side, What};
use std::time::Duration;

/// How the sides of a duel are spoken to.
pub struct Manners<'a> {
    pub tls: &'a Tls,
    pub http2: &'a Http2,
    pub ws: &'a Ws,
    pub over: &'a OverArgs,
    pub connect: &'a Connect,
    /// The servers that prony starts are called by gRPC.
    pub calls: bool,
}

impl Manners<'_> {
    /// Are options of TLS, of HTTP/2 and of connections given, if at all, where they are used? `sides` are words of the command line.
    pub fn fit(&self, sides: &[String]) -> Result<()> {
        let is_called = |side: &String| {
            side.starts_with("grpc://")
                || side.starts_with("grpcs://")
                || (self.calls && !is_url(side))
        };
        let over_tls = |side: &String| side.starts_with("https://") || side.starts_with("grpcs://");
        let handshakes = |side: &String| over_tls(side) || side.starts_with("wss://");
        let used = |side: &String| over_tls(side) || !is_url(side);
        let started = sides.iter().filter(|side| !is_url(side)).count();
        self.one_for_each(sides.len(), started)?;
        let spoken = |(place, side): &(usize, &String)| match is_url(side) {
            false => self.calls || self.http2.http2 || self.over.of(*place).is_http2(),
            true => {
                let named = side.starts_with("h2c://") || is_called(side);
                named || (self.http2.http2 && over_tls(side))
            }
        };
        if !sides.iter().any(handshakes) {
            self.tls.unused()?;
        }
        if self.http2.http2 && !sides.iter().any(used) {
            return Err(usage!(
                help = SPOKEN_BY,
                "--http2 is for https:// URLs, and for servers that prony starts"
            ));
        }
        let urls = sides.iter().filter(|side| is_url(side));
        let urls: Vec<Address> = urls.map(|url| target::parse(url)).collect::<Result<_>>()?;
        self.connect.fit(&urls)?;
        let number = sides.iter().enumerate().filter(spoken).count();
        if number == 0 && (self.http2.streams.is_some() || self.http2.window.is_some()) {
            return Err(usage!(
                help = SPOKEN_BY,
                "--streams and --window are for HTTP/2"
            ));
        }
        if number < sides.len() && self.http2.streams.is_some() {
            return Err(usage!(
                help =
                    "without --streams, one request is in flight on each connection of every side",
                "--streams is for sides that all speak HTTP/2, and one speaks HTTP/1.1: it would have fewer requests in flight"
            ));
        }
        Ok(())
    }

    /// One `--over` for all sides, or one for each.
    fn one_for_each(&self, sides: usize, started: usize) -> Result<()> {
        let given = self.over.over.len();
        if given > 0 && started == 0 {
            return Err(usage!(
                help = SPOKEN_BY,
                "--over is for servers that prony starts: of a URL the scheme says what is spoken"
            ));
        }
        if given > 1 && given != sides {
            return Err(usage!(
                help = "--over plain,tls for two sides",
                "--over names {given} ways to speak, and there are {sides} sides: give one for all, or one for each"
            ));
        }
        Ok(())
    }

    /// Settles how the sides that prony starts are spoken to; of a URL its scheme says so. What is not plain is in their
    /// names where they differ in it.
    pub fn speak(&self, sides: &mut [Side]) {
        for (place, side) in sides.iter_mut().enumerate() {
            if !matches!(side.what, What::Started { .. }) {
                continue;
            }
            let over = self.over.of(place);
            let http2 = self.http2.http2 || self.calls || over.is_http2();
            side.http2 = http2.then(|| self.http2.settings());
            let key = self.over.server_key.unwrap_or_default();
            side.key = over.is_tls().then_some(key);
            if self.over.over.len() > 1 {
                side.name = format!("{} {over}", side.name);
            }
        }
    }
}

const SPOKEN_BY: &str = "h2c://HOST/PATH is HTTP/2 without TLS; https://HOST/PATH with --http2 is HTTP/2 over TLS; grpc:// and \
    grpcs:// are calls of gRPC, and --call or --contract grpc-echo makes them of servers that prony starts";

impl Http2 {
    /// As a side has it.
    pub fn settings(&self) -> side::Http2 {
        side::Http2 {
            window: self.window(),
        }
    }

    /// The requests of a mix as they are sent to this address over HTTP/2.
    pub fn speaks(&self, mut mix: Mix, address: &Address) -> Result<Mix> {
        let (window, secure) = (self.window(), address.tls);
        mix.speak_http2(MixH2 { window, secure })
            .map_err(|forbidden| usage!("{forbidden}"))?;
        Ok(mix)
    }

    /// Is a server spoken to over HTTP/2 whose URL this is?
    pub fn is_spoken(&self, address: &Address) -> Result<bool> {
        let takes_it = address.h2c || address.grpc || (address.tls && address.http && !address.ws);
        if self.http2 && !takes_it {
            return Err(usage!(help = SPOKEN_BY, "--http2 is for https:// URLs"));
        }
        let spoken = self.http2 || address.h2c || address.grpc;
        if !spoken && (self.streams.is_some() || self.window.is_some()) {
            return Err(usage!(
                help = SPOKEN_BY,
                "--streams and --window are for HTTP/2"
            ));
        }
        Ok(spoken)
    }
}

/// Tries a server without TLS with one connection, so that what cannot work is said before anything is loaded.
pub fn tried(url: &str, target: &Target, timeout: Duration) -> Result<()> {
    let Err(error) = probe(target, timeout) else {
        return Ok(());
    };
    if speaks_tls(target, timeout.min(Duration::from_secs(1))) {
        let help = match url.strip_prefix("grpc://") {
            Some(rest) => format!("use grpcs://{rest}"),
            None => format!("use {} and --http2", url.replacen("h2c://", "https://", 1)),
        };
        return Err(miette!(
            help = help,
            "{url}: the server speaks TLS on this port"
        ));
    }
    Err(miette!(help = error.help(), "{url}: {error}"))
}

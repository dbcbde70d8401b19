//! HTTP/2 and HTTP/3 as the command line has them, and what is found out about a server before it is loaded.

use crate::args::connect::Connect;
use crate::args::protocol::{ProtocolArgs, ProtocolChoice};
use crate::args::tls::TlsArgs;
use crate::args::ws::Messages;
use crate::remedy::words;
use crate::target::{self, TargetUrl, is_url};
use miette::{Result, miette};
use prony_engine::Target;
use prony_engine::protocol::h2::probe;
use prony_engine::protocol::h3;
use prony_engine::protocol::tls::{TlsOptions, speaks_tls};
use prony_lab::side::{self, Side, What};
use prony_record::load::{KeyKind, Protocol};
use std::time::Duration;

/// How the sides of a duel are spoken to.
pub struct ProtocolOptions<'a> {
    pub tls: &'a TlsArgs,
    pub protocol: &'a ProtocolArgs,
    pub messages: &'a Messages,
    /// The key of the certificates of servers that prony starts.
    pub key: Option<KeyKind>,
    pub connect: &'a Connect,
    /// The servers that prony starts are called by gRPC.
    pub calls: bool,
}

impl ProtocolOptions<'_> {
    /// Are options of TLS, of HTTP/2 and HTTP/3, and of connections given, if at all, where they are used? `sides` are words of the command line.
    pub fn fit(&self, sides: &[String]) -> Result<()> {
        self.one_for_each(sides)?;
        let spoken = |(place, side): &(usize, &String)| match is_url(side) {
            false => self.calls || self.protocol.over(*place).has_streams(),
            true => target::parse(side)
                .is_ok_and(|it| self.protocol.streams_with(*place, &it).is_some()),
        };
        let urls = sides.iter().filter(|side| is_url(side));
        let urls: Vec<TargetUrl> = urls.map(|url| target::parse(url)).collect::<Result<_>>()?;
        if !urls.iter().any(|url| url.tls) && !self.connect.secure_proxy()? {
            self.tls.unused()?;
        }
        self.connect.fit(&urls)?;
        let http3 = sides.iter().enumerate().filter(|(place, side)| {
            let over = || self.protocol.over(*place);
            is_url(side) && target::parse(side).is_ok_and(|it| it.tls) && over() == Protocol::H3
        });
        self.connect.begin_where_used((
            sides.len() - urls.len(),
            urls.iter().filter(|url| url.unix.is_some()).count(),
            http3.count(),
        ))?;
        for (place, side) in sides.iter().enumerate().filter(|(_, side)| is_url(side)) {
            if let Some(protocol) = self.protocol.at(place) {
                protocol.fits(&target::parse(side)?)?;
            }
        }
        let number = sides.iter().enumerate().filter(spoken).count();
        if number == 0 && (self.protocol.streams.is_some() || self.protocol.window.is_some()) {
            return Err(usage!(
                help = SPOKEN_BY,
                "--streams and --window are for HTTP/2 and HTTP/3"
            ));
        }
        let datagrams = |(place, _): (usize, &String)| self.protocol.over(place) == Protocol::H3;
        if self.protocol.udp_sockets.is_some() && !sides.iter().enumerate().all(datagrams) {
            return Err(usage!(help = "use --http3", "--udp-sockets is for HTTP/3"));
        }
        if number < sides.len() && self.protocol.streams.is_some() {
            return Err(usage!(
                help =
                    "without --streams, one request is in flight on each connection of every side",
                "--streams is for sides that all speak HTTP/2 or HTTP/3, and one speaks HTTP/1.1: it would have fewer requests in flight"
            ));
        }
        Ok(())
    }

    /// One protocol for all sides, or one for each; WebSocket for all or for none.
    fn one_for_each(&self, sides: &[String]) -> Result<()> {
        let (given, sides) = (self.protocol.given(), sides.len());
        if given.len() > 1 && sides == 1 {
            return Err(usage!("--protocol: there is one server here"));
        }
        if given.len() > 1 && given.len() != sides {
            return Err(usage!(
                help = "--protocol plain,tls for two sides",
                "--protocol names {} protocols for {sides} sides: give one for all, or one for each",
                given.len()
            ));
        }
        if self.protocol.is_ws() && given.iter().any(|it| *it != ProtocolChoice::WebSocket) {
            return Err(usage!("--protocol: WebSocket is compared with WebSocket"));
        }
        match self.protocol.is_ws() && self.calls {
            true => Err(usage!("calls of gRPC are not sent over WebSocket")),
            false => Ok(()),
        }
    }

    /// Settles how the sides that prony starts are spoken to; of a URL its scheme says so. What is not plain is in their
    /// names where they differ in it.
    pub fn speak(&self, sides: &mut [Side]) {
        for (place, side) in sides.iter_mut().enumerate() {
            if !matches!(side.what, What::Started { .. }) {
                continue;
            }
            let over = self.protocol.over(place);
            let streams = self.calls || over.has_streams();
            side.http2 = streams.then(|| self.protocol.settings(over == Protocol::H3));
            let key = self.key.unwrap_or_default();
            side.key = over.is_tls().then_some(key);
            if self.protocol.given().len() > 1 {
                side.name = format!("{} {over}", side.name);
            }
        }
    }
}

const SPOKEN_BY: &str = "h2c://HOST/PATH is HTTP/2 without TLS; https://HOST/PATH with --protocol h2 is HTTP/2 over TLS, with h3 HTTP/3; \
    grpc:// and grpcs:// are calls of gRPC, and --call or --contract grpc-echo makes them of servers that prony starts";

impl ProtocolChoice {
    /// Refuses a protocol that the scheme of a URL rules out.
    fn fits(self, address: &TargetUrl) -> Result<()> {
        let http = address.http && !address.ws;
        let fits = match self {
            Self::WebSocket => address.ws,
            // It was settled before.
            Self::Auto => true,
            Self::Http(Protocol::Plain) => http && !address.tls && !address.h2c,
            Self::Http(Protocol::Tls) => http && address.tls && !address.grpc,
            Self::Http(Protocol::H2c) => address.h2c,
            Self::Http(Protocol::H2) => http && address.tls,
            Self::Http(Protocol::H3) => http && address.tls && !address.grpc,
        };
        match fits {
            true => Ok(()),
            false => Err(usage!(
                help = SPOKEN_BY,
                "--protocol {self} does not fit the URL, whose scheme selects another protocol"
            )),
        }
    }
}

impl ProtocolArgs {
    /// Settings of HTTP/2, or of HTTP/3, in the form that a side stores.
    pub fn settings(&self, http3: bool) -> side::HttpStreams {
        side::HttpStreams {
            window: self.window(),
            http3,
        }
    }

    /// How HTTP/2 or HTTP/3 is spoken with the server of this URL, at this place of the command line, if it is.
    pub fn streams_with(&self, place: usize, address: &TargetUrl) -> Option<side::HttpStreams> {
        let over = match address.tls && !address.ws {
            true => self.over(place),
            false => Protocol::Plain,
        };
        let streams = address.h2c || address.grpc || over.has_streams();
        streams.then(|| self.settings(over == Protocol::H3))
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
            None => format!(
                "use {} and --protocol h2",
                url.replacen("h2c://", "https://", 1)
            ),
        };
        return Err(miette!(
            help = help,
            "{url}: the server speaks TLS on this port"
        ));
    }
    Err(miette!(help = words(error.remedy()), "{url}: {error}"))
}

/// Tries a server over QUIC with one connection.
pub fn tried_http3(
    url: &str,
    target: &Target,
    options: &TlsOptions,
    timeout: Duration,
) -> Result<()> {
    match h3::probe(target, options, timeout) {
        Ok(_) => Ok(()),
        Err(error) => Err(miette!(help = words(error.remedy()), "{url}: {error}")),
    }
}

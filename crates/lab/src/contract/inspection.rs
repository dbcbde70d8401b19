//! One verification of a server, and what a load of it says.

use super::parts::Routes;
use super::wire::{Bounds, Fault, Patience};
use super::{
    Contract, Depth, Fixture, LIMIT_TRIES, PassedStep, SILENCE_LIMIT, Verified, Violation, Visit,
    any_http, arena, fibonacci, grpc_echo, http_echo, sse, static_file, techempower, weather,
    weather_upstream, ws_echo,
};
use prony_engine::protocol::h2::{StreamedExchange, WINDOW};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::protocol::{Expect, HttpExchange, HttpRequest, Limits};
use prony_engine::{Dialogue, StreamedRequests};
use prony_record::load::Protocol;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How to verify.
#[derive(Debug, Clone, Copy)]
pub struct Inspection<'a> {
    depth: Depth,
    seed: u64,
    bounds: Bounds,
    known: Option<&'a BTreeMap<String, String>>,
    way: Option<HttpEndpoint<'a>>,
    pub(super) routes: Option<Routes<'a>>,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy)]
pub struct HttpEndpoint<'a> {
    /// HTTP variant that is spoken with the server.
    pub over: Protocol,
    /// Name by which requests call the server.
    pub authority: &'a str,
    /// Over TLS: where the server itself listens, and how it speaks TLS. The address of the verification is then one that
    /// takes TLS off.
    pub tls: Option<(SocketAddr, &'a TlsOptions)>,
    /// Over HTTP/2: how many bytes the server may send ahead under a load.
    pub window: Option<u32>,
}

impl<'a> Inspection<'a> {
    /// To this depth, with payloads that `seed` decides.
    #[must_use]
    pub const fn new(depth: Depth, seed: u64) -> Self {
        Self {
            depth,
            seed,
            bounds: Bounds::of_silence(SILENCE_LIMIT),
            known: None,
            way: None,
            routes: None,
        }
    }

    /// Over this, instead of HTTP/1.1 over TCP.
    #[must_use]
    pub const fn by(mut self, way: HttpEndpoint<'a>) -> Self {
        self.way = Some(way);
        self
    }

    /// With another limit on silence than [`SILENCE_LIMIT`]; a step takes at most 60 times as long in all.
    #[must_use]
    pub const fn within(mut self, silence: Duration) -> Self {
        self.bounds = Bounds::of_silence(silence);
        self
    }

    /// With another limit for a step in all: for tests with servers whose bytes trickle.
    #[must_use]
    pub const fn at_most(mut self, ceiling: Duration) -> Self {
        self.bounds.ceiling = ceiling;
        self
    }

    /// With steps that cannot be passed, each for a reason. A thorough verification proves that each still fails;
    /// others leave them out.
    #[must_use]
    pub const fn knowing(mut self, known: &'a BTreeMap<String, String>) -> Self {
        self.known = Some(known);
        self
    }

    /// Verifies that the server at `addr` keeps `contract`.
    ///
    /// # Errors
    ///
    /// The first step that failed, with what was expected and what was found; or a step with a
    /// expected failure that passed.
    pub fn of(
        &self,
        contract: Contract,
        addr: SocketAddr,
        fixture: &Fixture,
    ) -> Result<Verified, Violation> {
        let called = addr.to_string();
        let mut visit = self.visit(contract, addr, &called, fixture);
        let (mut steps, mut left_out) = (Vec::new(), Vec::new());
        for act in contract.acts(visit.way.over) {
            let reason = self.known.and_then(|known| known.get(act.name));
            if self.depth < act.from || (reason.is_some() && self.depth < Depth::Thorough) {
                continue;
            }
            if self.routes.is_some_and(|routes| routes.lacks(act.name)) {
                continue;
            }
            let of_database = techempower::is_of_database(act) || arena::is_of_database(act);
            if !fixture.asks_database() && of_database {
                left_out.push(act.name);
                continue;
            }
            let start = Instant::now();
            // A limit may be a race that is won now and then: it is gone when it never shows.
            let tries = if reason.is_some() { LIMIT_TRIES } else { 1 };
            let mut outcome = Ok(());
            for _ in 0..tries {
                visit.patience = Patience::new(self.bounds);
                outcome = (act.run)(&mut visit);
                if outcome.is_err() {
                    break;
                }
            }
            let limit = match (outcome, reason) {
                (Ok(()), None) => None,
                (Err(fault), Some(_)) => Some(format!(
                    "expected {}; found {}",
                    fault.expected, fault.found
                )),
                (Err(fault), None) => return Err(act.violated(fault)),
                (Ok(()), Some(reason)) => {
                    return Err(act.violated(Fault::new(
                        format!("the expected failure that its manifest declares ({reason})"),
                        "that it passes: take it out of [expected_failures]",
                    )));
                }
            };
            steps.push(PassedStep {
                name: act.name,
                took: start.elapsed(),
                limit,
            });
        }
        Ok(Verified { steps, left_out })
    }

    /// Returns what a load sends to the server at `addr`, which has been verified, and what it expects.
    ///
    /// # Errors
    ///
    /// When an answer is needed to know what to expect, and it is wrong.
    pub fn dialogue(
        &self,
        contract: Contract,
        addr: SocketAddr,
        fixture: &Fixture,
        load: Wanted<'_>,
    ) -> Result<Dialogue, Violation> {
        let Wanted {
            message, keepalive, ..
        } = load;
        let called = addr.to_string();
        let mut visit = self.visit(contract, addr, &called, fixture);
        let host = visit.way.authority;
        let exchanges = match contract {
            Contract::TcpEcho => return Ok(Dialogue::Echo(message.as_bytes().to_vec())),
            Contract::WsEcho => return Ok(ws_echo::dialogue(addr, load)),
            Contract::Sse => {
                let dialogue = sse::dialogue(&mut visit, keepalive);
                return dialogue.map_err(|fault| contract.script()[0].violated(fault));
            }
            Contract::HttpEcho => http_echo::exchanges(host, self.seed),
            Contract::StaticFile => {
                let other = visit.is_known_limit(static_file::BODY);
                static_file::exchanges(host, fixture.page(), other)
            }
            Contract::Fibonacci => fibonacci::exchanges(&visit)
                .map_err(|fault| contract.script()[0].violated(fault))?,
            Contract::Weather => weather::exchanges(host, self.seed),
            Contract::WeatherUpstream => weather_upstream::exchanges(host),
            Contract::GrpcEcho => return Ok(grpc_echo::dialogue(&mut visit)),
            Contract::Http => any_http::exchanges(host),
            Contract::Techempower => techempower::exchanges(&visit),
            Contract::Arena => arena::exchanges(&visit),
        };
        Ok(visit.way.dialogue(exchanges, keepalive))
    }

    fn visit<'b>(
        &self,
        contract: Contract,
        addr: SocketAddr,
        called: &'b str,
        fixture: &'b Fixture,
    ) -> Visit<'b>
    where
        'a: 'b,
    {
        Visit {
            contract,
            addr,
            way: self.way.unwrap_or(HttpEndpoint {
                over: Protocol::Plain,
                authority: called,
                tls: None,
                window: None,
            }),
            fixture,
            known: self.known,
            routes: self.routes,
            depth: self.depth,
            rng: Xoshiro256PlusPlus::seed_from_u64(self.seed),
            patience: Patience::new(self.bounds),
        }
    }
}

/// A request, and what its answer must be.
pub(super) type Exchange = (HttpRequest, Expect);

impl HttpEndpoint<'_> {
    /// Dialogue of a load over this.
    fn dialogue(&self, exchanges: Vec<Exchange>, keepalive: bool) -> Dialogue {
        let limits = Limits::default();
        if !self.over.has_streams() {
            let with = |(request, expect): Exchange| {
                let request = HttpRequest {
                    keepalive,
                    ..request
                };
                HttpExchange::new(&request, expect)
            };
            return Dialogue::Http {
                exchanges: exchanges.into_iter().map(with).collect(),
                limits,
            };
        }
        let secure = self.over.is_tls();
        let with = |(request, expect): Exchange| {
            StreamedExchange::new(&request, secure, expect)
                .expect("a contract has no field of HTTP/1.1's connections")
        };
        let requests = Box::new(StreamedRequests {
            exchanges: exchanges.into_iter().map(with).collect(),
            limits,
            window: self.window.unwrap_or(WINDOW),
        });
        match self.over {
            Protocol::H3 => Dialogue::H3(requests),
            _ => Dialogue::H2(requests),
        }
    }
}

/// Parts of a load that its dialogue depends on.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Message that is echoed, for tcp-echo.
    pub message: &'a str,
    /// Connections are kept open.
    pub keepalive: bool,
    /// Length of each payload, for ws-echo, in bytes.
    pub size: u32,
    /// Messages are text, for ws-echo; otherwise binary.
    pub text: bool,
}

impl<'a> Wanted<'a> {
    /// Takes the parts from a load.
    #[must_use]
    pub fn of(load: &'a prony_record::Load) -> Self {
        Self {
            message: &load.message,
            keepalive: load.keepalive,
            size: load.size,
            text: load.text,
        }
    }
}

//! Contracts: what a server must answer, and verifiers that can tell a right answer from a wrong
//! one and from a cheat.
//!
//! A verifier talks to a server that is already running. It asks what cannot be guessed (random
//! payloads and paths, never repeated), in ways that catch the usual shortcuts: byte by byte,
//! several connections at once, requests that are not complete yet.
//!
//! Whatever the server does, a verifier ends: every step has a limit on silence and a ceiling, and no
//! answer is kept beyond a fixed size. A machine that is busy makes a step slower, and the steps that
//! listen for what must not come less sharp, but lets no honest server fail.

mod answer;
mod any_http;
mod arena;
mod certificate;
mod date;
mod fibonacci;
mod fixture;
mod grpc_echo;
mod http;
mod http_echo;
#[cfg(test)]
mod independence;
mod inspection;
mod over_h2;
mod over_h3;
mod over_tls;
pub mod parts;
mod sse;
mod static_file;
mod step;
mod tcp_echo;
mod techempower;
mod weather;
mod weather_upstream;
mod wire;
mod ws_echo;
mod ws_peer;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::service::{ServiceSpec, ServiceSpecs};
pub use certificate::{Certificate, authority};
pub use fixture::Fixture;
pub use grpc_echo::PROTO as GRPC_ECHO;
use http::Case;
use inspection::Exchange;
pub use inspection::{HttpEndpoint, Inspection, Wanted};
use parts::{Part, Routes};
use prony_record::load::Protocol;
use step::Act;
pub use step::{PassedStep, Verified, Violation};
pub use techempower::seed as techempower_seed;
use wire::{Bounds, Fault, Patience, Wire};
pub(crate) use ws_echo::echoes;

/// How long a server may be silent within a step before the step counts as failed.
///
/// A healthy server needs milliseconds for an answer; five seconds leave room for a JIT's first requests
/// and for retransmitted SYNs (after 1 s and 3 s), and still end a dead server's check in good time.
/// Progress begins the silence anew: a connection established, bytes read, or bytes that the kernel takes
/// from us.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(5);

/// How long a step may take in all, as a multiple of the limit on silence: five minutes.
///
/// The longest step moves 17 MB or so, which a server that reads 24 bytes at a time does in some seconds,
/// so that a machine may be fifty times slower. Only a server that lets its bytes trickle to keep the
/// verifier waiting gets here.
const CEILING: u32 = 60;

/// How often a step with a expected failure must pass before the limit counts as gone.
const LIMIT_TRIES: u32 = 10;

/// A contract: the answers that a server must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Contract {
    /// Every byte comes back, in order, unframed, until the client closes its sending side.
    TcpEcho,
    /// `GET <target>` is answered `200`, `text/plain`, `<target> at <IMF-fixdate>`.
    HttpEcho,
    /// `GET /` is answered with a page of 151 bytes from disk.
    StaticFile,
    /// `POST /fibonacci` with a name and an n is answered with a fresh id, the time, and F(n).
    Fibonacci,
    /// `GET /weather/{city}` is answered with two figures that the upstream is asked for each time.
    Weather,
    /// `GET /weather.json` is answered with that file, as it is now.
    WeatherUpstream,
    /// The service of `grpc_echo/echo.proto` over gRPC: messages, errors and streams as they are asked for.
    GrpcEcho,
    /// Any answers over HTTP/1.1: what is asked and answered, a file of requests says.
    Http,
    /// Tests of databases and rendering at seven paths, as TechEmpower's suite asks for them.
    Techempower,
    /// Profiles of HttpArena at seven paths: sums, JSON of a dataset, uploads, files, and items of a database.
    Arena,
    /// `GET /events/{n}/{gap}/{word}` is answered with n server-sent events, `gap` milliseconds apart, and `[DONE]`.
    Sse,
    /// Over WebSocket at `/`, every message comes back, text as text and binary as binary.
    WsEcho,
}

impl Contract {
    /// Every contract there is.
    pub const ALL: [Self; 12] = [
        Self::TcpEcho,
        Self::HttpEcho,
        Self::StaticFile,
        Self::Fibonacci,
        Self::Weather,
        Self::WeatherUpstream,
        Self::GrpcEcho,
        Self::Http,
        Self::Techempower,
        Self::Arena,
        Self::Sse,
        Self::WsEcho,
    ];

    /// The name used in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TcpEcho => "tcp-echo",
            Self::HttpEcho => "http-echo",
            Self::StaticFile => "static-file",
            Self::Fibonacci => "fibonacci",
            Self::Weather => "weather",
            Self::WeatherUpstream => "weather-upstream",
            Self::GrpcEcho => "grpc-echo",
            Self::Http => "http",
            Self::Techempower => "techempower",
            Self::Arena => "arena",
            Self::Sse => "sse",
            Self::WsEcho => "ws-echo",
        }
    }

    /// Is the server ready: does it accept a connection *and answer*? One tiny exchange.
    ///
    /// # Errors
    ///
    /// Whatever the socket said; `TimedOut` after `timeout` without an answer; `UnexpectedEof` if
    /// the server closed instead of answering; `InvalidData` if what came is no answer at all.
    pub fn probe(&self, addr: SocketAddr, timeout: Duration) -> io::Result<()> {
        if *self == Self::GrpcEcho {
            return grpc_echo::probe(addr, timeout);
        }
        let bounds = Bounds {
            silence: timeout,
            ceiling: timeout,
        };
        let wire = Wire::open(addr, &Patience::new(bounds))?;
        match self {
            Self::TcpEcho => tcp_echo::probe(&wire),
            Self::WsEcho => ws_peer::probe(&wire, addr),
            _ => http::probe(&wire, addr),
        }
    }

    /// Does a server need something around it that prony makes: a folder that it serves, or an upstream?
    #[must_use]
    pub const fn needs_fixture(self) -> bool {
        matches!(
            self,
            Self::StaticFile | Self::Weather | Self::WeatherUpstream | Self::Arena
        )
    }

    /// Services that its servers need.
    #[must_use]
    pub fn services(self) -> ServiceSpecs {
        match self {
            Self::Techempower => postgres(techempower::seed()),
            Self::Arena => postgres(arena::seed()),
            _ => ServiceSpecs::new(),
        }
    }

    /// Is it about HTTP, which is spoken over TLS and as HTTP/2 too?
    #[must_use]
    pub const fn is_http(self) -> bool {
        !matches!(self, Self::TcpEcho | Self::GrpcEcho | Self::WsEcho)
    }

    /// The names of the verification's steps, in their order; those of several ways to speak it, each way's once.
    pub fn steps(self, over: &[Protocol]) -> impl Iterator<Item = &'static str> + use<> {
        let mut names: Vec<&'static str> = Vec::new();
        for act in over.iter().flat_map(|&over| self.acts(over)) {
            if !names.contains(&act.name) {
                names.push(act.name);
            }
        }
        names.into_iter()
    }

    /// Parts that servers may lack; empty: a server keeps all of it.
    #[must_use]
    pub const fn parts(self) -> &'static [Part] {
        match self {
            Self::Techempower => techempower::PARTS,
            Self::Arena => arena::PARTS,
            _ => &[],
        }
    }

    /// Names of the steps over HTTP/1.1 that ask the server's database.
    pub fn steps_of_database(self) -> impl Iterator<Item = &'static str> {
        let of_database =
            |act: &&Act| techempower::is_of_database(act) || arena::is_of_database(act);
        self.script().iter().filter(of_database).map(|act| act.name)
    }

    /// The steps of a verification over this.
    fn acts(self, over: Protocol) -> impl Iterator<Item = &'static Act> {
        // What is no HTTP is verified in its own way alone.
        let over = if self.is_http() {
            over
        } else {
            Protocol::Plain
        };
        let of_http1 = |act: &Act| {
            http::is_of_http1(act)
                || techempower::is_of_http1(act)
                || arena::is_of_http1(act)
                || sse::is_of_http1(act)
        };
        let kept = move |act: &&'static Act| !(over.has_streams() && of_http1(act));
        let reaches =
            move |act: &&'static Act| !(matches!(over, Protocol::H3) && over_h2::is_of_frames(act));
        let (h2, tls): (&'static [Act], &'static [Act]) = (
            if over.has_streams() {
                over_h2::SCRIPT
            } else {
                &[]
            },
            match over {
                Protocol::Tls | Protocol::H2 => over_tls::SCRIPT,
                Protocol::Plain | Protocol::H2c | Protocol::H3 => &[],
            },
        );
        let h2 = h2.iter().filter(reaches);
        let h3: &'static [Act] = match over {
            Protocol::H3 => over_h3::SCRIPT,
            _ => &[],
        };
        let all = self.script().iter().filter(kept);
        all.chain(h2).chain(h3).chain(tls)
    }

    const fn script(self) -> &'static [Act] {
        match self {
            Self::TcpEcho => tcp_echo::SCRIPT,
            Self::HttpEcho => http_echo::SCRIPT,
            Self::StaticFile => static_file::SCRIPT,
            Self::Fibonacci => fibonacci::SCRIPT,
            Self::Weather => weather::SCRIPT,
            Self::WeatherUpstream => weather_upstream::SCRIPT,
            Self::GrpcEcho => grpc_echo::SCRIPT,
            Self::Http => any_http::SCRIPT,
            Self::Techempower => techempower::SCRIPT,
            Self::Arena => arena::SCRIPT,
            Self::Sse => sse::SCRIPT,
            Self::WsEcho => ws_echo::SCRIPT,
        }
    }
}

/// PostgreSQL with this content.
fn postgres(seed: &str) -> ServiceSpecs {
    let spec = ServiceSpec {
        seed_text: Some(seed.to_owned()),
        ..ServiceSpec::default()
    };
    [("postgres".to_owned(), spec)].into()
}

/// Sends a request and gives status and body of its answer; if the body is to be decoded, to at most `decoded` bytes,
/// without its content codings.
pub(crate) fn fetch(
    addr: SocketAddr,
    method: &str,
    request: &[u8],
    decoded: Option<u64>,
) -> Result<(u16, Vec<u8>), String> {
    let told = |fault: Fault| format!("expected {}; found {}", fault.expected, fault.found);
    let wire = Wire::open(addr, &Patience::new(Bounds::of_silence(SILENCE_LIMIT)))
        .map_err(|error| format!("cannot connect to {addr}: {error}"))?;
    let mut listener = answer::Listener::new(wire);
    http::send(&listener, request).map_err(told)?;
    if method == "HEAD" {
        let status = listener.head_alone().map_err(told)?;
        return Ok((status, Vec::new()));
    }
    let answer = listener.answer().map_err(told)?;
    let body = match decoded {
        Some(limit) => answer.encoding.decode(&answer.body, limit)?,
        None => answer.body,
    };
    Ok((answer.status, body))
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a contract: expected one of {list}",
    list = Contract::ALL.map(Contract::name).join(", ")
)]
pub struct UnknownContract(pub String);

impl FromStr for Contract {
    type Err = UnknownContract;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|contract| contract.name() == name)
            .ok_or_else(|| UnknownContract(name.to_owned()))
    }
}

/// How thoroughly to verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Depth {
    /// After a load: does it still answer correctly? Under 100 ms on a healthy server.
    Quick,
    /// Before a load: everything that leaves no mark. Under 400 ms on a healthy native server.
    Full,
    /// For its own sake: what takes long or changes the server's memory too, and that expected failures
    /// are still there.
    Thorough,
}

/// State that the steps of one verification share.
struct Visit<'a> {
    contract: Contract,
    addr: SocketAddr,
    way: HttpEndpoint<'a>,
    fixture: &'a Fixture,
    known: Option<&'a BTreeMap<String, String>>,
    /// None: the server keeps all parts.
    routes: Option<Routes<'a>>,
    depth: Depth,
    rng: Xoshiro256PlusPlus,
    patience: Patience,
}

impl Visit<'_> {
    /// A request over HTTP whose answer cannot be guessed; `size` random characters make it so,
    /// where the contract has a place for them.
    fn case(&mut self, size: usize) -> Case {
        match self.contract {
            Contract::TcpEcho | Contract::GrpcEcho | Contract::WsEcho => {
                unreachable!("it has no steps of requests over HTTP/1.1")
            }
            Contract::HttpEcho => http_echo::case(self, size),
            Contract::StaticFile => static_file::case(self),
            Contract::Fibonacci => fibonacci::case(self, size),
            Contract::Weather => weather::case(self, size),
            Contract::WeatherUpstream => weather_upstream::case(self),
            Contract::Http => any_http::case(),
            Contract::Techempower => techempower::case(self),
            Contract::Arena => arena::case(self),
            Contract::Sse => sse::case(self, size),
        }
    }

    /// The server's stack is known not to pass this step.
    fn is_known_limit(&self, step: &str) -> bool {
        self.known.is_some_and(|known| known.contains_key(step))
    }

    fn open(&self) -> Result<Wire, Fault> {
        Wire::open(self.addr, &self.patience)
            .map_err(|error| Fault::io("a connection to be accepted", &error))
    }

    fn open_many(&self, count: usize) -> Result<Vec<Wire>, Fault> {
        (0..count).map(|_| self.open()).collect()
    }

    /// `0..count` in random order: the order in which connections are written or read must not
    /// matter, so it is never the same.
    fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        order.shuffle(&mut self.rng);
        order
    }

    /// `full` when verifying fully, else `quick`.
    fn choose<T>(&self, quick: T, full: T) -> T {
        match self.depth {
            Depth::Quick => quick,
            Depth::Full | Depth::Thorough => full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contract_has_one_name_everywhere() {
        for contract in Contract::ALL {
            let name = contract.to_string();
            assert_eq!(name.parse(), Ok(contract));
            assert_eq!(serde_json::to_value(contract).unwrap(), name);
            assert!(
                UnknownContract("x".to_owned()).to_string().contains(&name),
                "{name}"
            );
        }
        let error = "tcp_echo".parse::<Contract>().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("\"tcp_echo\" is not a contract"),
            "{error}"
        );
    }

    #[test]
    fn over_http3_no_step_ends_at_the_relay() {
        let steps: Vec<_> = Contract::HttpEcho.steps(&[Protocol::H3]).collect();
        let passed_on = ["streams-at-once", "interleaved-data", "reset"];
        let own = ["head", "large-head", "empty-data", "trailers"];
        assert!(
            steps.ends_with(&[&passed_on[..], &own].concat()),
            "{steps:?}"
        );
        let over_h2 = Contract::HttpEcho.steps(&[Protocol::H2]);
        assert!(over_h2.into_iter().any(|step| step == "goaway"));
    }
}

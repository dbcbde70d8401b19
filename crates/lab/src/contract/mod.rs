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
mod fibonacci;
mod fixture;
mod http;
mod http_echo;
mod static_file;
mod tcp_echo;
mod weather;
mod weather_upstream;
mod wire;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use fixture::Fixture;
use http::Case;
use prony_engine::Dialogue;
use prony_engine::protocol::Limits;
use wire::{Bounds, Fault, Patience, Wire};

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

/// What a server must answer.
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
    /// Any answers over HTTP/1.1: what is asked and answered, a file of requests says.
    Http,
}

impl Contract {
    /// Every contract there is.
    pub const ALL: [Self; 7] = [
        Self::TcpEcho,
        Self::HttpEcho,
        Self::StaticFile,
        Self::Fibonacci,
        Self::Weather,
        Self::WeatherUpstream,
        Self::Http,
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
            Self::Http => "http",
        }
    }

    /// Is the server ready: does it accept a connection *and answer*? One tiny exchange.
    ///
    /// # Errors
    ///
    /// Whatever the socket said; `TimedOut` after `timeout` without an answer; `UnexpectedEof` if
    /// the server closed instead of answering; `InvalidData` if what came is no answer at all.
    pub fn probe(&self, addr: SocketAddr, timeout: Duration) -> io::Result<()> {
        let bounds = Bounds {
            silence: timeout,
            ceiling: timeout,
        };
        let wire = Wire::open(addr, &Patience::new(bounds))?;
        match self {
            Self::TcpEcho => tcp_echo::probe(&wire),
            _ => http::probe(&wire, addr),
        }
    }

    /// The names of the verification's steps, in their order.
    pub fn steps(&self) -> impl Iterator<Item = &'static str> {
        self.script().iter().map(|act| act.name)
    }

    const fn script(self) -> &'static [Act] {
        match self {
            Self::TcpEcho => tcp_echo::SCRIPT,
            Self::HttpEcho => http_echo::SCRIPT,
            Self::StaticFile => static_file::SCRIPT,
            Self::Fibonacci => fibonacci::SCRIPT,
            Self::Weather => weather::SCRIPT,
            Self::WeatherUpstream => weather_upstream::SCRIPT,
            Self::Http => any_http::SCRIPT,
        }
    }
}

/// Sends a request and gives status and body of its answer.
pub(crate) fn fetch(
    addr: SocketAddr,
    method: &str,
    request: &[u8],
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
    Ok((answer.status, answer.body))
}

/// How to verify.
#[derive(Debug, Clone)]
pub struct Inspection<'a> {
    depth: Depth,
    seed: u64,
    bounds: Bounds,
    known: Option<&'a BTreeMap<String, String>>,
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
        }
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

    /// These steps cannot be passed, each for a reason: a thorough verification proves that it is
    /// still so, others leave them out.
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
        let mut visit = self.visit(contract, addr, fixture);
        let mut steps = Vec::new();
        for act in contract.script() {
            let reason = self.known.and_then(|known| known.get(act.name));
            if self.depth < act.from || (reason.is_some() && self.depth < Depth::Thorough) {
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
            steps.push(Step {
                name: act.name,
                took: start.elapsed(),
                limit,
            });
        }
        Ok(Verified { steps })
    }

    /// What a load of the server at `addr`, which has been verified, asks for, and what it expects.
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
        let Wanted { message, keepalive } = load;
        let visit = self.visit(contract, addr, fixture);
        let exchanges = match contract {
            Contract::TcpEcho => return Ok(Dialogue::Echo(message.as_bytes().to_vec())),
            Contract::HttpEcho => http_echo::exchanges(addr, keepalive, self.seed),
            Contract::StaticFile => {
                let other = visit.is_known_limit(static_file::BODY);
                static_file::exchanges(addr, keepalive, fixture.page(), other)
            }
            Contract::Fibonacci => fibonacci::exchanges(&visit, keepalive)
                .map_err(|fault| contract.script()[0].violated(fault))?,
            Contract::Weather => weather::exchanges(addr, keepalive, self.seed),
            Contract::WeatherUpstream => weather_upstream::exchanges(addr, keepalive),
            Contract::Http => any_http::exchanges(addr, keepalive),
        };
        Ok(Dialogue::Http {
            exchanges,
            limits: Limits::default(),
        })
    }

    fn visit<'b>(&self, contract: Contract, addr: SocketAddr, fixture: &'b Fixture) -> Visit<'b>
    where
        'a: 'b,
    {
        Visit {
            contract,
            addr,
            fixture,
            known: self.known,
            depth: self.depth,
            rng: Xoshiro256PlusPlus::seed_from_u64(self.seed),
            patience: Patience::new(self.bounds),
        }
    }
}

/// What a load says of its dialogue.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// What is echoed, for tcp-echo.
    pub message: &'a str,
    /// Connections are kept open.
    pub keepalive: bool,
}

impl<'a> Wanted<'a> {
    /// As a load says it.
    #[must_use]
    pub fn of(load: &'a prony_record::Load) -> Self {
        Self {
            message: &load.message,
            keepalive: load.keepalive,
        }
    }
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

/// The steps a server has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// In the order they were taken; those with a expected failure are among them.
    pub steps: Vec<Step>,
}

impl Verified {
    /// How long all steps took together.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.steps.iter().map(|step| step.took).sum()
    }
}

/// One step that a server has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The step's name, as a [`Violation`] would give it.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
    /// What was expected and found where it could not pass for a known reason.
    pub limit: Option<String>,
}

/// The first thing a server did that its contract forbids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{step} ({tried}): expected {expected}; found {found}")]
pub struct Violation {
    /// The step's name, such as `half-close`.
    pub step: &'static str,
    /// What the step does, in a few words.
    pub tried: &'static str,
    /// What the contract asks for.
    pub expected: String,
    /// What came instead; bytes are shown escaped and cut short.
    pub found: String,
}

/// One step of a verifier's script.
struct Act {
    name: &'static str,
    tried: &'static str,
    /// The least depth at which it is taken.
    from: Depth,
    run: fn(&mut Visit<'_>) -> Result<(), Fault>,
}

impl Act {
    fn violated(&self, fault: Fault) -> Violation {
        Violation {
            step: self.name,
            tried: self.tried,
            expected: fault.expected,
            found: fault.found,
        }
    }
}

/// What the steps of one verification share.
struct Visit<'a> {
    contract: Contract,
    addr: SocketAddr,
    fixture: &'a Fixture,
    known: Option<&'a BTreeMap<String, String>>,
    depth: Depth,
    rng: Xoshiro256PlusPlus,
    patience: Patience,
}

impl Visit<'_> {
    /// A request over HTTP whose answer cannot be guessed; `size` random characters make it so,
    /// where the contract has a place for them.
    fn case(&mut self, size: usize) -> Case {
        match self.contract {
            Contract::TcpEcho => unreachable!("it has no steps over HTTP"),
            Contract::HttpEcho => http_echo::case(self, size),
            Contract::StaticFile => static_file::case(self),
            Contract::Fibonacci => fibonacci::case(self, size),
            Contract::Weather => weather::case(self, size),
            Contract::WeatherUpstream => weather_upstream::case(self),
            Contract::Http => any_http::case(),
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
}

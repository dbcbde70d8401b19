//! Contracts: what a server must answer, and verifiers that can tell a right answer from a wrong
//! one and from a cheat.
//!
//! A verifier talks to a server that is already running. It asks what cannot be guessed (random
//! payloads and paths, never repeated), in ways that catch the usual shortcuts: byte by byte,
//! several connections at once, requests that are not complete yet.
//!
//! Whatever the server does, a verifier ends: every step has a deadline, and no answer is kept
//! beyond a fixed size.

mod answer;
mod http_echo;
mod tcp_echo;
mod wire;

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

use wire::{Deadline, Fault, Wire};

/// How long one step may take before it counts as failed.
///
/// A healthy server needs milliseconds; five seconds leave room for a JIT's first requests and for
/// one retransmitted SYN (1 s, then 3 s), and still end a dead server's check in good time.
pub const STEP_LIMIT: Duration = Duration::from_secs(5);

/// What a server must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Contract {
    /// Every byte comes back, in order, unframed, until the client closes its sending side.
    TcpEcho,
    /// `GET <target>` is answered `200`, `text/plain`, `<target> at <IMF-fixdate>`.
    HttpEcho,
}

impl Contract {
    /// Every contract there is.
    pub const ALL: [Self; 2] = [Self::TcpEcho, Self::HttpEcho];

    /// The name used in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TcpEcho => "tcp-echo",
            Self::HttpEcho => "http-echo",
        }
    }

    /// Is the server ready: does it accept a connection *and answer*? One tiny exchange.
    ///
    /// # Errors
    ///
    /// Whatever the socket said; `TimedOut` after `timeout` without an answer; `UnexpectedEof` if
    /// the server closed instead of answering; `InvalidData` if what came is no answer at all.
    pub fn probe(&self, addr: SocketAddr, timeout: Duration) -> io::Result<()> {
        let wire = Wire::open(addr, Deadline::within(timeout))?;
        match self {
            Self::TcpEcho => tcp_echo::probe(&wire),
            Self::HttpEcho => http_echo::probe(&wire, addr),
        }
    }

    /// Proves that the server at `addr` keeps this contract. `seed` decides the payloads: give a
    /// fresh one each time, and the same one to repeat a failed check.
    ///
    /// # Errors
    ///
    /// The first step that failed, with what was expected and what was found.
    pub fn verify(&self, addr: SocketAddr, depth: Depth, seed: u64) -> Result<Verified, Violation> {
        self.verify_within(addr, depth, seed, STEP_LIMIT)
    }

    /// As [`verify`](Self::verify), with another limit than [`STEP_LIMIT`] for each step.
    ///
    /// # Errors
    ///
    /// As for [`verify`](Self::verify).
    pub fn verify_within(
        &self,
        addr: SocketAddr,
        depth: Depth,
        seed: u64,
        limit: Duration,
    ) -> Result<Verified, Violation> {
        let script = match self {
            Self::TcpEcho => tcp_echo::SCRIPT,
            Self::HttpEcho => http_echo::SCRIPT,
        };
        let mut visit = Visit {
            addr,
            depth,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            deadline: Deadline::within(limit),
        };
        let mut steps = Vec::with_capacity(script.len());
        for act in script
            .iter()
            .filter(|act| depth == Depth::Full || !act.full_only)
        {
            let start = Instant::now();
            visit.deadline = Deadline::within(limit);
            (act.run)(&mut visit).map_err(|fault| Violation {
                step: act.name,
                tried: act.tried,
                expected: fault.expected,
                found: fault.found,
            })?;
            steps.push(Step {
                name: act.name,
                took: start.elapsed(),
            });
        }
        Ok(Verified { steps })
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a contract: expected one of tcp-echo, http-echo")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// After a load: does it still answer correctly? Under 100 ms on a healthy server.
    Quick,
    /// Before a load: everything. Under 400 ms on a healthy native server.
    Full,
}

/// The steps a server has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// In the order they were taken.
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
    full_only: bool,
    run: fn(&mut Visit) -> Result<(), Fault>,
}

/// What the steps of one verification share.
struct Visit {
    addr: SocketAddr,
    depth: Depth,
    rng: Xoshiro256PlusPlus,
    deadline: Deadline,
}

impl Visit {
    fn open(&self) -> Result<Wire, Fault> {
        Wire::open(self.addr, self.deadline)
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
            Depth::Full => full,
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

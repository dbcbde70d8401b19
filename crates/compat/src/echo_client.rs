//! The client of the published benchmark of TCP echo servers.
//!
//! The original starts `-c` threads, each with `-o` sockets, and in each of `-h` rounds sends
//! `hello\n` on all of a thread's sockets and then receives one answer from each. Its clock also
//! runs while connections are made and while every thread sleeps for a second; its counter is
//! reset in a race; it looks at the length of an answer only; and it exits with 0 when answers
//! were lost. Here the clock runs from the first request to the last answer, every byte is
//! compared, and a lost answer is an error. The sockets of a thread do not wait for each other.

use clap::Args;
use prony_engine::{Control, Dialogue, Nanos, Plan, Target};
use prony_record::{Extent, Load, Observation, Span, Window};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Message of each request, which the server must send back.
const MESSAGE: &[u8] = b"hello\n";
/// How long each thread of the original sleeps inside its timed window.
const SLEEP: f64 = 1.0;
/// The histogram's bucket, in nanoseconds, and their number; whatever takes longer is in one more.
const BUCKET: u64 = 10_000;
const BUCKETS: usize = 1_000_000;

/// The published client's flags.
#[derive(Debug, Clone, Args)]
pub struct EchoClient {
    /// Threads of the original; here they only multiply the sockets
    #[arg(short = 'c', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: u32,
    /// Sockets per thread
    #[arg(short = 'o', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub sockets: u32,
    /// Rounds: echoes on each socket
    #[arg(short = 'h', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// How often to connect, do all rounds, and disconnect
    #[arg(short = 'n', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub cycles: u32,
    /// Port
    #[arg(short = 'p', value_name = "PORT", default_value_t = 5000)]
    pub port: u16,
    /// Print a histogram of the times from request to answer
    #[arg(short = 'v')]
    pub histogram: bool,
    /// Look the host up for each cycle
    #[arg(short = 'g')]
    pub resolve_each: bool,
    /// The server's host
    pub host: String,
    /// Divide by the time that the original would have taken: with connecting, and with the second
    /// that each of its threads sleeps
    #[arg(long)]
    pub as_published: bool,
    /// Time-out of an answer, in seconds (the original waits for ever)
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Do not print notes to standard error; lost answers still decide the exit status
    #[arg(long)]
    pub quiet: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::HelpLong)]
    pub help: Option<bool>,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum EchoError {
    /// There is no such host.
    #[error("cannot look up {host:?}: {reason}")]
    Unknown {
        /// Name of the host, as the user gave it.
        host: String,
        /// Error that the system reported.
        reason: io::Error,
    },
    /// No server listens there.
    #[error("cannot connect to {addr}: {reason}")]
    Refused {
        /// Where.
        addr: SocketAddr,
        /// Error that the system reported.
        reason: io::Error,
    },
    /// More sockets than a process can have.
    #[error("{threads} threads with {sockets} sockets each are too many connections")]
    TooMany {
        /// `-c`.
        threads: u32,
        /// `-o`.
        sockets: u32,
    },
    /// The generator could not go on.
    #[error(transparent)]
    Engine(#[from] prony_engine::Error),
}

/// Results of all cycles.
#[derive(Debug, Clone, Serialize)]
pub struct EchoResults {
    /// Echoes that were asked for.
    pub expected: u64,
    /// Echoes that came back, every byte of them.
    pub echoes: u64,
    /// Answers with a wrong byte.
    pub wrong: u64,
    /// From the first request to the last answer, over all cycles.
    pub seconds: f64,
    /// Connecting, over all cycles: not in `seconds`.
    pub connecting_seconds: f64,
    /// Echoes per second of `seconds`.
    pub throughput: f64,
    /// The same by the original's arithmetic: echoes / (1 + connecting + seconds).
    pub throughput_as_published: f64,
    /// Error messages, each with the number of times that the error happened.
    pub errors: BTreeMap<String, u64>,
    /// Times from request to answer, in buckets of 10 µs; the last one has all that took 10 s or more.
    #[serde(skip)]
    pub buckets: Vec<u64>,
}

impl EchoClient {
    /// Carries it out; `guard` is told of each load, so that it can be stopped.
    ///
    /// # Errors
    /// When the host is unknown or refuses, or the generator cannot go on. Lost answers are no
    /// error here: they are in the outcome.
    pub fn run(&self, mut guard: impl FnMut(&Arc<Control>)) -> Result<EchoResults, EchoError> {
        let connections = self
            .threads
            .checked_mul(self.sockets)
            .ok_or(EchoError::TooMany {
                threads: self.threads,
                sockets: self.sockets,
            })?;
        let echoes = u64::from(connections) * u64::from(self.rounds);
        let mut outcome = EchoResults {
            expected: echoes * u64::from(self.cycles),
            echoes: 0,
            wrong: 0,
            seconds: 0.0,
            connecting_seconds: 0.0,
            throughput: 0.0,
            throughput_as_published: 0.0,
            errors: BTreeMap::new(),
            buckets: vec![0; if self.histogram { BUCKETS + 1 } else { 0 }],
        };
        let mut target = self.resolve()?;
        for cycle in 0..self.cycles {
            if self.resolve_each && cycle > 0 {
                target = self.resolve()?;
            }
            let plan = self.plan(target, connections, echoes);
            let control = Arc::new(Control::at_once(Nanos::MAX));
            guard(&control);
            let begun = Instant::now();
            let (seen, _) = prony_engine::run(&plan, &control, |_: &Window| {})?;
            outcome.add(&seen, begun.elapsed());
            if control.stopped() {
                break;
            }
        }
        Ok(outcome.finish())
    }

    fn plan(&self, target: SocketAddr, connections: u32, echoes: u64) -> Plan {
        let load = Load {
            connections,
            extent: Extent::Requests(echoes),
            timeout: Span(Duration::from_secs(self.timeout)),
            window: Span(Duration::from_secs(1)),
            ..Load::default()
        };
        Plan::new(load, Target::Tcp(target), Dialogue::Echo(MESSAGE.to_vec()))
    }

    /// The first address of the host that accepts a connection.
    fn resolve(&self) -> Result<SocketAddr, EchoError> {
        let unknown = |reason| EchoError::Unknown {
            host: self.host.clone(),
            reason,
        };
        let addresses = (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(unknown)?;
        let mut refused = unknown(io::Error::other("it has no address"));
        for addr in addresses {
            match TcpStream::connect_timeout(&addr, Duration::from_secs(self.timeout)) {
                Ok(_) => return Ok(addr),
                Err(reason) => refused = EchoError::Refused { addr, reason },
            }
        }
        Err(refused)
    }

    /// Returns the text that the original would print.
    pub fn text(&self, outcome: &EchoResults) -> String {
        let mut out = String::new();
        if self.histogram {
            out += &histogram(&outcome.buckets);
        }
        let rate = if self.as_published {
            outcome.throughput_as_published
        } else {
            outcome.throughput
        };
        let _ = writeln!(out, "Throughput: {rate:.2} [#/sec]");
        out
    }
}

impl EchoResults {
    fn add(&mut self, seen: &Observation, took: Duration) {
        let measured = seen.seconds();
        self.echoes += seen.outcomes.ok;
        self.wrong += seen.outcomes.wrong_answer;
        self.seconds += measured;
        self.connecting_seconds += (took.as_secs_f64() - measured).max(0.0);
        for (text, n) in &seen.errors {
            *self.errors.entry(text.clone()).or_default() += n;
        }
        if !self.buckets.is_empty() {
            for value in seen.times.response.iter_recorded() {
                let bucket = (value.value_iterated_to() / BUCKET).min(BUCKETS as u64);
                self.buckets[bucket as usize] += value.count_since_last_iteration();
            }
        }
    }

    fn finish(mut self) -> Self {
        let rate = |seconds: f64| {
            if seconds > 0.0 {
                self.echoes as f64 / seconds
            } else {
                0.0
            }
        };
        let (honest, published) = (
            rate(self.seconds),
            rate(SLEEP + self.connecting_seconds + self.seconds),
        );
        (self.throughput, self.throughput_as_published) = (honest, published);
        self
    }

    /// Answers that did not come back as they should have.
    pub fn lost(&self) -> u64 {
        self.expected - self.echoes
    }
}

/// Buckets that grow tenfold, as the original prints them: up to a millisecond in microseconds,
/// beyond that in milliseconds; empty ones are left out.
fn histogram(buckets: &[u64]) -> String {
    let mut out = String::new();
    let (mut start, mut step) = (0, 1);
    while start < BUCKETS {
        let end = (step * 10).min(BUCKETS);
        for at in (start..end).step_by(step) {
            let count: u64 = buckets[at..at + step].iter().sum();
            if count == 0 {
                continue;
            }
            let upper = at + step;
            let _ = if start < 100 {
                writeln!(out, " <{:5} [us]: {count}", upper * 10)
            } else {
                writeln!(out, " <{:5} [ms]: {count}", upper / 100)
            };
        }
        // 0 to 10 by ones, 10 to 100 by tens, 100 to 1,000 by hundreds: ten times each.
        start = end;
        if start > step {
            step = start;
        }
    }
    let _ = writeln!(out, " >= 10sec: {}", buckets[BUCKETS]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_grow_tenfold() {
        let mut buckets = vec![0; BUCKETS + 1];
        for (at, count) in [
            (0, 1),
            (9, 2),
            (10, 3),
            (19, 4),
            (95, 5),
            (150, 6),
            (12_345, 7),
        ] {
            buckets[at] = count;
        }
        buckets[BUCKETS] = 8;
        let expected = [
            " <   10 [us]: 1",
            " <  100 [us]: 2",
            " <  200 [us]: 7",
            " < 1000 [us]: 5",
            " <    2 [ms]: 6",
            " <  200 [ms]: 7",
            " >= 10sec: 8",
        ];
        assert_eq!(histogram(&buckets).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_published_arithmetic() {
        let outcome = EchoResults {
            expected: 1_000_000,
            echoes: 1_000_000,
            wrong: 0,
            seconds: 7.5,
            connecting_seconds: 0.044,
            throughput: 0.0,
            throughput_as_published: 0.0,
            errors: BTreeMap::new(),
            buckets: Vec::new(),
        }
        .finish();
        assert!((outcome.throughput - 133_333.3).abs() < 0.1);
        assert!((outcome.throughput_as_published - 117_041.2).abs() < 0.1);
        assert_eq!(outcome.lost(), 0);
    }
}

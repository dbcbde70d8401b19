//! Does `prony` give the right answers about slow servers, and about servers that sleep rather than work? They are clockworks,
//! whose throughput and capacity are known from arithmetic.

mod simulated;

use crate::error::{Error, Result};
use crate::prony::{self, Capacity, Check, Figure};
use crate::table::Table;
use prony_record::CheckId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A question that `prony` is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Duels of two servers that answer after so long each: is the ratio right, and how long does it take?
    Pairs,
    /// Loads at half of what the connections carry: is a rate called missed that was kept?
    Rates,
    /// Capacity searches: is the true capacity in the interval?
    Capacities,
    /// Simulated duels, decided by prony's code: rare bad starts, missed rates, failures, a generator at its limit,
    /// wake-ups. A hundred of each, each time
    Simulated,
}

/// Pairs of delays in milliseconds, with the connections that are asked for; 0: none are.
const PAIRS: [(u64, u64, u32); 9] = [
    (10, 12, 0),
    (10, 12, 4),
    (20, 24, 1_000),
    (50, 60, 0),
    (100, 120, 0),
    (100, 120, 16),
    (200, 240, 0),
    (240, 200, 256),
    (1_000, 1_200, 0),
];
/// A ratio this close to the true one is right.
const RIGHT: f64 = 0.02;
/// Pairs up to this delay, in milliseconds, are to be compared in this many seconds.
const SOON: (u64, f64) = (240, 180.0);
/// Delays of servers that are loaded at half of what their connections carry, in milliseconds.
const DELAYS: [u64; 6] = [1, 10, 50, 200, 1_000, 2_000];
const CONNECTIONS: u32 = 64;

/// A server that serves one request after the other, the limits that it is to keep, and its capacity.
struct Queue {
    delay: &'static str,
    p99_ms: f64,
    capacity: f64,
}

/// Returns the servers whose capacity is searched.
fn queues() -> [Queue; 4] {
    let constant = |delay, ms: f64, p99_ms| Queue {
        delay,
        p99_ms,
        capacity: 1e3 / ms,
    };
    let exponential = |delay, ms, p99_ms| Queue {
        delay,
        p99_ms,
        capacity: exponential_capacity(ms, p99_ms),
    };
    [
        constant("2ms", 2.0, 50.0),
        constant("20ms", 20.0, 100.0),
        exponential("exponential:2ms", 2.0, 50.0),
        exponential("exponential:5ms", 5.0, 100.0),
    ]
}

/// The rate of evenly spaced requests at which a server whose service times are exponential, with this mean, answers 99% of them
/// within a limit. In a queue D/M/1 the response time is exponential with rate μ(1 − σ), where σ = exp(−(1 − σ)/ρ)
/// (Kleinrock, *Queueing Systems* I (1975), 6.4).
fn exponential_capacity(mean_ms: f64, p99_ms: f64) -> f64 {
    let idle = 100.0_f64.ln() * mean_ms / p99_ms;
    let load = -idle / (1.0 - idle).ln();
    1e3 * load / mean_ms
}

/// The answer that `prony` gave to one question about one server or pair.
#[derive(Debug, Clone, Serialize)]
struct Answer {
    question: Question,
    server: String,
    truth: f64,
    found: Option<f64>,
    /// 95% interval of the value found.
    interval: Option<(f64, f64)>,
    right: bool,
    seconds: f64,
}

/// All answers.
#[derive(Debug, Serialize)]
pub struct Referee {
    answers: Vec<Answer>,
    simulated: Vec<simulated::Outcome>,
}

/// Asks these questions so many times.
///
/// # Errors
/// When a process cannot be started, or one ends without a result.
pub fn run(questions: &[Question], times: u32) -> Result<Referee> {
    let mut answers = Vec::new();
    let simulated = match questions.contains(&Question::Simulated) {
        true => simulated::run(times).map_err(|error| Error::Unusable(error.to_string()))?,
        false => Vec::new(),
    };
    for time in 1..=times {
        for &question in questions {
            let all: Vec<Box<dyn Fn() -> Result<Answer>>> = match question {
                Question::Pairs => PAIRS.iter().map(|&it| boxed(move || pair(it))).collect(),
                Question::Rates => DELAYS.iter().map(|&it| boxed(move || rate(it))).collect(),
                Question::Capacities => {
                    let queues = queues().into_iter();
                    queues.map(|it| boxed(move || capacity(&it))).collect()
                }
                Question::Simulated => Vec::new(),
            };
            for ask in all {
                let answer = ask()?;
                eprintln!("referee: {time} of {times}: {answer}");
                answers.push(answer);
            }
        }
    }
    Ok(Referee { answers, simulated })
}

fn boxed(ask: impl Fn() -> Result<Answer> + 'static) -> Box<dyn Fn() -> Result<Answer>> {
    Box::new(ask)
}

/// A `prony` command with a temporary notebook.
fn command(scratch: &tempfile::TempDir) -> Result<Command> {
    let mut command = Command::new(prony::program()?);
    command.env("PRONY_NOTEBOOK", scratch.path().join("notebook.db"));
    Ok(command)
}

fn scratch() -> Result<tempfile::TempDir> {
    tempfile::tempdir().map_err(Error::io("no temporary folder"))
}

/// A server of HTTP that answers by a script.
fn clockwork(delay: &str, more: &str) -> Result<String> {
    let prony = prony::program()?;
    Ok(format!(
        "'{}' serve clockwork --contract http-echo --listen :{{port}} --delay {delay} {more}",
        prony.display()
    ))
}

#[derive(Deserialize)]
struct Duel {
    comparisons: Vec<Comparison>,
}

#[derive(Deserialize)]
struct Comparison {
    quantity: String,
    ratio: Figure,
    verdict: String,
}

/// A duel of two servers that answer after so many milliseconds.
fn pair((old, new, connections): (u64, u64, u32)) -> Result<Answer> {
    let folder = scratch()?;
    let mut duel = command(&folder)?;
    duel.args(["duel", "--path", "/", "--json", "--quiet"])
        .args([
            // One of them rests while the other is measured, and is not to take its CPU.
            &clockwork(&format!("{old}ms"), "--sleep")?,
            &clockwork(&format!("{new}ms"), "--sleep")?,
        ]);
    if connections > 0 {
        duel.args(["-c", &connections.to_string()]);
    }
    let begun = Instant::now();
    let found: Duel = prony::json(&mut duel)?;
    let seconds = begun.elapsed().as_secs_f64();
    let throughput = found
        .comparisons
        .iter()
        .find(|it| it.quantity == "throughput");
    let truth = old as f64 / new as f64;
    let expected = if truth < 1.0 { "slower" } else { "faster" };
    let right = throughput
        .is_some_and(|it| (it.ratio.value / truth - 1.0).abs() <= RIGHT && it.verdict == expected);
    let soon = old.max(new) > SOON.0 || seconds <= SOON.1;
    let with = match connections {
        0 => String::new(),
        n => format!(", {n} connections"),
    };
    Ok(Answer {
        question: Question::Pairs,
        server: format!("{old} and {new} ms{with}"),
        truth,
        found: throughput.map(|it| it.ratio.value),
        interval: throughput.and_then(|it| it.ratio.low.zip(it.ratio.high)),
        right: right && soon,
        seconds,
    })
}

/// A server under way; dropping it ends it.
struct Running {
    child: Child,
    url: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(delay: &str) -> Result<Running> {
    let free = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0));
    let port = free
        .and_then(|it| it.local_addr())
        .map_err(Error::io("no free port"))?
        .port();
    let child = Command::new(prony::program()?)
        .args([
            "serve",
            "clockwork",
            "--contract",
            "http-echo",
            "--delay",
            delay,
        ])
        .args(["--listen", &port.to_string()])
        .stderr(Stdio::null())
        .spawn()
        .map_err(Error::io("cannot start prony"))?;
    let running = Running {
        child,
        url: format!("http://127.0.0.1:{port}/"),
    };
    let begun = Instant::now();
    while std::net::TcpStream::connect((std::net::Ipv4Addr::LOCALHOST, port)).is_err() {
        if begun.elapsed() > Duration::from_secs(10) {
            return Err(Error::Unusable("a clockwork server does not listen".into()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(running)
}

#[derive(Deserialize)]
struct Load {
    checks: Vec<Check>,
    throughput: Figure,
}

/// A load at half of what the connections carry.
fn rate(delay_ms: u64) -> Result<Answer> {
    let server = start(&format!("{delay_ms}ms"))?;
    let half = f64::from(CONNECTIONS) / (delay_ms as f64 / 1e3) / 2.0;
    let folder = scratch()?;
    let mut load = command(&folder)?;
    load.args([
        "load",
        "--json",
        "--quiet",
        "--no-keep",
        "-d",
        "5s",
        &server.url,
    ])
    .args([
        "-c",
        &CONNECTIONS.to_string(),
        "--max-connections",
        &CONNECTIONS.to_string(),
    ])
    .args(["--rate", &half.to_string()]);
    let begun = Instant::now();
    let found: Load = prony::json(&mut load)?;
    let missed =
        |check: &Check| [CheckId::RateMissed, CheckId::ConnectionsLimit].contains(&check.name);
    Ok(Answer {
        question: Question::Rates,
        server: format!("{delay_ms} ms"),
        truth: half,
        found: Some(found.throughput.value),
        interval: None,
        right: !found.checks.iter().any(missed),
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// A search for a capacity that is known.
fn capacity(queue: &Queue) -> Result<Answer> {
    let folder = scratch()?;
    let mut search = command(&folder)?;
    search
        .args(["capacity", "--path", "/", "--json", "--quiet"])
        .args(["--p99", &format!("{}ms", queue.p99_ms)])
        .arg(clockwork(queue.delay, "--queue")?);
    let begun = Instant::now();
    let found: Capacity = prony::json(&mut search)?;
    let interval = found.known.low.zip(found.known.high);
    Ok(Answer {
        question: Question::Capacities,
        server: format!("{}, p99 within {} ms", queue.delay, queue.p99_ms),
        truth: queue.capacity,
        found: found.capacity,
        interval,
        right: found.capacity.is_some()
            && interval.is_some_and(|(low, high)| (low..=high).contains(&queue.capacity)),
        seconds: begun.elapsed().as_secs_f64(),
    })
}

fn shown(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.3}"),
        value => format!("{value:.1}"),
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found.map_or("nothing".into(), shown);
        let interval = self.interval.map_or_else(String::new, |(low, high)| {
            format!(" ({} to {})", shown(low), shown(high))
        });
        let right = if self.right { "right" } else { "WRONG" };
        write!(
            f,
            "{}: {found}{interval}, truth {}: {right}, {:.0} s",
            self.server,
            shown(self.truth),
            self.seconds
        )
    }
}

impl fmt::Display for Referee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (question, title) in [
            (
                Question::Pairs,
                "duels of servers that wait: throughput within 2% of the true ratio, with the right verdict",
            ),
            (
                Question::Rates,
                "loads at half of what 64 connections carry: no rate is called missed",
            ),
            (
                Question::Capacities,
                "capacity searches: the true capacity is in the interval",
            ),
        ] {
            let answers: Vec<&Answer> = self
                .answers
                .iter()
                .filter(|it| it.question == question)
                .collect();
            if answers.is_empty() {
                continue;
            }
            let right = answers.iter().filter(|it| it.right).count();
            writeln!(f, "\n{title}: {right} of {}\n", answers.len())?;
            let mut table = Table::new(["server", "truth", "right", "furthest off", "longest"]);
            let mut servers: Vec<&str> = answers.iter().map(|it| it.server.as_str()).collect();
            servers.dedup();
            servers.truncate(match question {
                Question::Pairs => PAIRS.len(),
                Question::Rates => DELAYS.len(),
                Question::Capacities => queues().len(),
                Question::Simulated => 0,
            });
            for server in servers {
                let these = || answers.iter().filter(|it| it.server == server);
                let truth = these().next().map_or(0.0, |it| it.truth);
                let off = these()
                    .filter_map(|it| it.found)
                    .map(|found| (found / truth - 1.0).abs());
                table.row([
                    server.to_owned(),
                    shown(truth),
                    format!(
                        "{} of {}",
                        these().filter(|it| it.right).count(),
                        these().count()
                    ),
                    format!("{:.1}%", 100.0 * off.fold(0.0, f64::max)),
                    format!("{:.0} s", these().map(|it| it.seconds).fold(0.0, f64::max)),
                ]);
            }
            write!(f, "{table}")?;
        }
        if !self.simulated.is_empty() {
            let shown = simulated::Shown(&self.simulated);
            write!(f, "\nsimulated duels, decided by prony's code\n\n{shown}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacity_of_an_exponential_server() {
        // 99% within 25 mean service times: at nine tenths of what it can do.
        let capacity = exponential_capacity(2.0, 50.0);
        assert!((capacity - 452.0).abs() < 2.0, "{capacity}");
    }
}

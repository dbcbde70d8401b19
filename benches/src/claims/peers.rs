//! prony compared with bare loops and with other load generators: closed loop, keep-alive, against
//! prony's own epoll server, at several numbers of connections.

use crate::claims::bare::{self, Exchange, Loop};
use crate::claims::external::{self, Tool};
use crate::error::{Error, Result};
use crate::load::{self, Span};
use crate::place::{self, Rig};
use crate::server::Ceiling;
use crate::spread::{Spread, better, paired, show};
use crate::table::Table;
use prony_record::Transport;
use rand::seq::SliceRandom;
use serde::Serialize;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// Numbers of connections.
const CONNECTIONS: [u32; 5] = [1, 4, 64, 256, 1_024];
/// Between two contestants: the server closes the connections of the one before meanwhile.
const PAUSE: Duration = Duration::from_millis(100);

/// A load generator.
#[derive(Debug, Clone, PartialEq)]
enum Contestant {
    Bare(Transport),
    Prony(Transport),
    Tool(Tool, PathBuf),
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare(kind) => write!(f, "bare {kind} loop"),
            Self::Prony(kind) => write!(f, "prony {kind}"),
            Self::Tool(tool, _) => f.write_str(tool.name()),
        }
    }
}

/// Results of a contestant in one round.
#[derive(Debug, Clone, Copy, Serialize)]
struct Sample {
    requests_per_second: f64,
    cpu_us_per_request: f64,
}

/// One contestant at one number of connections.
#[derive(Debug, Serialize)]
struct Row {
    contestant: String,
    /// By round; none where it failed.
    rounds: Vec<Option<Sample>>,
    requests_per_second: Option<Spread>,
    cpu_us_per_request: Option<Spread>,
    /// Paired within rounds.
    rate_to_bare: Option<Spread>,
    cpu_to_bare: Option<Spread>,
    rate_to_wrk: Option<Spread>,
    cpu_to_wrk: Option<Spread>,
}

/// All contestants at one number of connections.
#[derive(Debug, Serialize)]
struct Block {
    connections: u32,
    rows: Vec<Row>,
}

/// Results of this benchmark.
#[derive(Debug, Serialize)]
pub struct Peers {
    blocks: Vec<Block>,
    /// Failures of other tools, whose rounds are then missing.
    failures: Vec<String>,
    missing: Vec<String>,
}

/// Runs every contestant once per round and number of connections, in a fresh random order.
///
/// # Errors
/// When prony or a bare loop fails; a failing tool only misses its round.
pub fn run(rig: Rig, rounds: u32, seconds: f64) -> Result<Peers> {
    place::raise_open_files().map_err(Error::io("cannot raise the limit of open files"))?;
    let (contestants, missing) = contestants();
    // samples[connections][contestant][round]
    let mut samples = vec![vec![Vec::new(); contestants.len()]; CONNECTIONS.len()];
    let mut failures = Vec::new();
    let mut random = rand::rng();
    for round in 1..=rounds {
        // A fresh start of the server per round, the same for all: memory layout is a matter of
        // luck that no contestant should have alone.
        let server = Ceiling::start(rig.server)?;
        let exchange = Exchange::ask(server.address, &load::request(server.address).encode())
            .map_err(Error::io("cannot ask the reference server"))?;
        for (block, &connections) in CONNECTIONS.iter().enumerate() {
            let mut order: Vec<usize> = (0..contestants.len()).collect();
            order.shuffle(&mut random);
            for index in order {
                let contestant = &contestants[index];
                eprintln!(
                    "peers: round {round} of {rounds}, connections: {connections}, {contestant}"
                );
                let trial = Trial {
                    address: server.address,
                    exchange: &exchange,
                    connections,
                    seconds,
                    rig,
                };
                let sample = match (trial.run(contestant), contestant) {
                    (Ok(sample), _) => Some(sample),
                    (Err(error), Contestant::Tool(..)) => {
                        let failure = format!("round {round}, {connections} connections: {error}");
                        eprintln!("peers: {failure}");
                        failures.push(failure);
                        None
                    }
                    (Err(error), _) => return Err(error),
                };
                samples[block][index].push(sample);
                thread::sleep(PAUSE);
            }
        }
    }
    let blocks = CONNECTIONS.iter().zip(samples);
    let blocks = blocks.map(|(&connections, samples)| Block {
        connections,
        rows: rows(&contestants, &samples),
    });
    Ok(Peers {
        blocks: blocks.collect(),
        failures,
        missing,
    })
}

/// Returns the contestants, and for each tool that is missing a message with the package to install.
fn contestants() -> (Vec<Contestant>, Vec<String>) {
    let kinds = load::transports();
    let mut contestants: Vec<_> = kinds.iter().copied().map(Contestant::Bare).collect();
    contestants.extend(kinds.into_iter().map(Contestant::Prony));
    let mut missing = Vec::new();
    for tool in Tool::ALL {
        match tool.find() {
            Some(program) => contestants.push(Contestant::Tool(tool, program)),
            None => missing.push(format!(
                "{} is not installed (Debian: {})",
                tool.name(),
                tool.package()
            )),
        }
    }
    (contestants, missing)
}

struct Trial<'a> {
    address: SocketAddr,
    exchange: &'a Exchange,
    connections: u32,
    seconds: f64,
    rig: Rig,
}

impl Trial<'_> {
    fn run(&self, contestant: &Contestant) -> Result<Sample> {
        match contestant {
            Contestant::Bare(Transport::Auto | Transport::Epoll) => self.bare(bare::epoll),
            Contestant::Bare(Transport::IoUring) => self.bare(bare::uring),
            Contestant::Prony(kind) => self.prony(*kind),
            Contestant::Tool(tool, program) => {
                let whole = self.seconds.ceil() as u64;
                let connections = self.connections as usize;
                let done = external::run(
                    *tool,
                    program,
                    self.address,
                    connections,
                    whole,
                    self.rig.client,
                )?;
                Ok(Sample {
                    requests_per_second: done.per_second,
                    cpu_us_per_request: done.cpu_us,
                })
            }
        }
    }

    fn span(&self) -> Span {
        load::span(self.seconds)
    }

    fn bare(&self, bare: Loop) -> Result<Sample> {
        // A thread of its own, as prony's worker has: pinned, and measured by its own CPU clock.
        let floor = thread::scope(|scope| {
            let run = || {
                place::pin(self.rig.client)?;
                bare(
                    self.address,
                    self.connections as usize,
                    self.exchange,
                    self.span(),
                )
            };
            scope.spawn(run).join()
        });
        let floor = floor
            .map_err(|_| Error::Unusable("a bare loop panicked".into()))?
            .map_err(Error::io("a bare loop"))?;
        Ok(Sample {
            requests_per_second: floor.answers as f64 / floor.elapsed.as_secs_f64(),
            cpu_us_per_request: floor.cpu_ns as f64 / floor.answers as f64 / 1e3,
        })
    }

    fn prony(&self, kind: Transport) -> Result<Sample> {
        let plan = load::closed(self.address, self.connections, kind, self.rig);
        let seen = load::measure(&plan, self.span())?.observation;
        Ok(Sample {
            requests_per_second: seen.throughput(),
            cpu_us_per_request: load::cpu_us(&seen),
        })
    }
}

fn rows(contestants: &[Contestant], samples: &[Vec<Option<Sample>>]) -> Vec<Row> {
    let values = |wanted: &dyn Fn(&Contestant) -> bool, value: fn(&Sample) -> f64| {
        let found = contestants.iter().zip(samples).filter(|(it, _)| wanted(it));
        let series = found.map(|(_, rounds)| column(rounds, value));
        series.collect::<Vec<_>>()
    };
    let bare = |value, prefers: fn(&f64, &f64) -> std::cmp::Ordering| {
        let both = values(&|it| matches!(it, Contestant::Bare(_)), value);
        let mut both = both.into_iter();
        let first = both.next().unwrap_or_default();
        both.fold(first, |best, next| better(&best, &next, prefers))
    };
    let wrk = |value| {
        let found = values(&|it| matches!(it, Contestant::Tool(Tool::Wrk, _)), value);
        found.into_iter().next().unwrap_or_default()
    };
    let (bare_rate, bare_cpu) = (
        bare(rate, f64::total_cmp),
        bare(cpu, |one, other| other.total_cmp(one)),
    );
    let (wrk_rate, wrk_cpu) = (wrk(rate), wrk(cpu));
    let row = |(contestant, rounds): (&Contestant, &Vec<Option<Sample>>)| {
        let (rates, cpus) = (column(rounds, rate), column(rounds, cpu));
        Row {
            contestant: contestant.to_string(),
            rounds: rounds.clone(),
            requests_per_second: Spread::of(rates.iter().copied().flatten()),
            cpu_us_per_request: Spread::of(cpus.iter().copied().flatten()),
            rate_to_bare: paired(&rates, &bare_rate),
            cpu_to_bare: paired(&cpus, &bare_cpu),
            rate_to_wrk: paired(&rates, &wrk_rate),
            cpu_to_wrk: paired(&cpus, &wrk_cpu),
        }
    };
    contestants.iter().zip(samples).map(row).collect()
}

fn rate(sample: &Sample) -> f64 {
    sample.requests_per_second
}

fn cpu(sample: &Sample) -> f64 {
    sample.cpu_us_per_request
}

fn column(rounds: &[Option<Sample>], value: fn(&Sample) -> f64) -> Vec<Option<f64>> {
    rounds.iter().map(|it| it.as_ref().map(value)).collect()
}

impl fmt::Display for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Median (least–greatest) over the rounds. Ratios are taken within rounds: to the better bare\n\
             loop of the round (the higher rate, the lower CPU time), and to wrk. prony judges every\n\
             answer and records three histograms and windows. Of the other tools the whole run counts,\n\
             their start and their connecting included; of prony and the bare loops what follows a warm-up."
        )?;
        for block in &self.blocks {
            let plural = if block.connections == 1 { "" } else { "s" };
            writeln!(f, "\n{} connection{plural}", show_count(block.connections))?;
            let mut table = Table::new([
                "",
                "requests/s",
                "CPU µs/request",
                "rate ÷ bare",
                "CPU ÷ bare",
                "rate ÷ wrk",
                "CPU ÷ wrk",
            ]);
            for row in &block.rows {
                table.row([
                    row.contestant.clone(),
                    show(row.requests_per_second, 0),
                    show(row.cpu_us_per_request, 2),
                    show(row.rate_to_bare, 2),
                    show(row.cpu_to_bare, 2),
                    show(row.rate_to_wrk, 2),
                    show(row.cpu_to_wrk, 2),
                ]);
            }
            write!(f, "{table}")?;
        }
        for note in self.missing.iter().chain(&self.failures) {
            writeln!(f, "\nLeft out: {note}")?;
        }
        Ok(())
    }
}

fn show_count(count: u32) -> String {
    crate::spread::number(f64::from(count), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(requests_per_second: f64, cpu_us_per_request: f64) -> Option<Sample> {
        Some(Sample {
            requests_per_second,
            cpu_us_per_request,
        })
    }

    #[test]
    fn prony_is_held_against_the_better_loop_of_each_round() {
        let contestants = [
            Contestant::Bare(Transport::Epoll),
            Contestant::Bare(Transport::IoUring),
            Contestant::Prony(Transport::Epoll),
            Contestant::Tool(Tool::Wrk, PathBuf::new()),
        ];
        let samples = [
            vec![sample(100.0, 5.0), sample(300.0, 4.0)],
            vec![sample(200.0, 6.0), sample(200.0, 3.0)],
            vec![sample(190.0, 5.5), sample(270.0, 3.3)],
            vec![sample(95.0, 11.0), None],
        ];
        let rows = rows(&contestants, &samples);
        let prony = &rows[2];
        let near = |spread: Option<Spread>, min: f64, max: f64| {
            let spread = spread.unwrap();
            assert!((spread.min - min).abs() < 1e-9 && (spread.max - max).abs() < 1e-9);
        };
        near(prony.rate_to_bare, 0.90, 0.95);
        near(prony.cpu_to_bare, 1.1, 1.1);
        near(prony.rate_to_wrk, 2.0, 2.0);
        near(prony.cpu_to_wrk, 0.5, 0.5);
        assert_eq!(rows[3].requests_per_second.unwrap().n, 1);
    }

    #[test]
    fn without_wrk_there_is_no_ratio_to_it() {
        let contestants = [Contestant::Prony(Transport::Epoll)];
        let rows = rows(&contestants, &[vec![sample(1.0, 1.0)]]);
        assert_eq!(rows[0].rate_to_wrk, None);
        assert_eq!(rows[0].rate_to_bare, None);
    }
}

//! What load generators print: one file for each, all of them into one shape, a [`Block`].

mod ab;
mod autocannon;
mod bombardier;
mod echo_client;
mod h2load;
mod hey;
mod httperf;
mod k6;
mod listed;
mod oha;
mod samples;
mod suite;
mod vegeta;
mod weighttp;
mod wrk;

use crate::read::lines::{Lines, is_fence};
use crate::read::number::Printed;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// A load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// wrk
    Wrk,
    /// wrk2
    Wrk2,
    /// `ApacheBench`
    Ab,
    /// httperf
    Httperf,
    /// weighttp
    Weighttp,
    /// h2load
    H2load,
    /// oha
    Oha,
    /// hey
    Hey,
    /// k6
    K6,
    /// The client of the published benchmark of TCP echo servers.
    EchoClient,
    /// autocannon
    Autocannon,
    /// bombardier
    Bombardier,
    /// vegeta
    Vegeta,
    /// `JMeter`
    Jmeter,
    /// Locust
    Locust,
    /// siege
    Siege,
    /// fortio
    Fortio,
    /// ghz
    Ghz,
    /// rewrk
    Rewrk,
    /// Gatling
    Gatling,
    /// Artillery
    Artillery,
    /// gcannon, which `HttpArena` uses
    Gcannon,
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wrk => "wrk",
            Self::Wrk2 => "wrk2",
            Self::Ab => "ab",
            Self::Httperf => "httperf",
            Self::Weighttp => "weighttp",
            Self::H2load => "h2load",
            Self::Oha => "oha",
            Self::Hey => "hey",
            Self::K6 => "k6",
            Self::EchoClient => "echo-client",
            Self::Autocannon => "autocannon",
            Self::Bombardier => "bombardier",
            Self::Vegeta => "vegeta",
            Self::Jmeter => "jmeter",
            Self::Locust => "locust",
            Self::Siege => "siege",
            Self::Fortio => "fortio",
            Self::Ghz => "ghz",
            Self::Rewrk => "rewrk",
            Self::Gatling => "gatling",
            Self::Artillery => "artillery",
            Self::Gcannon => "gcannon",
        })
    }
}

/// Something, and the line it stands in, from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct At<T> {
    /// What.
    pub what: T,
    /// Where.
    pub line: usize,
}

/// The output of one run of a load generator.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// What printed it.
    pub tool: Tool,
    /// Its first line, from 1.
    pub first: usize,
    /// Its last line.
    pub last: usize,
    /// The address that was loaded.
    pub url: Option<At<String>>,
    /// Connections.
    pub connections: Option<At<u64>>,
    /// Threads of the generator.
    pub threads: Option<At<u64>>,
    /// How long it was to last, in seconds.
    pub planned: Option<At<f64>>,
    /// How long it lasted, in seconds.
    pub seconds: Option<At<Printed>>,
    /// Requests that ended.
    pub requests: Option<At<u64>>,
    /// Requests per second.
    pub rate: Option<At<Printed>>,
    /// Response times, as they are headlined.
    pub latency: Latency,
    /// The longest time to connect, in seconds.
    pub connect_max: Option<At<Printed>>,
    /// What went wrong, by kind; only what did.
    pub errors: Vec<At<Failed>>,
    /// Fields that hold no number where there should be one.
    pub garbled: Vec<At<String>>,
    /// The tool's own sampling of the rate yielded nothing.
    pub unsampled: Option<usize>,
    /// What it calls what it measured, where several are in one output.
    pub name: Option<At<String>>,
    /// Requests in flight on each connection, as it says.
    pub pipeline: Option<At<u64>>,
    /// Bytes of each response.
    pub response_bytes: Option<At<Printed>>,
    /// k6's iterations: how many per second, and how long each took in seconds.
    pub iterations: Option<(At<Printed>, Printed)>,
    /// The rate that was asked for, where requests are sent at a rate.
    pub asked: Option<At<f64>>,
    /// A request may be among several of the errors: a wrong length and a bad status.
    pub overlap: bool,
}

/// A distribution of response times, in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latency {
    /// The shortest.
    pub min: Option<At<Printed>>,
    /// The mean.
    pub mean: Option<At<Printed>>,
    /// The longest.
    pub max: Option<At<Printed>>,
    /// Percentiles: a percentage, and the time that it stands for.
    pub percentiles: Vec<(f64, At<Printed>)>,
    /// How many samples it holds, where that is said.
    pub samples: Option<At<u64>>,
}

impl Latency {
    /// The percentile of this percentage, if it was printed.
    pub fn percentile(&self, percent: f64) -> Option<At<Printed>> {
        let found = self
            .percentiles
            .iter()
            .find(|(p, _)| (p - percent).abs() < 1e-9);
        found.map(|&(_, time)| time)
    }
}

/// At most this many kinds of errors are distinguished, more than any tool has; later ones count with
/// the last.
const KINDS: usize = 64;

/// Requests that failed in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// How, in the tool's own words.
    pub how: String,
    /// How many.
    pub count: u64,
    /// They took too long.
    pub timed_out: bool,
    /// They are not among the requests that the output counts.
    pub uncounted: bool,
}

impl Block {
    fn new(tool: Tool, at: usize) -> Self {
        Self {
            tool,
            first: at + 1,
            last: at + 1,
            url: None,
            connections: None,
            threads: None,
            planned: None,
            seconds: None,
            requests: None,
            rate: None,
            latency: Latency::default(),
            connect_max: None,
            errors: Vec::new(),
            garbled: Vec::new(),
            unsampled: None,
            name: None,
            pipeline: None,
            response_bytes: None,
            iterations: None,
            asked: None,
            overlap: matches!(tool, Tool::Ab | Tool::Weighttp),
        }
    }

    /// As [`Block::fail`], of requests that are not among those that it counts.
    fn lose(&mut self, at: usize, how: impl Into<String>, count: u64, timed_out: bool) {
        let before = self.errors.len();
        self.fail(at, how, count, timed_out);
        for error in &mut self.errors[before..] {
            error.what.uncounted = true;
        }
    }

    fn fail(&mut self, at: usize, how: impl Into<String>, count: u64, timed_out: bool) {
        if count == 0 {
            return;
        }
        if let Some(rest) = self.errors.get_mut(KINDS - 1) {
            rest.what.count = rest.what.count.saturating_add(count);
            return;
        }
        let what = Failed {
            how: how.into(),
            count,
            timed_out,
            uncounted: false,
        };
        self.errors.push(At { what, line: at + 1 });
    }

    /// Keeps a field that should have been a number and is none.
    fn odd(&mut self, at: usize, text: &str) {
        self.garbled.push(At {
            what: text.to_owned(),
            line: at + 1,
        });
    }

    /// Is there anything in it that can be looked at?
    fn says_something(&self) -> bool {
        self.rate.is_some()
            || self.latency.mean.is_some()
            || self.requests.is_some() && (self.seconds.is_some() || !self.errors.is_empty())
    }

    /// The share of all requests that failed: of those that were counted and of those that were not.
    pub fn failed_share(&self) -> f64 {
        let count = |uncounted: bool| {
            let errors = self
                .errors
                .iter()
                .filter(move |e| e.what.uncounted == uncounted);
            errors.map(|error| error.what.count as f64)
        };
        let counted = if self.overlap {
            count(false).fold(0.0, f64::max)
        } else {
            count(false).sum()
        };
        let uncounted: f64 = count(true).sum();
        // None can fail that was not made.
        let all = self.ended().unwrap_or(counted).max(counted) + uncounted;
        if all > 0.0 {
            (counted + uncounted) / all
        } else {
            0.0
        }
    }

    /// Requests that timed out.
    pub fn timed_out(&self) -> u64 {
        let timed_out = self.errors.iter().filter(|error| error.what.timed_out);
        timed_out.map(|error| error.what.count).sum()
    }

    /// Requests that ended, however they did: as printed, or the rate times the time.
    pub fn ended(&self) -> Option<f64> {
        if let Some(requests) = &self.requests {
            return Some(requests.what as f64);
        }
        Some(self.rate?.what.value * self.seconds?.what.value)
    }

    /// Requests per second: as printed, or, where that is not requests divided by time, as those give
    /// it. One figure that was changed is one finding.
    pub(crate) fn true_rate(&self) -> Option<f64> {
        let rate = self.rate?.what.value;
        let given = self.requests.zip(self.seconds);
        let given = given.map(|(requests, seconds)| requests.what as f64 / seconds.what.value);
        let wrk = matches!(self.tool, Tool::Wrk | Tool::Wrk2 | Tool::Ab);
        Some(match given {
            Some(given) if wrk && given > 0.0 && (rate / given - 1.0).abs() > 0.02 => given,
            _ => rate,
        })
    }

    /// How long it lasted, in seconds: as printed, or the requests divided by their rate.
    pub fn lasted(&self) -> Option<f64> {
        if let Some(seconds) = &self.seconds {
            return Some(seconds.what.value);
        }
        let rate = self.rate?.what.value;
        (rate > 0.0).then_some(self.requests?.what as f64 / rate)
    }
}

/// A value found in the line of this index.
fn at<T>(index: usize, what: T) -> Option<At<T>> {
    Some(At {
        what,
        line: index + 1,
    })
}

/// Blocks, and the index of the first line behind them.
pub(crate) struct Found {
    pub blocks: Vec<Block>,
    pub next: usize,
    /// They are a whole suite's.
    pub suite: bool,
}

/// More outputs than this in one piece are a suite's.
const SUITE: usize = 12;

type Reader = fn(&Lines<'_>, usize) -> Option<Found>;

/// The output that begins in this line, if one does.
pub(crate) fn read(lines: &Lines<'_>, at: usize) -> Option<Found> {
    let line = lines.get(at).trim();
    // Nearly every line of a text is decided by its first letter.
    let readers: &[Reader] = match line.chars().next()? {
        'R' => &[autocannon::read, wrk::read, ab::read, vegeta::read],
        '0'..='9' => &[wrk::read],
        'T' => &[
            wrk::read,
            ab::read,
            echo_client::read,
            httperf::read,
            listed::read,
            samples::read,
        ],
        'C' => &[ab::read],
        'L' => &[wrk::read, listed::read, samples::read],
        'M' => &[httperf::read],
        'S' => &[
            ab::read,
            listed::read,
            hey::read,
            wrk::read,
            bombardier::read,
        ],
        'A' | 'F' | '-' | '>' => &[listed::read],
        'B' => &[bombardier::read, listed::read],
        '{' => &[listed::read],
        '┌' => &[autocannon::read],
        '"' => &[samples::read],
        'a'..='z' => &[
            weighttp::read,
            h2load::read,
            k6::read,
            listed::read,
            samples::read,
        ],
        _ => return None,
    };
    readers.iter().find_map(|read| read(lines, at))
}

/// The outputs that a JSON object is.
pub(crate) fn read_json(lines: &Lines<'_>, at: usize, next: usize, value: &Value) -> Option<Found> {
    if let Some(suite) = suite::read_json(at, next, value) {
        return Some(suite);
    }
    let mut block = oha::read_json(lines, at, next, value)
        .or_else(|| weighttp::read_json(lines, at, next, value))
        .or_else(|| autocannon::read_json(lines, at, next, value))
        .or_else(|| vegeta::read_json(lines, at, next, value))
        .or_else(|| k6::read_json(lines, at, next, value))?;
    block.last = next;
    block.says_something().then(|| Found {
        blocks: vec![block],
        next,
        suite: false,
    })
}

/// What a line is to the reader of a tool's output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A part of it.
    Taken,
    /// No part of it that is known.
    Unknown,
    /// The last of it.
    Last,
    /// It ended before.
    Over,
}

/// An output may contain this many unknown lines in a row: printed by a script, or by a later version.
const PATIENCE: usize = 4;

/// Gives the lines from `at` on to a reader until the output ends; the index of its last line.
fn walk(lines: &Lines<'_>, at: usize, mut take: impl FnMut(usize, &str) -> Step) -> usize {
    let mut last = at;
    let mut unknown = 0;
    for index in at..lines.len() {
        let line = lines.get(index);
        if is_fence(line) {
            break;
        }
        if line.is_empty() {
            continue;
        }
        let step = take(index, line.trim());
        match step {
            Step::Taken | Step::Last => {
                last = index;
                unknown = 0;
            }
            Step::Unknown => unknown += 1,
            Step::Over => break,
        }
        if step == Step::Last || unknown > PATIENCE {
            break;
        }
    }
    last
}

/// The finished block and what follows it. One with nothing in it is no block; its lines are done
/// with all the same, so that no line is read more than a few times.
fn finish(mut block: Block, last: usize) -> Option<Found> {
    block.last = last + 1;
    Some(Found {
        blocks: Some(block)
            .filter(Block::says_something)
            .into_iter()
            .collect(),
        next: last + 1,
        suite: false,
    })
}

/// `Key: value` without the spaces around both.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    Some((key.trim(), value.trim()))
}

#[cfg(test)]
fn one(text: &str) -> Block {
    let lines = Lines::new(text);
    let found = (0..lines.len())
        .filter_map(|at| read(&lines, at))
        .find(|found| !found.blocks.is_empty())
        .expect("an output");
    let [block] = found.blocks.try_into().expect("one block");
    block
}

//! What load generators print: one file for each, all of them into one shape, a [`Block`].

mod ab;
mod echo_client;
mod h2load;
mod hey;
mod httperf;
mod k6;
mod oha;
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
        self.rate.is_some() || self.latency.mean.is_some()
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
}

type Reader = fn(&Lines<'_>, usize) -> Option<Found>;

/// The output that begins in this line, if one does.
pub(crate) fn read(lines: &Lines<'_>, at: usize) -> Option<Found> {
    let line = lines.get(at).trim();
    // Nearly every line of a text is decided by its first letter.
    let readers: &[Reader] = match line.chars().next()? {
        'R' | '0'..='9' => &[wrk::read],
        'T' => &[wrk::read, ab::read, echo_client::read, httperf::read],
        'C' => &[ab::read],
        'M' => &[httperf::read],
        'S' => &[ab::read, hey::read],
        'a'..='z' => &[weighttp::read, h2load::read, k6::read],
        _ => return None,
    };
    readers.iter().find_map(|read| read(lines, at))
}

/// The output that a JSON object is.
pub(crate) fn read_json(lines: &Lines<'_>, at: usize, next: usize, value: &Value) -> Option<Block> {
    let mut block = oha::read_json(lines, at, next, value)
        .or_else(|| weighttp::read_json(lines, at, next, value))
        .or_else(|| k6::read_json(lines, at, next, value))?;
    block.last = next;
    block.says_something().then_some(block)
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

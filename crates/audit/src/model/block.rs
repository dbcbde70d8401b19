//! The one shape that every tool's output is read into.

use super::Tool;
use crate::text::number::Printed;

/// Something, and the line it stands in, from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct At<T> {
    /// The value.
    pub what: T,
    /// The line, from 1.
    pub line: usize,
}

/// The output of one run of a load generator.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The tool that printed it.
    pub tool: Tool,
    /// The first line, from 1.
    pub first: usize,
    /// The last line, from 1.
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
    /// Requests that were sent on a connection that an earlier one had used, or the first on one that was kept; only of a tool
    /// that was asked to keep connections, and says so.
    pub kept: Option<At<u64>>,
    /// Failed requests, by kind; kinds with a count of 0 are left out.
    pub errors: Vec<At<FailedRequests>>,
    /// Fields that hold no number where there should be one.
    pub garbled: Vec<At<String>>,
    /// The tool's own sampling of the rate yielded nothing.
    pub unsampled: Option<usize>,
    /// The name of the system or page, where several are in one output.
    pub name: Option<At<String>>,
    /// Requests in flight on each connection, as it says.
    pub pipeline: Option<At<u64>>,
    /// Bytes of each response.
    pub response_bytes: Option<At<Printed>>,
    /// k6's iterations: how many per second, and how long each took in seconds.
    pub iterations: Option<(At<Printed>, Printed)>,
    /// The rate that was asked for, where requests are sent at a rate.
    pub asked: Option<At<f64>>,
    /// The line that says that headers were compressed, so that it was HTTP/2.
    pub compressed: Option<usize>,
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
    /// Adds a percentile of this percentage, if there is a time.
    pub(crate) fn add(&mut self, percent: f64, time: Option<At<Printed>>) {
        self.percentiles.extend(time.map(|time| (percent, time)));
    }

    /// Sorts the percentiles by their percentages.
    pub(crate) fn sort(&mut self) {
        self.percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    }

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
pub struct FailedRequests {
    /// How, in the tool's own words.
    pub how: String,
    /// How many.
    pub count: u64,
    /// True when the requests took too long.
    pub timed_out: bool,
    /// True when the requests are not among those that the output counts.
    pub uncounted: bool,
}

/// An output that is cut to its percentiles has as many.
const PERCENTILES: usize = 5;

impl Block {
    pub(crate) fn new(tool: Tool, at: usize) -> Self {
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
            kept: None,
            errors: Vec::new(),
            garbled: Vec::new(),
            unsampled: None,
            name: None,
            pipeline: None,
            response_bytes: None,
            iterations: None,
            asked: None,
            compressed: None,
            overlap: matches!(tool, Tool::Ab | Tool::Weighttp),
        }
    }

    /// Like [`Block::fail`], for requests that are not among those that the output counts.
    pub(crate) fn lose(&mut self, at: usize, how: impl Into<String>, count: u64, timed_out: bool) {
        let before = self.errors.len();
        self.fail(at, how, count, timed_out);
        for error in &mut self.errors[before..] {
            error.what.uncounted = true;
        }
    }

    pub(crate) fn fail(&mut self, at: usize, how: impl Into<String>, count: u64, timed_out: bool) {
        if count == 0 {
            return;
        }
        if let Some(rest) = self.errors.get_mut(KINDS - 1) {
            rest.what.count = rest.what.count.saturating_add(count);
            return;
        }
        let what = FailedRequests {
            how: how.into(),
            count,
            timed_out,
            uncounted: false,
        };
        self.errors.push(At { what, line: at + 1 });
    }

    /// Keeps a field that should have been a number and is none.
    pub(crate) fn odd(&mut self, at: usize, text: &str) {
        self.garbled.push(At {
            what: text.to_owned(),
            line: at + 1,
        });
    }

    /// Is there anything in it that can be looked at?
    pub(crate) fn says_something(&self) -> bool {
        self.rate.is_some()
            || self.latency.mean.is_some()
            || self.latency.percentiles.len() >= PERCENTILES
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
        Some(match given {
            Some(given) if self.divides() && given > 0.0 && (rate / given - 1.0).abs() > 0.02 => {
                given
            }
            _ => rate,
        })
    }

    /// The rate of an output that was cut off before it: its requests divided by its time, without those that failed.
    pub(crate) fn given_rate(&self) -> Option<At<Printed>> {
        let (requests, seconds) = (self.requests?, self.seconds?);
        let rate = Printed {
            value: requests.what as f64 / seconds.what.value,
            half: requests.what as f64 / seconds.what.value * seconds.what.half
                / seconds.what.value,
        };
        (requests.what > 0 && seconds.what.value > 0.0).then_some(At {
            what: rate,
            line: requests.line,
        })
    }

    /// Is its rate the requests divided by the time, as it prints both? Others leave something out of
    /// one of them, or print a mean of samples.
    pub(crate) fn divides(&self) -> bool {
        matches!(
            self.tool,
            Tool::Wrk | Tool::Wrk2 | Tool::Ab | Tool::Weighttp | Tool::Fortio
        )
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

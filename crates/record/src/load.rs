//! What was asked: how requests are sent, and for how long.

use crate::{Span, Stage, stages};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// Windows in a measurement when nothing else is said, and the bounds of their length.
const WINDOWS: u32 = 10;
const SHORTEST_WINDOW: Duration = Duration::from_millis(50);
const LONGEST_WINDOW: Duration = Duration::from_secs(1);
/// The window of a load whose length is not known beforehand.
const UNKNOWN_LENGTH_WINDOW: Duration = Duration::from_millis(100);
/// A shorter window holds too little to be a rate, and costs more than it shows.
const LEAST_WINDOW: Duration = Duration::from_millis(10);

/// The most requests per second: one per nanosecond, the clock's resolution.
pub const MOST_RATE: f64 = 1e9;
/// The most requests in flight over all connections. The times of each take 16 bytes: 64 MiB in all.
pub const MOST_IN_FLIGHT: u64 = 4 << 20;
/// The most generator threads.
pub const MOST_THREADS: u32 = 1024;

/// How a server is loaded: the shape of the load, without who is loaded and what is said.
///
/// This is the one definition of each option: the command line, experiment files, the engine's plan
/// and the record of a trial all take it from here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Load {
    /// What it is called, where the experiment says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is asked under it, where a run asks several things.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// Connections over all threads, at least 1.
    pub connections: u32,
    /// Generator threads, at least 1 and at most `connections` and 1,024.
    pub threads: u32,
    /// Requests per second over all connections, above 0 and at most 1,000,000,000; absent in a closed loop, in which a request
    /// is due as soon as a connection is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// A rate that changes: stages one after the other, from the load's beginning on, whose lengths
    /// make its duration; `rate` is then their mean. Empty: the same rate throughout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// How requests at a rate are spaced.
    pub arrival: Spacing,
    /// Requests in flight per connection, at least 1; over all connections at most 4,194,304.
    pub pipeline: u32,
    /// Keep connections open, from before the load begins; otherwise each connection is made when it
    /// is due, for `calls` requests.
    pub keepalive: bool,
    /// Without `keepalive`, requests on each connection before it is closed: `pipeline` of them at
    /// once, and the next when all of these have been answered. `rate` and a number of requests then
    /// speak of connections: what falls due is a connection, and the requests on it after the first
    /// are due as soon as they can be sent. 1 with `keepalive`.
    #[serde(skip_serializing_if = "is_one")]
    pub calls: u32,
    /// How long the measurement lasts.
    #[serde(flatten)]
    pub extent: Extent,
    /// What is echoed, for tcp-echo.
    pub message: String,
    /// A request, or a connection's set-up, that takes longer is given up.
    pub timeout: Span,
    /// The longest that the warm-up may take; it ends sooner when the load is steady.
    pub warmup: Span,
    /// Length of a window.
    pub window: Span,
    /// How bytes are moved.
    pub transport: Transport,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_one(calls: &u32) -> bool {
    *calls == 1
}

impl Default for Load {
    /// A closed loop of 64 connections on one thread for 10 seconds.
    fn default() -> Self {
        let extent = Extent::default();
        Self {
            name: None,
            contract: None,
            connections: 64,
            threads: 1,
            rate: None,
            stages: Vec::new(),
            arrival: Spacing::Constant,
            pipeline: 1,
            keepalive: true,
            calls: 1,
            extent,
            message: "hello\n".into(),
            timeout: Span(Duration::from_secs(5)),
            warmup: Span(Duration::from_secs(3)),
            window: Span(extent.window()),
            transport: Transport::Auto,
        }
    }
}

/// How requests that are due at a rate are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Evenly.
    #[default]
    Constant,
    /// With exponential gaps, as independent users would.
    Poisson,
}

impl fmt::Display for Spacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Constant => "constant",
            Self::Poisson => "poisson",
        })
    }
}

impl std::str::FromStr for Spacing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Constant, Self::Poisson]
            .into_iter()
            .find(|spacing| spacing.to_string() == text)
            .ok_or_else(|| format!("{text:?} is not a spacing: there are constant and poisson"))
    }
}

/// How bytes are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Transport {
    /// The one that suits the load best, of those that the kernel has.
    #[default]
    #[serde(rename = "auto", alias = "")]
    Auto,
    /// `epoll_wait`, `recv`, `send`.
    #[serde(rename = "epoll")]
    Epoll,
    /// `io_uring`: one system call per turn of the loop for all connections.
    #[serde(rename = "io_uring")]
    IoUring,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        })
    }
}

impl std::str::FromStr for Transport {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Auto, Self::Epoll, Self::IoUring]
            .into_iter()
            .find(|kind| kind.to_string() == text)
            .ok_or_else(|| {
                format!("{text:?} is not a transport: there are auto, epoll and io_uring")
            })
    }
}

/// How long a measurement lasts. In JSON one of the keys `duration` and `requests` beside the other
/// options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// For a time.
    Duration(Span),
    /// For a number of requests, at least 1.
    Requests(u64),
}

impl Default for Extent {
    fn default() -> Self {
        Self::Duration(Span(Duration::from_secs(10)))
    }
}

impl Extent {
    /// The window of a measurement of this length when nothing else is said: a tenth of it, from
    /// 50 ms to 1 s.
    #[must_use]
    pub fn window(self) -> Duration {
        match self {
            Self::Duration(span) => (span.0 / WINDOWS).clamp(SHORTEST_WINDOW, LONGEST_WINDOW),
            Self::Requests(_) => UNKNOWN_LENGTH_WINDOW,
        }
    }
}

/// The JSON form of [`Extent`].
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Extent")]
struct ExtentKeys {
    /// For a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration: Option<Span>,
    /// For a number of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requests: Option<u64>,
}

impl Serialize for Extent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys = match *self {
            Self::Duration(span) => ExtentKeys {
                duration: Some(span),
                requests: None,
            },
            Self::Requests(n) => ExtentKeys {
                duration: None,
                requests: Some(n),
            },
        };
        keys.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Extent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys = ExtentKeys::deserialize(deserializer)?;
        Ok(match (keys.duration, keys.requests) {
            (Some(span), _) => Self::Duration(span),
            (None, Some(n)) => Self::Requests(n),
            (None, None) => Self::default(),
        })
    }
}

impl JsonSchema for Extent {
    fn schema_name() -> Cow<'static, str> {
        ExtentKeys::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ExtentKeys::json_schema(generator)
    }
}

/// An option of a load that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option} must be {must}, but is {found}")]
pub struct Invalid {
    /// The option's key.
    pub option: &'static str,
    /// What it must be.
    pub must: &'static str,
    /// What it is.
    pub found: String,
}

impl Load {
    /// Can it be carried out?
    ///
    /// # Errors
    /// The first option that says no.
    pub fn check(&self) -> Result<(), Invalid> {
        let span = |span: Span| span.to_string();
        let none = String::new;
        let rate = self.rate.unwrap_or(1.0);
        let in_flight = u64::from(self.connections) * u64::from(self.pipeline);
        let extent = match self.extent {
            Extent::Duration(length) => ("duration", !length.0.is_zero(), "longer than 0s", "0s"),
            Extent::Requests(n) => ("requests", n > 0, "at least 1", "0"),
        };
        let rules = [
            ("connections", self.connections >= 1, "at least 1", none()),
            ("threads", self.threads >= 1, "at least 1", none()),
            (
                "threads",
                self.threads <= self.connections,
                "at most the number of connections: each thread needs one of its own",
                self.threads.to_string(),
            ),
            (
                "threads",
                self.threads <= MOST_THREADS,
                "at most 1024",
                self.threads.to_string(),
            ),
            ("pipeline", self.pipeline >= 1, "at least 1", none()),
            (
                "pipeline",
                in_flight <= MOST_IN_FLIGHT,
                "small enough that at most 4194304 requests are in flight over all connections",
                format!("{}, which makes {in_flight}", self.pipeline),
            ),
            (
                "calls",
                self.calls == 1 || (self.calls > 1 && !self.keepalive),
                "at least 1, and 1 with keep-alive",
                self.calls.to_string(),
            ),
            (
                "pipeline",
                self.keepalive || self.pipeline <= self.calls,
                match self.calls {
                    1 => {
                        "1 without keep-alive: several requests in flight need a connection that is kept open"
                    }
                    _ => "at most the requests on a connection",
                },
                self.pipeline.to_string(),
            ),
            (
                "rate",
                rate > 0.0 && rate <= MOST_RATE,
                "above 0 and at most 1000000000 requests per second, one per nanosecond",
                rate.to_string(),
            ),
            (
                "rate",
                self.stages.iter().all(|stage| {
                    let fits = |rate: f64| rate > 0.0 && rate <= MOST_RATE;
                    fits(stage.from) && fits(stage.to) && !stage.duration.0.is_zero()
                }),
                "above 0 and at most 1000000000 requests per second in every stage, and every stage longer than 0s",
                stages::shown(&self.stages),
            ),
            (
                "warmup",
                self.stages.is_empty() || self.warmup.0.is_zero(),
                "0s where the rate changes: its first stage is the warm-up",
                span(self.warmup),
            ),
            (extent.0, extent.1, extent.2, extent.3.to_owned()),
            (
                "timeout",
                !self.timeout.0.is_zero(),
                "longer than 0s",
                span(self.timeout),
            ),
            (
                "window",
                self.window.0 >= LEAST_WINDOW,
                "at least 10ms",
                span(self.window),
            ),
            (
                "message",
                !self.message.is_empty(),
                "at least one byte",
                "empty".into(),
            ),
        ];
        match rules.into_iter().find(|rule| !rule.1) {
            Some((option, _, must, found)) => Err(Invalid {
                option,
                must,
                found: if found.is_empty() { "0".into() } else { found },
            }),
            None => Ok(()),
        }
    }
}

impl Load {
    /// The mean rate over the first `seconds` of an open loop.
    #[must_use]
    pub fn rate_over(&self, seconds: f64) -> Option<f64> {
        match self.stages.as_slice() {
            [] => self.rate,
            stages if seconds > 0.0 => Some(stages::due_in(stages, seconds) / seconds),
            _ => self.rate,
        }
    }
}

impl fmt::Display for Load {
    /// Its name, or what tells it from other loads of its experiment, short: `c64`, `c100 t2
    /// 10000/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            return f.write_str(name);
        }
        write!(f, "c{}", self.connections)?;
        if self.threads > 1 {
            write!(f, " t{}", self.threads)?;
        }
        if self.pipeline > 1 {
            write!(f, " p{}", self.pipeline)?;
        }
        if !self.stages.is_empty() {
            write!(f, " {}", stages::shown(&self.stages))?;
        } else if let Some(rate) = self.rate {
            write!(f, " {rate}/s")?;
        }
        if self.rate.is_some() && self.arrival == Spacing::Poisson {
            write!(f, " poisson")?;
        }
        if !self.keepalive {
            write!(f, " no-keepalive")?;
        }
        Ok(())
    }
}

/// A rate within this share of the target is kept: more than the jitter at the ends of a
/// measurement of a second, and less than what counts as missing the target.
const TOLERANCE: f64 = 0.02;
/// At the ends of a measurement the last requests are still in flight; a Poisson load has random
/// numbers anyway. Three standard deviations of a count are allowed on top.
const DEVIATIONS: f64 = 3.0;

/// Did an open loop at `target` requests per second miss its rate, when `finished` requests ended in
/// `seconds` of measurement?
#[must_use]
pub fn rate_missed(target: f64, seconds: f64, finished: u64) -> bool {
    let due = target * seconds;
    due - finished as f64 > due * TOLERANCE + DEVIATIONS * due.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_load_survives_json() {
        for load in [
            Load::default(),
            Load {
                rate: Some(5.0),
                extent: Extent::Requests(1_000_000),
                keepalive: false,
                calls: 3,
                ..Load::default()
            },
        ] {
            let json = serde_json::to_value(&load).unwrap();
            assert_eq!(serde_json::from_value::<Load>(json).unwrap(), load);
        }
    }

    #[test]
    fn loads_of_earlier_duels_are_read() {
        let old = json!({"connections": 7, "threads": 2, "rate": null, "contract": "tcp-echo"});
        let load: Load = serde_json::from_value(old).unwrap();
        assert_eq!((load.connections, load.threads, load.rate), (7, 2, None));
        assert_eq!(load.contract.as_deref(), Some("tcp-echo"));
    }

    #[test]
    fn what_cannot_be_carried_out_is_named() {
        type Change = fn(&mut Load);
        let cases: [(&str, Change); 12] = [
            ("connections", |load| load.connections = 0),
            ("threads", |load| load.threads = 65),
            ("pipeline", |load| load.pipeline = 0),
            ("pipeline", |load| {
                (load.keepalive, load.pipeline) = (false, 2);
            }),
            ("pipeline", |load| load.pipeline = 100_000_000),
            ("threads", |load| {
                (load.threads, load.connections) = (1_025, 2_000);
            }),
            ("rate", |load| load.rate = Some(1e12)),
            ("calls", |load| load.calls = 2),
            ("rate", |load| load.rate = Some(f64::NAN)),
            ("requests", |load| load.extent = Extent::Requests(0)),
            ("window", |load| {
                load.window = Span(Duration::from_millis(1));
            }),
            ("message", |load| load.message.clear()),
        ];
        assert_eq!(Load::default().check(), Ok(()));
        for (option, change) in cases {
            let mut load = Load::default();
            change(&mut load);
            assert_eq!(load.check().unwrap_err().option, option);
        }
    }
}

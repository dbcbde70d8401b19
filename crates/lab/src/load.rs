//! The load of an experiment: what a file says, and the engine's plan for it.

use crate::text::Span;
use prony_engine::{Arrival, Dialogue, Plan, Target, TransportKind, automatic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// Windows in the measurement when nothing else is said, and the bounds of their length.
const WINDOWS: u32 = 10;
const SHORTEST_WINDOW: Duration = Duration::from_millis(50);
const LONGEST_WINDOW: Duration = Duration::from_secs(1);
/// The window of a load whose length is not known beforehand.
const UNKNOWN_LENGTH_WINDOW: Duration = Duration::from_millis(100);

/// One value, or several, which make a grid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMore<T> {
    /// One.
    One(T),
    /// Several.
    More(Vec<T>),
}

impl<T: Clone> OneOrMore<T> {
    fn values(&self) -> Vec<T> {
        match self {
            Self::One(value) => vec![value.clone()],
            Self::More(values) => values.clone(),
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

/// Which transport to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Transport {
    /// The one that suits the load best, of those that the kernel has.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// epoll.
    #[serde(rename = "epoll")]
    Epoll,
    /// `io_uring`.
    #[serde(rename = "io_uring")]
    IoUring,
}

impl Transport {
    /// The engine's kind, for an arrival.
    pub fn kind(self, arrival: &Arrival) -> TransportKind {
        match self {
            Self::Auto => automatic(arrival),
            Self::Epoll => TransportKind::Epoll,
            Self::IoUring => TransportKind::IoUring,
        }
    }
}

/// `[load]` of an experiment file. Lists make a grid: every combination is a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadTable {
    /// What tells it from the other loads of its experiment, where there are several; made of its
    /// values unless said otherwise.
    #[serde(default)]
    pub name: Option<String>,
    /// Pairs of connections and generator threads, where not every combination is wanted: `[[1, 1],
    /// [64, 8]]`. Instead of `connections` and `threads`.
    #[serde(default)]
    pub points: Vec<(u32, u32)>,
    /// Connections; 64 unless said otherwise.
    #[serde(default = "default_connections")]
    pub connections: OneOrMore<u32>,
    /// Generator threads; 1 unless said otherwise.
    #[serde(default = "one")]
    pub threads: OneOrMore<u32>,
    /// Requests per second (open loop). Absent: as fast as answers come (closed loop).
    #[serde(default)]
    pub rate: Option<OneOrMore<f64>>,
    /// How requests at a rate are spaced.
    #[serde(default)]
    pub arrival: Spacing,
    /// Requests in flight per connection; 1 unless said otherwise.
    #[serde(default = "one")]
    pub pipeline: OneOrMore<u32>,
    /// Keep connections open. With `false` every request has a connection of its own.
    #[serde(default = "yes")]
    pub keepalive: bool,
    /// Length of the measurement. Either this or `requests`.
    #[serde(default)]
    pub duration: Option<Span>,
    /// Number of requests in the measurement. Either this or `duration`.
    #[serde(default)]
    pub requests: Option<u64>,
    /// What is echoed, for tcp-echo; "hello\n" unless said otherwise.
    #[serde(default)]
    pub message: Option<String>,
    /// After this, a request is given up.
    #[serde(default = "default_timeout")]
    pub timeout: Span,
    /// The longest that the warm-up may take; it ends sooner when the load is steady.
    #[serde(default = "default_warmup")]
    pub warmup: Span,
    /// Length of a window. Absent: a tenth of the duration, from 50 ms to 1 s.
    #[serde(default)]
    pub window: Option<Span>,
    /// How bytes are moved.
    #[serde(default)]
    pub transport: Transport,
}

fn default_connections() -> OneOrMore<u32> {
    OneOrMore::One(64)
}

fn one() -> OneOrMore<u32> {
    OneOrMore::One(1)
}

fn yes() -> bool {
    true
}

fn default_timeout() -> Span {
    Span(Duration::from_secs(5))
}

fn default_warmup() -> Span {
    Span(Duration::from_secs(3))
}

/// The load of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// What it is called, where the experiment says so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Connections.
    pub connections: u32,
    /// Generator threads.
    pub threads: u32,
    /// Requests per second; absent in a closed loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate: Option<f64>,
    /// How requests at a rate are spaced.
    pub arrival: Spacing,
    /// Requests in flight per connection.
    pub pipeline: u32,
    /// Keep connections open.
    pub keepalive: bool,
    /// How long it lasts.
    #[serde(flatten)]
    pub extent: Extent,
    /// What is echoed, for tcp-echo.
    pub message: String,
    /// After this, a request is given up.
    pub timeout: Span,
    /// The longest that the warm-up may take.
    pub warmup: Span,
    /// Length of a window.
    pub window: Span,
    /// How bytes are moved.
    pub transport: Transport,
}

/// How long the measurement lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// For a time.
    Duration(Span),
    /// For a number of requests.
    Requests(u64),
}

impl LoadTable {
    /// Every combination of the lists' values.
    ///
    /// # Errors
    /// A key of the table and what is wrong with its value.
    pub fn grid(&self) -> Result<Vec<Load>, (&'static str, String)> {
        let extent = match (self.duration, self.requests) {
            (Some(span), None) if !span.0.is_zero() => Extent::Duration(span),
            (None, Some(n)) if n > 0 => Extent::Requests(n),
            (None, None) => Extent::Duration(Span(Duration::from_secs(10))),
            (Some(_), Some(_)) => {
                return Err((
                    "requests",
                    "either a duration or a number of requests, not both".into(),
                ));
            }
            (Some(_), None) => return Err(("duration", "must be longer than nothing".into())),
            (None, Some(_)) => return Err(("requests", "must be at least 1".into())),
        };
        let window = self.window.unwrap_or_else(|| Span(default_window(extent)));
        let rates = match &self.rate {
            None => vec![None],
            Some(rates) => rates.values().into_iter().map(Some).collect(),
        };
        let mut grid = Vec::new();
        for (connections, threads) in self.pairs()? {
            for &rate in &rates {
                for pipeline in self.pipeline.values() {
                    let load = Load {
                        name: self.name.clone(),
                        connections,
                        threads,
                        rate,
                        arrival: self.arrival,
                        pipeline,
                        keepalive: self.keepalive,
                        extent,
                        message: self.message.clone().unwrap_or_else(|| "hello\n".into()),
                        timeout: self.timeout,
                        warmup: self.warmup,
                        window,
                        transport: self.transport,
                    };
                    load.check()?;
                    grid.push(load);
                }
            }
        }
        if self.name.is_some() && grid.len() > 1 {
            let must = "can be given to a single load, and the lists make several".to_owned();
            return Err(("name", must));
        }
        if grid.is_empty() {
            return Err(("connections", "a list needs at least one value".into()));
        }
        Ok(grid)
    }
}

impl LoadTable {
    /// Connections and threads of every point.
    fn pairs(&self) -> Result<Vec<(u32, u32)>, (&'static str, String)> {
        let default = (default_connections(), one());
        let given = (&self.connections, &self.threads) != (&default.0, &default.1);
        if !self.points.is_empty() && given {
            let must = "stands instead of connections and threads".to_owned();
            return Err(("points", must));
        }
        if !self.points.is_empty() {
            return Ok(self.points.clone());
        }
        let (connections, threads) = (self.connections.values(), self.threads.values());
        let with = |&c: &u32| threads.iter().map(move |&t| (c, t)).collect::<Vec<_>>();
        Ok(connections.iter().flat_map(with).collect())
    }
}

/// The window of a load of this length.
pub fn default_window(extent: Extent) -> Duration {
    match extent {
        Extent::Duration(span) => (span.0 / WINDOWS).clamp(SHORTEST_WINDOW, LONGEST_WINDOW),
        Extent::Requests(_) => UNKNOWN_LENGTH_WINDOW,
    }
}

impl Load {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let rules = [
            ("connections", self.connections >= 1, "must be at least 1"),
            ("threads", self.threads >= 1, "must be at least 1"),
            (
                "threads",
                self.threads <= self.connections,
                "must not be more than connections",
            ),
            ("pipeline", self.pipeline >= 1, "must be at least 1"),
            (
                "pipeline",
                self.keepalive || self.pipeline == 1,
                "needs keepalive = true",
            ),
            (
                "rate",
                self.rate.is_none_or(|rate| rate.is_finite() && rate > 0.0),
                "must be above 0",
            ),
            ("message", !self.message.is_empty(), "must not be empty"),
            (
                "timeout",
                !self.timeout.0.is_zero(),
                "must be longer than nothing",
            ),
            (
                "window",
                self.window.0 >= Duration::from_millis(10),
                "must be at least 10ms",
            ),
        ];
        match rules.into_iter().find(|rule| !rule.1) {
            Some((key, _, must)) => Err((key, must.to_owned())),
            None => Ok(()),
        }
    }

    /// The engine's plan for this load of a server at `addr`. `seed` decides the gaps of Poisson
    /// arrivals.
    pub fn plan(&self, dialogue: Dialogue, addr: SocketAddr, cpus: &[usize], seed: u64) -> Plan {
        let arrival = match (self.rate, self.arrival) {
            (None, _) => Arrival::Closed,
            (Some(rate), Spacing::Constant) => Arrival::Constant(rate),
            (Some(rate), Spacing::Poisson) => Arrival::Poisson { rate, seed },
        };
        Plan {
            target: Target::Tcp(addr),
            dialogue,
            arrival,
            connections: self.connections,
            threads: self.threads,
            cpus: cpus.to_vec(),
            pipeline: self.pipeline,
            keepalive: self.keepalive,
            calls: 1,
            trace: false,
            timeout: self.timeout.0,
            window: self.window.0,
            requests: match self.extent {
                Extent::Requests(n) => Some(n),
                Extent::Duration(_) => None,
            },
            transport: self.transport.kind(&arrival),
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
        if let Some(rate) = self.rate {
            write!(f, " {rate}/s")?;
            if self.arrival == Spacing::Poisson {
                write!(f, " poisson")?;
            }
        }
        if !self.keepalive {
            write!(f, " no-keepalive")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> LoadTable {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn lists_make_a_grid() {
        let grid = table("connections = [1, 64]\nthreads = 1\nrate = [100.0, 200.0, 300.0]")
            .grid()
            .unwrap();
        assert_eq!(grid.len(), 6);
        assert_eq!(grid[0].to_string(), "c1 100/s");
        assert_eq!(grid[5].to_string(), "c64 300/s");
        assert_eq!(
            grid[0].extent,
            Extent::Duration(Span(Duration::from_secs(10)))
        );
        assert_eq!(grid[0].window.0, Duration::from_secs(1));
    }

    #[test]
    fn wrong_values_are_named() {
        for (text, key) in [
            ("connections = 0", "connections"),
            ("connections = []", "connections"),
            ("connections = 2\nthreads = 3", "threads"),
            ("requests = 5\nduration = '1s'", "requests"),
            ("requests = 0", "requests"),
            ("keepalive = false\npipeline = 2", "pipeline"),
            ("rate = -1.0", "rate"),
            ("message = ''", "message"),
            ("window = '1ms'", "window"),
            ("points = [[1, 2]]", "threads"),
            ("points = [[1, 1]]\nconnections = 5", "points"),
            ("name = 'x'\nconnections = [1, 2]", "name"),
        ] {
            assert_eq!(table(text).grid().unwrap_err().0, key, "{text}");
        }
    }

    #[test]
    fn points_are_pairs() {
        let grid = table("points = [[1, 1], [64, 8]]").grid().unwrap();
        let labels: Vec<String> = grid.iter().map(Load::to_string).collect();
        assert_eq!(labels, ["c1", "c64 t8"]);
        let named = table("name = 'weighttp'\nconnections = 1000")
            .grid()
            .unwrap();
        assert_eq!(named[0].to_string(), "weighttp");
    }

    #[test]
    fn a_load_survives_json() {
        for text in [
            "duration = '1s'\nrate = 5.0",
            "requests = 1000000\nkeepalive = false",
        ] {
            let load = table(text).grid().unwrap().remove(0);
            let json = serde_json::to_value(&load).unwrap();
            assert_eq!(serde_json::from_value::<Load>(json).unwrap(), load);
        }
    }
}

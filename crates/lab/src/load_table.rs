//! The load of an experiment, as a file says it: lists make a grid.

use prony_record::load::{Invalid, Spacing, Transport};
use prony_record::{Extent, Load, Span, inert};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

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

fn must(invalid: Invalid) -> (&'static str, String) {
    let Invalid {
        option,
        must,
        found,
    } = invalid;
    (option, format!("must be {must}, but is {found}"))
}

fn default_connections() -> OneOrMore<u32> {
    OneOrMore::One(Load::default().connections)
}

fn one() -> OneOrMore<u32> {
    OneOrMore::One(1)
}

fn yes() -> bool {
    true
}

fn default_timeout() -> Span {
    Load::default().timeout
}

fn default_warmup() -> Span {
    Load::default().warmup
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
            (Some(_), None) => return Err(("duration", "must be longer than 0s".into())),
            (None, Some(_)) => return Err(("requests", "must be at least 1".into())),
        };
        let window = self.window.unwrap_or_else(|| Span(extent.window()));
        let rates = match &self.rate {
            None => vec![None],
            Some(rates) => rates.values().into_iter().map(Some).collect(),
        };
        let (mut grid, default) = (Vec::new(), Load::default());
        for (connections, threads) in self.pairs()? {
            for &rate in &rates {
                for pipeline in self.pipeline.values() {
                    let load = Load {
                        name: self
                            .name
                            .as_deref()
                            .map(|name| inert::line(name).into_owned()),
                        contract: None,
                        connections,
                        threads,
                        rate,
                        stages: Vec::new(),
                        arrival: self.arrival,
                        pipeline,
                        keepalive: self.keepalive,
                        calls: 1,
                        extent,
                        message: self.message.clone().unwrap_or(default.message.clone()),
                        timeout: self.timeout,
                        warmup: self.warmup,
                        window,
                        transport: self.transport,
                    };
                    load.check().map_err(must)?;
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
}

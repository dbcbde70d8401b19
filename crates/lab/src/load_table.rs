//! The load of an experiment, as a file says it: lists make a grid.

use prony_record::load::{Assignment, Invalid, KeyKind, Protocol, Spacing, Transport};
use prony_record::{Extent, Load, Slo, Span, inert};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use toml::Spanned;

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
    /// Name that distinguishes the load from the other loads of its experiment, where there are several; made of its
    /// values unless said otherwise. With lists in the table, the values follow it: `json c16`.
    #[serde(default)]
    pub name: Option<String>,
    /// A file of requests (docs/your-own-requests.md), seen from the experiment's own folder, instead of the
    /// experiment's `requests`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub file: Option<Spanned<PathBuf>>,
    /// Weight of the load in the composite of its experiment, above 0; several loads of a table share it. Absent: the load
    /// does not count.
    #[serde(default)]
    pub weight: Option<f64>,
    /// Pairs of connections and generator threads, where not every combination is wanted: `[[1, 1],
    /// [64, 8]]`. Instead of `connections` and `threads`.
    #[serde(default)]
    pub points: Vec<(u32, u32)>,
    /// HTTP variant: `plain` (HTTP/1.1), `tls` (HTTP/1.1 over TLS), `h2c` (HTTP/2 without TLS), `h2` (HTTP/2 over TLS),
    /// `h3` (HTTP/3).
    /// A server is left out of loads over a variant that its manifest does not list.
    #[serde(default = "plain")]
    pub over: OneOrMore<Protocol>,
    /// The key of the certificate that servers are given, over TLS.
    #[serde(default = "default_key")]
    pub key: OneOrMore<KeyKind>,
    /// Over TLS, connections resume earlier sessions where the server allows it. With `false` every handshake is a full
    /// one.
    #[serde(default = "yes")]
    pub resumption: bool,
    /// Requests in flight per connection over HTTP/2, as streams; those of `pipeline` unless said otherwise.
    #[serde(default)]
    pub streams: Option<OneOrMore<u32>>,
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
    /// Connection that a request at a rate is sent on: `any` that is free, or each in its turn (`round-robin`).
    #[serde(default)]
    pub assignment: Assignment,
    /// Requests in flight per connection; 1 unless said otherwise.
    #[serde(default = "one")]
    pub pipeline: OneOrMore<u32>,
    /// Keep connections open. With `false` every request has a connection of its own.
    #[serde(default = "yes")]
    pub keepalive: bool,
    /// Close each connection after this many requests.
    #[serde(default)]
    pub requests_per_connection: Option<u32>,
    /// Close each connection after this time.
    #[serde(default)]
    pub connection_lifetime: Option<Span>,
    /// Keep this many more connections open that send nothing.
    #[serde(default)]
    pub idle_connections: Option<u32>,
    /// Limits that an answer keeps to be a good one, such as `first-event < 200ms, gap < 50ms`.
    #[serde(default)]
    pub slo: Option<Slo>,
    /// Over HTTP/3, the connections of each thread share this many sockets.
    #[serde(default)]
    pub udp_sockets: Option<u32>,
    /// Length of the measurement. Either this or `requests`.
    #[serde(default)]
    pub duration: Option<Span>,
    /// Number of requests in the measurement. Either this or `duration`.
    #[serde(default)]
    pub requests: Option<u64>,
    /// Message that is echoed, for tcp-echo; "hello\n" unless said otherwise.
    #[serde(default)]
    pub message: Option<String>,
    /// Length of each message's payload, for ws-echo, in bytes; 32 unless said otherwise.
    #[serde(default = "default_size")]
    pub size: u32,
    /// Messages are text, for ws-echo; otherwise binary.
    #[serde(default)]
    pub text: bool,
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
    /// The levels that others published, in place of those that suit a small machine: with `prony run --as-published`.
    #[serde(default)]
    pub as_published: Option<PublishedLevels>,
}

/// Keys that take the place of those of the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PublishedLevels {
    /// The load is there only as published.
    pub only: bool,
    /// Connections.
    pub connections: Option<OneOrMore<u32>>,
    /// Requests in flight per connection over HTTP/2 and HTTP/3.
    pub streams: Option<OneOrMore<u32>>,
    /// Length of the measurement.
    pub duration: Option<Span>,
    /// After this, a request is given up.
    pub timeout: Option<Span>,
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

fn plain() -> OneOrMore<Protocol> {
    OneOrMore::One(Protocol::Plain)
}

fn default_key() -> OneOrMore<KeyKind> {
    OneOrMore::One(KeyKind::default())
}

fn yes() -> bool {
    true
}

fn default_timeout() -> Span {
    Load::default().timeout
}

fn default_size() -> u32 {
    Load::default().size
}

fn default_warmup() -> Span {
    Load::default().warmup
}

impl LoadTable {
    /// The table with the levels that were published; itself where there are none.
    #[must_use]
    pub fn as_published(&self) -> Self {
        let mut table = self.clone();
        if let Some(levels) = table.as_published.take() {
            table.connections = levels.connections.unwrap_or(table.connections);
            table.streams = levels.streams.or(table.streams);
            table.duration = levels.duration.or(table.duration);
            table.timeout = levels.timeout.unwrap_or(table.timeout);
        }
        table
    }

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
                for (over, key, pipeline) in self.spoken()? {
                    let load = Load {
                        name: None,
                        contract: None,
                        over,
                        key,
                        // An experiment starts its servers.
                        proxy: None,
                        proxy_protocol: None,
                        addresses: default.addresses,
                        dns_refresh: None,
                        resumption: self.resumption,
                        connections,
                        threads,
                        rate,
                        connection_stages: Vec::new(),
                        max_connections: None,
                        assignment: self.assignment,
                        stages: Vec::new(),
                        replay: None,
                        arrival: self.arrival,
                        pipeline,
                        keepalive: self.keepalive,
                        calls: 1,
                        requests_per_connection: self.requests_per_connection,
                        connection_lifetime: self.connection_lifetime,
                        idle_connections: self.idle_connections.unwrap_or(0),
                        slo: self.slo,
                        udp_sockets: self.udp_sockets.filter(|_| over == Protocol::H3),
                        extent,
                        message: self.message.clone().unwrap_or(default.message.clone()),
                        size: self.size,
                        text: self.text,
                        timeout: self.timeout,
                        warmup: self.warmup,
                        lead_in: default.lead_in,
                        window,
                        transport: self.transport,
                    };
                    load.check().map_err(must)?;
                    grid.push(load);
                }
            }
        }
        if let Some(name) = &self.name {
            let name = inert::line(name);
            let alone = grid.len() == 1;
            for load in &mut grid {
                load.name = Some(match alone {
                    true => name.clone().into_owned(),
                    false => format!("{name} {load}"),
                });
            }
        }
        if grid.is_empty() {
            return Err(("connections", "a list needs at least one value".into()));
        }
        Ok(grid)
    }
}

/// HTTP variant, kind of the certificate's key, and requests in flight on a connection.
type Spoken = (Protocol, KeyKind, u32);

impl LoadTable {
    /// Returns every combination of HTTP variant, kind of the certificate's key, and requests in flight on a
    /// connection. An error names a key of the table and what is wrong with its value.
    fn spoken(&self) -> Result<Vec<Spoken>, (&'static str, String)> {
        let (overs, keys) = (self.over.values(), self.key.values());
        if overs.is_empty() {
            return Err(("over", "needs at least one value".into()));
        }
        if self.streams.is_some() && !overs.iter().any(|over| over.has_streams()) {
            return Err((
                "streams",
                "is for HTTP/2 and HTTP/3: over = \"h2c\", \"h2\" or \"h3\"".into(),
            ));
        }
        if self.udp_sockets.is_some() && !overs.contains(&Protocol::H3) {
            return Err(("udp_sockets", "is for HTTP/3: over = \"h3\"".into()));
        }
        let tls = overs.iter().any(|over| over.is_tls());
        if !tls && (self.key != default_key() || !self.resumption) {
            let option = if self.resumption { "key" } else { "resumption" };
            return Err((
                option,
                "is for TLS: over = \"tls\", \"h2\" or \"h3\"".into(),
            ));
        }
        let mut spoken = Vec::new();
        for over in overs {
            // A key is nothing to what is not encrypted.
            let keys = match over.is_tls() {
                true => keys.clone(),
                false => vec![KeyKind::default()],
            };
            let in_flight = match &self.streams {
                Some(streams) if over.has_streams() => streams.values(),
                _ => self.pipeline.values(),
            };
            for key in keys {
                spoken.extend(in_flight.iter().map(|&n| (over, key, n)));
            }
        }
        Ok(spoken)
    }

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
        ] {
            assert_eq!(table(text).grid().unwrap_err().0, key, "{text}");
        }
    }

    #[test]
    fn what_is_spoken_over_makes_a_grid() {
        let grid =
            table("over = ['plain', 'tls', 'h2']\nkey = ['ecdsa-p256', 'rsa2048']\nstreams = 8")
                .grid()
                .unwrap();
        let labels: Vec<String> = grid.iter().map(Load::to_string).collect();
        let expected = [
            "c64",
            "c64 tls",
            "c64 tls rsa2048",
            "c64 s8 h2",
            "c64 s8 h2 rsa2048",
        ];
        assert_eq!(labels, expected);
        for (text, key) in [
            ("over = []", "over"),
            ("streams = 2", "streams"),
            ("key = 'rsa2048'", "key"),
            ("over = 'h2c'\nresumption = false", "resumption"),
        ] {
            assert_eq!(table(text).grid().unwrap_err().0, key, "{text}");
        }
    }

    #[test]
    fn published_levels_take_the_place_of_others() {
        let text = "name = 'json'\nconnections = 64\nduration = '5s'\n";
        let both = format!(
            "{text}as_published = {{ connections = [16, 512], duration = '15s', timeout = '8s' }}"
        );
        let (scaled, published) = (table(&both), table(&both).as_published());
        assert_eq!(scaled.grid().unwrap(), table(text).grid().unwrap());
        let grid = published.grid().unwrap();
        let labels: Vec<String> = grid.iter().map(Load::to_string).collect();
        assert_eq!(labels, ["json c16", "json c512"]);
        let seconds = |n| Span(Duration::from_secs(n));
        assert_eq!(grid[0].extent, Extent::Duration(seconds(15)));
        assert_eq!(grid[0].timeout, seconds(8));
        assert_eq!(table(text).as_published(), table(text));
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
        let several = table("name = 'json'\nconnections = [16, 32]\npipeline = 16");
        let several = several.grid().unwrap();
        let labels: Vec<String> = several.iter().map(Load::to_string).collect();
        assert_eq!(labels, ["json c16 p16", "json c32 p16"]);
    }
}

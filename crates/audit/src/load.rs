//! The load that a figure was measured under.

use crate::text::number::whole;
use crate::words::Words;
use crate::words::is_generic;
use std::fmt;

/// A load, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Load {
    /// Connections.
    pub connections: Option<u64>,
    /// Threads of the generator.
    pub threads: Option<u64>,
    /// Something else that was varied: processes, sizes, a pipeline's depth.
    pub other: Option<(LoadParameter, u64)>,
}

/// Quantities that may vary in addition to connections and threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadParameter {
    /// Processes, workers or CPUs of the server.
    Workers,
    /// Requests in flight on each connection.
    Pipeline,
    /// Bytes of a body.
    Size,
    /// Requests per second that were asked for.
    Rate,
    /// A number of which the text does not say what it counts.
    Number,
}

impl Load {
    /// The load of a number in a column or a row of this name: of connections, threads, and so on.
    /// None where the name is of something else.
    pub(crate) fn named(name: &str, n: u64) -> Option<Self> {
        let name = name.to_lowercase();
        let words: Vec<&str> = name
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        // `connections/s` is a rate, and `clients served` is none.
        // The size of a pool is a setting of the server.
        let none = ["per", "pool"].iter().any(|word| words.contains(word));
        if words.len() > 4 || name.contains("/s") || none {
            return None;
        }
        let is = |list: Words| words.iter().any(|word| list.has(word));
        let mut load = Self::default();
        if is(CONNECTIONS) {
            load.connections = Some(n);
        } else if is(THREADS) {
            load.threads = Some(n);
        } else {
            let kind = if is(WORKERS) {
                LoadParameter::Workers
            } else if is(PIPELINES) {
                LoadParameter::Pipeline
            } else if is(SIZES) {
                LoadParameter::Size
            } else {
                return None;
            };
            load.other = Some((kind, n));
        }
        Some(load)
    }

    /// A number of which nothing says what it counts.
    pub(crate) fn number(n: u64) -> Self {
        Self {
            other: Some((LoadParameter::Number, n)),
            ..Self::default()
        }
    }

    /// A load by its label: `c64-t8`, `t1-c1`, `256 connections`, `Concurrency: 1k`, also with how much
    /// was asked: `n=10000, c=100`, `Test: threads=2, connections=100, duration=60s`. None when the
    /// label is about something else as well.
    pub(crate) fn parse(label: &str) -> Option<Self> {
        let label = match label.split_once(':') {
            Some((title, rest)) if is_generic(title) => rest,
            _ => label,
        };
        let mut load = Self::default();
        // A number stands before its name or behind it.
        let (mut number, mut named) = (None, None);
        let words = label
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        for word in words {
            let digits = word
                .find(|c: char| c.is_ascii_digit())
                .unwrap_or(word.len());
            let (name, n) = word.split_at(digits);
            // `10并发`: numbers and words need no space between them.
            let (n, name) = match n.find(|c: char| !c.is_ascii()) {
                Some(at) if name.is_empty() && at > 0 => (&n[..at], &n[at..]),
                _ => (n, name),
            };
            let amount = matches!(named, Some(Field::Amount));
            let n = match n.strip_suffix(['k', 'K']) {
                Some(thousands) => Some(whole(thousands)?.checked_mul(1_000)?),
                None if n.is_empty() => None,
                None if amount => Some(whole(n.trim_end_matches(['s', 'm', 'h']))?),
                None => Some(whole(n)?),
            };
            let name = name.to_lowercase();
            match (name.as_str(), n) {
                ("with" | "and" | "at", None) => {}
                ("", Some(n)) => match named.take() {
                    Some(name) => load.set(name, n)?,
                    None if number.is_none() => number = Some(n),
                    None => return None,
                },
                (name, Some(n)) => load.set(Field::of(name)?, n)?,
                (name, None) => match number.take() {
                    Some(n) => load.set(Field::of(name)?, n)?,
                    None if named.is_none() => named = Some(Field::of(name)?),
                    None => return None,
                },
            }
        }
        (number.is_none() && named.is_none() && load != Self::default()).then_some(load)
    }

    /// Sets a part of it that is not set yet.
    fn set(&mut self, field: Field, n: u64) -> Option<()> {
        let field = match field {
            Field::Connections => &mut self.connections,
            Field::Threads => &mut self.threads,
            Field::Amount => return Some(()),
        };
        field.replace(n).is_none().then_some(())
    }
}

/// Quantity that a part of a label gives.
#[derive(Clone, Copy)]
enum Field {
    Connections,
    Threads,
    /// How long it lasted, or how many requests were sent: not how many at once.
    Amount,
}

impl Field {
    fn of(name: &str) -> Option<Self> {
        match name {
            "c" => Some(Self::Connections),
            "t" => Some(Self::Threads),
            name if THREADS.has(name) => Some(Self::Threads),
            "n" | "requests" | "duration" => Some(Self::Amount),
            name => CONNECTIONS.has(name).then_some(Self::Connections),
        }
    }
}

/// Names of what is in flight at once, in small letters.
const CONNECTIONS: Words = Words(
    "conn, conns, connection, connections, client, clients, concurrency, concurrent, user, users, \
    vu, vus, parallel, parallelism, simultaneous, соединение, соединения, соединений, \
    пользователей, 并发, 并发数, 连接, 连接数, conexiones, conexões, connexions, verbindungen",
);

/// Names of threads, in small letters.
const THREADS: Words =
    Words("thread, threads, поток, потока, потоков, 线程, 线程数, hilos, threads数");

/// Names of how many requests are on one connection, in small letters.
const PIPELINES: Words = Words("pipeline, pipelining, pipelined, depth, streams");

/// Names of how long a body is, in small letters.
const SIZES: Words = Words("size, bytes, payload, body, kb, kib, length");

/// Names of what a server runs on, in small letters.
const WORKERS: Words =
    Words("worker, workers, process, processes, core, cores, cpus, instances, gomaxprocs, nodes");

impl fmt::Display for Load {
    /// Writes a load as prony labels it: `c64 t8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((kind, n)) = self.other {
            let known = Self {
                other: None,
                ..*self
            };
            if known != Self::default() {
                write!(f, "{known} ")?;
            }
            return match kind {
                LoadParameter::Workers => write!(f, "{n} workers"),
                LoadParameter::Pipeline => write!(f, "pipeline {n}"),
                LoadParameter::Size => write!(f, "{n} bytes"),
                LoadParameter::Rate => write!(f, "{n}/s"),
                LoadParameter::Number => write!(f, "{n}"),
            };
        }
        match (
            self.connections,
            self.threads.filter(|threads| *threads > 1),
        ) {
            (Some(c), Some(t)) => write!(f, "c{c} t{t}"),
            (Some(c), None) => write!(f, "c{c}"),
            (None, Some(t)) => write!(f, "t{t}"),
            (None, None) => f.write_str("any load"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        let load = |label| Load::parse(label).map(|load| (load.connections, load.threads));
        assert_eq!(load("c64-t8"), Some((Some(64), Some(8))));
        assert_eq!(load("t1-c1"), Some((Some(1), Some(1))));
        assert_eq!(load("c128"), Some((Some(128), None)));
        assert_eq!(load("256 connections"), Some((Some(256), None)));
        assert_eq!(
            load("8 threads and 64 connections"),
            Some((Some(64), Some(8)))
        );
        assert_eq!(load("Concurrency: 1k"), Some((Some(1_000), None)));
        assert_eq!(load("100 users"), Some((Some(100), None)));
        assert_eq!(load("4 потока, 16 соединений"), Some((Some(16), Some(4))));
        assert_eq!(load("并发数: 100"), Some((Some(100), None)));
        assert_eq!(load("100并发"), Some((Some(100), None)));
        assert_eq!(load("n=10000, c=100"), Some((Some(100), None)));
        assert_eq!(
            load("Benchmarking: threads=2, connections=100, duration=60s"),
            Some((Some(100), Some(2)))
        );
        for label in [
            "",
            "nginx",
            "c",
            "64 KB",
            "100 requests",
            "users",
            "c64-x",
            "64",
            "c1-c2",
            "m4.large",
            "c++",
            "c4.xlarge 4",
        ] {
            assert_eq!(load(label), None, "{label}");
        }
        assert_eq!(Load::parse("t8 c64").unwrap().to_string(), "c64 t8");
        assert_eq!(Load::parse("c64 t1").unwrap().to_string(), "c64");
    }

    #[test]
    fn names_of_loads() {
        let load = |name| Load::named(name, 8).map(|load| load.to_string());
        assert_eq!(load("Concurrent Connections").as_deref(), Some("c8"));
        assert_eq!(load("Threads").as_deref(), Some("t8"));
        assert_eq!(load("worker processes").as_deref(), Some("8 workers"));
        assert_eq!(load("Body size (bytes)").as_deref(), Some("8 bytes"));
        for name in [
            "connections/s",
            "server",
            "requests per connection",
            "node version",
        ] {
            assert_eq!(load(name), None, "{name}");
        }
    }
}

//! The load that a figure was measured under.

use crate::read::number::whole;
use std::fmt;

/// A load, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Load {
    /// Connections.
    pub connections: Option<u64>,
    /// Threads of the generator.
    pub threads: Option<u64>,
}

impl Load {
    /// A load by its label: `c64-t8`, `t1-c1`, `256 connections`, `c128`. None when the label is
    /// about something else as well.
    pub(crate) fn parse(label: &str) -> Option<Self> {
        let mut load = Self::default();
        let mut number = None;
        let words = label
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        for word in words {
            let digits = word
                .find(|c: char| c.is_ascii_digit())
                .unwrap_or(word.len());
            let (name, n) = word.split_at(digits);
            let n = if n.is_empty() {
                number.take()
            } else {
                Some(whole(n)?)
            };
            if name.is_empty() {
                number = n;
                continue;
            }
            let field = match name.to_ascii_lowercase().as_str() {
                "c" | "conn" | "conns" | "connection" | "connections" | "clients"
                | "concurrency" => &mut load.connections,
                "t" | "thread" | "threads" => &mut load.threads,
                "with" | "and" => {
                    number = n;
                    continue;
                }
                _ => return None,
            };
            if n.is_none() || field.replace(n?).is_some() {
                return None;
            }
        }
        (number.is_none() && load != Self::default()).then_some(load)
    }
}

impl fmt::Display for Load {
    /// As prony labels loads: `c64 t8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        for label in [
            "",
            "nginx",
            "c",
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
}

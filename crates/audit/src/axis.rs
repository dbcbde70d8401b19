//! Contents of a table's rows or columns: runs of one system, loads, or systems.

use crate::load::{Load, LoadParameter};
use crate::names::{bare, is_ordinal};
use crate::text::number::leading;
use crate::words::words;

/// Things that a row of labels names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Axis {
    /// Runs of one thing.
    Runs,
    /// Loads, one for each label.
    Loads(Vec<Load>),
    /// Moments of one run.
    Time,
    /// Systems, or quantities.
    Names,
}

/// Finds the things that labels name, under the name that they have together.
pub(crate) fn axis(name: &str, labels: &[&str]) -> Axis {
    if labels.len() < 2 {
        let load = labels.first().and_then(|label| load(name, label));
        return load.map_or(Axis::Names, |load| Axis::Loads(vec![load]));
    }
    if is_time(name) || labels.iter().all(|label| is_moment(label)) {
        return Axis::Time;
    }
    let loads: Option<Vec<Load>> = labels.iter().map(|label| load(name, label)).collect();
    if let Some(loads) = loads {
        return Axis::Loads(loads);
    }
    if let Some(loads) = continued(name, labels) {
        return Axis::Loads(loads);
    }
    let numbers: Option<Vec<u64>> = labels.iter().map(|label| bare(label)).collect();
    if let Some(numbers) = numbers {
        // Runs are counted from one, or from zero; 50, 100 and 500 count something else.
        let from = numbers[0];
        let counted = from <= 1 && numbers.iter().zip(from..).all(|(n, at)| *n == at);
        let version = words(name).any(|word| {
            word.eq_ignore_ascii_case("version") || word.eq_ignore_ascii_case("release")
        });
        return match (counted, version) {
            (_, true) => Axis::Names,
            (true, _) => Axis::Runs,
            (false, _) => Axis::Loads(numbers.into_iter().map(Load::number).collect()),
        };
    }
    if labels.iter().all(|label| is_ordinal(label)) {
        return Axis::Runs;
    }
    Axis::Names
}

/// `100 users`, `1000`, `10k`: the first says what all of them count.
fn continued(name: &str, labels: &[&str]) -> Option<Vec<Load>> {
    let first = load(name, labels.first()?)?;
    let number = |label: &&str| match leading(label.trim())? {
        (n, "") if n.value.fract() == 0.0 && n.value >= 1.0 => Some(n.value as u64),
        (n, "k" | "K") => Some((n.value * 1e3) as u64),
        _ => None,
    };
    let more: Vec<u64> = labels[1..].iter().map(number).collect::<Option<_>>()?;
    let of = |n: u64| match first {
        Load {
            connections: Some(_),
            ..
        } => Load {
            connections: Some(n),
            ..Load::default()
        },
        Load {
            threads: Some(_), ..
        } => Load {
            threads: Some(n),
            ..Load::default()
        },
        _ => Load {
            other: first.other.map(|(kind, _)| (kind, n)),
            ..Load::default()
        },
    };
    Some(
        [first]
            .into_iter()
            .chain(more.into_iter().map(of))
            .collect(),
    )
}

/// The load that a label is, under the name of its row or column.
pub(crate) fn load(name: &str, label: &str) -> Option<Load> {
    let number = || match leading(label.trim())? {
        (n, "") if n.value.fract() == 0.0 && n.value >= 0.0 => Some(n.value as u64),
        (n, "k" | "K") => Some((n.value * 1e3) as u64),
        _ => None,
    };
    if let Some(load) = number().and_then(|n| Load::named(name, n)) {
        return Some(load);
    }
    Load::parse(label).or_else(|| size(label)).or_else(|| {
        // `4 workers`, `pipeline 16`
        let mut n = None;
        let mut rest = Vec::new();
        for word in words(label) {
            match bare(word) {
                Some(number) if n.is_none() => n = Some(number),
                Some(_) => return None,
                None => rest.push(word),
            }
        }
        (rest.len() <= 2).then(|| Load::named(&rest.join(" "), n?))?
    })
}

/// `64KB`, `1 MiB`: a size and nothing else.
fn size(label: &str) -> Option<Load> {
    let (n, unit) = leading(label.trim())?;
    let bytes = match unit.trim().to_ascii_lowercase().as_str() {
        "b" | "byte" | "bytes" => 1.0,
        "kb" | "kib" => 1024.0,
        "mb" | "mib" => 1024.0 * 1024.0,
        _ => return None,
    };
    Some(Load {
        other: Some((LoadParameter::Size, (n.value * bytes) as u64)),
        ..Load::default()
    })
}

/// Is a column of moments?
fn is_time(name: &str) -> bool {
    let name = name.to_lowercase();
    matches!(
        name.trim(),
        "time" | "timestamp" | "date" | "second" | "seconds" | "elapsed" | "t" | "ts"
    ) || name.contains("timestamp")
}

/// `17:50:02`: a time of day, to the second.
fn is_moment(label: &str) -> bool {
    let parts: Vec<&str> = label.trim().split(':').collect();
    let two = |part: &&str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(two)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(name: &str, labels: &[&str]) -> Vec<String> {
        match axis(name, labels) {
            Axis::Loads(loads) => loads.iter().map(ToString::to_string).collect(),
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn loads_and_variants_are_no_runs() {
        assert_eq!(axis("", &["1", "2", "3"]), Axis::Runs);
        assert_eq!(axis("", &["1st", "2nd"]), Axis::Runs);
        assert_eq!(loads("", &["50", "100", "500"]), ["50", "100", "500"]);
        assert_eq!(loads("Concurrent Connections", &["1", "2"]), ["c1", "c2"]);
        assert_eq!(loads("clients", &["1", "2", "3"]), ["c1", "c2", "c3"]);
        assert_eq!(
            loads("", &["1 worker", "4 workers"]),
            ["1 workers", "4 workers"]
        );
        assert_eq!(loads("", &["64 B", "1KB"]), ["64 bytes", "1024 bytes"]);
        assert_eq!(axis("Java version", &["8", "11", "17"]), Axis::Names);
        assert_eq!(axis("", &["1.10", "1.11"]), Axis::Names);
        assert_eq!(
            loads("Metric", &["100 users", "1000", "10k"]),
            ["c100", "c1000", "c10000"]
        );
        assert_eq!(axis("timestamp", &["1", "2"]), Axis::Time);
        assert_eq!(axis("17:49:59", &["17:50:00", "17:50:01"]), Axis::Time);
        assert_eq!(axis("", &["nginx", "node"]), Axis::Names);
    }
}

//! Lists below a heading: `- Echo: 84,166 req/s` for each system, or `c64-t8: 48000` for each load.

use crate::load::Load;
use crate::model::{Row, Table, TableCell, number};
use crate::names::{is_ordinal, is_summary};
use crate::quantity::is_other;
use crate::text::lines::{Lines, without_markup};
use crate::words::{Words, words};

/// Marks that an item of a list begins with.
const MARKS: [char; 4] = ['-', '*', '+', '•'];
/// Fewer loads are no list of them.
const LOADS: usize = 3;
/// Fewer systems are not compared.
const SYSTEMS: usize = 2;
/// A sentence is longer than a name, in characters.
const NAME: usize = 60;
/// An item of a list is shorter, in bytes.
const LONGEST: usize = 200;

/// The list that begins in a line, and the index of the line behind it.
pub(super) fn read(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    let (rows, next) = items(lines, at, |line| {
        system(line).map(|(name, _, rate)| (name, rate))
    });
    if rows.len() >= SYSTEMS {
        let unit = system(lines.get(at)).map_or("", |(_, unit, _)| unit);
        let header = vec![String::new(), unit.to_owned()];
        return Some((table(at, header, rows), next));
    }
    let (rows, next) = items(lines, at, load);
    (rows.len() >= LOADS).then(|| (table(at, Vec::new(), rows), next))
}

fn table(at: usize, header: Vec<String>, rows: Vec<Row>) -> Table {
    Table {
        first: at + 1,
        header,
        rows,
    }
}

/// The rows of lines that follow each other, and the index of the line behind them.
fn items(
    lines: &Lines<'_>,
    at: usize,
    item: impl Fn(&str) -> Option<(String, String)>,
) -> (Vec<Row>, usize) {
    let mut rows = Vec::new();
    let mut next = at;
    while let Some((name, figure)) = item(lines.get(next)) {
        let cells = [name, figure].map(|text| TableCell::new(next + 1, text));
        rows.push(Row {
            cells: cells.into(),
        });
        next += 1;
    }
    (rows, next)
}

/// The load and the figure of `c64-t8: 48000`.
fn load(line: &str) -> Option<(String, String)> {
    let line = line.trim().trim_start_matches(MARKS).trim_start();
    let (label, figure) = line.split_once(':')?;
    let figure = figure.trim();
    Load::parse(label)?;
    number(figure).map(|_| (label.trim().to_owned(), figure.to_owned()))
}

/// The name, the unit and the rate of `- Echo: 84,166 req/sec`, `* [Hyper](…) - 124974 requests per second`.
fn system(line: &str) -> Option<(String, &'static str, String)> {
    const UNITS: [&str; 13] = [
        "[#/sec]",
        "req/s",
        "req/sec",
        "reqs/s",
        "reqs/sec",
        "requests/s",
        "requests/sec",
        "requests/second",
        "requests per second",
        "requests per sec",
        "rps",
        "qps",
        "ops/s",
    ];
    let line = line.trim();
    let digit = line.bytes().any(|b| b.is_ascii_digit());
    let item = line.starts_with(MARKS) || line.contains(": ");
    (item && digit && line.len() < LONGEST).then_some(())?;
    let text = without_markup(line.trim_start_matches(MARKS));
    let text = text.trim_end_matches(['.', ',', ';']);
    let lower = text.to_lowercase();
    let units = UNITS.iter().filter(|unit| lower.ends_with(*unit));
    let unit = units.max_by_key(|unit| unit.len())?;
    let rest = text.get(..text.len() - unit.len())?.trim_end();
    let figure = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | 'k' | 'K');
    let name = rest.trim_end_matches(figure);
    let rate = &rest[name.len()..];
    number(rate)?;
    // `20–25k` is no one figure.
    (!name.ends_with(['-', '–', '—'])).then_some(())?;
    let name =
        name.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, ')' | ']' | '+'));
    is_name(name).then(|| (name.to_owned(), *unit, rate.to_owned()))
}

/// May a label be one of something that is compared with others? A quantity of one thing is none, nor is a setting.
fn is_name(label: &str) -> bool {
    const QUANTITIES: Words = Words(
        "average, peak, maximum, minimum, target, expected, throughput, rate, rps, qps, overall, \
        sustained, current, requests, start, end, initial, final",
    );
    let lower = label.to_lowercase();
    let first = words(&lower).next().unwrap_or("");
    // `gRPC throughput` names something, `Throughput` does not.
    label.chars().any(char::is_alphabetic)
        && label.chars().count() <= NAME
        && !QUANTITIES.has(first)
        && !is_other(first)
        && !is_summary(label)
        && !is_ordinal(label)
        && Load::parse(label).is_none()
        && !label.contains(['=', '"', '{', '/', '|'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_rates() {
        let text =
            "- [Echo](http://e) - 84,166 req/sec\n- **No Framework**: 84.0k req/sec\n- the rest\n";
        let (table, next) = read(&Lines::new(text), 0).unwrap();
        assert_eq!(
            (table.rows[0].label(), table.name(1), next),
            ("Echo", "req/sec", 2)
        );
        assert_eq!(table.rows[1].number(1).unwrap().value, 84_000.0);
        let text = "gRPC Throughput: 1699 req/s\nREST Throughput: 28 req/s\n";
        let (table, _) = read(&Lines::new(text), 0).unwrap();
        assert_eq!(table.rows[1].label(), "REST Throughput");
        // Quantities of one thing, times, and ranges.
        for text in [
            "Average throughput: 1699 req/s\nPeak throughput: 2800 req/s\n",
            "alpha: 12ms\nbeta: 30ms\n",
            "alpha: 20–25k req/s\nbeta: 6–10k req/s\n",
        ] {
            assert!(read(&Lines::new(text), 0).is_none(), "{text}");
        }
    }

    #[test]
    fn loads_only() {
        let text =
            "c1-t1:   7600\nc4-t4:   20000\n- c8-t1: 32000\n\nport: 80\nport: 81\nport: 82\n";
        let (table, next) = read(&Lines::new(text), 0).unwrap();
        assert_eq!((table.rows.len(), next), (3, 3));
        assert_eq!(table.rows[2].label(), "c8-t1");
        assert!(read(&Lines::new(text), 4).is_none());
    }

    #[test]
    fn only_below_a_heading() {
        let rates = "- alpha: 84,166 req/s\n- beta: 23,480 req/s\n";
        let tables = |text: &str| crate::read("x.md", text).tables.len();
        assert_eq!(tables(&format!("# Results\n\n{rates}")), 1);
        assert_eq!(tables(&format!("We measured:\n\n{rates}")), 1);
        let bare = crate::read("x.md", &format!("We measured.\n\n{rates}"));
        assert_eq!((bare.tables.len(), bare.unread.len()), (0, 2));
    }
}

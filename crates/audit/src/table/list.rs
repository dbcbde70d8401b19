//! Lists of a load and its figure: `c64-t8:  48000`.

use super::{Cell, Row, Table, number};
use crate::figures::rate_unit;
use crate::load::Load;
use crate::read::lines::{Lines, without_markup};

/// What an item of a list begins with.
const MARKS: [char; 4] = ['-', '*', '+', '•'];
/// Fewer lines are no table.
const LEAST: usize = 3;
/// A sentence is longer than a name.
const NAME: usize = 60;

/// Lines that a script has made of outputs: `alpha      Requests/sec:  32435.66`, each with the same words in front of
/// its figure.
fn of_names(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    fn entry(line: &str) -> Option<(&str, &str, &str)> {
        let (before, figure) = line.trim().split_once(": ")?;
        let (name, unit) = before.trim_end().rsplit_once("  ")?;
        rate_unit(unit)?;
        Some((name.trim(), unit.trim(), figure.trim()))
    }
    let (_, unit, _) = entry(lines.get(at))?;
    let mut rows = Vec::new();
    let mut next = at;
    while let Some((name, _, figure)) = entry(lines.get(next)).filter(|(_, own, _)| *own == unit) {
        let cell = |text: &str| Cell::new(next + 1, text.to_owned());
        rows.push(Row {
            cells: vec![cell(name), cell(figure)],
        });
        next += 1;
    }
    (rows.len() >= LEAST).then(|| {
        let table = Table {
            first: at + 1,
            header: vec![String::new(), unit.to_owned()],
            rows,
        };
        (table, next)
    })
}

/// `- Echo: 84,166 req/sec`, `* [Hyper](…) - 124974 requests per second`: a name, and a figure with its unit.
fn of_rates(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
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
    fn entry(line: &str) -> Option<(String, &'static str, String)> {
        let line = line.trim();
        line.starts_with(MARKS).then_some(())?;
        let text = without_markup(line.trim_start_matches(MARKS));
        let text = text.trim_end_matches(['.', ',', ';', '。', '，', '；']);
        // `alpha: ~84,634 req/s, 116.71μs avg latency`
        let first = text.split_once("/s, ").map(|(first, _)| first.len() + 2);
        let text = first.map_or(text, |end| &text[..end]);
        let lower = text.to_lowercase();
        let unit = UNITS
            .iter()
            .filter(|unit| lower.ends_with(*unit))
            .max_by_key(|unit| unit.len())?;
        let rest = text.get(..text.len() - unit.len())?.trim_end();
        let from =
            rest.rfind(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | 'k' | 'K')))?;
        let from = from + rest[from..].chars().next()?.len_utf8();
        let figure = &rest[from..];
        number(figure)?;
        let name = rest[..from]
            .trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, ')' | ']' | '+'));
        let good = name.chars().any(char::is_alphabetic) && name.chars().count() <= NAME;
        good.then(|| (name.to_owned(), *unit, figure.to_owned()))
    }
    let mut rows = Vec::new();
    let mut next = at;
    let mut unit = None;
    while let Some((name, own, figure)) = entry(lines.get(next)) {
        unit = unit.or(Some(own));
        let cell = |text: &str| Cell::new(next + 1, text.to_owned());
        rows.push(Row {
            cells: vec![cell(&name), cell(&figure)],
        });
        next += 1;
        // Text that was taken from a page may have an empty line behind each item.
        let apart =
            lines.get(next).trim().is_empty() && lines.get(next + 1).trim_start().starts_with('•');
        next += usize::from(apart);
    }
    (rows.len() >= 2).then(|| {
        let table = Table {
            first: at + 1,
            header: vec![String::new(), unit.unwrap_or_default().to_owned()],
            rows,
        };
        (table, next)
    })
}

pub(super) fn read(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    if let Some(found) = of_names(lines, at).or_else(|| of_rates(lines, at)) {
        return Some(found);
    }
    let mut rows = Vec::new();
    let mut next = at;
    while let Some((label, figure)) = entry(lines.get(next)) {
        let cell = |text: &str| Cell::new(next + 1, text.to_owned());
        let cells = vec![cell(label), cell(figure)];
        rows.push(Row { cells });
        next += 1;
    }
    (rows.len() >= LEAST).then(|| {
        let table = Table {
            first: at + 1,
            header: Vec::new(),
            rows,
        };
        (table, next)
    })
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let line = line.trim().trim_start_matches(['-', '*', '+']).trim_start();
    let (label, figure) = line.split_once(':')?;
    let figure = figure.trim();
    Load::parse(label)?;
    number(figure).map(|_| (label.trim(), figure))
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
        let text = "- **alpha**: ~84,634 req/s, 116.71μs avg latency\n- **beta**: ~37,321 req/s, 266.44μs avg latency\n";
        let (table, next) = read(&Lines::new(text), 0).unwrap();
        assert_eq!((table.rows[1].label(), next), ("beta", 2));
        assert_eq!(table.rows[0].number(1).unwrap().value, 84_634.0);
        let text = "  • 方案一：409.12 [#/sec]。\n\n  • 方案二：504.58 [#/sec]。\n\nthe rest\n";
        let (table, next) = read(&Lines::new(text), 0).unwrap();
        assert_eq!((table.rows.len(), next), (2, 3));
        assert_eq!(table.rows[1].label(), "方案二");
        let text = "alpha     Requests/sec:  300.5\nbeta      Requests/sec:  200.5\nc d   Requests/sec:   N/A\n";
        let (table, next) = read(&Lines::new(text), 0).unwrap();
        assert_eq!(
            (table.rows[2].label(), table.name(1), next),
            ("c d", "Requests/sec", 3)
        );
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
}

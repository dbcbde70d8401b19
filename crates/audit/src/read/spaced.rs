//! Tables whose columns only spaces set apart. They are not read, so that a report has to name them.

use crate::quantity::rate_unit;
use crate::text::lines::Lines;
use crate::text::number::leading;

/// Fewer rows are no table.
const ROWS: usize = 2;

/// The line behind a table that begins in a line: names of quantities, and rows of figures below them.
pub(super) fn table(lines: &Lines<'_>, at: usize) -> Option<usize> {
    let header = lines.get(at);
    let names: Vec<&str> = columns(header).collect();
    (names.len() >= 3 && names.iter().any(|name| rate_unit(name).is_some())).then_some(())?;
    let is_rule = |line: &str| line.bytes().all(|b| matches!(b, b'-' | b'=' | b' '));
    let mut rows = 0;
    let mut next = at + 1;
    while next < lines.len() {
        let line = lines.get(next).trim();
        let figures = columns(line).skip(1).filter(|c| leading(c).is_some());
        if figures.count() > 0 {
            rows += 1;
        } else if line.is_empty() || !is_rule(line) {
            break;
        }
        next += 1;
    }
    (rows >= ROWS).then_some(next)
}

fn columns(line: &str) -> impl Iterator<Item = &str> {
    let columns = line.split("  ").flat_map(|part| part.split('\t'));
    columns.map(str::trim).filter(|column| !column.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_quantities_above_figures() {
        let text = "server    req/s   p99 ms\n------------------------\nalpha     48000   1.5\nbeta      41000   2.5\n\nx";
        assert_eq!(table(&Lines::new(text), 0), Some(4));
        let words = text.replace("req/s", "where");
        assert_eq!(table(&Lines::new(&words), 0), None);
        assert_eq!(table(&Lines::new(text), 2), None);
    }
}

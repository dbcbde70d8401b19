//! Tables of Markdown: cells between bars, dashes below the header.

use super::LARGEST;
use crate::model::{Row, Table, TableCell};
use crate::text::lines::{Lines, without_markup};

pub(super) fn read(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    let header = lines.get(at);
    let bars = |line: &str| line.matches(" | ").count();
    // `name | req/s | p99`, as scripts print it, above a line of dashes
    let printed = || {
        bars(header) >= 2 && is_line(lines.get(at + 1)) && bars(lines.get(at + 2)) == bars(header)
    };
    if !header.contains('|') || !is_rule(lines.get(at + 1)) && !printed() {
        return None;
    }
    let header: Vec<String> = cells(header, at)
        .into_iter()
        .map(|cell| cell.text)
        .collect();
    let mut rows = Vec::new();
    let mut next = at + 2;
    let width = header.len();
    // Scripts leave a line empty between groups of rows; another table has a header of its own.
    let goes_on = |next: usize| {
        let more = lines.get(next + 1);
        lines.get(next).trim().is_empty()
            && more.trim_start().starts_with('|')
            && cells(more, next).len() == width
            && !is_rule(lines.get(next + 2))
    };
    loop {
        if !lines.get(next).contains('|') {
            if rows.is_empty() || !goes_on(next) {
                break;
            }
            next += 1;
        }
        // One row more than the largest table has says that it is none; the others need no reading.
        if rows.len() <= LARGEST {
            let cells = cells(lines.get(next), next);
            rows.push(Row { cells });
        }
        next += 1;
    }
    let first = at + 1;
    Some((
        Table {
            first,
            header,
            rows,
        },
        next,
    ))
}

/// `|---|:--:|`
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.contains('|')
        && line.contains("--")
        && line
            .bytes()
            .all(|b| matches!(b, b'|' | b'-' | b':' | b' ' | b'\t'))
}

/// A line of dashes, as wide as a table is.
fn is_line(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 12 && line.bytes().all(|b| b == b'-')
}

fn cells(line: &str, at: usize) -> Vec<TableCell> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|')
        .map(|cell| TableCell::new(at + 1, without_markup(cell)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_markup() {
        let text =
            "| name | **req/s** |\n|:--|--:|\n| `a` | 1,200 |\n|[b](x)|**900.5**|\n\nx | y\n";
        let (table, next) = read(&Lines::new(text), 0).unwrap();
        assert_eq!((table.first, next), (1, 4));
        assert_eq!(table.header, ["name", "req/s"]);
        assert_eq!(table.rows[1].label(), "b");
        assert_eq!(table.rows[1].number(1).unwrap().value, 900.5);
        assert_eq!(table.rows[0].line(), 3);
        assert_eq!(table.numeric_columns(), [1]);
        assert!(read(&Lines::new(text), 5).is_none());
    }

    #[test]
    fn a_table_above_a_line_of_dashes() {
        let text = "name | req/s | p99\n-------------------\na | 12 | 3\nb | 13 | 4\n";
        let (table, next) = read(&Lines::new(text), 0).unwrap();
        assert_eq!((table.header.len(), table.rows.len(), next), (3, 2, 4));
        let title = "a | b | c\n---------------\n\nA sentence.\n";
        assert!(read(&Lines::new(title), 0).is_none());
    }
}

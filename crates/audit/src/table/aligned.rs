//! Tables whose columns are set with spaces: two or more between the cells.

use super::{Cell, Row, Table, number};
use crate::figures::{is_other, rate_unit};
use crate::read::lines::{Lines, is_fence};

/// Fewer rows are no table.
const LEAST: usize = 2;
/// Nor are lines of this length.
const LONGEST: usize = 300;

pub(super) fn read(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    let names = cells(lines.get(at))?;
    // A header without numbers, in which a column says that it is of rates.
    let named = names.len() >= 2
        && names.iter().all(|name| number(name).is_none())
        && names.iter().any(|name| rate_unit(name).is_some());
    named.then_some(())?;
    let mut next = at + 1;
    let mut rows = Vec::new();
    while next < lines.len() {
        let line = lines.get(next);
        if line.trim().bytes().all(|b| matches!(b, b'-' | b'=' | b' ')) && rows.is_empty() {
            next += 1;
            if line.trim().is_empty() {
                break;
            }
            continue;
        }
        let Some(cells) = cells(line).filter(|_| !is_fence(line)) else {
            break;
        };
        let figures = cells[1..].iter().any(|cell| number(cell).is_some());
        if cells.len() != names.len() || !figures {
            break;
        }
        let cells = cells
            .into_iter()
            .map(|cell| Cell::new(next + 1, cell.to_owned()));
        rows.push(Row {
            cells: cells.collect(),
        });
        next += 1;
    }
    let header = names.into_iter().map(str::to_owned).collect();
    (rows.len() >= LEAST).then_some((
        Table {
            first: at + 1,
            header,
            rows,
        },
        next,
    ))
}

/// The cells of a line; of one word each where no two spaces stand between any.
fn cells(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    if line.is_empty() || line.len() > LONGEST {
        return None;
    }
    let mut cells: Vec<&str> = line.split("  ").map(str::trim).collect();
    cells.retain(|cell| !cell.is_empty());
    if cells.len() < 2 {
        cells = line.split_whitespace().collect();
        // Words of a sentence are no cells: each names a quantity, or is a number or a name.
        let quantities = cells[1..]
            .iter()
            .all(|cell| number(cell).is_some() || rate_unit(cell).is_some() || is_other(cell));
        (cells.len() >= 2 && quantities).then_some(())?;
    }
    Some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_sentences() {
        let text = "server        req/s   p99\n------        -----   ---\nnginx      48000.10  1.2ms\nnode js    20100.20  3.4ms\n\nend";
        let (table, next) = read(&Lines::new(text), 0).unwrap();
        assert_eq!((table.header.len(), table.rows.len(), next), (3, 2, 4));
        assert_eq!(table.rows[1].label(), "node js");
        let text = "name rps p99\na 100 2\nb 200 3\n";
        assert_eq!(read(&Lines::new(text), 0).unwrap().0.rows.len(), 2);
        for text in [
            "we got 100 req/s from it\nand then 200\n",
            "a  b\n1  2\n3  4\n",
        ] {
            assert!(read(&Lines::new(text), 0).is_none(), "{text}");
        }
    }
}

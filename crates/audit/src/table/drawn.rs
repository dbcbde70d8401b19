//! Tables that programs draw with lines: `│ Stat │ 50% │` between `├──────┼─────┤`, or `+---+`.

use super::{Cell, Row, Table};
use crate::read::lines::{Lines, without_markup};

pub(super) fn read(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    is_rule(lines.get(at)).then_some(())?;
    let mut rows: Vec<Row> = Vec::new();
    let mut header = Vec::new();
    let mut next = at + 1;
    while next < lines.len() {
        let line = lines.get(next).trim();
        if is_rule(line) {
            // The first rule behind a row ends the header.
            if header.is_empty() && rows.len() == 1 {
                header = rows
                    .remove(0)
                    .cells
                    .into_iter()
                    .map(|cell| cell.text)
                    .collect();
            }
        } else if line.starts_with(['│', '|', '║', '┃']) {
            rows.push(row(line, next));
        } else {
            break;
        }
        next += 1;
    }
    let first = at + 1;
    (!rows.is_empty()).then_some((
        Table {
            first,
            header,
            rows,
        },
        next,
    ))
}

/// `┌────┬────┐`, `├────┼────┤`, `+----+----+`
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.starts_with(['┌', '├', '└', '╔', '╠', '╚', '+', '┏', '┡'])
        && line.chars().count() >= 5
        && line
            .chars()
            .skip(1)
            .all(|c| matches!(c, '\u{2500}'..='\u{257f}' | '+' | '-' | '='))
}

fn row(line: &str, at: usize) -> Row {
    let bars = ['│', '|', '║', '┃'];
    let line = line.trim_start_matches(bars).trim_end_matches(bars);
    let cells = line
        .split(bars)
        .map(|cell| Cell::new(at + 1, without_markup(cell.trim())));
    Row {
        cells: cells.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_kinds() {
        for text in [
            "┌──────┬───────┐\n│ name │ req/s │\n├──────┼───────┤\n│ a    │ 1,200 │\n└──────┴───────┘\nx",
            "+------+-------+\n| name | req/s |\n+======+=======+\n| a    | 1,200 |\n+------+-------+\nx",
        ] {
            let (table, next) = read(&Lines::new(text), 0).unwrap();
            assert_eq!(
                (table.header[1].as_str(), table.rows.len(), next),
                ("req/s", 1, 5)
            );
            assert_eq!(table.rows[0].number(1).unwrap().value, 1_200.0);
        }
        assert!(read(&Lines::new("+1\n| a |\n"), 0).is_none());
    }
}

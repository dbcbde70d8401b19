//! Tables that programs draw with lines: `│ Stat │ 50% │` between `├──────┼─────┤`, or `+---+`.

use crate::model::{Row, Table, TableCell};
use crate::text::lines::{Lines, without_markup};

pub(super) fn read(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    is_rule(lines.get(at)).then_some(())?;
    // The lines between two rules.
    let mut groups: Vec<Vec<Row>> = vec![Vec::new()];
    let mut next = at + 1;
    while next < lines.len() {
        let line = lines.get(next).trim();
        if is_rule(line) {
            groups.push(Vec::new());
        } else if line.starts_with(['│', '|', '║', '┃']) {
            groups.last_mut()?.push(row(line, next));
        } else {
            break;
        }
        next += 1;
    }
    groups.retain(|group| !group.is_empty());
    let mut groups = groups.into_iter();
    let head = groups.next()?;
    let body: Vec<Vec<Row>> = groups.collect();
    let (header, rows) = if body.is_empty() {
        (Vec::new(), head)
    } else {
        let header = merged(head)?.cells.into_iter().map(|cell| cell.text);
        // With a rule behind every row, a row may have several lines.
        let rows = match body.len() {
            1 => body.into_iter().flatten().collect(),
            _ => body.into_iter().filter_map(merged).collect(),
        };
        (header.collect(), rows)
    };
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

/// Lines that are one row: the cells of each column one after the other.
fn merged(lines: Vec<Row>) -> Option<Row> {
    let mut lines = lines.into_iter();
    let mut row = lines.next()?;
    for line in lines {
        for (cell, more) in row.cells.iter_mut().zip(line.cells) {
            let text = format!("{} {}", cell.text, more.text);
            *cell = TableCell::new(cell.line, text.trim().to_owned());
        }
    }
    Some(row)
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
        .map(|cell| TableCell::new(at + 1, without_markup(cell.trim())));
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
        let text = "┌───┬────────────┐\n│   │ req/s      │\n│   │ (% of a)   │\n├───┼────────────┤\n│ a │ 200.5      │\n\
            │   │ (100.00)   │\n├───┼────────────┤\n│ b │ 100.5      │\n│   │ (50.1)     │\n└───┴────────────┘\n";
        let table = read(&Lines::new(text), 0).unwrap().0;
        assert_eq!(
            (table.header[1].as_str(), table.rows.len()),
            ("req/s (% of a)", 2)
        );
        assert_eq!(table.rows[1].number(1).unwrap().value, 100.5);
        assert!(read(&Lines::new("+1\n| a |\n"), 0).is_none());
    }
}

//! Tables that are laid out in some other way than a row for each thing and a column for each quantity.

use super::{Cell, Row, Table};
use crate::names::words;

/// A table with fewer places is no order.
const PLACES: usize = 3;

/// An order for each column, `| 1 | alpha 962713 | beta 939343 |`, as a table with a row for each name.
pub(super) fn places(table: &Table) -> Option<Table> {
    let ranks = words(table.name(0)).any(|word| {
        let word = word.to_lowercase();
        matches!(word.as_str(), "rank" | "place" | "position" | "pos")
    });
    let width = table.header.len();
    (ranks && width >= 2 && table.rows.len() >= PLACES).then_some(())?;
    let mut rows: Vec<Row> = Vec::new();
    for row in &table.rows {
        for (column, cell) in row.cells.iter().enumerate().skip(1) {
            let (name, number) = named(&cell.text)?;
            let at = rows.iter().position(|row| row.label() == name);
            let at = at.unwrap_or_else(|| {
                let empty = |_| Cell::new(cell.line, String::new());
                let mut cells: Vec<Cell> = (0..width).map(empty).collect();
                cells[0].text = name.to_owned();
                rows.push(Row { cells });
                rows.len() - 1
            });
            *rows[at].cells.get_mut(column)? = Cell::new(cell.line, number.to_owned());
        }
    }
    let mut header = table.header.clone();
    header[0] = String::new();
    Some(Table {
        first: table.first,
        header,
        rows,
    })
}

/// `alpha   962713`: a name and a number behind it.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, number) = text.trim().rsplit_once(char::is_whitespace)?;
    let name = name.trim();
    let bare = number.starts_with(|c: char| c.is_ascii_digit()) && super::number(number).is_some();
    (bare && name.contains(char::is_alphabetic)).then_some((name, number))
}

impl Table {
    /// What stands below each label of the first column, where the second names quantities: `| reads | Throughput | 28.6 | 11.4 |`.
    pub(crate) fn groups(&self) -> Option<Vec<(String, Table)>> {
        const QUANTITIES: [&str; 13] = [
            "metric",
            "metrics",
            "measure",
            "measurement",
            "métrique",
            "métrica",
            "metrica",
            "metrik",
            "指标",
            "指標",
            "показатель",
            "метрика",
            "지표",
        ];
        let name = self.name(1).trim().to_lowercase();
        (QUANTITIES.contains(&name.as_str()) && self.header.len() >= 3).then_some(())?;
        let mut groups: Vec<(String, Table)> = Vec::new();
        for row in &self.rows {
            let label = row.label();
            let known = groups.last().is_some_and(|(group, _)| group == label);
            if groups.is_empty() || !label.is_empty() && !known {
                let part = Table {
                    first: row.line(),
                    header: self.header[1..].to_vec(),
                    rows: Vec::new(),
                };
                groups.push((label.to_owned(), part));
            }
            let (_, part) = groups.last_mut()?;
            part.rows.push(Row {
                cells: row.cells.get(1..)?.to_vec(),
            });
        }
        Some(groups)
    }
}

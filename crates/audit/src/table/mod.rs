//! Tables: Markdown, HTML, CSV, drawn with lines, and lists below a heading.

mod csv;
mod drawn;
mod html;
mod list;
mod markdown;

use crate::model::{Row, Table, TableCell};
use crate::text::lines::Lines;

pub(crate) use csv::separator_of;

/// Larger tables are data, not results.
const LARGEST: usize = 10_000;

/// Result of reading a table.
pub(crate) enum Read {
    /// One with figures in it.
    Table(Table),
    /// One of this many cells, or more.
    TooLarge(usize),
    /// One without figures.
    None,
}

impl Row {
    /// Cells that were pasted with what they are of: `| Req/sec: | Req/sec: 190965.27 |`.
    fn unlabel(&mut self) {
        let Some((label, rest)) = self.cells.split_first_mut() else {
            return;
        };
        let label = label.text.as_str();
        let named = |cell: &TableCell| {
            let rest = cell.text.strip_prefix(label);
            rest.is_some_and(|rest| rest.starts_with([' ', ':']))
        };
        let words = label.len() > 2 && label.starts_with(char::is_alphabetic);
        if !words || rest.is_empty() || !rest.iter().all(named) {
            return;
        }
        for cell in rest {
            *cell = TableCell::new(cell.line, cell.text[label.len()..].trim().to_owned());
        }
    }
}

impl Table {
    /// A label that stands only in the first of the rows that it is of: `| Express | Node | 3311 |`, `| | Bun | 17030 |`.
    fn repeat_labels(&mut self) {
        let numbers = |row: &Row| row.cells.iter().skip(1).any(|cell| cell.number.is_some());
        let mut above: Option<String> = None;
        for row in &mut self.rows {
            let named = |cell: &TableCell| !cell.text.is_empty() && cell.number.is_none();
            let own = numbers(row);
            let second = row.cells.get(1).is_some_and(named);
            let Some(first) = row.cells.first_mut() else {
                continue;
            };
            match &above {
                Some(label) if first.text.is_empty() && own && second => {
                    first.text.clone_from(label);
                }
                // What has a label and no figures is a title.
                _ => above = (named(first) && own && second).then(|| first.text.clone()),
            }
        }
    }

    /// A table with numbers in it, of a size that is read by people.
    fn good(mut self) -> Read {
        self.rows.iter_mut().for_each(Row::unlabel);
        self.repeat_labels();
        let cells = self.rows.iter().map(|row| row.cells.len()).sum::<usize>();
        let numbers = self.rows.iter().flat_map(|row| &row.cells);
        let any = numbers.clone().any(|cell| cell.number.is_some());
        match (any, cells <= LARGEST) {
            (true, true) => Read::Table(self),
            (true, false) => Read::TooLarge(cells),
            (false, _) => Read::None,
        }
    }
}

/// The table that begins in a line, if it has figures, and the index of the line behind it.
/// `separator` is that of a text which is a table as a whole; a list is one where it is `headed`.
pub(crate) fn read(
    lines: &Lines<'_>,
    at: usize,
    fenced: bool,
    headed: bool,
    separator: Option<char>,
) -> Option<(Read, usize)> {
    let (table, next) = html::read(lines, at)
        .or_else(|| markdown::read(lines, at))
        .or_else(|| drawn::read(lines, at))
        .or_else(|| headed.then(|| list::read(lines, at))?)
        .or_else(|| csv::read(lines, at, fenced, separator))?;
    Some((table.good(), next))
}

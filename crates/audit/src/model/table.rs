//! Tables and their cells.

use crate::text::number::{Printed, leading};

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The first line, from 1.
    pub first: usize,
    /// The names of its columns; empty texts where they have none.
    pub header: Vec<String>,
    /// The rows without the header.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The cells, from left to right.
    pub cells: Vec<TableCell>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableCell {
    /// The line, from 1.
    pub line: usize,
    /// The text without markup.
    pub text: String,
    /// The number that it is: `12,345.6`, `12.3k`, `7 ms`, `5 ± 1`.
    pub number: Option<Printed>,
}

impl TableCell {
    pub(crate) fn new(line: usize, text: String) -> Self {
        let number = number(&text);
        Self { line, text, number }
    }
}

impl Row {
    /// The line of the first cell, from 1; 0 without cells.
    pub fn line(&self) -> usize {
        self.cells.first().map_or(0, |cell| cell.line)
    }

    /// The text of its first cell.
    pub fn label(&self) -> &str {
        self.cells.first().map_or("", |cell| cell.text.as_str())
    }

    /// The number in a column.
    pub fn number(&self, column: usize) -> Option<Printed> {
        self.cells.get(column)?.number
    }

    /// The line of a column's cell.
    pub fn line_of(&self, column: usize) -> usize {
        self.cells.get(column).map_or(self.line(), |cell| cell.line)
    }
}

impl Table {
    /// A column's name.
    pub fn name(&self, column: usize) -> &str {
        self.header.get(column).map_or("", String::as_str)
    }

    /// Columns in which at least half of the cells hold a number.
    pub fn numeric_columns(&self) -> Vec<usize> {
        let columns = self
            .rows
            .iter()
            .map(|row| row.cells.len())
            .max()
            .unwrap_or(0);
        (0..columns)
            .filter(|&column| {
                let numbers = self.rows.iter().filter(|row| row.number(column).is_some());
                2 * numbers.count() >= self.rows.len()
            })
            .collect()
    }
}

/// The number that a cell is.
pub(crate) fn number(text: &str) -> Option<Printed> {
    // A medal or another picture may stand before it.
    let picture = |c: char| !c.is_ascii() && !c.is_alphanumeric() && c != '−' && c != '–';
    let text = text.trim().trim_start_matches(picture).trim_start();
    let text = text.trim_start_matches(['~', '≈', '$', '+']);
    let (number, rest) = leading(text)?;
    let factor = match rest.chars().next() {
        Some('k' | 'K') if ends_word(&rest[1..]) => 1e3,
        Some('M') if ends_word(&rest[1..]) => 1e6,
        _ => 1.0,
    };
    let rest = rest.trim();
    // A unit may stand behind it, or how sure it is; another number makes it something else.
    let aside = ["±", "+/-", "(", "["]
        .iter()
        .any(|mark| rest.starts_with(mark));
    let unit =
        rest.chars().count() <= 16 && !rest.contains(|c: char| c.is_ascii_digit() || c == '.');
    (aside || unit).then(|| number.times(factor))
}

fn ends_word(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with([' ', '/'])
}

/// Is a cell meant to be a number, and is none? A number that runs on, without a space, into
/// further digits or points.
pub(crate) fn is_garbled(cell: &TableCell) -> bool {
    if cell.number.is_some() || cell.text.contains(char::is_whitespace) {
        return false;
    }
    let Some((_, rest)) = leading(&cell.text) else {
        return false;
    };
    // `1.234,56` and `12,3` have their commas and points the other way round.
    let marks = |c: char| cell.text.matches(c).count();
    if marks(',') > 0 && (marks('.') == 0 || marks(',') == 1) && !cell.text.contains('%') {
        return false;
    }
    let rest = rest.trim_start_matches('%');
    rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','))
        && rest.contains(|c: char| c.is_ascii_digit() || c == '.')
        && !rest.contains(|c: char| c.is_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_units() {
        for (text, value) in [
            ("12,345.6", 12_345.6),
            ("12.3k", 12_300.0),
            ("12.3k req/s", 12_300.0),
            ("7 ms", 7.0),
            ("7ms", 7.0),
            ("97.5%", 97.5),
            ("5 ± 1", 5.0),
            ("5 (best 6)", 5.0),
            ("1.31x", 1.31),
            ("~400", 400.0),
            ("🥇 126816", 126_816.0),
            ("🥈 1.9k", 1_900.0),
        ] {
            assert!((number(text).unwrap().value - value).abs() < 1e-6, "{text}");
        }
        for text in [
            "1.2.3", "10-20", "99.79%0.", "", "–", "n/a", "3 of 4", "node 18",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn garbled_cells() {
        let cell = |text: &str| TableCell::new(1, text.into());
        for text in ["99.79%0.", "12.3.4", "12..5"] {
            assert!(is_garbled(&cell(text)), "{text}");
        }
        for text in [
            "99.79%", "1.234,56", "12,3", "10-20", "v1.2", "12:30", "1.2 3", "2GB", "–", "1.2.x",
        ] {
            assert!(!is_garbled(&cell(text)), "{text}");
        }
    }
}

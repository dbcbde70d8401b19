//! Plain text tables.

use prony_record::inert;

/// Width without a limit: a text takes as many columns of characters as it needs.
pub const UNLIMITED: usize = usize::MAX;

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table of text.
#[derive(Debug, Clone)]
pub struct TextTable {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    /// How many columns at the left tell what a row is about.
    keys: usize,
}

impl TextTable {
    /// A table with these columns.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let columns = columns
            .into_iter()
            .map(|(name, align)| (name.to_owned(), align))
            .collect();
        Self {
            columns,
            rows: Vec::new(),
            keys: 1,
        }
    }

    /// Sets how many columns at the left identify a row; without this only the first one does.
    #[must_use]
    pub const fn keys(mut self, keys: usize) -> Self {
        self.keys = keys;
        self
    }

    /// Heads of the columns.
    pub fn columns(&self) -> &[(String, Align)] {
        &self.columns
    }

    /// Cells of the rows, one for each column.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Adds a row, with one cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().map(|cell| printable(&cell)).collect();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }
}

/// The text without control characters, of which a server's name or output may have any: they are not to reach
/// a terminal.
#[must_use]
pub fn printable(text: &str) -> String {
    inert::line(text).into_owned()
}

impl TextTable {
    /// The table in lines of at most `width` characters, if its columns allow: what does not fit beside
    /// follows below, as further tables with the same first columns.
    #[must_use]
    pub fn fit(&self, width: usize) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|i| self.width_of(i)).collect();
        let keys: Vec<usize> = (0..self.keys.min(widths.len())).collect();
        let wide = |columns: &[usize]| {
            let gaps = GAP.len() * columns.len().saturating_sub(1);
            columns.iter().map(|&i| widths[i]).sum::<usize>() + gaps
        };
        let mut parts = Vec::new();
        let mut part = keys.clone();
        for column in keys.len()..widths.len() {
            part.push(column);
            if wide(&part) > width && part.len() > keys.len() + 1 {
                part.pop();
                parts.push(std::mem::replace(
                    &mut part,
                    [&keys[..], &[column]].concat(),
                ));
            }
        }
        parts.push(part);
        let parts = parts.iter().map(|columns| self.part(columns, &widths));
        parts.collect::<Vec<_>>().join("\n")
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| &row[column]);
        let cells = cells.chain([&self.columns[column].0]);
        cells.map(|cell| measured(cell)).max().unwrap_or(0)
    }

    /// A table of some of the columns.
    fn part(&self, columns: &[usize], widths: &[usize]) -> String {
        let line = |cell: &dyn Fn(usize) -> String| {
            let cells = columns.iter().map(|&i| {
                let cell = cell(i);
                let pad = " ".repeat(widths[i] - measured(&cell));
                match self.columns[i].1 {
                    Align::Left => cell + &pad,
                    Align::Right => pad + &cell,
                }
            });
            let line = cells.collect::<Vec<_>>().join(GAP);
            line.trim_end().to_owned() + "\n"
        };
        let head = line(&|i| self.columns[i].0.clone());
        let rule = line(&|i| "─".repeat(widths[i]));
        let rows = self.rows.iter().map(|row| line(&|i| row[i].clone()));
        head + &rule + &rows.collect::<String>()
    }
}

/// Between two columns.
const GAP: &str = "  ";

fn measured(text: &str) -> usize {
    text.chars().count()
}

impl std::fmt::Display for TextTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.fit(UNLIMITED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_controls_removed() {
        let mut table = TextTable::new([("name", Align::Left), ("n", Align::Right)]);
        table.row(["a\x1b[31m".to_owned(), "1".to_owned()]);
        table.row(["longer name".to_owned(), "1234".to_owned()]);
        let expected = "\
name            n
───────────  ────
a\u{fffd}[31m          1
longer name  1234
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn what_does_not_fit_beside_follows_below() {
        let columns = ["name", "load", "first", "second"];
        let mut table = TextTable::new(columns.map(|name| (name, Align::Left))).keys(2);
        table.row(["a", "c1", "1", "2"].map(str::to_owned));
        let beside = "\
name  load  first  second
────  ────  ─────  ──────
a     c1    1      2
";
        assert_eq!(table.fit(25), beside);
        assert_eq!(table.to_string(), beside);
        let below = "\
name  load  first
────  ────  ─────
a     c1    1

name  load  second
────  ────  ──────
a     c1    2
";
        for width in [24, 18, 3, 0] {
            assert_eq!(table.fit(width), below, "{width}");
        }
    }
}

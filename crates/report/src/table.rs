//! Plain text tables.

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
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let columns = columns
            .into_iter()
            .map(|(name, align)| (name.to_owned(), align))
            .collect();
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row, with one cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().map(|cell| printable(&cell)).collect();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }
}

/// Control characters (a server's name or output may have any) do not reach the terminal.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = |text: &str| text.chars().count();
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(i, (name, _))| {
                self.rows
                    .iter()
                    .map(|row| width(&row[i]))
                    .max()
                    .unwrap_or(0)
                    .max(width(name))
            })
            .collect();
        let line = |cells: &[&str]| {
            let mut out = String::new();
            for (i, cell) in cells.iter().enumerate() {
                let pad = " ".repeat(widths[i] - width(cell));
                match self.columns[i].1 {
                    Align::Left => out += &format!("{cell}{pad}"),
                    Align::Right => out += &format!("{pad}{cell}"),
                }
                out += "  ";
            }
            out.trim_end().to_owned()
        };
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        writeln!(f, "{}", line(&names))?;
        let rules: Vec<String> = widths.iter().map(|&w| "─".repeat(w)).collect();
        writeln!(
            f,
            "{}",
            line(&rules.iter().map(String::as_str).collect::<Vec<_>>())
        )?;
        for row in &self.rows {
            writeln!(
                f,
                "{}",
                line(&row.iter().map(String::as_str).collect::<Vec<_>>())
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_controls_removed() {
        let mut table = Table::new([("name", Align::Left), ("n", Align::Right)]);
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
}

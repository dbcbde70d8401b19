//! Tables for a terminal.

use std::fmt;

/// Rows of text under a heading: the first column to the left, the others to the right.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new<const N: usize>(columns: [&str; N]) -> Self {
        Self {
            rows: vec![columns.map(str::to_owned).into()],
        }
    }

    /// One more row, with as many cells as there are columns.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        debug_assert_eq!(self.rows[0].len(), N);
        self.rows.push(cells.into());
    }

    /// Without a row.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        for (index, row) in self.rows.iter().enumerate() {
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if column == 0 {
                    write!(f, "  {cell:<width$}")?;
                } else {
                    write!(f, "   {cell:>width$}")?;
                }
            }
            writeln!(f)?;
            if index == 0 {
                let length = widths.iter().sum::<usize>() + 3 * (widths.len() - 1);
                writeln!(f, "  {}", "─".repeat(length))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["who", "µs"]);
        table.row(["prony".into(), "3.14".into()]);
        table.row(["b".into(), "–".into()]);
        let lines: Vec<String> = table.to_string().lines().map(str::to_owned).collect();
        assert_eq!(
            lines,
            [
                "  who       µs",
                "  ────────────",
                "  prony   3.14",
                "  b          –"
            ]
        );
    }
}

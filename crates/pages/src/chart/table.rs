//! The table behind a chart.

use maud::{Markup, html};

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A table.
#[derive(Debug, Default)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let columns = columns.into_iter();
        Self {
            columns: columns
                .map(|(name, align)| (name.to_owned(), align))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; what is missing at its end stays empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns the table as HTML.
    pub fn markup(&self, caption: &str) -> Markup {
        let class = |at: usize| match self.columns.get(at) {
            Some((_, Align::Right)) => Some("n"),
            _ => None,
        };
        html! {
            table {
                caption { (caption) }
                thead { tr {
                    @for (at, (name, _)) in self.columns.iter().enumerate() {
                        th scope="col" class=[class(at)] { (name) }
                    }
                } }
                tbody {
                    @for row in &self.rows {
                        tr {
                            @for (at, cell) in row.iter().enumerate() {
                                @if at == 0 { th scope="row" { (cell) } }
                                @else { td class=[class(at)] { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

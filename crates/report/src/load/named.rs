//! Results of a load by name: of a request, a session, a machine or an address.

use super::LoadReport;
use super::{address, host, request, session};
use crate::table::{Align, TextTable};
use std::fmt::Write;

/// A table with a row for each name, as the terminal and Markdown show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameTable {
    /// The columns; the first one has the names.
    pub heads: Vec<&'static str>,
    /// One for each name, with a cell for each column.
    pub rows: Vec<Vec<String>>,
    /// Further remarks, each with a word for its subject, such as `failed`.
    pub notes: Vec<(&'static str, String)>,
}

impl NameTable {
    /// The table and its notes as plain text, for a terminal of `width` columns.
    fn text(&self, width: usize) -> String {
        let names = self.heads.iter().take(1).map(|&head| (head, Align::Left));
        let numbers = self.heads.iter().skip(1).map(|&head| (head, Align::Right));
        let mut table = TextTable::new(names.chain(numbers));
        for row in &self.rows {
            table.row(row.iter().cloned());
        }
        let mut out = format!("\n{}", table.fit(width));
        for (what, note) in &self.notes {
            let _ = writeln!(out, "{what:<12} {note}");
        }
        out
    }
}

impl LoadReport {
    /// The tables by request, by session, by machine and by address that this load has.
    #[must_use]
    pub fn by_name(&self) -> Vec<NameTable> {
        let all = [
            request::named(&self.requests),
            session::named(&self.sessions, self.seconds),
            host::named(&self.generators),
            address::named(&self.addresses),
        ];
        all.into_iter().filter(|one| !one.rows.is_empty()).collect()
    }

    /// The tables by name as plain text, for a terminal of `width` columns.
    pub(super) fn by_name_text(&self, width: usize) -> String {
        self.by_name().iter().map(|one| one.text(width)).collect()
    }
}

//! An audit: the documents, what the checks say of them, and both as text.

mod text;

use crate::check;
use crate::figures::figures;
use crate::model::Document;
use crate::read::read;
use crate::tabled::of_table;
use prony_checks::{Finding, Severity};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The result of an audit of some texts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Audit {
    /// The files that were read.
    pub files: Vec<ReadFile>,
    /// The remarks, the most serious first.
    pub remarks: Vec<Remark>,
    /// How many rates were found.
    pub figures: u64,
}

/// Figures that were seen and not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unread {
    /// The line, from 1.
    pub line: usize,
    /// A description of the figures.
    pub what: String,
}

/// Counts of what was found in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReadFile {
    /// The name of the file.
    pub name: String,
    /// Outputs of load generators, by tool.
    pub outputs: BTreeMap<String, u32>,
    /// Tables.
    pub tables: u32,
    /// Command lines of load generators.
    pub commands: u32,
    /// Figures that were seen and not read.
    pub unread: Vec<Unread>,
}

/// A finding with the lines that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remark {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// The file.
    pub file: String,
    /// The lines, from 1, in order.
    pub lines: Vec<usize>,
}

/// Reads texts, each with its name, and looks for what is wrong with them. Texts that belong
/// together, such as the outputs of several runs, are best looked at together.
pub fn audit(documents: &[(String, String)]) -> Audit {
    let documents: Vec<Document> = documents
        .iter()
        .map(|(name, text)| read(name, text))
        .collect();
    let mut remarks = check::examine(&documents);
    remarks.sort_by(|a, b| {
        let key = |r: &Remark| {
            (
                std::cmp::Reverse(r.finding.severity),
                r.lines.first().copied(),
            )
        };
        key(a).cmp(&key(b))
    });
    Audit {
        files: documents.iter().map(ReadFile::of).collect(),
        remarks,
        figures: figures(&documents).len() as u64,
    }
}

/// Lists the places that look like figures but were not understood, in the order of their lines.
fn unread(document: &Document) -> Vec<Unread> {
    let known = document.unread.iter().map(|(line, what)| Unread {
        line: *line,
        what: what.clone(),
    });
    let tables = document.tables.iter().filter(|(table, place)| {
        let numbers = table.rows.iter().flat_map(|row| &row.cells);
        let numbers = numbers.filter(|cell| cell.number.is_some()).count();
        numbers >= NUMBERS && of_table(table, place, 0, "").is_empty()
    });
    let tables = tables.map(|(table, _)| Unread {
        line: table.first,
        what: "a table in which prony found no rates".to_owned(),
    });
    let mut unread: Vec<Unread> = known.chain(tables).collect();
    unread.sort_by_key(|unread| unread.line);
    unread
}

/// A table with fewer numbers is hardly one of figures.
const NUMBERS: usize = 3;

impl ReadFile {
    fn of(document: &Document) -> Self {
        let mut outputs = BTreeMap::new();
        for output in &document.outputs {
            *outputs.entry(output.block.tool.to_string()).or_default() += 1;
        }
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            name: document.name.clone(),
            outputs,
            tables: small(document.tables.len()),
            commands: small(document.commands.len()),
            unread: unread(document),
        }
    }

    /// Is there anything in it that can be audited?
    pub fn says_something(&self) -> bool {
        !self.outputs.is_empty() || self.tables > 0 || self.commands > 0
    }
}

impl Audit {
    /// Is something of it serious: do figures not mean what they seem to mean?
    pub fn serious(&self) -> bool {
        self.remarks
            .iter()
            .any(|remark| remark.finding.severity == Severity::Serious)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_read_is_said() {
        let nothing = audit(&[("a.txt".into(), "hello\n".into())]);
        assert!(!nothing.serious() && !nothing.files[0].says_something());
        assert!(nothing.text(100).contains("no output of a load generator"));
        assert!(nothing.text(100).contains("nothing was audited"));
        assert!(!nothing.text(100).contains("nothing wrong was found"));
        assert_eq!(audit(&[]).remarks, []);
        let table =
            "# Memory\n\n| server | RSS MB |\n|--|--|\n| a | 12 |\n| b | 13 |\n| c | 14 |\n";
        let seen = audit(&[("a.md".into(), table.into())]);
        assert!(
            seen.text(200)
                .contains("Not audited in a.md: a table in which prony found no rates, line 3."),
            "{}",
            seen.text(200)
        );
    }
}

//! An audit: the documents, what the checks say of them, and both as text.

use crate::check;
use crate::document::Document;
use crate::read::read;
use prony_checks::{Finding, Severity};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What is wrong with some texts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Audit {
    /// What was read.
    pub files: Vec<ReadFile>,
    /// What is wrong, the most serious first.
    pub remarks: Vec<Remark>,
}

/// What was found in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReadFile {
    /// Its name.
    pub name: String,
    /// Outputs of load generators, by tool.
    pub outputs: BTreeMap<String, u32>,
    /// Tables.
    pub tables: u32,
    /// Command lines of load generators.
    pub commands: u32,
}

/// What a check says, and of which lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remark {
    /// What it says.
    #[serde(flatten)]
    pub finding: Finding,
    /// The file.
    pub file: String,
    /// Its lines, from 1, in order.
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
    }
}

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
        }
    }

    /// Is there anything in it that can be audited?
    pub fn says_something(&self) -> bool {
        !self.outputs.is_empty() || self.tables > 0 || self.commands > 0
    }
}

/// The text lists at most this many lines; JSON has them all.
const LISTED: usize = 8;
/// The text is at most this wide, in characters.
const WIDEST: usize = 100;

impl Audit {
    /// Is something of it serious: do figures not mean what they seem to mean?
    pub fn serious(&self) -> bool {
        self.remarks
            .iter()
            .any(|remark| remark.finding.severity == Severity::Serious)
    }

    /// As text for a terminal of this many columns: each remark with its lines, and what was read.
    pub fn text(&self, width: usize) -> String {
        let mut out = String::new();
        for remark in &self.remarks {
            let Finding {
                name,
                severity,
                text,
            } = &remark.finding;
            let severity = match severity {
                Severity::Serious => "serious",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            let _ = writeln!(
                out,
                "{}:{}: {severity}: {name}",
                printable(&remark.file),
                ranges(&remark.lines)
            );
            out += &wrapped(&printable(text), width.min(WIDEST));
            out.push('\n');
        }
        out += &self.summary();
        out
    }

    fn summary(&self) -> String {
        let mut outputs: BTreeMap<&str, u32> = BTreeMap::new();
        for (tool, n) in self.files.iter().flat_map(|file| &file.outputs) {
            *outputs.entry(tool).or_default() += n;
        }
        let mut parts: Vec<String> = outputs
            .iter()
            .map(|(tool, n)| {
                counted(
                    *n,
                    &format!("output of {tool}"),
                    &format!("outputs of {tool}"),
                )
            })
            .collect();
        let tables = self.files.iter().map(|file| file.tables).sum();
        let commands = self.files.iter().map(|file| file.commands).sum();
        for (n, one, many) in [
            (tables, "table", "tables"),
            (commands, "command line", "command lines"),
        ] {
            if n > 0 {
                parts.push(counted(n, one, many));
            }
        }
        let read = if parts.is_empty() {
            "no output of a load generator, no table of figures, no command line".to_owned()
        } else {
            parts.join(", ")
        };
        let with = |severity| {
            let all = self.remarks.iter();
            all.filter(|remark| remark.finding.severity == severity)
                .count()
        };
        let (serious, warnings, notes) = (
            with(Severity::Serious),
            with(Severity::Warning),
            with(Severity::Note),
        );
        let found = if self.remarks.is_empty() {
            "nothing wrong was found, which does not make it right".to_owned()
        } else {
            format!("{serious} serious, {warnings} to be warned of, {notes} to be noted")
        };
        format!("Read: {read}.\nFound: {found}.\n")
    }
}

fn counted(n: u32, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `3-5,9 and 4 more`
fn ranges(lines: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &line in lines {
        match ranges.last_mut() {
            Some((_, last)) if line == *last + 1 || line == *last => *last = line,
            _ => ranges.push((line, line)),
        }
    }
    let shown: Vec<String> = ranges
        .iter()
        .take(LISTED)
        .map(|&(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    match ranges.len().saturating_sub(LISTED) {
        0 => shown.join(","),
        more => format!("{} and {more} more", shown.join(",")),
    }
}

/// Names and texts come from files; what controls a terminal does not reach it.
fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// Indented, in lines of at most `limit` characters.
fn wrapped(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let mut width = limit;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if width + 1 + length > limit {
            out += if out.is_empty() { "    " } else { "\n    " };
            width = 4;
        } else {
            out.push(' ');
            width += 1;
        }
        out += word;
        width += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_read_is_said() {
        let nothing = audit(&[("a.txt".into(), "hello\n".into())]);
        assert!(!nothing.serious() && !nothing.files[0].says_something());
        assert!(nothing.text(100).contains("no output of a load generator"));
        assert_eq!(audit(&[]).remarks, []);
    }

    #[test]
    fn lines_are_gathered() {
        assert_eq!(ranges(&[3, 4, 5, 9]), "3-5,9");
        let many: Vec<usize> = (0..20).map(|n| 2 * n + 1).collect();
        assert_eq!(ranges(&many), "1,3,5,7,9,11,13,15 and 12 more");
        let long = wrapped(&"word ".repeat(60), WIDEST);
        assert!(
            long.lines()
                .all(|line| line.len() <= WIDEST && line.starts_with("    word"))
        );
        assert!(long.lines().count() > 2);
    }
}

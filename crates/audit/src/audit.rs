//! An audit: the documents, what the checks say of them, and both as text.

mod text;

use crate::check;
use crate::document::Document;
use crate::figures::figures;
use crate::read::read;
use crate::tabled::of_table;
use prony_checks::{Finding, Severity};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is wrong with some texts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Audit {
    /// What was read.
    pub files: Vec<ReadFile>,
    /// What is wrong, the most serious first.
    pub remarks: Vec<Remark>,
    /// How many rates were found.
    pub figures: u64,
    /// Files with the results of a whole suite: what is wrong with each system's.
    pub suites: Vec<Suite>,
}

/// A file with the results of many systems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Suite {
    /// Its name.
    pub file: String,
    /// The systems, those with the most findings first; those with none are left out.
    pub systems: Vec<SuiteSystem>,
    /// How many systems it has.
    pub of: u32,
}

/// What is wrong with one system's results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SuiteSystem {
    /// What it is called.
    pub name: String,
    /// Findings, with the number of its outputs that have them.
    pub findings: BTreeMap<String, u32>,
}

/// Something that looks like figures, and was not understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unread {
    /// Its line, from 1.
    pub line: usize,
    /// What it is.
    pub what: String,
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
    /// Figures that were seen and not understood.
    pub unread: Vec<Unread>,
    /// Failures that sentences tell of.
    #[serde(skip)]
    sentences: u32,
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
    let suites = documents.iter().filter(|document| document.suite);
    let suites: Vec<Suite> = suites.map(Suite::of).collect();
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
        suites,
    }
}

/// A suite's checks are made for each of its outputs alone, for at most this many.
const OUTPUTS: usize = 5_000;

impl Suite {
    fn of(document: &Document) -> Self {
        let mut systems: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
        for output in document.outputs.iter().take(OUTPUTS) {
            let name = output
                .place
                .label
                .as_ref()
                .map_or("", |label| label.0.as_str());
            let findings = systems.entry(name.to_owned()).or_default();
            let mut alone = Document::new(&document.name);
            alone.outputs.push(output.clone());
            for remark in check::examine(&[alone]) {
                *findings.entry(remark.finding.name).or_default() += 1;
            }
        }
        let of = u32::try_from(systems.len()).unwrap_or(u32::MAX);
        let mut systems: Vec<SuiteSystem> = systems
            .into_iter()
            .filter(|(_, findings)| !findings.is_empty())
            .map(|(name, findings)| SuiteSystem { name, findings })
            .collect();
        systems.sort_by_key(|system| std::cmp::Reverse(system.findings.values().sum::<u32>()));
        Self {
            file: document.name.clone(),
            systems,
            of,
        }
    }
}

/// What looks like figures, and was not understood.
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
        for output in document.outputs.iter().filter(|o| !o.block.tabled) {
            *outputs.entry(output.block.tool.to_string()).or_default() += 1;
        }
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            name: document.name.clone(),
            outputs,
            tables: small(document.tables.len()),
            commands: small(document.commands.len()),
            unread: unread(document),
            sentences: small(document.failures.len()),
        }
    }

    /// Is there anything in it that can be audited?
    pub fn says_something(&self) -> bool {
        !self.outputs.is_empty() || self.tables > 0 || self.commands > 0 || self.sentences > 0
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

    #[test]
    fn a_suite_gets_a_table() {
        let runs: Vec<String> = (0..30)
            .map(|n| {
                let mean = if n < 3 { "90.00ms" } else { "1.00ms" };
                format!("\"s{n}\": [{{\"latencyAvg\": \"{mean}\", \"latencyMax\": \"99.00ms\", \"totalRequests\": {}}}]", 150_000 + n)
            })
            .collect();
        let text = format!(
            "{{\"duration\": 15, \"concurrencyLevels\": [16], \"rawData\": {{\"json\": {{{}}}}}}}\n",
            runs.join(",\n")
        );
        let audit = audit(&[("results.json".into(), text)]);
        let suite = &audit.suites[0];
        assert_eq!((suite.systems.len(), suite.of), (3, 30));
        let text = audit.text(100);
        assert!(
            text.contains("3 of 30 systems have findings of their own"),
            "{text}"
        );
        assert!(
            text.contains("s0 (json)  back-filled, littles-law"),
            "{text}"
        );
        assert!(text.lines().count() < 40, "{text}");
    }
}

//! Precision and recall of the audit on the texts in `corpus/`: outputs of tools, and pages made for this test. The expected
//! findings of each text were written down before the audit first read it.
//!
//! A text begins with `@@@ NAME`, followed by `@@@ expect FINDING…` (`!` behind one that is to be serious) and, where that
//! helps, `@@@ why …`.

use prony_audit::{CheckId, EXPLANATIONS, Severity, audit};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// Prefix of lines that carry expectations and belong to no text.
const MARK: &str = "@@@ ";
/// The least share of remarks that are right.
const PRECISION: f64 = 0.98;

/// A text, and what is expected of it.
struct Text {
    name: String,
    /// Checks, and whether each is to be serious.
    expected: BTreeMap<CheckId, bool>,
    text: String,
}

/// Remarks, by whether they are right.
#[derive(Default, Clone, Copy)]
struct Count {
    right: u32,
    wrong: u32,
    missed: u32,
}

impl Count {
    fn add(&mut self, said: bool, wanted: bool) {
        match (said, wanted) {
            (true, true) => self.right += 1,
            (true, false) => self.wrong += 1,
            (false, true) => self.missed += 1,
            (false, false) => {}
        }
    }

    fn precision(self) -> f64 {
        f64::from(self.right) / f64::from(self.right + self.wrong)
    }

    fn recall(self) -> f64 {
        f64::from(self.right) / f64::from(self.right + self.missed)
    }
}

/// How right the audit is.
#[derive(Default)]
struct Corpus {
    texts: usize,
    all: Count,
    serious: Count,
    mistakes: Vec<String>,
}

/// Reads `errors`, or `errors!` of one that is to be serious.
fn expected(finding: &str) -> (CheckId, bool) {
    let name = finding.trim_end_matches('!');
    let check = CheckId::of_word(name).unwrap_or_else(|| panic!("there is no check {name}"));
    (check, finding.ends_with('!'))
}

fn read() -> Vec<Text> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit/corpus");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut texts: Vec<Text> = Vec::new();
    for file in files {
        let bundle = std::fs::read_to_string(&file).unwrap();
        for line in bundle.split_inclusive('\n') {
            match (line.strip_prefix(MARK), texts.last_mut()) {
                (Some(said), Some(text)) if said.starts_with("expect") => {
                    let names = said.split_whitespace().skip(1);
                    text.expected.extend(names.map(expected));
                }
                (Some(said), _) if said.starts_with("why ") => {}
                (Some(name), _) => texts.push(Text {
                    name: name.trim().to_owned(),
                    expected: BTreeMap::new(),
                    text: String::new(),
                }),
                (None, Some(text)) => text.text.push_str(line),
                (None, None) => panic!("{}: a text without a name", file.display()),
            }
        }
    }
    texts
}

impl Corpus {
    fn judge(&mut self, text: &Text) {
        self.texts += 1;
        let audit = audit(&[(text.name.clone(), text.text.clone())]);
        let mut made: BTreeMap<CheckId, bool> = BTreeMap::new();
        for remark in &audit.remarks {
            let serious = remark.finding.severity == Severity::Serious;
            *made.entry(remark.finding.name).or_default() |= serious;
        }
        let expected = &text.expected;
        let checks: BTreeSet<CheckId> = made.keys().chain(expected.keys()).copied().collect();
        for check in checks {
            let (said, wanted) = (made.get(&check).copied(), expected.get(&check).copied());
            self.all.add(said.is_some(), wanted.is_some());
            // A finding that is wrongly serious counts as a second mistake.
            self.serious
                .add(said.unwrap_or(false), wanted.unwrap_or(false));
            let how = match (said, wanted) {
                (None, _) => "missed",
                (_, None) => "false",
                (Some(true), Some(false)) => "falsely serious",
                (Some(false), Some(true)) => "not serious",
                _ => continue,
            };
            self.mistakes
                .push(format!("{how}: {check} in {}", text.name));
        }
    }
}

impl fmt::Display for Corpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mistake in &self.mistakes {
            writeln!(f, "{mistake}")?;
        }
        write!(
            f,
            "{} texts, {} findings expected: precision {:.1} %, of serious ones {:.1} %, recall {:.1} %",
            self.texts,
            self.all.right + self.all.missed,
            100.0 * self.all.precision(),
            100.0 * self.serious.precision(),
            100.0 * self.all.recall(),
        )
    }
}

#[test]
fn remarks_are_right() {
    let known: BTreeSet<CheckId> = EXPLANATIONS.iter().map(|it| it.name).collect();
    let mut corpus = Corpus::default();
    for text in read() {
        for check in text.expected.keys() {
            assert!(known.contains(check), "{}: {check}", text.name);
        }
        corpus.judge(&text);
    }
    println!("{corpus}");
    assert!(corpus.texts >= 150, "{corpus}");
    assert!(corpus.all.precision() >= PRECISION, "{corpus}");
    assert_eq!(corpus.serious.wrong, 0, "{corpus}");
}

#[test]
fn mistakes_are_counted() {
    let text = |findings: &[&str]| Text {
        name: "x.md".to_owned(),
        expected: findings.iter().map(|it| expected(it)).collect(),
        text:
            "| server | req/s | Success |\n|--|--|--|\n| a | 9000 | 100% |\n| b | 700 | 87.4% |\n"
                .to_owned(),
    };
    let mut corpus = Corpus::default();
    for findings in [
        &["errors!", "too-few-runs"][..],
        &["errors", "too-few-runs"],
        &["ceiling", "too-few-runs"],
    ] {
        corpus.judge(&text(findings));
    }
    let all = (corpus.all.right, corpus.all.wrong, corpus.all.missed);
    assert_eq!(all, (5, 1, 1));
    assert_eq!((corpus.serious.right, corpus.serious.wrong), (1, 2));
    assert_eq!(corpus.mistakes.len(), 3);
}

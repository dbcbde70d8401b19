//! An audit as text: each remark with its lines, what was read, and what was not.

use super::Audit;
use prony_checks::{Finding, Severity};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The text lists at most this many lines; JSON has them all.
const LISTED: usize = 8;
/// The text is at most this wide, in characters.
const WIDEST: usize = 100;

impl Audit {
    /// Returns the audit as text for a terminal of this many columns: each remark with its lines, and what was read.
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
        for file in self.files.iter().filter(|file| !file.unread.is_empty()) {
            let told = file.unread.iter().take(LISTED);
            let told: Vec<String> = told
                .map(|unread| format!("{}, line {}", unread.what, unread.line))
                .collect();
            let more = match file.unread.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            let text = format!(
                "Not audited in {}: {}{more}.",
                printable(&file.name),
                told.join("; ")
            );
            out += wrapped(&text, width.min(WIDEST))
                .replace("\n    ", "\n")
                .trim_start();
        }
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
        let nothing = self.files.iter().all(|file| !file.says_something());
        let found = if nothing {
            "nothing, because nothing was audited".to_owned()
        } else if self.remarks.is_empty() && outputs.is_empty() && self.figures == 0 {
            "nothing, because no figures were read".to_owned()
        } else if self.remarks.is_empty() {
            "nothing wrong was found, which does not make it right".to_owned()
        } else {
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            let warnings = counted(number(warnings), "warning", "warnings");
            let notes = counted(number(notes), "note", "notes");
            format!("{serious} serious, {warnings}, {notes}")
        };
        format!("Read: {read}. Sentences, pictures and scripts are not read.\nFound: {found}.\n")
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

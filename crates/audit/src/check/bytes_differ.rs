//! `bytes-differ`: the answers of compared systems are not of one size.

use super::{Seen, remark, whole};
use crate::audit::Remark;
use crate::read::command::parts_of;
use crate::tool::Tool;
use prony_checks::{Explanation, Severity};
use std::collections::BTreeMap;

pub(super) const EXPLANATION: Explanation = Explanation {
    name: "bytes-differ",
    cause: "The answers of the compared systems differ in size, so they did not do the same work.",
    evidence: "Bytes for each answer in the outputs of one tool, of systems that were asked for the same path: from a factor of 1.5 and 64 bytes on (a note), from 3 on a warning.",
    remedy: "Let all of them send the same answer, with the same header fields.",
};

/// Header fields differ by less.
const APART: f64 = 1.5;
/// And by fewer bytes.
const BYTES: f64 = 64.0;
/// From here on another page was sent, or none.
const FAR: f64 = 3.0;

/// A system's bytes for each answer, its line, and what it is called.
type Size<'a> = (f64, usize, &'a str);

pub(super) fn check(seen: &Seen<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        if document.suite {
            continue;
        }
        let mut groups: BTreeMap<(Tool, &str, String), Vec<Size<'_>>> = BTreeMap::new();
        let mut only: BTreeMap<Tool, Option<&str>> = BTreeMap::new();
        let figures = seen
            .figures
            .iter()
            .filter(|f| f.document == index && !f.system.unsure);
        for figure in figures {
            let Some(output) = figure.output.map(|output| &document.outputs[output]) else {
                continue;
            };
            let Some(bytes) = output.block.response_bytes else {
                continue;
            };
            // Errors have another size; they are a finding of their own. Locust's rows are pages.
            let failed = output.block.failed_share() > 0.01;
            if failed
                || matches!(
                    output.block.tool,
                    Tool::Locust | Tool::Jmeter | Tool::Hyperfoil
                )
            {
                continue;
            }
            let url = output.block.url.as_ref().map(|url| url.what.as_str());
            // Of outputs without an address the only command line of the text says what they asked for.
            let url = url.or_else(|| output.command.as_ref()?.url());
            let url = url.or_else(|| {
                let only = only.entry(output.block.tool);
                *only.or_insert_with(|| document.command_of(Some(output.block.tool))?.url())
            });
            let Some((.., path)) = url.and_then(parts_of) else {
                continue;
            };
            let key = (output.block.tool, &*figure.system.section, path);
            let size = (bytes.what.value, bytes.line, &*figure.system.name);
            groups.entry(key).or_default().push(size);
        }
        for sizes in groups.values() {
            let by_size = |a: &&Size<'_>, b: &&Size<'_>| a.0.total_cmp(&b.0);
            let (Some(least), Some(most)) =
                (sizes.iter().min_by(by_size), sizes.iter().max_by(by_size))
            else {
                continue;
            };
            let factor = most.0 / least.0;
            if least.2 == most.2 || factor < APART || most.0 - least.0 < BYTES {
                continue;
            }
            let severity = if factor >= FAR {
                Severity::Warning
            } else {
                Severity::Note
            };
            let text = format!(
                "{} sends {} bytes for each answer, {} {}: they did not do the same work",
                most.2,
                whole(most.0.round()),
                least.2,
                whole(least.0.round()),
            );
            let lines = [least.1, most.1];
            remarks.push(remark(EXPLANATION.name, severity, document, lines, text));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::testing::{of, wrk};
    use prony_checks::Severity;

    #[test]
    fn one_sends_more() {
        let text = |read: &str| format!("# A\n{}\n# B\n{}", wrk(&[]), wrk(&[("150.00MB", read)]));
        let found = of("bytes-differ", &text("900.00MB"));
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([12, 27].as_slice(), Severity::Warning)
        );
        assert!(
            found[0].finding.text.contains("B sends 983 bytes"),
            "{found:?}"
        );
        assert_eq!(
            of("bytes-differ", &text("250.00MB"))[0].finding.severity,
            Severity::Note
        );
        assert_eq!(of("bytes-differ", &text("170.00MB")), []);
    }
}

//! `bytes-differ`: the answers of compared systems are not of one size.

mod tables;

use super::{CheckInput, UnnamedFinding, raise, whole};
use crate::command::parts_of;
use crate::model::Tool;
use crate::model::{Document, ToolOutput};
use crate::names::System;
use crate::words::Words;
use prony_checks::{CheckId, Explanation, Severity};
use std::collections::BTreeMap;

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::BytesDiffer,
    cause: "The answers of the compared systems differ in size, so they did not do the same work.",
    evidence: "Bytes for each answer, in the outputs of one tool, of systems that were asked for the same path, or worked out of a table's bytes per second and its rates: from a factor of 1.5 and 64 bytes on (a note), from 3 on, and of bodies that are empty beside others, a warning.",
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

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        let nowhere = asks_nowhere(document);
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
            if answered_otherwise(output)
                || matches!(output.block.tool, Tool::Locust | Tool::Jmeter)
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
            let path = match url.and_then(parts_of) {
                Some((.., path)) => path,
                // Of a text without any address all were asked for the same, unless their names say otherwise.
                None if url.is_none() && nowhere && !names_work(&figure.system) => String::new(),
                None => continue,
            };
            let key = (output.block.tool, &*figure.system.section, path);
            let size = (bytes.what.value, bytes.line, &*figure.system.name);
            groups.entry(key).or_default().push(size);
        }
        let found = groups.values().filter_map(|sizes| apart(sizes)).collect();
        remarks.extend(
            worst(found).map(|(severity, text, lines)| raise(severity, document, lines, text)),
        );
        remarks.extend(tables::check(seen, index));
    }
    remarks
}

/// The worst of several differences in words, with the lines of all.
fn worst(mut found: Vec<Apart>) -> Option<(Severity, String, Vec<usize>)> {
    found.sort_by_key(|(severity, ..)| std::cmp::Reverse(*severity));
    let (severity, text, _) = found.first()?;
    let lines = found.iter().flat_map(|(.., lines)| *lines);
    Some((*severity, text.clone(), lines.collect()))
}

/// A difference: how bad it is, in words, and its lines.
type Apart = (Severity, String, [usize; 2]);

/// Compares the largest answer with the smallest; `None` unless they are too far apart.
fn apart(sizes: &[Size<'_>]) -> Option<Apart> {
    let by_size = |a: &&Size<'_>, b: &&Size<'_>| a.0.total_cmp(&b.0);
    let (least, most) = (sizes.iter().min_by(by_size)?, sizes.iter().max_by(by_size)?);
    (least.2 != most.2 && most.0 > 0.0).then_some(())?;
    let lines = [least.1, most.1];
    if least.0 == 0.0 {
        let text = format!(
            "{} sends empty answers, {} {} bytes: they did not do the same work",
            least.2,
            most.2,
            whole(most.0.round()),
        );
        return Some((Severity::Warning, text, lines));
    }
    let factor = most.0 / least.0;
    (factor >= APART && most.0 - least.0 >= BYTES).then_some(())?;
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
    Some((severity, text, lines))
}

/// Are many of the answers that an output counts errors? Connections that were not opened, and answers that came too late, are
/// not among them.
fn answered_otherwise(output: &ToolOutput) -> bool {
    let errors = output.block.errors.iter();
    let counted = errors.filter(|error| !error.what.timed_out && error.what.how != "connect");
    let failed: f64 = counted.map(|error| error.what.count as f64).sum();
    failed > 0.01 * output.block.ended().unwrap_or(0.0)
}

/// Does a text name no address at all?
fn asks_nowhere(document: &Document) -> bool {
    let named = |output: &ToolOutput| output.block.url.is_some();
    document
        .commands
        .iter()
        .all(|command| command.url().is_none())
        && !document.outputs.iter().any(named)
}

/// Does a name say what was asked for, so that the size of the answers may be a part of it?
fn names_work(system: &System) -> bool {
    const WORK: Words = Words(
        "json, plain, plaintext, text, html, static, file, files, image, page, payload, body, \
        query, queries, db, database, sql, large, small, big, kb, mb, bytes, get, post, put, \
        delete, upload, download, list, search, gzip, hello, dynamic",
    );
    let name = system.name.to_lowercase();
    WORK.any_of(&name)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};
    use prony_checks::Severity;

    #[test]
    fn one_sends_more() {
        let text = |read: &str| format!("# A\n{}\n# B\n{}", wrk(&[]), wrk(&[("150.00MB", read)]));
        let found = of(CheckId::BytesDiffer, &text("900.00MB"));
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([12, 27].as_slice(), Severity::Warning)
        );
        assert!(
            found[0].finding.text.contains("B sends 983 bytes"),
            "{found:?}"
        );
        assert_eq!(
            of(CheckId::BytesDiffer, &text("250.00MB"))[0]
                .finding
                .severity,
            Severity::Note
        );
        assert_eq!(of(CheckId::BytesDiffer, &text("170.00MB")), []);
        // Connections that were refused change no answer; bad statuses do.
        let refused = |how: &str| {
            text("900.00MB").replace("Requests/sec:", &format!("  {how}\nRequests/sec:"))
        };
        let connect = "Socket errors: connect 80000, read 0, write 0, timeout 0";
        assert_eq!(of(CheckId::BytesDiffer, &refused(connect)).len(), 1);
        assert_eq!(
            of(
                CheckId::BytesDiffer,
                &refused("Non-2xx or 3xx responses: 80000")
            ),
            []
        );
    }

    #[test]
    fn outputs_without_an_address() {
        let hey = |name: &str, bytes: u32| {
            format!(
                "## {name}\n\n```\nSummary:\n  Total:\t40.0 secs\n  Slowest:\t0.0175 secs\n  Average:\t0.0020 secs\n  \
                 Requests/sec:\t5000.0\n  Size/request:\t{bytes} bytes\n\nStatus code distribution:\n  \
                 [200]\t200000 responses\n```\n\n"
            )
        };
        let found = of(
            CheckId::BytesDiffer,
            &(hey("alpha", 126) + &hey("beta", 310)),
        );
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([9, 23].as_slice(), Severity::Note)
        );
        let pages = hey("alpha text", 126) + &hey("alpha json", 310);
        assert_eq!(of(CheckId::BytesDiffer, &pages), []);
        let oha = |name: &str, bytes: u32| {
            hey(name, bytes).replace("Summary:\n", "Summary:\n  Success rate: 1.0000\n")
        };
        let empty = oha("alpha", 0) + &oha("beta", 28);
        let found = of(CheckId::BytesDiffer, &empty);
        assert!(
            found[0].finding.text.contains("alpha sends empty answers"),
            "{found:?}"
        );
        assert_eq!(
            of(CheckId::BytesDiffer, &(oha("a", 21) + &oha("b", 28))),
            []
        );
    }
}

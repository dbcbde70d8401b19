//! `errors`: requests failed, and the output does not say whether they count in the rate.

mod tables;

use super::{CheckInput, UnnamedFinding, note, of_all, raise, requests, share};
use crate::model::Tool;
use crate::model::{Document, ToolOutput};
use prony_checks::{CheckId, Explanation, Severity};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::Errors,
    cause: "Requests failed. An error is often faster than an answer, and tools differ in whether errors count in the rate.",
    evidence: "The outputs' own counts of socket errors, time-outs, and unsuccessful statuses. Serious when more than one request in a thousand failed.",
    remedy: "Find out why they failed before you compare rates.",
};

/// Up to this share of failed requests the figures of the others still stand: a thousandth, as for
/// what prony measures itself.
const TOLERABLE: f64 = 0.001;
/// At most this many outputs are listed one by one.
const TOLD: usize = 6;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        remarks.extend(tables::check(seen, index));
        let (lengths, failing): (Vec<&ToolOutput>, Vec<&ToolOutput>) = document
            .outputs
            .iter()
            .filter(|output| !output.block.errors.is_empty())
            .partition(|output| only_lengths(output));
        remarks.extend(of_lengths(document, &lengths));
        if failing.is_empty() {
            continue;
        }
        let worst = failing.iter().map(|output| output.block.failed_share());
        let worst = worst.fold(0.0, f64::max);
        let severity = if worst > TOLERABLE {
            Severity::Serious
        } else {
            Severity::Warning
        };
        let told = failing.iter().take(TOLD).map(|output| {
            let errors = output.block.errors.iter();
            let mut errors: Vec<String> = errors
                .take(TOLD)
                .map(|error| format!("{} × {}", error.what.count, error.what.how))
                .collect();
            if let Some(more @ 1..) = output.block.errors.len().checked_sub(TOLD) {
                errors.push(format!("{more} other kinds"));
            }
            format!("{} ({})", output.called(), errors.join(", "))
        });
        let told: Vec<String> = told.collect();
        let more = match failing.len().saturating_sub(TOLD) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!(
            "{}{}{more}. {}{} of the requests{} failed: an error is often faster than an answer, so \
             find out why they failed before you compare the rates",
            of_all(failing.len(), document.outputs.len(), "outputs have errors"),
            told.join("; "),
            if failing.len() > 1 { "Up to " } else { "" },
            share(worst),
            if failing.len() > 1 {
                " of an output"
            } else {
                ""
            },
        );
        let errors = failing.iter().flat_map(|output| &output.block.errors);
        let lines = errors.map(|error| error.line);
        remarks.push(raise(severity, document, lines, text));
    }
    remarks
}

/// Is the length of an answer all that ab finds fault with?
fn only_lengths(output: &ToolOutput) -> bool {
    output.block.tool == Tool::Ab
        && output.block.errors.iter().all(|error| {
            let inner = error.what.how.strip_prefix("failed (Length: ");
            inner.is_some_and(|rest| !rest.contains(','))
        })
}

/// ab calls an answer failed whose length is not that of the first: a page with the time in it is.
fn of_lengths(document: &Document, outputs: &[&ToolOutput]) -> Option<UnnamedFinding> {
    let output = outputs.first()?;
    let n = output
        .block
        .errors
        .iter()
        .map(|error| error.what.count)
        .sum();
    let text = format!(
        "ab counts {} of {} as failed because their length differs from the first one's: answers whose \
         length changes are none, others are; run it with -l to tell",
        requests(n),
        output.called(),
    );
    let lines = outputs.iter().flat_map(|output| &output.block.errors);
    let lines = lines.map(|error| error.line);
    Some(note(document, lines, text))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};
    use prony_checks::Severity;

    #[test]
    fn each_kind_and_line() {
        let errors = "  Socket errors: connect 0, read 594, write 0, timeout 1\n  \
            Non-2xx or 3xx responses: 2\nRequests/sec:";
        let found = of(CheckId::Errors, &wrk(&[("Requests/sec:", errors)]));
        assert_eq!(found[0].lines, [12, 13]);
        assert_eq!(found[0].finding.severity, Severity::Warning);
        let text = &found[0].finding.text;
        assert!(
            text.contains("594 × read, 1 × timeout, 2 × not 2xx or 3xx"),
            "{text}"
        );
        assert!(text.contains("0.062 %"), "{text}");
        let many = wrk(&[("Requests/sec:", &errors.replace("594", "59400"))]);
        assert_eq!(
            of(CheckId::Errors, &many)[0].finding.severity,
            Severity::Serious
        );
    }

    const AB: &str = "Concurrency Level:      10\nTime taken for tests:   30.000 seconds\n\
        Complete requests:      1000\n";

    #[test]
    fn a_request_fails_once() {
        let text = format!(
            "{AB}Failed requests:        565\n   (Connect: 0, Receive: 188, Length: 189, Exceptions: 188)\n\
            Non-2xx responses:      189\nRequests per second:    33.33 [#/sec] (mean)\n"
        );
        let found = of(CheckId::Errors, &text);
        assert!(
            found[0]
                .finding
                .text
                .contains("56.5 % of the requests failed"),
            "{found:?}"
        );
        // Half of what was tried: as many were answered.
        let half = wrk(&[(
            "Requests/sec:",
            "  Socket errors: connect 0, read 960000, write 0, timeout 0\nRequests/sec:",
        )]);
        let found = of(CheckId::Errors, &half);
        assert!(found[0].finding.text.contains("50.0 % of"), "{found:?}");
    }

    #[test]
    fn a_rate_of_nothing_in_a_table() {
        let table = |c: &str| {
            format!("| server | req/s |\n|--|--|\n| alpha | 2,297 |\n| beta | 264 |\n| {c} |\n")
        };
        let found = of(CheckId::Errors, &table("gamma | 0"));
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([5].as_slice(), Severity::Serious)
        );
        assert!(
            found[0].finding.text.contains("gamma with a rate of 0"),
            "{found:?}"
        );
        for row in ["gamma | 0.4", "gamma | 12", "idle | 0", "gamma | n/a"] {
            assert_eq!(of(CheckId::Errors, &table(row)), [], "{row}");
        }
    }

    #[test]
    fn lengths_are_no_failures() {
        let text = format!(
            "{AB}Failed requests:        7\n   (Connect: 0, Receive: 0, Length: 7, Exceptions: 0)\n\
            Requests per second:    33.33 [#/sec] (mean)\n"
        );
        let found = of(CheckId::Errors, &text);
        assert_eq!(
            (found.len(), found[0].finding.severity),
            (1, Severity::Note)
        );
        assert!(found[0].finding.text.contains("7 requests"), "{found:?}");
    }

    #[test]
    fn one_in_many() {
        let one = wrk(&[(
            "Requests/sec:",
            "  Non-2xx or 3xx responses: 1\nRequests/sec:",
        )]);
        let found = of(CheckId::Errors, &one);
        assert!(found[0].finding.text.contains("1 in 960,000"), "{found:?}");
    }
}

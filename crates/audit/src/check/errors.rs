//! `errors`: requests failed, and the output does not say whether they count in the rate.

use super::{Seen, of_all, remark};
use crate::audit::Remark;
use prony_checks::{Explanation, Severity};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: "errors",
    cause: "Requests failed. An error is often faster than an answer, and tools differ in whether errors count in the rate.",
    evidence: "The outputs' own counts of socket errors, time-outs, and unsuccessful statuses. Serious when more than one request in a thousand failed.",
    remedy: "Find out why they failed before you compare rates.",
};

/// Up to this share of failed requests the figures of the others still stand: a thousandth, as for
/// what prony measures itself.
const TOLERABLE: f64 = 0.001;
/// At most this many outputs are listed one by one.
const TOLD: usize = 6;

pub(super) fn check(seen: &Seen<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        let failing: Vec<_> = document
            .outputs
            .iter()
            .filter(|output| !output.block.errors.is_empty())
            .collect();
        if failing.is_empty() {
            continue;
        }
        let share = failing
            .iter()
            .map(|output| {
                let failed: f64 = output
                    .block
                    .errors
                    .iter()
                    .map(|e| e.what.count as f64)
                    .sum();
                failed / output.block.ended().unwrap_or(0.0).max(failed)
            })
            .fold(0.0, f64::max);
        let severity = if share > TOLERABLE {
            Severity::Serious
        } else {
            Severity::Warning
        };
        let told = failing.iter().take(TOLD).map(|output| {
            let errors = output.block.errors.iter();
            let errors: Vec<String> = errors
                .map(|error| format!("{} × {}", error.what.count, error.what.how))
                .collect();
            format!("{} ({})", output.called(), errors.join(", "))
        });
        let told: Vec<String> = told.collect();
        let more = match failing.len().saturating_sub(TOLD) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!(
            "{}{}{more}. Up to {:.3} % of the requests of an output failed: an error is often faster \
             than an answer, so find out why they failed before you compare the rates",
            of_all(failing.len(), document.outputs.len(), "outputs have errors"),
            told.join("; "),
            100.0 * share,
        );
        let errors = failing.iter().flat_map(|output| &output.block.errors);
        let lines = errors.map(|error| error.line);
        remarks.push(remark(EXPLANATION.name, severity, document, lines, text));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::testing::{of, wrk};
    use prony_checks::Severity;

    #[test]
    fn each_kind_and_line() {
        let errors = "  Socket errors: connect 0, read 594, write 0, timeout 1\n  \
            Non-2xx or 3xx responses: 2\nRequests/sec:";
        let found = of("errors", &wrk(&[("Requests/sec:", errors)]));
        assert_eq!(found[0].lines, [12, 13]);
        assert_eq!(found[0].finding.severity, Severity::Warning);
        let text = &found[0].finding.text;
        assert!(
            text.contains("594 × read, 1 × timeout, 2 × not 2xx or 3xx"),
            "{text}"
        );
        let many = wrk(&[("Requests/sec:", &errors.replace("594", "59400"))]);
        assert_eq!(of("errors", &many)[0].finding.severity, Severity::Serious);
    }
}

//! `too-few-samples`: percentiles of requests that are hardly there.

use super::{Seen, of_all, remark, requests};
use crate::audit::Remark;
use prony_checks::{Explanation, Severity};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: "too-few-samples",
    cause: "A percentile was taken from so few requests that a handful of them decide it, or a rate from so few that it says nothing.",
    evidence: "Outputs with fewer than 100 requests, and percentiles above which fewer than ten requests lie. Percentiles of outputs with errors only are not looked at.",
    remedy: "Make more requests: ten divided by what lies above the percentile, 1,000 for p99.",
};

/// A rate of fewer requests says little.
const FEW: f64 = 100.0;
/// A percentile with fewer samples above it is decided by chance.
const ABOVE: f64 = 10.0;
/// A little less is no finding: tools count the requests at the end in different ways.
const SLACK: f64 = 0.95;

pub(super) fn check(seen: &Seen<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        let few = document.outputs.iter().filter_map(|output| {
            // Requests that were never answered were made as well.
            let lost = output.block.errors.iter().filter(|e| e.what.uncounted);
            let lost: u64 = lost.map(|error| error.what.count).sum();
            let n = output.block.ended()? + lost as f64;
            let p99 = output.block.latency.percentile(99.0);
            let thin = p99.filter(|_| n * 0.01 < SLACK * ABOVE);
            let line = output.block.requests.map(|requests| requests.line);
            let line = line.or_else(|| Some(output.block.rate?.line))?;
            // A rate is of those that were answered.
            let answered = output.block.ended()?;
            let n = if answered > 0.0 && answered < FEW {
                answered
            } else {
                n
            };
            (n < FEW || thin.is_some()).then_some((output, n, line, thin))
        });
        let few: Vec<_> = few.collect();
        let Some((output, n, _, _)) = few.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
            continue;
        };
        let tiny = *n < FEW;
        let text = if tiny {
            format!(
                "{}{} has {}: chance decides its rate and every percentile",
                of_all(
                    few.len(),
                    document.outputs.len(),
                    "outputs have few requests"
                ),
                output.called(),
                requests(*n as u64),
            )
        } else {
            format!(
                "{}{} has {}: fewer than ten of them lie above the 99th percentile, so chance decides it",
                of_all(
                    few.len(),
                    document.outputs.len(),
                    "outputs have few requests"
                ),
                output.called(),
                requests(*n as u64),
            )
        };
        let lines = few
            .iter()
            .flat_map(|(_, _, line, thin)| thin.map(|thin| thin.line).into_iter().chain([*line]));
        let severity = if tiny {
            Severity::Warning
        } else {
            Severity::Note
        };
        remarks.push(remark(EXPLANATION.name, severity, document, lines, text));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::testing::{of, wrk};
    use prony_checks::Severity;

    #[test]
    fn hundreds_and_dozens() {
        let run = |n: &str, rate: &str| wrk(&[("960000 requests", n), ("32000.00", rate)]);
        let found = of("too-few-samples", &run("600 requests", "20.00"));
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([10, 11].as_slice(), Severity::Note)
        );
        let found = of("too-few-samples", &run("60 requests", "2.00"));
        assert_eq!(found[0].finding.severity, Severity::Warning);
        assert_eq!(of("too-few-samples", &wrk(&[])), []);
    }
}

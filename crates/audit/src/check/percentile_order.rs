//! `percentile-order`: percentiles that do not rise, or a mean above the 99th.

use super::{Seen, remark, time};
use crate::audit::Remark;
use crate::document::{Document, Output};
use crate::read::number::Printed;
use crate::tool::At;
use prony_checks::{Explanation, Severity};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: "percentile-order",
    cause: "Percentiles that decrease are impossible: a column is not what its name says, or a figure was changed. A mean above the 99th percentile means that the slowest hundredth of the requests takes more time than all others together.",
    evidence: "The order of minimum, percentiles and maximum; the mean compared with the maximum and p99.",
    remedy: "If percentiles decrease: ask for the raw output. If the mean is high: look at p99.9 and at the slowest requests.",
};

/// `HdrHistogram` gives the upper end of a bucket for a percentile, and the maximum itself for the
/// maximum; three digits make them differ by up to this much.
const BUCKET: f64 = 1.02;

pub(super) fn check(seen: &Seen<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        for output in &document.outputs {
            remarks.extend(order(document, output));
            remarks.extend(mean(document, output));
        }
    }
    remarks
}

fn order(document: &Document, output: &Output) -> Option<Remark> {
    let latency = &output.block.latency;
    let mut steps: Vec<(String, At<Printed>)> = Vec::new();
    steps.extend(latency.min.map(|min| ("minimum".to_owned(), min)));
    let mut percentiles = latency.percentiles.clone();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    steps.extend(
        percentiles
            .into_iter()
            .map(|(p, time)| (format!("p{p}"), time)),
    );
    steps.extend(latency.max.map(|max| ("maximum".to_owned(), max)));
    let falls =
        |pair: &&[(String, At<Printed>)]| pair[0].1.what.low() > pair[1].1.what.high() * BUCKET;
    let pair = steps.windows(2).find(falls)?;
    let ((low, lower), (high, higher)) = (&pair[0], &pair[1]);
    let text = format!(
        "in {} the {low} is {}, above the {high} of {}: that is impossible, so a column is not \
         what its name says, or a figure was changed",
        output.called(),
        time(lower.what.value),
        time(higher.what.value),
    );
    let lines = [lower.line, higher.line];
    Some(remark(
        EXPLANATION.name,
        Severity::Serious,
        document,
        lines,
        text,
    ))
}

fn mean(document: &Document, output: &Output) -> Option<Remark> {
    let latency = &output.block.latency;
    // The mean of a capped list of samples is a finding of its own.
    let mean = latency.mean.filter(|_| !output.block.capped())?;
    if let Some(max) = latency
        .max
        .filter(|max| mean.what.low() > max.what.high() * BUCKET)
    {
        let text = format!(
            "in {} the mean of {} is above the maximum of {}: they do not come from the same samples",
            output.called(),
            time(mean.what.value),
            time(max.what.value),
        );
        let lines = [mean.line, max.line];
        return Some(remark(
            EXPLANATION.name,
            Severity::Serious,
            document,
            lines,
            text,
        ));
    }
    let p99 = latency.percentile(99.0)?;
    if mean.what.low() <= p99.what.high() * BUCKET {
        return None;
    }
    let text = format!(
        "in {} the mean of {} is above the 99th percentile of {}: the last hundredth of the \
         requests takes more time than all others together, so mean and p99 both hide what happens \
         there; look at the slowest requests, and at p99.9",
        output.called(),
        time(mean.what.value),
        time(p99.what.value),
    );
    let lines = [mean.line, p99.line];
    Some(remark(
        EXPLANATION.name,
        Severity::Warning,
        document,
        lines,
        text,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{of, wrk};
    use prony_checks::Severity;

    #[test]
    fn what_falls_is_found() {
        let found = of("percentile-order", &wrk(&[("2.10ms", "2.60ms")]));
        assert_eq!(found[0].lines, [8, 9]);
        assert!(found[0].finding.text.contains("p75") && found[0].finding.text.contains("p90"));
        let found = of("percentile-order", &wrk(&[("3.90ms", "2.90ms")]));
        assert_eq!(found[0].lines, [4, 10]);
        assert_eq!(of("percentile-order", &wrk(&[("2.10ms", "1.95ms")])), []);
    }

    #[test]
    fn a_mean_above_the_99th() {
        let found = of("percentile-order", &wrk(&[(" 2.00ms", " 3.10ms")]));
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([4, 10].as_slice(), Severity::Warning)
        );
        let found = of("percentile-order", &wrk(&[(" 2.00ms", " 5.00ms")]));
        assert_eq!(
            (found.len(), found[0].finding.severity),
            (1, Severity::Serious)
        );
    }
}

//! `too-few-samples`: not enough answers for a 99th percentile.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::TooFewSamples,
    cause: "There are not enough answers for a 99th percentile: fewer than ten would lie beyond it.",
    evidence: "The number of samples.",
    remedy: "Measure longer, or use lower percentiles. prony leaves out percentiles that have fewer than ten samples beyond them.",
};

/// Samples from which a 99th percentile has ten beyond it.
const ENOUGH: u64 = 1_000;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    if seen.samples >= ENOUGH {
        return None;
    }
    let text = format!(
        "{} samples are too few for a 99th percentile, which needs ten samples beyond it: percentiles \
         with fewer are left out; measure longer",
        seen.samples
    );
    finding(CheckId::TooFewSamples, Severity::Note, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_are_enough() {
        assert_eq!(
            check(&Evidence {
                samples: 1_000,
                ..Evidence::clean()
            }),
            None
        );
        assert!(
            check(&Evidence {
                samples: 999,
                ..Evidence::clean()
            })
            .is_some()
        );
    }
}

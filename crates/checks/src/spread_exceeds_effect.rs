//! `spread-exceeds-effect`: two servers differ by less than each differs from itself.

use crate::{CheckId, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::SpreadExceedsEffect,
    cause: "The difference between two servers is smaller than the spread between trials of the same server.",
    evidence: "The spread over the trials of each server, compared with the ratio between them.",
    remedy: "Do not quote the ratio alone: its interval says how certain it is. More rounds make the interval narrower.",
};

/// Raised for a server whose ratio to the baseline lies closer to 1 than the spread of its own
/// trials, or the baseline's, is wide. `ratio` is the ratio to the baseline; the spreads are
/// (largest − smallest) / mean over the trials of each.
pub fn spread_exceeds_effect(ratio: f64, own_spread: f64, baseline_spread: f64) -> Option<Finding> {
    let effect = (ratio - 1.0).abs();
    let spread = own_spread.max(baseline_spread);
    if effect >= spread {
        return None;
    }
    let text = format!(
        "it differs from the baseline by {:.1}%, while trials of the same server differ by {:.1}%: \
         these figures do not show which of the two is faster; take more rounds",
        effect * 100.0,
        spread * 100.0
    );
    finding(CheckId::SpreadExceedsEffect, Severity::Note, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_spread_counts() {
        assert!(spread_exceeds_effect(1.03, 0.01, 0.05).is_some());
        assert!(spread_exceeds_effect(0.97, 0.05, 0.01).is_some());
        assert_eq!(spread_exceeds_effect(1.2, 0.05, 0.05), None);
    }
}

//! `spread-exceeds-effect`: two servers differ by less than each differs from itself.

use crate::{Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: "spread-exceeds-effect",
    cause: "Two servers differ by less than each differs from itself between rounds.",
    evidence: "The spread over the trials of each, against the ratio between them.",
    remedy: "Do not believe the ratio by its value alone: its interval says what can be said. More rounds make it narrower.",
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
        "it differs from the baseline by {:.1} %, and trials of one and the same server differ by \
         {:.1} %: the order of the two is not shown by these figures; more rounds would",
        effect * 100.0,
        spread * 100.0
    );
    finding("spread-exceeds-effect", Severity::Note, text)
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

//! `too-short`: the measurement is too short to mean much.

use crate::{Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: "too-short",
    cause: "Less than a second was measured: a single hiccup of the machine is a visible part of that.",
    evidence: "The length of the measurement.",
    remedy: "Measure longer; without --quick, if that was given.",
};

/// Seconds. Below one, a single scheduler hiccup or garbage collection is a visible part of it.
const ENOUGH: f64 = 1.0;
/// A number of requests is done a little sooner or later than a duration; and a duration may end
/// by the length of one turn early.
const SLACK: f64 = 0.999;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    if seen.seconds >= ENOUGH * SLACK {
        return None;
    }
    let text = format!(
        "only {:.2} s were measured: a single hiccup is a visible part of that; measure longer",
        seen.seconds
    );
    finding("too-short", Severity::Note, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_enough() {
        assert_eq!(
            check(&Evidence {
                seconds: 1.0,
                ..Evidence::clean()
            }),
            None
        );
        assert!(
            check(&Evidence {
                seconds: 0.5,
                ..Evidence::clean()
            })
            .is_some()
        );
    }
}

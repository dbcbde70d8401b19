//! `too-short`: the measurement is too short to mean much.

use crate::{Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: "too-short",
    cause: "The measurement lasted less than a second, so a single scheduling delay or garbage collection is a visible part of it.",
    evidence: "The length of the measurement.",
    remedy: "Measure longer, and leave out --quick if it was given.",
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
        "the measurement lasted only {:.2} s: a single scheduling delay is a visible part of it; \
         measure longer",
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

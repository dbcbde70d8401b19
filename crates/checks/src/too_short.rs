//! `too-short`: the measurement is too short to mean much.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::TooShort,
    cause: "The measurement lasted less than a second, so a single scheduling delay or garbage collection is a visible part of it; or it lasted for fewer than 20 response times, so its rate has no interval that could be trusted.",
    evidence: "The length of the measurement, and the median response time.",
    remedy: "Measure longer, and leave out --quick if it was given.",
};

/// Seconds. Below one, a single scheduler hiccup or garbage collection is a visible part of it.
const ENOUGH: f64 = 1.0;
/// A number of requests is done a little sooner or later than a duration; and a duration may end
/// by the length of one turn early.
const SLACK: f64 = 0.999;
/// Median response times: four pieces from which a rate gets its interval, each of five response times.
const RESPONSES: f64 = 20.0;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let responses = seen.median_response.map(|median| seen.seconds / median);
    if let Some(few) = responses.filter(|responses| *responses < RESPONSES * SLACK) {
        let text = format!(
            "the measurement of {:.2} s lasted for only {few:.1} response times: measure for at least {:.0} s",
            seen.seconds,
            (seen.seconds * RESPONSES / few).ceil()
        );
        return finding(CheckId::TooShort, Severity::Warning, text);
    }
    if seen.seconds >= ENOUGH * SLACK {
        return None;
    }
    let text = format!(
        "the measurement lasted only {:.2} s: a single scheduling delay is a visible part of it; \
         measure longer",
        seen.seconds
    );
    finding(CheckId::TooShort, Severity::Note, text)
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

    #[test]
    fn slow_answers_need_longer() {
        let slow = |seconds| Evidence {
            median_response: Some(0.24),
            seconds,
            ..Evidence::clean()
        };
        let text = check(&slow(1.2)).unwrap().text;
        assert!(
            text.contains("5.0 response times: measure for at least 5 s"),
            "{text}"
        );
        assert_eq!(check(&slow(4.8)), None);
    }
}

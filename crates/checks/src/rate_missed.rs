//! `rate-missed`: an open loop did not get the rate that it was to keep.

use crate::{Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: "rate-missed",
    cause: "An open loop did not reach its target rate. Requests wait for a free connection, and response times grow for as long as the load lasts.",
    evidence: "The number of requests that finished during the measurement, compared with the number that were due.",
    remedy: "Lower the rate: `prony capacity` finds the highest rate that the server sustains. To measure throughput, use a closed loop.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let target = seen.rate?;
    if !prony_record::load::rate_missed(target, seen.seconds, seen.finished()) {
        return None;
    }
    let text = format!(
        "the target was {:.0} requests per second and {:.0} finished: the server could not keep up, \
         and response times grow for as long as the load lasts; lower the rate, or use a closed loop",
        target,
        seen.finished() as f64 / seen.seconds
    );
    finding("rate-missed", Severity::Serious, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_rate_is_seen_and_a_kept_one_is_not() {
        let kept = Evidence {
            rate: Some(64_000.0),
            closed_loop: false,
            ..Evidence::clean()
        };
        assert_eq!(check(&kept), None);
        assert_eq!(
            check(&Evidence {
                rate: Some(64_900.0),
                ..kept.clone()
            }),
            None
        );
        assert!(
            check(&Evidence {
                rate: Some(70_000.0),
                ..kept.clone()
            })
            .is_some()
        );
        // 10 per second for one second: 4 instead of 10 may be chance.
        let few = Evidence {
            rate: Some(10.0),
            seconds: 1.0,
            ok: 4,
            ..kept
        };
        assert_eq!(check(&few), None);
    }
}

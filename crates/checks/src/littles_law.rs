//! `littles-law`: rate, response time and number in flight contradict each other.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::LittlesLaw,
    cause: "Rate, mean response time and the number of requests in flight contradict each other, so at least one of them is wrong: in a closed loop, rate × mean response time equals the number of requests in flight (Little's law).",
    evidence: "These three figures of the measurement.",
    remedy: "If the figures are prony's own, this is a bug: please report it. In another tool's output the usual cause is a mean that includes back-filled samples.",
};

/// Little's law holds exactly for a stable system; at the ends of a measurement some requests are
/// counted in one figure and not in the other.
const TOLERANCE: f64 = 0.1;
/// Below this number of samples the ends weigh too much.
const ENOUGH: u64 = 1_000;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let applies = seen.closed_loop && seen.ok == seen.finished() && seen.samples >= ENOUGH;
    if !applies || seen.seconds <= 0.0 {
        return None;
    }
    let rate = seen.ok as f64 / seen.seconds;
    // A connection that rests, or is being made, has no request in flight: there may be any number fewer.
    let always_busy = seen.keepalive && !seen.rests;
    // What is in flight at the end counts with its whole length in the mean, and not at all in the rate.
    let late = seen.depth() * seen.max_response / seen.seconds;
    let in_flight = rate * seen.mean_response;
    littles_law(rate, seen.mean_response, seen.depth())
        .filter(|_| always_busy || in_flight > seen.depth())
        .filter(|_| in_flight < seen.depth() || in_flight - late > seen.depth() * (1.0 + TOLERANCE))
}

/// Do the rate of a closed loop (per second) and its mean response time (in seconds) fit the
/// number of requests that it keeps in flight?
pub fn littles_law(rate: f64, mean_response: f64, depth: f64) -> Option<Finding> {
    let in_flight = rate * mean_response;
    let ratio = in_flight / depth;
    // Fewer in flight than there are places is possible (a thread shares its time between them);
    // more is not.
    if ratio.is_nan() || (0.5..=1.0 + TOLERANCE).contains(&ratio) {
        return None;
    }
    let text = format!(
        "throughput × mean response time gives {in_flight:.1} requests in flight, but the load keeps \
         {depth:.0} in flight: at least one of these figures is wrong (Little's law)"
    );
    finding(CheckId::LittlesLaw, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_streams_is_no_contradiction() {
        let load = prony_record::Load {
            connections: 2,
            pipeline: 100,
            ..prony_record::Load::default()
        };
        let mut seen = prony_record::Observation {
            measured_ns: 2_000_000_000,
            ..prony_record::Observation::default()
        };
        assert_eq!(Evidence::of(&load, &seen).depth(), 200.0);
        seen.streams_allowed = Some(16);
        assert_eq!(Evidence::of(&load, &seen).depth(), 32.0);
        seen.streams_allowed = Some(1_000);
        assert_eq!(Evidence::of(&load, &seen).depth(), 200.0);
    }

    #[test]
    fn a_stall_at_the_end_is_no_contradiction() {
        // 100 ms with 64 in flight, the last of which were answered 50 ms after the end.
        let clean = Evidence::clean();
        let fitting = Evidence {
            seconds: 0.1,
            mean_response: clean.depth() * 1.4 * 0.1 / clean.ok as f64,
            max_response: 0.05,
            ..clean
        };
        assert_eq!(check(&fitting), None);
        let wrong = Evidence {
            max_response: 0.001,
            ..fitting
        };
        assert!(check(&wrong).is_some());
    }

    #[test]
    fn figures_that_contradict_each_other() {
        assert_eq!(check(&Evidence::clean()), None);
        let backfilled = Evidence {
            mean_response: 0.033,
            ..Evidence::clean()
        };
        assert!(check(&backfilled).unwrap().text.contains("2112.0 requests"));
        let hidden = Evidence {
            mean_response: 0.000_1,
            ..Evidence::clean()
        };
        assert!(check(&hidden).is_some());
        for rests in [true, false] {
            let idle = Evidence {
                rests,
                keepalive: rests,
                ..hidden.clone()
            };
            assert_eq!(check(&idle), None);
            let too_many = Evidence {
                mean_response: 0.033,
                ..idle
            };
            assert!(check(&too_many).is_some());
        }
    }
}

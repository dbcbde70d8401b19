//! `clock-uncertain`: a machine's clock could not be read well enough.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::ClockUncertain,
    cause: "The connection to a machine that sends the load is so slow that its clock is known only roughly, so its windows may be shifted against those of the others.",
    evidence: "Half of the shortest round trip to the machine, against the length of a window.",
    remedy: "Latencies do not depend on it: each is measured on one clock. For figures by window, use a machine with a shorter round trip, or start prony nearer to the machines.",
};

/// A shift of less than this part of a window is not seen in its figures.
const SHARE: f64 = 0.1;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let worst = seen
        .generators
        .iter()
        .max_by(|a, b| a.clock_error.total_cmp(&b.clock_error))?;
    if seen.window <= 0.0 || worst.clock_error <= SHARE * seen.window {
        return None;
    }
    let text = format!(
        "the clock of {} is known to {:.1} ms, and windows are {:.0} ms long: figures by window may belong to the window \
         before or after; latencies are not affected",
        worst.host,
        worst.clock_error * 1e3,
        seen.window * 1e3
    );
    finding(CheckId::ClockUncertain, Severity::Note, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OneGenerator;

    #[test]
    fn against_the_length_of_a_window() {
        let seen = |clock_error, window| Evidence {
            window,
            generators: vec![OneGenerator {
                host: "h1".into(),
                clock_error,
                ..OneGenerator::default()
            }],
            ..Evidence::clean()
        };
        assert_eq!(check(&seen(0.001, 1.0)), None);
        assert!(
            check(&seen(0.02, 0.1))
                .unwrap()
                .text
                .contains("known to 20.0 ms")
        );
    }
}

//! `start-skew`: not all machines began a load at the same time.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::StartSkew,
    cause: "A machine that sends the load heard too late when it begins, so that for a moment the others sent alone.",
    evidence: "Each machine's own clock when it heard when the load begins.",
    remedy: "Stop what else runs on that machine, and look at its round trip with prony hosts check; a longer measurement makes the moment matter less.",
};

/// Beginning this much later than others is a part of any load, in seconds: the length of a turn of the generator's loop.
const SMALL: f64 = 0.001;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let latest = seen
        .generators
        .iter()
        .max_by(|a, b| a.late_start.total_cmp(&b.late_start))?;
    if latest.late_start <= SMALL {
        return None;
    }
    let text = format!(
        "{} began {:.1} ms after the others: what they measured until then is not the whole load; measure longer, or stop \
         what else runs there",
        latest.host,
        latest.late_start * 1e3
    );
    finding(CheckId::StartSkew, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OneGenerator;

    #[test]
    fn the_latest_is_named() {
        let seen = |late: [f64; 2]| Evidence {
            generators: ["h1", "h2"]
                .into_iter()
                .zip(late)
                .map(|(host, late_start)| OneGenerator {
                    host: host.into(),
                    late_start,
                    ..OneGenerator::default()
                })
                .collect(),
            ..Evidence::clean()
        };
        assert_eq!(check(&seen([0.0, 0.0005])), None);
        assert!(
            check(&seen([0.02, 0.0]))
                .unwrap()
                .text
                .starts_with("h1 began 20.0 ms")
        );
    }
}

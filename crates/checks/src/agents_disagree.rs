//! `agents-disagree`: the machines that sent a load, or a slow client beside it, saw different response times.

use crate::{CheckId, Evidence, Explanation, Finding, OneGenerator, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::AgentsDisagree,
    cause: "The machines that sent the load saw different response times: one of them is slower, busier or farther away than the others, or the server treats them differently. A slow client (--probe-host) sends so few requests that it delays none of them: if its response times are shorter, the generators add the difference.",
    evidence: "The median response time of each machine.",
    remedy: "Look at the table of machines and at prony hosts check; leave out the machine that differs, or report its response times separately.",
};

/// Medians differ when the larger is this many times the smaller. Machines of one kind at one switch are within a tenth.
const FACTOR: f64 = 1.5;
/// Differences below this are those of cables and switches, in seconds.
const SMALL: f64 = 0.000_1;
/// A median of fewer samples says little.
const SAMPLES: u64 = 100;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let medians = || {
        seen.generators
            .iter()
            .filter(|one| one.samples >= SAMPLES)
            .filter_map(|one| Some((one.median_response?, one)))
    };
    let by_median = |a: &(f64, _), b: &(f64, _)| a.0.total_cmp(&b.0);
    let ((low, fast), (high, slow)) = (medians().min_by(by_median)?, medians().max_by(by_median)?);
    if high <= FACTOR * low || high - low <= SMALL {
        return None;
    }
    let because = match (slow.measuring, fast.measuring) {
        (false, true) => "the generator may keep its requests waiting itself",
        _ => "one of them is slower, busier or farther away",
    };
    let text = format!(
        "{} saw a median response time of {:.3} ms and {} {:.3} ms: {because}; look at each separately",
        named(slow),
        high * 1e3,
        named(fast),
        low * 1e3
    );
    finding(CheckId::AgentsDisagree, Severity::Warning, text)
}

fn named(one: &OneGenerator) -> String {
    match one.measuring {
        true => format!("the slow client on {}", one.host),
        false => one.host.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_that_differ_are_told() {
        let seen = |ms: [f64; 2], samples| Evidence {
            generators: ["h1", "h2"]
                .into_iter()
                .zip(ms)
                .map(|(host, ms)| OneGenerator {
                    host: host.into(),
                    samples,
                    median_response: Some(ms / 1e3),
                    ..OneGenerator::default()
                })
                .collect(),
            ..Evidence::clean()
        };
        let found = check(&seen([1.0, 3.0], 1_000)).unwrap();
        assert!(
            found
                .text
                .starts_with("h2 saw a median response time of 3.000 ms and h1 1.000 ms")
        );
        let mut beside = seen([3.0, 1.0], 1_000);
        beside.generators[1].measuring = true;
        let found = check(&beside).unwrap();
        assert!(
            found.text.starts_with(
                "h1 saw a median response time of 3.000 ms and the slow client on h2 1.000 ms: the generator may keep"
            ),
            "{}",
            found.text
        );
        assert_eq!(check(&seen([1.0, 1.2], 1_000)), None);
        assert_eq!(
            check(&seen([0.05, 0.12], 1_000)),
            None,
            "70 microseconds of network"
        );
        assert_eq!(check(&seen([1.0, 3.0], 50)), None);
        assert_eq!(check(&Evidence::clean()), None);
    }
}

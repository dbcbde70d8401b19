//! `schedule-lag`: the generator itself sent requests late.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::ScheduleLag,
    cause: "The generator sent requests late, by an amount that is significant compared with the response times.",
    evidence: "The histogram of the generator's lateness: the time a request was sent minus the time it was due, or minus the time its connection became free if that was later.",
    remedy: "Give the generator its own CPU (--cpus) or more threads, and stop other processes on its CPUs. On a virtual machine, waking up a thread costs about 50 microseconds.",
};

/// Lateness below this is the cost of one wake-up, and cannot be subtracted.
const SMALL: f64 = 0.000_1;
/// Above that, lateness matters when it is this share of the median response time.
const SHARE: f64 = 0.1;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let late = seen.late_p99?;
    if late <= SMALL.max(SHARE * seen.median_response.unwrap_or(0.0)) {
        return None;
    }
    let text = format!(
        "the generator sent one request in a hundred {:.3} ms late or more, which is part of the \
         response times; give the generator a CPU of its own, or more threads",
        late * 1e3
    );
    finding(CheckId::ScheduleLag, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_against_what_is_measured() {
        let late = |p99| Evidence {
            late_p99: Some(p99),
            ..Evidence::clean()
        };
        assert_eq!(check(&late(0.000_05)), None);
        assert!(check(&late(0.000_2)).is_some());
        let slow = Evidence {
            median_response: Some(0.05),
            ..late(0.000_2)
        };
        assert_eq!(check(&slow), None, "0.2 ms are nothing compared with 50 ms");
    }
}

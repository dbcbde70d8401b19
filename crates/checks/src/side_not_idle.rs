//! `side-not-idle`: a side of a duel worked while it was not loaded.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::SideNotIdle,
    cause: "While the other sides of a duel were under load, this one should have been idle, and still used CPU time: it polls, collects garbage, compiles, or does deferred work. All sides share the same CPUs, so it slows the others down and makes them look worse.",
    evidence: "CPU time of all processes of the side during the segments of the others.",
    remedy: "Leave out --no-pause: prony stops resting sides that it has started itself, unless segments are long. Else configure the server not to poll, use a longer warm-up (--warmup) so that its JIT compiler has finished, give the servers more CPUs (--server-cpus), or compare CPU per request, which other processes affect least.",
};

/// Share of one CPU. The timers of interpreters and the housekeeping of virtual machines stay below it; more would
/// change the others' throughput by more than what duels are to find.
const IDLE: f64 = 0.02;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let used = seen.at_rest.filter(|used| *used > IDLE)?;
    let text = format!(
        "it used {:.0}% of a CPU while it should have been idle, which slows the other sides down: stop it from polling, \
         or compare CPU per request",
        100.0 * used
    );
    finding(CheckId::SideNotIdle, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_that_works_while_others_are_loaded() {
        let with = |at_rest| Evidence {
            at_rest,
            ..Evidence::clean()
        };
        assert_eq!(check(&with(None)), None);
        assert_eq!(check(&with(Some(0.01))), None);
        let found = check(&with(Some(0.5))).unwrap();
        assert!(found.text.contains("50% of a CPU"), "{}", found.text);
    }
}

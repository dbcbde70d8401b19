//! `flow-control-stalls`: the load stood still because the client's own window was used up.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

/// A generator thread that worked, or was kept waiting, for this share of its time is late.
const TAKEN: f64 = 0.95;
/// One wait for a hundred answers: a round trip in one answer of a hundred shows in the 99th percentile.
const SHARE: f64 = 0.01;

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::FlowControlStalls,
    cause: "Over HTTP/2 a server may send only so many bytes ahead of what the client has taken, on each stream and each connection. It had used that up in the middle of answers, and had to wait until the client gave it more room.",
    evidence: "How often a window of the client was used up while the answer went on, since the load began. What arrives in one go is looked at together, so that there may have been more.",
    remedy: "Give the server more room with --window: the default, 1 GiB, never limits it. Leave the window small only if that is what you measure: browsers have some megabytes, and over a network a window limits the rate to its size per round trip.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let answers = seen.ok + seen.wrong;
    if seen.stalled == 0 || (seen.stalled as f64) < SHARE * answers as f64 {
        return None;
    }
    let late = match seen.generator_taken() >= TAKEN {
        true => " (and the generator, which had no time left, may have been late to give it more)",
        false => "",
    };
    let text = format!(
        "{} time{} the server could not go on with an answer, because the client's window of flow control was used up{late} \
         ({answers} answers were measured): the window is measured as well as the server; a larger --window leaves it out",
        seen.stalled,
        if seen.stalled == 1 { "" } else { "s" }
    );
    finding(CheckId::FlowControlStalls, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_without_time_is_named() {
        let seen = |generator_busy| Evidence {
            stalled: 9_000,
            generator_busy,
            ..Evidence::clean()
        };
        let text = |busy| check(&seen(busy)).unwrap().text;
        assert!(text(0.97).contains("the generator, which had no time left"));
        assert!(!text(0.5).contains("the generator"));
    }

    #[test]
    fn a_hundredth_of_the_answers_counts() {
        let seen = |stalled, ok| Evidence {
            stalled,
            ok,
            wrong: 0,
            ..Evidence::clean()
        };
        assert_eq!(check(&seen(0, 0)), None);
        assert_eq!(check(&seen(9, 1_000)), None);
        let found = check(&seen(10, 1_000)).unwrap();
        assert!(found.text.starts_with("10 times"), "{}", found.text);
        // A load that stood still from its first answer on.
        let found = check(&seen(1, 0)).unwrap();
        assert!(found.text.starts_with("1 time the"), "{}", found.text);
    }
}

//! `errors`: requests ended without an answer.

use crate::{Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: "errors",
    cause: "Requests ended without an answer: the connection could not be opened, it broke, or the request timed out.",
    evidence: "The number of requests by outcome, and the operating system's error messages with how often each occurred. Time-outs are in the latency distribution at their full length.",
    remedy: "Read the error messages. 'connection refused': nothing listens on the port, or the accept queue is full. 'reset': the server closed the connection. 'cannot assign requested address': this machine has run out of ports. Fewer connections or a larger backlog fix most of these.",
};

/// Up to this share of failed requests the figures of the others still stand: a thousandth.
const TOLERABLE: f64 = 0.001;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let failed = seen.timeouts + seen.socket_errors;
    if failed == 0 {
        return None;
    }
    let share = failed as f64 / seen.finished() as f64;
    let severity = if share > TOLERABLE {
        Severity::Serious
    } else {
        Severity::Warning
    };
    let texts = match seen.error_texts.as_slice() {
        [] => String::new(),
        texts => format!(" ({})", texts.join("; ")),
    };
    let text = format!(
        "{failed} of {} requests ended without an answer: {} timed out, {} failed with a socket \
         error{texts}; time-outs are in the latency distribution at their full length",
        seen.finished(),
        seen.timeouts,
        seen.socket_errors
    );
    finding("errors", severity, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_a_warning_and_many_are_serious() {
        let few = Evidence {
            timeouts: 1,
            ..Evidence::clean()
        };
        assert_eq!(check(&few).unwrap().severity, Severity::Warning);
        let many = Evidence {
            socket_errors: 10_000,
            ..Evidence::clean()
        };
        assert_eq!(check(&many).unwrap().severity, Severity::Serious);
        assert_eq!(check(&Evidence::clean()), None);
    }
}

//! `errors`: requests ended without an answer.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::Errors,
    cause: "Requests ended without an answer: the connection could not be opened, it broke, or the request timed out, in the measurement or while the last answers were awaited after it. Or connections failed without costing a measured request: in set-up, in the warm-up, or with nothing in flight.",
    evidence: "The number of requests by outcome, and the operating system's error messages with how often each occurred. Time-outs are in the latency distribution at their full length. A server has stopped answering when not a byte comes for what was in flight at the end, and no connection ends.",
    remedy: "Read the error messages. 'connection refused': nothing listens on the port, or the accept queue is full. 'reset': the server closed the connection. 'no port is left to connect from': this machine has run out of ports, and --interface takes more addresses. Fewer connections or a larger backlog fix most of these.",
};

/// Up to this share of failed requests the figures of the others still stand: a thousandth.
const TOLERABLE: f64 = 0.001;

/// From this share of the failures on the server closes connections by habit.
const CLOSES: f64 = 0.5;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let failed = seen.timeouts + seen.socket_errors + seen.unanswered_at_end;
    if failed == 0 {
        return no_request_lost(seen);
    }
    let all = seen.finished() + seen.unanswered_at_end;
    let share = failed as f64 / all as f64;
    let severity = if share > TOLERABLE || seen.stopped {
        Severity::Serious
    } else {
        Severity::Warning
    };
    let texts = match seen.error_texts.as_slice() {
        [] => String::new(),
        texts => format!(" ({})", texts.join("; ")),
    };
    let at_end = match (seen.unanswered_at_end, seen.stopped) {
        (0, _) => String::new(),
        (n, false) => format!(", {n} in flight at the end were never answered"),
        (n, true) => format!(
            ", {n} in flight at the end were never answered, and no other was: the server had stopped \
             answering"
        ),
    };
    let often = seen.closed_after_answer as f64 > CLOSES * failed as f64;
    let closes = match often {
        true => {
            "; the server closes connections after an answer without having said `Connection: close`: \
             --no-keepalive loads it"
        }
        false => "",
    };
    let ports = more_ports(seen);
    let text = format!(
        "{failed} of {all} requests ended without an answer: {} timed out, {} failed with a socket \
         error{at_end}{texts}{closes}{ports}; time-outs are in the latency distribution at their full length",
        seen.timeouts, seen.socket_errors
    );
    finding(CheckId::Errors, severity, text)
}

/// The remedy for a lack of ports, if there was one.
fn more_ports(seen: &Evidence) -> &'static str {
    match seen.without_port {
        0 => "",
        _ => "; --interface takes more addresses to connect from",
    }
}

/// Errors that cost no measured request: while connections were set up, in the warm-up, or on
/// connections with nothing in flight. The figures stand, but not all of the load was there all the time.
fn no_request_lost(seen: &Evidence) -> Option<Finding> {
    if seen.errors == 0 {
        return None;
    }
    let text = format!(
        "{} error{} outside the measured requests, in set-up, warm-up or on idle connections ({}): the \
         load may have had fewer connections than asked for, for a time{}",
        seen.errors,
        if seen.errors == 1 { "" } else { "s" },
        seen.error_texts.join("; "),
        more_ports(seen)
    );
    finding(CheckId::Errors, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_cost_no_request_are_told_too() {
        let seen = Evidence {
            errors: 241,
            error_texts: vec!["connecting: Connection refused (os error 111) ×241".into()],
            ..Evidence::clean()
        };
        let finding = check(&seen).unwrap();
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.text.contains("241 errors") && finding.text.contains("refused"));
    }

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

    /// Other causes of requests that are unanswered at the end.
    #[test]
    fn a_server_that_closes_or_streams_has_not_stopped() {
        let closes = Evidence {
            socket_errors: 304,
            unanswered_at_end: 8,
            closed_after_answer: 304,
            ok: 312,
            ..Evidence::clean()
        };
        let found = check(&closes).unwrap().text;
        assert!(found.contains("--no-keepalive"), "{found}");
        assert!(!found.contains("stopped"), "{found}");
        let streams = Evidence {
            timeouts: 4,
            unanswered_at_end: 4,
            ok: 0,
            error_texts: vec!["timed out: the answer's head had come ×8".into()],
            ..Evidence::clean()
        };
        let found = check(&streams).unwrap().text;
        assert!(found.contains("head had come"), "{found}");
        assert!(!found.contains("stopped"), "{found}");
        assert!(!found.contains("--no-keepalive"), "{found}");
    }

    #[test]
    fn a_server_that_stops_answering_before_the_end_is_serious() {
        let one = Evidence {
            unanswered_at_end: 1,
            ..Evidence::clean()
        };
        let found = check(&one).unwrap();
        assert_eq!(found.severity, Severity::Warning);
        assert!(
            found.text.starts_with("1 of 640001 requests"),
            "{}",
            found.text
        );
        assert!(!found.text.contains("stopped"), "{}", found.text);
        let all = Evidence {
            unanswered_at_end: 64,
            stopped: true,
            ..Evidence::clean()
        };
        let found = check(&all).unwrap();
        assert_eq!(found.severity, Severity::Serious);
        assert!(
            found.text.contains("had stopped answering"),
            "{}",
            found.text
        );
    }
}

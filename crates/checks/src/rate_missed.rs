//! `rate-missed`: an open loop did not get the rate that it was to keep.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::RateMissed,
    cause: "An open loop did not keep its rate: requests that were due and unanswered grew for as long as the load lasted, and so did response times. Slow answers alone do not cause this: they leave rate × response time requests unanswered, always the same number.",
    evidence: "The number of requests that were due and had not ended, at the end of each window: its mean over the second half of the measurement, compared with the first half, after the first response time. Growth counts from 2% of the rate on, if it is more than chance explains.",
    remedy: "Lower the rate: `prony capacity` finds the highest rate that the server sustains. To measure throughput, use a closed loop. Where all connections were busy, try more of them (--max-connections).",
};

/// A generator thread that worked, or was kept waiting, for this share of its time could not have done more.
const TAKEN: f64 = 0.95;
/// A server that used this share of its CPUs had nothing left.
const BUSY: f64 = 0.8;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let rate = seen.rate?;
    if !seen.backlog.missed() || seen.pool.limits() {
        return None;
    }
    let growth = seen.backlog.growth;
    let busy = seen
        .server
        .is_some_and(|server| server.used >= BUSY * server.cpus);
    // What was not tried cannot be excluded.
    let because = match (busy, seen.pool.helped) {
        _ if seen.generator_taken() >= TAKEN && !busy => {
            "the load generator had no time left, and may not have kept up itself".to_owned()
        }
        (true, _) | (_, Some(_)) => "the server could not keep up".to_owned(),
        (false, None) => format!(
            "the server could not keep up, or {} connections{} were too few (--max-connections)",
            seen.connections,
            seen.streams()
        ),
    };
    let text = format!(
        "of {rate:.0} requests per second, {growth:.0} per second were left unanswered: {because}; response times grow for \
         as long as the load lasts; lower the rate, or use a closed loop"
    );
    finding(CheckId::RateMissed, Severity::Serious, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerCpu;
    use prony_record::{Backlog, Pool};

    fn growing() -> Evidence {
        Evidence {
            rate: Some(1_000.0),
            closed_loop: false,
            backlog: Backlog {
                judged: 1,
                grew: 1,
                at_end: 4_000,
                growth: 400.0,
            },
            ..Evidence::clean()
        }
    }

    #[test]
    fn a_growing_backlog_misses_the_rate_and_few_answers_alone_do_not() {
        let text = check(&growing()).unwrap().text;
        assert!(
            text.contains("400 per second were left unanswered: the server could not keep up;"),
            "{text}"
        );
        let slow = Evidence {
            ok: 10,
            backlog: Backlog {
                grew: 0,
                ..growing().backlog
            },
            ..growing()
        };
        assert_eq!(check(&slow), None);
        let closed = Evidence {
            rate: None,
            ..growing()
        };
        assert_eq!(check(&closed), None);
    }

    /// Other causes of a rate that is missed.
    #[test]
    fn what_else_misses_a_rate() {
        let generator = Evidence {
            generator_busy: 0.98,
            server: Some(ServerCpu {
                cpus: 1.0,
                used: 0.3,
            }),
            ..growing()
        };
        let text = check(&generator).unwrap().text;
        assert!(
            text.contains("the load generator had no time left"),
            "{text}"
        );
        assert!(!text.contains("the server could not keep up"), "{text}");
        let streams = Evidence {
            streams_limited: Some(16),
            server: None,
            ..growing()
        };
        let text = check(&streams).unwrap().text;
        assert!(
            text.contains("64 connections, on each of which the server allows 16 streams"),
            "{text}"
        );
    }

    #[test]
    fn only_what_was_excluded_is_not_named() {
        let with = |used, helped| {
            let seen = Evidence {
                server: Some(ServerCpu { cpus: 1.0, used }),
                pool: Pool {
                    allowed: 64,
                    opened: 64,
                    helped,
                },
                ..growing()
            };
            check(&seen).map(|it| it.text)
        };
        let both = with(0.3, None).unwrap();
        assert!(both.contains("or 64 connections were too few"), "{both}");
        assert!(!with(0.9, None).unwrap().contains("too few"));
        assert!(!with(0.3, Some(false)).unwrap().contains("too few"));
        assert_eq!(with(0.3, Some(true)), None, "that is connections-limit");
    }
}

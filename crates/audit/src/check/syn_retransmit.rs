//! `syn-retransmit`: connecting took as long as TCP waits before it asks again.
//!
//! A SYN that finds the accept queue full is dropped; the client sends it again after 1 s, then
//! after 2, 4, 8 and so on more (RFC 6298; before 2011 after 3 s and 6 more).

use super::{CheckInput, UnnamedFinding, raise, time, warning};
use crate::figures::Figure;
use prony_checks::{CheckId, Explanation, Severity};
use std::collections::BTreeSet;

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::SynRetransmit,
    cause: "Connecting took as long as TCP waits before it sends a SYN again (1, 3, 7, 15 s and so on): the accept queue was full, so clients waited for a timer, not for the server. Short runs then measure that timer.",
    evidence: "The longest time to connect; without it, many runs of a fixed number of requests, each request on its own connection, that last exactly as long as the timer.",
    remedy: "Lengthen the queue (listen's backlog, net.core.somaxconn), or keep connections open.",
};

/// When a SYN is sent again, in seconds after the first.
const AGAIN: [f64; 6] = [1.0, 3.0, 7.0, 15.0, 31.0, 63.0];
/// Seconds: a long wait.
const LONG: f64 = 10.0;
/// Share by which a run may last longer than the timer, because the rest of its work takes a little time.
const LATER: f64 = 0.067;
/// A connection among thousands is noticed later than it was made: its time is up to this share longer.
const NOTICED: f64 = 0.1;
/// From this many runs on that end exactly then, the timer is the cause.
const RUNS: usize = 3;
/// Share of all runs that must also end exactly then. By chance, the share would be the length of that interval within
/// the range of all runs, a twentieth or less.
const SHARE: f64 = 0.15;
/// With fewer connections at once an accept queue is hardly ever full: the least that Linux makes
/// them.
const QUEUE: u64 = 128;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        let late: Vec<_> = document
            .outputs
            .iter()
            .filter_map(|output| {
                let max = output.block.connect_max?;
                Some((output, max, sent_again(max.what.value, NOTICED)?))
            })
            .collect();
        if let Some((output, max, again)) = late.first() {
            // A run that ended little later has waited for nothing else.
            let most = late.iter().any(|(output, max, _)| {
                output
                    .block
                    .lasted()
                    .is_some_and(|seconds| seconds < 2.0 * max.what.value)
            });
            let severity = if most {
                Severity::Serious
            } else {
                Severity::Warning
            };
            let measured = if most {
                " Runs that last little longer measure that timer."
            } else {
                ""
            };
            let text = format!(
                "connecting took up to {} in {}, where TCP sends a SYN again after {again} s: the \
                 accept queue was full, so clients waited for a timer and not for the \
                 server.{measured} Lengthen the queue (listen's backlog, net.core.somaxconn), or keep \
                 connections open",
                time(max.what.value),
                output.called(),
            );
            let lines = late.iter().map(|(_, max, _)| max.line);
            remarks.push(raise(severity, document, lines, text));
            continue;
        }
        // The rates of a fixed number of requests tell how long the runs took.
        let Some(command) = document.command_of(None) else {
            continue;
        };
        let queued = command.connections().is_some_and(|n| n > QUEUE);
        let Some(n) = command
            .requests()
            .filter(|_| queued && command.connection_per_request())
        else {
            continue;
        };
        let figures = seen.figures.iter();
        let figures: Vec<&Figure> = figures.filter(|figure| figure.document == index).collect();
        let timed = figures.iter().filter_map(|figure| {
            let seconds = n as f64 / figure.rate.value;
            Some((*figure, seconds, sent_again(seconds, LATER)?))
        });
        let timed: Vec<_> = timed.collect();
        let systems: BTreeSet<&str> = timed
            .iter()
            .map(|(figure, ..)| &*figure.system.name)
            .collect();
        let many = timed.len() >= RUNS && timed.len() as f64 >= SHARE * figures.len() as f64;
        if !many || systems.len() < 2 {
            continue;
        }
        let (figure, seconds, again) = &timed[0];
        let text = format!(
            "{} of {} runs, of {}, took about as long as TCP waits before it sends a SYN again: {n} \
             requests at {} per second are {}, and the timer is {again} s. With a connection for each \
             request and {} at once the accept queue was probably full, and these rates are {n} \
             divided by a timer; look at the longest time to connect",
            timed.len(),
            figures.len(),
            systems.into_iter().collect::<Vec<_>>().join(", "),
            figure.rate.value,
            time(*seconds),
            command.connections().unwrap_or(0),
        );
        let lines = timed
            .iter()
            .map(|(figure, ..)| figure.line)
            .chain([command.line]);
        remarks.push(warning(document, lines, text));
    }
    remarks
}

/// The timer that a time is just beyond.
fn sent_again(seconds: f64, later: f64) -> Option<f64> {
    AGAIN.into_iter().find(|again| {
        // A longer wait is hit by chance more easily.
        let later = if *again > LONG { later / 2.0 } else { later };
        (*again..*again * (1.0 + later)).contains(&seconds)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of};
    use prony_checks::Severity;

    const AB: &str = "Concurrency Level:      2000\nTime taken for tests:   30.700 seconds\n\
        Complete requests:      80000\nRequests per second:    2605.86 [#/sec] (mean)\n\n\
        Connection Times (ms)\n              min  mean[+/-sd] median   max\n\
        Connect:        0  312 912.1      4    3018\n";

    #[test]
    fn a_longest_time_to_connect() {
        let found = of(CheckId::SynRetransmit, AB);
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([8].as_slice(), Severity::Warning)
        );
        let short = AB.replace("30.700", "3.070").replace("80000", "8000");
        assert_eq!(
            of(CheckId::SynRetransmit, &short)[0].finding.severity,
            Severity::Serious
        );
        for late in ["  3290", "  7497", "  1050"] {
            let found = of(CheckId::SynRetransmit, &AB.replace("  3018", late));
            assert_eq!(found.len(), 1, "{late}");
        }
        for other in ["   312", "  2500", "  3300"] {
            assert_eq!(
                of(CheckId::SynRetransmit, &AB.replace("  3018", other)),
                [],
                "{other}"
            );
        }
    }

    #[test]
    fn rates_that_are_a_count_over_a_timer() {
        let text = "    ab -c 2000 -n 8000 http://10.0.0.2/\n\n| | A | B |\n|--|--|--|\n\
            | 1st | 2582.19 | 1877.48 |\n| 2nd | 2574.30 | 2603.82 |\n";
        let found = of(CheckId::SynRetransmit, text);
        assert_eq!(found[0].lines, [1, 5, 6]);
        assert!(found[0].finding.text.contains("3 of 4 runs"), "{found:?}");
        // Kept open, or few.
        assert_eq!(
            of(
                CheckId::SynRetransmit,
                &text.replace("-c 2000", "-k -c 2000")
            ),
            []
        );
        assert_eq!(
            of(CheckId::SynRetransmit, &text.replace("-c 2000", "-c 20")),
            []
        );
        assert_eq!(
            of(CheckId::SynRetransmit, &text.replace("-n 8000", "-n 9000")),
            []
        );
    }

    #[test]
    fn later_timers() {
        let text = |max: &str| {
            format!(
                "Concurrency Level:      20000\nTime taken for tests:   89.443 seconds\nComplete requests:      100000\n\
                 Requests per second:    1118.03 [#/sec] (mean)\n\nConnection Times (ms)\n              min  mean[+/-sd] median   max\n\
                 Connect:        0 11523 3587.5  12817   {max}\n"
            )
        };
        assert_eq!(of(CheckId::SynRetransmit, &text("15403"))[0].lines, [8]);
        assert_eq!(of(CheckId::SynRetransmit, &text("16403")), []);
    }
}

//! `connections-limit`: an open loop needed more connections than it may have.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::ConnectionsLimit,
    cause: "An open loop had too few connections for its rate: so many connections carry at most connections ÷ response time requests per second (Little's law). The server was not the limit, and its capacity is higher than this load shows.",
    evidence: "Requests that were due and unanswered grew, the load had opened all the connections that it may have, and the last ones that it opened had raised the number of answers per second.",
    remedy: "Allow more connections with --max-connections, or lower the rate.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    if !seen.backlog.missed() || !seen.pool.limits() {
        return None;
    }
    let text = format!(
        "{} connections{} were too few for {:.0} requests per second: all of them were busy, and more had helped; allow more \
         with --max-connections",
        seen.pool.opened,
        seen.streams(),
        seen.rate?
    );
    finding(CheckId::ConnectionsLimit, Severity::Serious, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::{Backlog, Pool};

    #[test]
    fn connections_are_accused_only_when_more_had_helped() {
        let seen = |grew, helped| Evidence {
            rate: Some(900.0),
            closed_loop: false,
            backlog: Backlog {
                judged: 1,
                grew,
                ..Backlog::default()
            },
            pool: Pool {
                allowed: 100,
                opened: 100,
                helped,
            },
            ..Evidence::clean()
        };
        let found = check(&seen(1, Some(true))).unwrap();
        assert!(
            found
                .text
                .starts_with("100 connections were too few for 900 requests"),
            "{}",
            found.text
        );
        let streams = Evidence {
            streams_limited: Some(8),
            ..seen(1, Some(true))
        };
        let text = check(&streams).unwrap().text;
        assert!(
            text.contains("the server allows 8 streams were too few"),
            "{text}"
        );
        for (grew, helped) in [(0, Some(true)), (1, Some(false)), (1, None)] {
            assert_eq!(check(&seen(grew, helped)), None);
        }
    }
}

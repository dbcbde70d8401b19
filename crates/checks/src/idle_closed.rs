//! `idle-closed`: the server closed connections that were idle.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::IdleClosed,
    cause: "The server closed idle connections with a status such as 408 (Request Timeout). They were opened again. All requests were answered on other connections, so the figures stand.",
    evidence: "Whole answers with an error status and 'Connection: close' that came while nothing was in flight, since the load's set-up.",
    remedy: "Use fewer connections (-c), so that each is used more often, or raise the server's time-out for idle connections. A request that meets such a closing fails.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    if seen.idle_closed == 0 {
        return None;
    }
    let text = format!(
        "the server closed idle connections {} time{} with a status such as 408; they were opened again: use fewer \
         connections, or raise the server's time-out for idle ones",
        seen.idle_closed,
        if seen.idle_closed == 1 { "" } else { "s" }
    );
    finding(CheckId::IdleClosed, Severity::Note, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_note() {
        assert_eq!(check(&Evidence::clean()), None);
        let found = check(&Evidence {
            idle_closed: 546,
            ..Evidence::clean()
        });
        let found = found.unwrap();
        assert_eq!(found.severity, Severity::Note);
        assert!(found.text.contains("546 times"), "{}", found.text);
    }
}

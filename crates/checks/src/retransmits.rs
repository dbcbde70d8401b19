//! `retransmits`: segments were lost and sent again.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::Retransmits,
    cause: "TCP segments were lost and sent again. Each retransmission delays a request by 200 ms or more.",
    evidence: "The kernel's counter of retransmitted segments, which other programs raise too, together with segments of this load's own sockets that were sent again or came out of order (TCP_INFO), and requests of this load that took long enough to have waited for one.",
    remedy: "On loopback, buffers overflowed: look for a server that does not read, or for TCP memory limits. Between machines, look at the network first.",
};

/// Each costs 200 ms or more; from one in a thousand requests on, p99.9 is made of them.
const TOLERABLE: f64 = 0.001;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let tcp = seen.tcp?;
    let data = tcp.retransmits.saturating_sub(tcp.syn_retransmits);
    // The counter is the whole machine's: it is ours only when a connection here lost segments and waited.
    let own = seen.lost_segments > 0 && seen.waited_for_retransmission();
    if data as f64 <= TOLERABLE * seen.finished() as f64 || !own {
        return None;
    }
    let text = format!(
        "{data} TCP segments were retransmitted during {} requests: the figures include the network or \
         a full buffer",
        seen.finished()
    );
    finding(CheckId::Retransmits, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tcp;

    #[test]
    fn few_are_nothing_and_syns_are_not_counted_twice() {
        let lost = |n, syns| Evidence {
            tcp: Some(Tcp {
                retransmits: n,
                syn_retransmits: syns,
                listen_overflows: 0,
            }),
            max_response: 0.25,
            lost_segments: 1,
            ..Evidence::clean()
        };
        assert_eq!(check(&lost(10, 0)), None);
        assert!(check(&lost(1_000, 0)).is_some());
        let fast = Evidence {
            max_response: 0.01,
            ..lost(1_000, 0)
        };
        assert_eq!(
            check(&fast),
            None,
            "no connection here waited: another program's"
        );
        let slow = Evidence {
            lost_segments: 0,
            ..lost(1_000, 0)
        };
        assert_eq!(check(&slow), None, "a slow server beside another program");
        assert_eq!(check(&lost(1_000, 1_000)), None);
    }
}

//! `listen-overflow`: connections waited for the retransmission of a SYN.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::ListenOverflow,
    cause: "The server's accept queue was full, so connections waited until their SYN was sent again: after one second, then two more, then four more.",
    evidence: "A connection of this load that took a second or more to open; or the kernel's counters for this machine, which other programs raise too, together with segments that this load's own sockets sent again (TCP_INFO) and a request that took long enough to have waited for that.",
    remedy: "Raise the backlog that the server passes to listen(), and net.core.somaxconn, or open connections more slowly. Until then the rate depends on the retransmission timer, not on the server.",
};

/// The first retransmission of a SYN comes after one second (RFC 6298); nothing else on a local
/// network takes this long to connect.
const SYN_TIMEOUT: f64 = 0.9;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let tcp = seen.tcp.unwrap_or_default();
    let slowest = seen.connect_max.unwrap_or(0.0);
    // The counters are the whole machine's: alone they may be another program's. When the accept
    // queue is full, the client's SYN is dropped, or its first data are and come again.
    let counted = tcp.listen_overflows > 0 || tcp.syn_retransmits > 0;
    let own = seen.lost_segments > 0 && seen.waited_for_retransmission();
    if slowest < SYN_TIMEOUT && !(counted && own) {
        return None;
    }
    let counters = match seen.tcp {
        Some(tcp) if counted => format!(
            "an accept queue of this machine overflowed {} times, {} SYNs were retransmitted, and ",
            tcp.listen_overflows, tcp.syn_retransmits
        ),
        _ => String::new(),
    };
    let own = match slowest < SYN_TIMEOUT {
        true => format!(
            "connections of this load sent {} segments again",
            seen.lost_segments
        ),
        false => format!("the slowest connection took {slowest:.2} s to open"),
    };
    let text = format!(
        "{counters}{own}: the retransmission timer was measured; raise the server's backlog and net.core.somaxconn, or \
         keep connections open"
    );
    finding(CheckId::ListenOverflow, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tcp;

    #[test]
    fn by_counters_or_by_connect_time() {
        assert_eq!(check(&Evidence::clean()), None);
        let counted = Tcp {
            listen_overflows: 3,
            ..Tcp::default()
        };
        let fast = Evidence {
            tcp: Some(counted),
            ..Evidence::clean()
        };
        assert_eq!(
            check(&fast),
            None,
            "no connection here waited: another program's"
        );
        let slow = Evidence {
            max_response: 1.5,
            ..fast
        };
        assert_eq!(check(&slow), None, "a slow server beside another program");
        let own = Evidence {
            lost_segments: 2,
            ..slow
        };
        let found = check(&own).unwrap().text;
        assert!(found.contains("sent 2 segments again"), "{found}");
        assert!(!found.contains("to open"), "{found}");
        assert!(
            check(&Evidence {
                connect_max: Some(3.04),
                tcp: None,
                ..Evidence::clean()
            })
            .is_some()
        );
    }
}

//! `listen-overflow`: connections waited for the retransmission of a SYN.

use crate::{Evidence, Finding, Severity};

/// The first retransmission of a SYN comes after one second (RFC 6298); nothing else on a local
/// network takes this long to connect.
const SYN_TIMEOUT: f64 = 0.9;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let tcp = seen.tcp.unwrap_or_default();
    let slowest = seen.connect_max.unwrap_or(0.0);
    if tcp.listen_overflows == 0 && tcp.syn_retransmits == 0 && slowest < SYN_TIMEOUT {
        return None;
    }
    let text = format!(
        "the server's accept queue overflowed {} times, {} SYNs were sent again, and the slowest \
         connection took {slowest:.2} s: such a run measures the retransmission timer; raise the \
         server's backlog and net.core.somaxconn, or keep connections open",
        tcp.listen_overflows, tcp.syn_retransmits
    );
    Finding::new("listen-overflow", Severity::Warning, text)
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
        assert!(
            check(&Evidence {
                tcp: Some(counted),
                ..Evidence::clean()
            })
            .is_some()
        );
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

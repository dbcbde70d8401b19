//! `udp-buffer-overflow`: the kernel dropped datagrams for the generator.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::UdpBufferOverflow,
    cause: "Datagrams came faster than the generator read them: the buffers of its sockets were full, and the kernel dropped some. The server had to send them again.",
    evidence: "The kernel's counters of dropped datagrams of the load's own sockets (SO_MEMINFO), set-up included.",
    remedy: "Give the generator more threads and CPUs, or send fewer requests at once. `sysctl net.core.rmem_max` limits the buffer of a socket, of which prony asks 1 MiB.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let quic = seen.quic.filter(|quic| quic.datagrams_dropped > 0)?;
    let text = format!(
        "the kernel dropped {} of {} datagrams for the generator, whose buffers were full: the server sent them again, \
         and the figures include that",
        quic.datagrams_dropped,
        quic.datagrams_received + quic.datagrams_dropped,
    );
    finding(CheckId::UdpBufferOverflow, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::Quic;

    #[test]
    fn one_is_enough() {
        let dropped = |datagrams_dropped| Evidence {
            quic: Some(Quic {
                datagrams_dropped,
                datagrams_received: 99,
                ..Quic::default()
            }),
            ..Evidence::clean()
        };
        assert_eq!(check(&Evidence::clean()), None);
        assert_eq!(check(&dropped(0)), None);
        assert!(
            check(&dropped(1))
                .unwrap()
                .text
                .contains("dropped 1 of 100")
        );
    }
}

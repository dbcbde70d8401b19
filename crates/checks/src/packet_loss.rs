//! `packet-loss`: packets of QUIC were lost.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::PacketLoss,
    cause: "Packets of QUIC were lost, or acknowledged so late that the generator had to take them for lost. What was in them was sent again, and the connection slowed down.",
    evidence: "Packets that the generator sent and took for lost, set-up included, without those that look for the path's longest packet. Of the server's own losses it knows nothing.",
    remedy: "On loopback, look for a server that does not read for a while: its socket's buffer overflows, or its acknowledgements come late. Between machines, look at the network first.",
};

/// Share, as of segments of TCP: from one in a thousand on, p99.9 is made of them.
const TOLERABLE: f64 = 0.001;
/// Fewer say nothing of a share.
const FEW: u64 = 10;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let quic = seen.quic?;
    let share = quic.packets_lost as f64 / quic.packets_sent.max(1) as f64;
    if quic.packets_lost < FEW || share < TOLERABLE {
        return None;
    }
    let text = format!(
        "{} of {} packets of QUIC ({:.1}%) were lost or acknowledged too late, and sent again: the figures include that",
        quic.packets_lost,
        quic.packets_sent,
        100.0 * share
    );
    finding(CheckId::PacketLoss, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::Quic;

    #[test]
    fn a_few_in_a_thousand_are_told() {
        let lost = |packets_lost, packets_sent| Evidence {
            quic: Some(Quic {
                packets_lost,
                packets_sent,
                ..Quic::default()
            }),
            ..Evidence::clean()
        };
        assert_eq!(check(&Evidence::clean()), None);
        assert_eq!(check(&lost(9, 100)), None);
        assert_eq!(check(&lost(10, 100_000)), None);
        let found = check(&lost(12, 400)).unwrap();
        assert!(found.text.starts_with("12 of 400 packets of QUIC (3.0%)"));
    }
}

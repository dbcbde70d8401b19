//! `oversubscribed`: more workers than CPUs.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::Oversubscribed,
    cause: "The server had more workers than CPUs, so its workers took turns, and the cost of switching between them is part of the figures.",
    evidence: "The number of workers and the number of CPUs assigned to the server.",
    remedy: "Use at most as many workers as the server has CPUs, or a machine with more CPUs. A table over workers shows nothing about scaling beyond that point.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let (workers, cpus) = (seen.workers?, seen.server_cpus?);
    if workers <= cpus {
        return None;
    }
    let text = format!(
        "{workers} workers shared {cpus} CPU{}: this shows nothing about how the server scales",
        if cpus == 1 { "" } else { "s" }
    );
    finding(CheckId::Oversubscribed, Severity::Note, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_workers_than_cpus() {
        let with = |workers, server_cpus| Evidence {
            workers,
            server_cpus,
            ..Evidence::clean()
        };
        assert!(check(&with(Some(3), Some(2))).is_some());
        assert_eq!(check(&with(Some(2), Some(2))), None);
        assert_eq!(check(&with(None, Some(2))), None);
    }
}

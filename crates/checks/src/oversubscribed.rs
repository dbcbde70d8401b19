//! `oversubscribed`: more workers than CPUs.

use crate::{Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: "oversubscribed",
    cause: "The server had more workers than CPUs, so they took turns: what was measured is their taking turns too.",
    evidence: "The number of workers and the placement.",
    remedy: "Use no more workers than the server has CPUs, or a machine with more of them. A table over workers says nothing of scaling beyond that point.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let (workers, cpus) = (seen.workers?, seen.server_cpus?);
    if workers <= cpus {
        return None;
    }
    let text = format!(
        "{workers} workers shared {cpus} CPU{}: this says nothing of how the server scales",
        if cpus == 1 { "" } else { "s" }
    );
    finding("oversubscribed", Severity::Note, text)
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

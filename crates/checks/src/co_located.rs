//! `co-located`: server and generator share a CPU.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::CoLocated,
    cause: "The generator shares CPUs with the server or its upstream. Each slows the other down, so the figures describe both together.",
    evidence: "The CPUs that were assigned to the server, its upstream and the generator.",
    remedy: "Use a machine with more CPUs. If that is not possible, compare only servers that were measured in the same way, and prefer CPU time per request.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    if seen.co_located != Some(true) {
        return None;
    }
    let text =
        "server and generator share a CPU and take time from each other, so throughput and latency \
         describe both together; compare CPU per request, or use a machine with two CPUs or more"
            .to_owned();
    finding(CheckId::CoLocated, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_when_it_is_known() {
        assert_eq!(check(&Evidence::clean()), None);
        assert!(
            check(&Evidence {
                co_located: Some(true),
                ..Evidence::clean()
            })
            .is_some()
        );
        assert_eq!(
            check(&Evidence {
                co_located: None,
                ..Evidence::clean()
            }),
            None
        );
    }
}

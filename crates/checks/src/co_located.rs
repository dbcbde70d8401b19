//! `co-located`: server and generator share a CPU.

use crate::{Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: "co-located",
    cause: "The generator shares CPUs with the server or its upstream, so each slows the other, and what is measured is both together.",
    evidence: "The placement.",
    remedy: "Use a machine with more CPUs. Where sharing cannot be helped, compare only servers that were measured like this, and prefer CPU time per request.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    if seen.co_located != Some(true) {
        return None;
    }
    let text =
        "server and generator share a CPU: each takes time from the other, so throughput and \
                latency belong to the pair; compare CPU per request, or use a machine with two CPUs"
            .to_owned();
    finding("co-located", Severity::Warning, text)
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

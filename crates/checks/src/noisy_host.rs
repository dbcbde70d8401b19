//! `noisy-host`: other programs used the CPUs.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::NoisyHost,
    cause: "Other processes used the CPUs of server and generator, or the hypervisor took them away.",
    evidence: "Busy time of these CPUs that belongs neither to the server nor to the generator, and stolen time.",
    remedy: "Measure on a quiet machine, or take more rounds: their order is random, so that noise affects all servers alike. `prony duel` loads its sides in turns for the same reason.",
};

/// Others' share of the CPUs from which on differences of a few percent mean nothing.
const OTHERS: f64 = 0.05;
/// The same for time that the hypervisor took away: it hits at the worst moments.
const STOLEN: f64 = 0.01;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let others = seen.others_busy.unwrap_or(0.0);
    let stolen = seen.stolen.unwrap_or(0.0);
    if others <= OTHERS && stolen <= STOLEN {
        return None;
    }
    let text = format!(
        "other processes used {:.1}% of the CPUs, and the hypervisor took away {:.1}%: measure on a \
         quiet machine, or take more rounds",
        others * 100.0,
        stolen * 100.0
    );
    finding(CheckId::NoisyHost, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_and_the_hypervisor() {
        assert_eq!(check(&Evidence::clean()), None);
        assert!(
            check(&Evidence {
                others_busy: Some(0.2),
                ..Evidence::clean()
            })
            .is_some()
        );
        assert!(
            check(&Evidence {
                stolen: Some(0.05),
                ..Evidence::clean()
            })
            .is_some()
        );
    }
}

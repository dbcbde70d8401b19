//! `smt-shared`: server and generator run on two threads of one core.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::SmtShared,
    cause: "The server or its upstream and the generator have different CPUs that are threads of the same core (SMT, Hyper-Threading). Such threads share the core's execution units and its first caches: each runs slower while the other works, so the figures describe both together.",
    evidence: "The CPUs that were assigned to the server, its upstream and the generator, and which of them are threads of one core, as the kernel lists them.",
    remedy: "Use a machine with two cores or more, whose cores prony does not divide; let prony use all threads of a core (taskset, cpuset); or send the load from another machine (--client-host).",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    // Sharing a CPU is worse, and is said already.
    if seen.co_located == Some(true) {
        return None;
    }
    let [server, generator] = seen.shared_cores.first()?;
    let more = match seen.shared_cores.len() {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let text = format!(
        "CPU {server} of the server and CPU {generator} of the generator{more} are threads of one core, and each slows \
         the other down: use a machine with two cores or more, or send the load from another one"
    );
    finding(CheckId::SmtShared, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_of_a_core() {
        assert_eq!(check(&Evidence::clean()), None);
        let shared = |pairs: &[[usize; 2]], co_located| {
            check(&Evidence {
                shared_cores: pairs.to_vec(),
                co_located: Some(co_located),
                ..Evidence::clean()
            })
        };
        let one = shared(&[[0, 4]], false).unwrap();
        assert!(
            one.text
                .starts_with("CPU 0 of the server and CPU 4 of the generator are threads"),
            "{}",
            one.text
        );
        let more = shared(&[[0, 4], [1, 5]], false).unwrap();
        assert!(more.text.contains("generator (and 1 more) are"));
        assert_eq!(shared(&[[0, 4]], true), None);
    }
}

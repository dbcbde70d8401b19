//! `frequency-varies`: the server's CPU did not run at its full speed.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding, noisy_host};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::FrequencyVaries,
    cause: "The server's CPU ran slower than it can: its frequency follows the load (governors `schedutil` and `powersave`, hardware-managed states), it was throttled because it was hot or used too much power, or the other thread of its core was busy (on a virtual machine, with another machine's work). CPU time per request then depends on more than the code: with such a governor a cheaper server gets a slower CPU, and looks as expensive as before.",
    evidence: "CPU time of a fixed piece of work (a chain of multiplications) on the server's CPUs, right after the measurement, compared with its shortest time so far.",
    remedy: "Fix the frequency (`cpupower frequency-set -g performance`, and turn off turbo where the machine grows hot), use a quieter machine, or compare throughput, at which the CPU is busy. Duels correct CPU per request for it where the sides' speeds differ.",
};

/// Slower by this share. The work itself varies by less than a hundredth.
const SLOWER: f64 = 0.05;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let slower = seen.slowdown.map(|times| times - 1.0)?;
    // Other programs slow down both threads of a core, and are reported already.
    if slower <= SLOWER || noisy_host::check(seen).is_some() {
        return None;
    }
    let text = format!(
        "right after the load, fixed work took {:.0}% longer on the server's CPU than at its fastest: its frequency \
         changes, or the other thread of its core was busy, so CPU per request depends on more than the server (set the \
         governor to performance)",
        100.0 * slower
    );
    finding(CheckId::FrequencyVaries, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_slower_than_it_can_be() {
        let with = |slowdown| Evidence {
            slowdown,
            ..Evidence::clean()
        };
        assert_eq!(check(&with(None)), None);
        assert_eq!(check(&with(Some(1.0))), None);
        assert_eq!(check(&with(Some(1.04))), None);
        let found = check(&with(Some(1.4))).unwrap();
        assert!(found.text.contains("took 40% longer"), "{}", found.text);
        let beside_others = Evidence {
            others_busy: Some(0.5),
            ..with(Some(1.4))
        };
        assert_eq!(check(&beside_others), None);
    }
}

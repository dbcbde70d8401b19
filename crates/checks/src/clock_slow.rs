//! `clock-slow`: reading the clock is expensive.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::ClockSlow,
    cause: "Reading the clock takes a system call, or the hypervisor intercepts it, on the machine that sends the load. The load generator reads it some two times per request, so it becomes slower and its times less exact. Servers that log or measure their requests are affected too.",
    evidence: "The time of a clock reading, on the machine that sends the load.",
    remedy: "Look at /sys/devices/system/clocksource/clocksource0: write `tsc` (or `kvm-clock`, `arch_sys_counter`) to current_clocksource if available_clocksource lists it. `hpet`, `acpi_pm` and `xen` are slow. Under an emulator, a debugger or a sandbox that intercepts system calls, measure outside it.",
};

/// Nanoseconds. Without a system call it is some 20 to 60, with one 150 or more.
const SLOW: f64 = 150.0;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let slow = seen.clock_ns.filter(|ns| *ns > SLOW)?;
    let text = format!(
        "reading the clock takes {slow:.0} ns here (usual: below 60): it makes a system call or is intercepted, which \
         slows the load generator down (see the clock source)"
    );
    finding(CheckId::ClockSlow, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_takes_a_system_call() {
        let with = |clock_ns| Evidence {
            clock_ns,
            ..Evidence::clean()
        };
        assert_eq!(check(&with(None)), None);
        assert_eq!(check(&with(Some(45.0))), None);
        let found = check(&with(Some(1_200.0))).unwrap();
        assert!(found.text.contains("takes 1200 ns"), "{}", found.text);
    }
}

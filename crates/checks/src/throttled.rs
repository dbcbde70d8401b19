//! `throttled`: the server had used up its limit of CPU time and had to wait.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::Throttled,
    cause: "The server has a limit of CPU time, and used it up before the end of a period of 100 ms. The kernel then stops all its threads until the next period begins, so requests wait for up to 100 ms, whatever their own work takes. Throughput is that of the limit. Servers with more threads use it up sooner: eight that run at once need an eighth of the time.",
    evidence: "Counters of the server's control group (cpu.stat) at both ends of the measurement: periods in which it ran, periods in which it was throttled, and for how long.",
    remedy: "If production has this limit, the figures are what it will see: lower the rate (--rate) until p99 is acceptable, give the server no more threads or workers than its limit has CPUs, or raise the limit (--server-cpu). To compare code, measure without it.",
};

/// Share of periods above which the 99th percentile is that of waiting: about as many requests are due in them.
const IN_P99: f64 = 0.01;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let effect = seen.limited?;
    let share = effect.throttled().filter(|share| *share > 0.0)?;
    let cpus = effect.limits.cpus?;
    let seconds = effect.throttled_ns as f64 / 1e9;
    let told = format!(
        "the server had used up its {cpus} in {:.1}% of the periods of 100 ms, and waited for {seconds:.2} s in all",
        100.0 * share
    );
    match share > IN_P99 {
        true => finding(
            CheckId::Throttled,
            Severity::Warning,
            format!(
                "{told}: p99 is the wait for the next period, not the server's work; lower the rate, use fewer threads, or \
                 raise the limit"
            ),
        ),
        false => finding(
            CheckId::Throttled,
            Severity::Note,
            format!("{told}: p99 is hardly affected, higher percentiles are"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::{CpuQuota, LimitEffect, ServerLimits};

    #[test]
    fn more_periods_than_p99_leaves_out_are_a_warning() {
        let with = |throttled_periods| Evidence {
            limited: Some(LimitEffect {
                limits: ServerLimits {
                    cpus: CpuQuota::new(0.5).ok(),
                    memory: None,
                },
                periods: 100,
                throttled_periods,
                throttled_ns: 1_500_000_000,
                ..LimitEffect::default()
            }),
            ..Evidence::clean()
        };
        assert_eq!(check(&Evidence::clean()), None);
        assert_eq!(check(&with(0)), None);
        let note = check(&with(1)).unwrap();
        assert_eq!(note.severity, Severity::Note);
        let warning = check(&with(40)).unwrap();
        assert_eq!(warning.severity, Severity::Warning);
        assert!(
            warning
                .text
                .starts_with("the server had used up its 0.5 CPUs in 40.0% of the periods of 100 ms, and waited for 1.50 s"),
            "{}",
            warning.text
        );
    }
}

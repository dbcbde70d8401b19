//! Resources that the server of a load used, where its processes are on this machine.

use crate::show;
use prony_record::{Observation, Phase, Resources};
use prony_stats::throughput::{Count, throughput};
use prony_stats::{Estimate, Interval, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// The server's use of this machine over the measurement.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ServerReport {
    /// The number of its first process.
    pub pid: i32,
    /// The name of that process, as the kernel has it.
    pub process: String,
    /// CPUs in use, on average.
    pub cpus: f64,
    /// CPU time per request; null when nothing was served.
    pub cpu_per_request: Option<Estimate>,
    /// The share of its CPU time in its own code, 0 to 1, the rest being the kernel's; null when too little was counted.
    pub user_share: Option<f64>,
    /// The largest sum of its processes' peak memory, in bytes.
    pub rss_peak_bytes: u64,
    /// The most threads.
    pub threads: u64,
    /// The most processes.
    pub processes: u64,
}

impl ServerReport {
    /// The use of a server that was watched; none of another.
    #[must_use]
    pub fn of((pid, process): (i32, &str), seen: &Observation, used: &Resources) -> Option<Self> {
        Some(Self {
            pid,
            process: process.to_owned(),
            cpus: used.server_cpus()?,
            cpu_per_request: cpu_per_request(seen, used),
            user_share: used.user_share(),
            rss_peak_bytes: used.rss_peak_bytes,
            threads: used.threads,
            processes: used.processes,
        })
    }

    /// One line: what a request cost, and what the server had.
    #[must_use]
    pub fn line(&self) -> String {
        let mut out = match &self.cpu_per_request {
            None => String::new(),
            Some(cpu) => {
                let interval = match (cpu.low(), cpu.high()) {
                    (Some(low), Some(high)) => {
                        format!(" ({} to {})", show::time(low), show::time(high))
                    }
                    _ => String::new(),
                };
                format!("{} CPU per request{interval}, ", show::time(cpu.value()))
            }
        };
        let _ = write!(
            out,
            "{:.2} CPUs, {}, {} (process {})",
            self.cpus,
            show::bytes_or_dash(self.rss_peak_bytes),
            self.process,
            self.pid
        );
        out
    }
}

/// The interval is that of the answers in each second of CPU time, window by window.
fn cpu_per_request(seen: &Observation, used: &Resources) -> Option<Estimate> {
    let value = used.cpu_per_request(seen.served(), seen.measured_ns)?;
    let windows = seen.windows.iter();
    let windows = windows.filter(|window| window.phase == Phase::Measure);
    let counts: Vec<Count> = windows
        .filter_map(|window| {
            let cpu = window.server_cpu_ns.filter(|&cpu| cpu > 0)?;
            Some(Count {
                answers: window.verified_answers,
                seconds: cpu as f64 / 1e9,
            })
        })
        .collect();
    let interval = throughput(&counts).ok().and_then(|rate| {
        let interval = rate.interval().filter(|interval| interval.low() > 0.0)?;
        // Windows miss a part of the measurement: they lend their spread to its mean.
        let part = |rate_at: f64| value * rate.value() / rate_at;
        Interval::new(part(interval.high()), part(interval.low()))
    });
    Estimate::new(
        value,
        interval,
        counts.len().max(1) as u64,
        Unit::CpuNanosecondsPerRequest,
    )
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::Window;

    fn seen(cpu: &[u64]) -> Observation {
        let window = |(i, &cpu): (usize, &u64)| Window {
            index: i as u32,
            start_ns: i as u64 * 1_000_000_000,
            length_ns: 1_000_000_000,
            phase: Phase::Measure,
            verified_answers: 1_000,
            wrong_answers: 0,
            errors: 0,
            timeouts: 0,
            p50_ns: None,
            p99_ns: None,
            server_cpu_ns: Some(cpu),
            generator_cpu_ns: None,
            rss_bytes: None,
            outstanding: 0,
            events: 0,
        };
        let mut seen = Observation {
            measured_ns: cpu.len() as u64 * 1_000_000_000,
            windows: cpu.iter().enumerate().map(window).collect(),
            ..Observation::default()
        };
        seen.outcomes.ok = 1_000 * cpu.len() as u64;
        seen
    }

    fn used(cpu: &[u64]) -> Resources {
        Resources {
            watched_ns: cpu.len() as u64 * 1_000_000_000,
            server_cpu_ns: cpu.iter().sum(),
            ..Resources::default()
        }
    }

    #[test]
    fn a_request_costs_what_its_windows_say() {
        let cpu = [20, 21, 19, 20, 22, 18, 20, 21, 19, 20].map(|ms| ms * 1_000_000);
        let report = ServerReport::of((7, "nginx"), &seen(&cpu), &used(&cpu)).unwrap();
        assert!((report.cpus - 0.02).abs() < 1e-9);
        let cost = report.cpu_per_request.as_ref().unwrap();
        assert!((cost.value() - 20_000.0).abs() < 1.0, "{cost:?}");
        let (low, high) = (cost.low().unwrap(), cost.high().unwrap());
        assert!(
            low < 20_000.0 && high > 20_000.0 && high - low < 4_000.0,
            "{cost:?}"
        );
        assert!(
            report.line().contains("nginx (process 7)"),
            "{}",
            report.line()
        );
    }

    #[test]
    fn of_a_server_that_nobody_watched_nothing_is_said() {
        assert!(ServerReport::of((7, "x"), &seen(&[1]), &Resources::default()).is_none());
    }
}

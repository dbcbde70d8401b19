//! Facts that the kernel reports about the whole machine: TCP counters, CPU accounts, pressure, and what kind of
//! machine it is.

use prony_engine::Nanos;
use prony_record::Host;
use std::collections::BTreeMap;
use std::fs;

/// TCP events of the network namespace, since it began or (after [`since`](Self::since)) since an
/// earlier look. They count every connection of the machine, not only those of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpCounters {
    /// Connections that were complete and found the accept queue full.
    pub listen_overflows: u64,
    /// SYNs dropped at a listener, overflows included.
    pub listen_drops: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmitted SYNs and SYN-ACKs, which `retransmits` includes: a client waited a second or more to connect.
    pub syn_retransmits: u64,
    /// Retransmission timers that ran out.
    pub timeouts: u64,
}

impl TcpCounters {
    /// The counters now.
    pub fn read() -> Self {
        let mut named = pairs("/proc/net/netstat");
        named.extend(pairs("/proc/net/snmp"));
        let get = |name: &str| named.get(name).copied().unwrap_or(0);
        Self {
            listen_overflows: get("TcpExt.ListenOverflows"),
            listen_drops: get("TcpExt.ListenDrops"),
            retransmits: get("Tcp.RetransSegs"),
            syn_retransmits: get("TcpExt.TCPSynRetrans"),
            timeouts: get("TcpExt.TCPTimeouts"),
        }
    }

    /// Events since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            listen_overflows: self
                .listen_overflows
                .saturating_sub(earlier.listen_overflows),
            listen_drops: self.listen_drops.saturating_sub(earlier.listen_drops),
            retransmits: self.retransmits.saturating_sub(earlier.retransmits),
            syn_retransmits: self.syn_retransmits.saturating_sub(earlier.syn_retransmits),
            timeouts: self.timeouts.saturating_sub(earlier.timeouts),
        }
    }
}

/// Reads files of the form `Group: names` followed by `Group: values`.
fn pairs(path: &str) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let mut found = BTreeMap::new();
    for pair in lines.chunks(2) {
        if let [names, values] = pair
            && let Some((group, names)) = names.split_once(':')
            && let Some((_, values)) = values.split_once(':')
        {
            for (name, value) in names
                .split_ascii_whitespace()
                .zip(values.split_ascii_whitespace())
            {
                if let Ok(value) = value.parse() {
                    found.insert(format!("{group}.{name}"), value);
                }
            }
        }
    }
    found
}

/// CPU accounts of the machine, in ticks of 10 ms as the kernel gives them.
///
/// Many kernels only sample what a CPU is busy with, at each timer tick: a server that is asked 5,000 times
/// a second, in step with 250 ticks, is busy at every tick or at none. Idle time is measured on all kernels
/// that stop the tick for it (`NO_HZ_IDLE`), so what is asked of the kernel is that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CpuAccounts {
    at: Nanos,
    /// By CPU: idle time, and the time that the hypervisor took away.
    cpus: BTreeMap<usize, (u64, u64)>,
}

/// Ticks per second of `/proc/stat`: fixed in the kernel's interface (USER_HZ).
const TICKS: u64 = 100;

impl CpuAccounts {
    pub(crate) fn read() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let at = prony_engine::clock::now();
        let mut cpus = BTreeMap::new();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(cpu) = words
                .next()
                .and_then(|w| w.strip_prefix("cpu")?.parse().ok())
            else {
                continue;
            };
            // user nice system idle iowait irq softirq steal
            let ticks: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
            if let [
                _user,
                _nice,
                _system,
                idle,
                iowait,
                _irq,
                _softirq,
                steal,
                ..,
            ] = ticks[..]
            {
                cpus.insert(cpu, (idle + iowait, steal));
            }
        }
        Self { at, cpus }
    }

    /// Busy and stolen nanoseconds of some CPUs since `earlier`.
    pub(crate) fn since(&self, earlier: &Self, cpus: &[usize]) -> (u64, u64) {
        let passed = self.at.saturating_sub(earlier.at);
        let mut sum = (0, 0);
        for cpu in cpus {
            if let (Some(now), Some(then)) = (self.cpus.get(cpu), earlier.cpus.get(cpu)) {
                let nanos =
                    |now: u64, then: u64| now.saturating_sub(then) * (1_000_000_000 / TICKS);
                let (idle, stolen) = (nanos(now.0, then.0), nanos(now.1, then.1));
                sum.0 += passed.saturating_sub(idle + stolen);
                sum.1 += stolen;
            }
        }
        sum
    }
}

/// Microseconds in which at least one task of the machine waited for a CPU; `None` where the
/// kernel does not count it.
pub(crate) fn cpu_pressure() -> Option<u64> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    text.lines()
        .find(|line| line.starts_with("some"))?
        .rsplit_once("total=")?
        .1
        .trim()
        .parse()
        .ok()
}

/// Describes this machine as it is now.
pub fn this_machine() -> Host {
    let line = |path: &str| {
        fs::read_to_string(path)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let memory = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.split_ascii_whitespace().next()?.parse::<u64>().ok()
    });
    let governor = line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let mitigations = fs::read_dir("/sys/devices/system/cpu/vulnerabilities")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let state = fs::read_to_string(entry.path()).ok()?.trim().to_owned();
            let name = entry.file_name().into_string().ok()?;
            state.starts_with("Mitigation").then_some((name, state))
        })
        .collect();
    Host {
        kernel: format!("Linux {}", line("/proc/sys/kernel/osrelease")),
        cpu: cpu("model name").unwrap_or_default(),
        cpus: crate::placement::allowed_cpus().len(),
        memory: memory.unwrap_or(0) * 1024,
        virtual_machine: cpu("flags").is_some_and(|flags| flags.contains(" hypervisor")),
        governor: Some(governor).filter(|governor| !governor.is_empty()),
        clock: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        congestion_control: line("/proc/sys/net/ipv4/tcp_congestion_control"),
        somaxconn: line("/proc/sys/net/core/somaxconn").parse().unwrap_or(0),
        mitigations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let here = this_machine();
        assert!(here.kernel.starts_with("Linux ") && here.kernel.len() > 8);
        assert!(here.cpus >= 1 && here.memory > 1 << 20 && here.somaxconn > 0);
        let json = serde_json::to_string(&here).unwrap();
        assert_eq!(serde_json::from_str::<Host>(&json).unwrap(), here);
    }

    #[test]
    fn counters_are_found_and_differences_taken() {
        assert!(pairs("/proc/net/netstat").contains_key("TcpExt.ListenOverflows"));
        assert!(pairs("/proc/net/snmp").contains_key("Tcp.RetransSegs"));
        let earlier = TcpCounters {
            retransmits: 5,
            ..TcpCounters::default()
        };
        let later = TcpCounters {
            retransmits: 7,
            timeouts: 1,
            ..earlier
        };
        let since = later.since(&earlier);
        assert_eq!(
            (since.retransmits, since.timeouts, since.listen_drops),
            (2, 1, 0)
        );
    }

    #[test]
    fn a_busy_cpu_is_seen() {
        let cpus = crate::placement::allowed_cpus();
        let before = CpuAccounts::read();
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 200 {}
        let (busy, _) = CpuAccounts::read().since(&before, &cpus);
        assert!(busy >= 50_000_000, "{busy}");
    }
}

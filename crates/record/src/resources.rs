//! What the server and the machine used.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the server and the machine used over the measurement of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resources {
    /// How long they were watched, in nanoseconds: the measurement's length, or 0 when nothing was
    /// watched (the server is not one that prony started, or it failed before).
    #[serde(default)]
    pub watched_ns: Nanos,
    /// CPU time of the server's processes, in nanoseconds.
    pub server_cpu_ns: Nanos,
    /// CPU time of its upstream's processes, in nanoseconds.
    #[serde(default)]
    pub upstream_cpu_ns: Nanos,
    /// The largest sum of the processes' peak memory, in bytes.
    pub rss_peak_bytes: u64,
    /// The most threads of the server.
    pub threads: u64,
    /// The most processes of the server.
    pub processes: u64,
    /// Connections of each of its event loops, the most first; empty when none could be seen.
    #[serde(default)]
    pub connections_per_loop: Vec<u32>,
    /// How often its threads were put on a CPU.
    pub context_switches: u64,
    /// CPU time of neither server nor generator on their CPUs, as a part of all, 0 to 1.
    pub others_busy: f64,
    /// CPU time that the hypervisor took away, as a part of all, 0 to 1.
    pub stolen: f64,
    /// Time in which some task of the machine waited for a CPU, in nanoseconds; null where the
    /// kernel does not count it.
    pub cpu_pressure_ns: Option<Nanos>,
    /// Connections that found the accept queue full, on the whole machine.
    pub listen_overflows: u64,
    /// TCP segments sent again, on the whole machine.
    pub retransmits: u64,
    /// SYNs and SYN-ACKs among them.
    pub syn_retransmits: u64,
}

impl Resources {
    /// CPUs that the server used on average; none when it was not watched.
    #[must_use]
    pub fn server_cpus(&self) -> Option<f64> {
        (self.watched_ns > 0).then(|| self.server_cpu_ns as f64 / self.watched_ns as f64)
    }

    /// Adds what was used in another measurement of the same server.
    pub fn merge(&mut self, other: &Self) {
        let (mine, theirs) = (self.watched_ns as f64, other.watched_ns as f64);
        let all = (mine + theirs).max(1.0);
        let mean = |a: f64, b: f64| (a * mine + b * theirs) / all;
        self.others_busy = mean(self.others_busy, other.others_busy);
        self.stolen = mean(self.stolen, other.stolen);
        self.watched_ns += other.watched_ns;
        self.server_cpu_ns += other.server_cpu_ns;
        self.upstream_cpu_ns += other.upstream_cpu_ns;
        self.rss_peak_bytes = self.rss_peak_bytes.max(other.rss_peak_bytes);
        self.threads = self.threads.max(other.threads);
        self.processes = self.processes.max(other.processes);
        if self.connections_per_loop.is_empty() {
            self.connections_per_loop
                .clone_from(&other.connections_per_loop);
        }
        self.context_switches += other.context_switches;
        self.cpu_pressure_ns = match (self.cpu_pressure_ns, other.cpu_pressure_ns) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.listen_overflows += other.listen_overflows;
        self.retransmits += other.retransmits;
        self.syn_retransmits += other.syn_retransmits;
    }
}

//! Resources that the server and the machine used.

use crate::{LimitEffect, Measurement, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// CPU time below which the kernel's steps of 10 ms say nothing about its parts.
const LEAST_COUNTED: Nanos = 50_000_000;

/// Resources that the server and the machine used over the measurement of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resources {
    /// How long they were watched, in nanoseconds: the measurement's length, or 0 when nothing was
    /// watched (the server is not one that prony started, or it failed before).
    #[serde(default)]
    pub watched_ns: Nanos,
    /// CPU time of the server's processes, in nanoseconds.
    pub server_cpu_ns: Nanos,
    /// The part of it that the kernel counts as spent in the server's own code. Kernels count this in
    /// steps of 10 ms, and most of them sample it: see [`user_share`](Self::user_share).
    #[serde(default)]
    pub server_user_ns: Nanos,
    /// The part that they count as spent in the kernel on the server's behalf.
    #[serde(default)]
    pub server_kernel_ns: Nanos,
    /// Effect of the server's limits; null where it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitEffect>,
    /// CPU time of its upstream's processes, in nanoseconds.
    #[serde(default)]
    pub upstream_cpu_ns: Nanos,
    /// Resources of each service of the server, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, ServiceUse>,
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
    /// How often its threads went to sleep by themselves: its wake-ups. A server that finds several
    /// requests waiting when it wakes answers them all in one wake-up.
    #[serde(default)]
    pub wakeups: u64,
    /// CPU time of neither server nor generator on their CPUs, as a part of all, 0 to 1.
    pub others_busy: f64,
    /// CPU time that the hypervisor took away, as a part of all, 0 to 1.
    pub stolen: f64,
    /// How much longer a fixed piece of work took on the fastest of the server's CPUs, right after the measurement, than
    /// at its fastest: 1 at full speed; null where it was not tried.
    #[serde(default)]
    pub cpu_slowdown: Option<f64>,
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

/// Resources that a service used, such as a database.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceUse {
    /// Program, version and the settings on which the service's speed depends.
    pub what: String,
    /// CPU time of its processes, in nanoseconds, in steps of 10 ms for those that ended meanwhile.
    pub cpu_ns: Nanos,
    /// Memory of its processes at the end of the measurement, in bytes; the most of several measurements. What several
    /// processes share is divided among them.
    pub memory_bytes: u64,
    /// Bytes that its processes had written to disks; null where the kernel does not say.
    pub written_bytes: Option<u64>,
    /// Work that it did for the server, as it counts itself; null where it does not.
    pub queries: Option<QueryCounts>,
}

/// Work of a database while the server was measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueryCounts {
    /// Time between the two countings, in nanoseconds: a little shorter than the measurement.
    pub counted_ns: Nanos,
    /// Executed statements, without those that begin or end transactions.
    pub statements: u64,
    /// Rows that statements returned or changed.
    pub rows: u64,
}

/// Resources of the services of a server, over several measurements.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServiceTotals {
    used: Resources,
    served: f64,
    measured_ns: Nanos,
}

impl ServiceTotals {
    /// Adds a measurement; one without services adds nothing.
    pub fn add(&mut self, seen: &Measurement) {
        if !seen.resources.services.is_empty() {
            self.used.merge(&seen.resources);
            self.served += seen.outcomes.finished() as f64 + seen.ends.all;
            self.measured_ns += seen.durations.measured_ns;
        }
    }

    /// Costs of each service per request; empty without services.
    #[must_use]
    pub fn costs(&self) -> Vec<ServiceCost> {
        self.used.service_costs(self.served, self.measured_ns)
    }
}

/// Cost of a service per request of its server.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ServiceCost {
    /// Name of the service.
    pub name: String,
    /// Program, version and the settings on which the service's speed depends.
    pub what: String,
    /// CPU time per request, in nanoseconds.
    pub cpu_ns: f64,
    /// Statements per request; null where they are not counted.
    pub statements: Option<f64>,
    /// Rows that statements returned or changed, per request; null where they are not counted.
    pub rows: Option<f64>,
    /// Bytes written to disks per request; null where the kernel does not say.
    pub written_bytes: Option<f64>,
    /// Memory of its processes at the end of the measurement, in bytes; the most of several measurements. What several
    /// processes share is divided among them.
    pub memory_bytes: u64,
}

impl ServiceUse {
    /// Rate of a count, per second; None where nothing is counted.
    fn rate(&self, of: fn(&QueryCounts) -> u64) -> Option<f64> {
        let counts = self.queries.filter(|it| it.counted_ns > 0)?;
        Some(of(&counts) as f64 * 1e9 / counts.counted_ns as f64)
    }

    /// Statements per second; None where they are not counted.
    #[must_use]
    pub fn statement_rate(&self) -> Option<f64> {
        self.rate(|counts| counts.statements)
    }

    fn merge(&mut self, other: &Self) {
        self.cpu_ns += other.cpu_ns;
        self.memory_bytes = self.memory_bytes.max(other.memory_bytes);
        self.written_bytes = match (self.written_bytes, other.written_bytes) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.queries = match (self.queries, other.queries) {
            (Some(a), Some(b)) => Some(QueryCounts {
                counted_ns: a.counted_ns + b.counted_ns,
                statements: a.statements + b.statements,
                rows: a.rows + b.rows,
            }),
            (a, b) => a.or(b),
        };
    }
}

impl Resources {
    /// Counts of databases as those of a measurement of `measured_ns`. prony asks a database after a measurement that ended
    /// early; the time from its end to the question had no work in it, and is left out.
    #[must_use]
    pub fn counted_within(mut self, measured_ns: Nanos) -> Self {
        let services = self.services.values_mut();
        for counts in services.filter_map(|it| it.queries.as_mut()) {
            counts.counted_ns = counts.counted_ns.min(measured_ns);
        }
        self
    }

    /// CPU time of all services, in nanoseconds.
    #[must_use]
    pub fn services_cpu_ns(&self) -> Nanos {
        self.services.values().map(|service| service.cpu_ns).sum()
    }

    /// Costs of each service, when `served` requests were served in a measurement of `measured_ns`. Watching and counting
    /// take a moment longer than the measurement, so rates are divided. Empty when nothing was watched or served.
    #[must_use]
    pub fn service_costs(&self, served: f64, measured_ns: Nanos) -> Vec<ServiceCost> {
        if self.watched_ns == 0 || served <= 0.0 {
            return Vec::new();
        }
        let watched = measured_ns as f64 / self.watched_ns as f64 / served;
        let counted = measured_ns as f64 / 1e9 / served;
        let cost = |(name, used): (&String, &ServiceUse)| ServiceCost {
            name: name.clone(),
            what: used.what.clone(),
            cpu_ns: used.cpu_ns as f64 * watched,
            statements: used.statement_rate().map(|rate| rate * counted),
            rows: used.rate(|counts| counts.rows).map(|rate| rate * counted),
            written_bytes: used.written_bytes.map(|bytes| bytes as f64 * watched),
            memory_bytes: used.memory_bytes,
        };
        self.services.iter().map(cost).collect()
    }

    /// CPU time of all services per request, in nanoseconds; None without services.
    #[must_use]
    pub fn services_cpu_per_request(&self, served: f64, measured_ns: Nanos) -> Option<f64> {
        let costs = self.service_costs(served, measured_ns).into_iter();
        costs.map(|cost| cost.cpu_ns).reduce(|a, b| a + b)
    }

    /// Statements of all services per request; None where none are counted.
    #[must_use]
    pub fn statements_per_request(&self, served: f64, measured_ns: Nanos) -> Option<f64> {
        let costs = self.service_costs(served, measured_ns).into_iter();
        costs
            .filter_map(|cost| cost.statements)
            .reduce(|a, b| a + b)
    }

    /// CPUs that the server used on average; none when it was not watched.
    #[must_use]
    pub fn server_cpus(&self) -> Option<f64> {
        (self.watched_ns > 0).then(|| self.server_cpu_ns as f64 / self.watched_ns as f64)
    }

    /// CPU time of the server per request, in nanoseconds, when `served` requests were served in a measurement of
    /// `measured_ns`. The watch begins and ends a moment later than the measurement does, so their rates are divided.
    /// None when it was not watched, or nothing was served.
    #[must_use]
    pub fn cpu_per_request(&self, served: f64, measured_ns: Nanos) -> Option<f64> {
        let watched = self.server_cpus().filter(|_| served > 0.0)?;
        Some(watched * measured_ns as f64 / served)
    }

    /// The share of the server's CPU time that it spent in its own code, 0 to 1; the rest was spent in
    /// the kernel. None when too little was counted to say.
    #[must_use]
    pub fn user_share(&self) -> Option<f64> {
        let counted = self.server_user_ns + self.server_kernel_ns;
        (counted >= LEAST_COUNTED).then(|| self.server_user_ns as f64 / counted as f64)
    }

    /// Adds what was used in another measurement of the same server.
    pub fn merge(&mut self, other: &Self) {
        let (mine, theirs) = (self.watched_ns as f64, other.watched_ns as f64);
        let all = (mine + theirs).max(1.0);
        let mean = |a: f64, b: f64| (a * mine + b * theirs) / all;
        self.others_busy = mean(self.others_busy, other.others_busy);
        self.stolen = mean(self.stolen, other.stolen);
        self.cpu_slowdown = match (self.cpu_slowdown, other.cpu_slowdown) {
            (Some(a), Some(b)) => Some(mean(a, b)),
            (a, b) => a.or(b),
        };
        self.watched_ns += other.watched_ns;
        self.server_cpu_ns += other.server_cpu_ns;
        self.server_user_ns += other.server_user_ns;
        self.server_kernel_ns += other.server_kernel_ns;
        self.wakeups += other.wakeups;
        match (&mut self.limits, &other.limits) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine, theirs) => *mine = mine.or(*theirs),
        }
        self.upstream_cpu_ns += other.upstream_cpu_ns;
        for (name, service) in &other.services {
            match self.services.get_mut(name) {
                Some(mine) => mine.merge(service),
                None => {
                    self.services.insert(name.clone(), service.clone());
                }
            }
        }
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

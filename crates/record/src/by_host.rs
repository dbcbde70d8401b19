//! Observations of each generator of a load, where several machines carry it out together.

use crate::{Distributions, Generator, Nanos, Outcomes, Percentiles};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Observations of one machine of a load that several carried out together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ByHost {
    /// The machine's name.
    pub host: String,
    /// Number of the machine's connections.
    pub connections: u64,
    /// Outcomes of the machine's requests.
    pub outcomes: Outcomes,
    /// Response times of the machine's requests, and the lateness of its generator; the other distributions are empty.
    pub times: Distributions,
    /// Resources that the machine's generator used.
    pub generator: Generator,
    /// The most by which its clock may have been misread, in nanoseconds: its windows are so far from those of the
    /// others.
    pub clock_error_ns: Nanos,
    /// How much too late it heard when the load begins, in nanoseconds; 0: in time.
    pub late_start_ns: Nanos,
    /// Network throughput each way between all machines together and the server's machine, in bytes per second. It was
    /// measured before the load, when the machines had nothing else to do; None: it was not.
    #[serde(default)]
    pub link_bytes_per_second: Option<f64>,
    /// The machine is a slow client that measures beside the load: its requests are not among the load's.
    #[serde(default)]
    pub measuring: bool,
}

/// Observations of one machine as they are kept with a trial, without the distributions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostShare {
    /// The machine's name.
    pub host: String,
    /// Number of the machine's connections.
    pub connections: u64,
    /// Right answers.
    pub answers: u64,
    /// Requests that ended without the answer that was expected.
    pub failed: u64,
    /// The 99th percentile of the response times that it saw, in nanoseconds; null with too few samples.
    pub p99_ns: Option<Nanos>,
    /// Resources that the machine's generator used.
    pub generator: Generator,
    /// The most by which its clock may have been misread, in nanoseconds.
    pub clock_error_ns: Nanos,
    /// How much too late it heard when the load begins, in nanoseconds; 0: in time.
    pub late_start_ns: Nanos,
    /// The machine is a slow client that measures beside the load: its requests are not among the load's.
    #[serde(default)]
    pub measuring: bool,
}

impl From<&ByHost> for HostShare {
    fn from(one: &ByHost) -> Self {
        Self {
            host: one.host.clone(),
            connections: one.connections,
            answers: one.outcomes.ok,
            failed: one.outcomes.failed(),
            p99_ns: Percentiles::of(&one.times.response, one.outcomes.untimed()).p99,
            generator: one.generator.clone(),
            clock_error_ns: one.clock_error_ns,
            late_start_ns: one.late_start_ns,
            measuring: one.measuring,
        }
    }
}

impl ByHost {
    /// Adds what the same machine saw of another load of the same kind, of such lengths in nanoseconds.
    fn merge(&mut self, other: &Self, lengths: (Nanos, Nanos)) {
        self.outcomes += &other.outcomes;
        self.times.merge(&other.times);
        self.generator
            .merge(&other.generator, lengths, self.outcomes.finished());
        self.connections = self.connections.max(other.connections);
        self.clock_error_ns = self.clock_error_ns.max(other.clock_error_ns);
        self.late_start_ns = self.late_start_ns.max(other.late_start_ns);
        self.link_bytes_per_second = self.link_bytes_per_second.or(other.link_bytes_per_second);
    }
}

/// Adds `more` to `all`, by name; `lengths` are the lengths of the two measurements in nanoseconds.
pub fn merge(all: &mut Vec<ByHost>, more: &[ByHost], lengths: (Nanos, Nanos)) {
    for one in more {
        match all.iter_mut().find(|known| known.host == one.host) {
            Some(known) => known.merge(one, lengths),
            None => all.push(one.clone()),
        }
    }
}

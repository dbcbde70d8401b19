//! Cost of one request in a server, part by part, as separate rounds measured it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The innermost frame of a thread that waits although it could run: other threads have the CPU.
pub const RUNNABLE: &str = "[waits for a CPU]";

/// Requests of a measurement, and the server's CPU time in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// Requests that were [served](crate::Observation::served): those that crossed an end of it count by their share.
    pub requests: f64,
    /// CPU time of the server, in nanoseconds.
    pub cpu_ns: u64,
}

impl Spent {
    /// CPU time per request, in nanoseconds; None without requests or CPU time.
    #[must_use]
    pub fn per_request(&self) -> Option<f64> {
        (self.requests > 0.0 && self.cpu_ns > 0).then(|| self.cpu_ns as f64 / self.requests)
    }

    /// Adds another measurement.
    pub fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.cpu_ns += other.cpu_ns;
    }
}

/// Measurements of one server in one round. Separate measurements sample stacks, count system calls and record waits,
/// because each of these costs the server something. Another one does none of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dissection {
    /// Nothing was sampled or counted here.
    pub plain: Spent,
    /// Stacks were sampled here.
    pub sampled: Spent,
    /// Nothing was sampled or counted here, and the server ran without what its manifest adds to name its functions
    /// (`[profile]`); null where it adds nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unprofiled: Option<Spent>,
    /// System calls were counted here.
    pub counted: Spent,
    /// Waits of threads were recorded here.
    #[serde(default)]
    pub waited: Spent,
    /// Requests that ended, in all of these measurements.
    #[serde(default)]
    pub requests: u64,
    /// Requests that ended without the expected answer, in all of these measurements.
    #[serde(default)]
    pub failed: u64,
    /// Requests that were due and were not sent: the server or the generator did not keep up with the rate.
    #[serde(default)]
    pub unsent: u64,
    /// Samples of the server's stacks.
    pub samples: u64,
    /// CPU time between two samples, in nanoseconds.
    pub period_ns: u64,
    /// Samples and system calls that the kernel had no room for.
    pub lost: u64,
    /// Samples by stack: function names from the outermost to the innermost, separated by semicolons; those of the
    /// kernel end in `_[k]`.
    pub stacks: BTreeMap<String, u64>,
    /// System calls by name, in [`counted`](Self::counted); those of a service after its name: `postgres: sendto`.
    pub calls: BTreeMap<String, u64>,
    /// Counts that the kernel keeps in any case, such as `voluntary switches`, by name, in [`plain`](Self::plain); of a
    /// service, `statements in postgres` and the like.
    pub counts: BTreeMap<String, f64>,
    /// How long all threads together waited, in nanoseconds, by the stack in which they left their CPU, as in
    /// [`stacks`](Self::stacks), in [`waited`](Self::waited). [`RUNNABLE`] is the innermost frame of a thread that could have
    /// run.
    #[serde(default)]
    pub waits: BTreeMap<String, u64>,
}

/// The anatomy of a request, of several servers in the same rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dissections {
    /// The servers' names; the others are compared with the first.
    pub names: Vec<String>,
    /// Requests per second.
    pub rate: f64,
    /// Every round, its servers in their order.
    pub rounds: Vec<Vec<Dissection>>,
    /// Measurements that the system did not allow, each with what would allow it; empty when everything was seen.
    pub refused: Vec<String>,
}

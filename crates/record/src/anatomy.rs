//! What one request costs a server, part by part, as it was measured in rounds of their own.

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

/// What one round has shown of one server. Stacks are sampled, system calls counted, waits recorded, and nothing done, in
/// measurements of their own: each costs the server something.
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
    /// It was recorded here when threads wait.
    #[serde(default)]
    pub waited: Spent,
    /// Requests that ended, in all of these measurements.
    #[serde(default)]
    pub requests: u64,
    /// Those of them that were not answered as expected.
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
    /// System calls by name, in [`counted`](Self::counted).
    pub calls: BTreeMap<String, u64>,
    /// What the kernel counts anyway, by name, in [`plain`](Self::plain).
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
    /// What the system did not allow, with what would allow it; empty when everything was seen.
    pub refused: Vec<String>,
}

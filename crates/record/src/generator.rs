//! Resources that the load generator itself used.

use crate::{Nanos, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Resources that the load generator itself used, over the measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// CPU time per request that ended, in microseconds; null when none did. Waiting without sleep
    /// (in an open loop) is left out.
    pub cpu_us_per_request: Option<f64>,
    /// The busiest thread's work as a part of the measured time, 0 to 1.
    pub busy: f64,
    /// The part of the measured time in which that thread was ready to run and other threads had its
    /// CPU, 0 to 1; zero where the kernel does not say.
    #[serde(default)]
    pub waiting: f64,
    /// Threads.
    pub threads: u32,
    /// How bytes were moved: `epoll` or `io_uring`.
    pub transport: Transport,
    /// CPU time of all threads for the work, waiting left out, in nanoseconds.
    #[serde(default)]
    pub work_ns: Nanos,
    /// CPU time of all threads spent waiting without sleep (an open loop must not oversleep), in
    /// nanoseconds.
    #[serde(default)]
    pub spin_ns: Nanos,
    /// Time of a clock reading, in nanoseconds; of several machines the slowest's; null when unknown.
    #[serde(default)]
    pub clock_ns: Option<f64>,
}

impl Generator {
    /// Adds what was used in another measurement of the same load. `lengths` are the lengths of this
    /// one and of the other, `finished` the requests that ended in both together.
    pub(crate) fn merge(&mut self, other: &Self, lengths: (Nanos, Nanos), finished: u64) {
        let (mine, theirs) = (lengths.0 as f64, lengths.1 as f64);
        let all = (mine + theirs).max(1.0);
        let mean = |a: f64, b: f64| (a * mine + b * theirs) / all;
        self.busy = mean(self.busy, other.busy);
        self.waiting = mean(self.waiting, other.waiting);
        self.threads = self.threads.max(other.threads);
        self.work_ns += other.work_ns;
        self.spin_ns += other.spin_ns;
        self.clock_ns = self
            .clock_ns
            .into_iter()
            .chain(other.clock_ns)
            .reduce(f64::max);
        self.cpu_us_per_request = per_request(self.work_ns, finished);
    }
}

/// CPU time per request in microseconds, of work in nanoseconds; none without a request.
#[must_use]
pub fn per_request(work: Nanos, finished: u64) -> Option<f64> {
    (finished > 0).then(|| work as f64 / finished as f64 / 1e3)
}

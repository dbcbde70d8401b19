//! Options that limit servers, as production does.

use super::around::starts_all;
use clap::Args;
use miette::Result;
use prony_record::{CpuQuota, ServerLimits, Size};

/// Limits of each server that prony starts.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Starts")]
pub struct Limited {
    /// Limit each server to this CPU time, in CPUs
    ///
    /// From 0.01 to the number of CPUs for the server: 0.5 is 50 ms in each period of 100 ms, for all its processes
    /// together, in a control group (cgroup). The services and the load are not limited. `prony explain throttled` says
    /// how throttling lengthens p99. For containers, prony passes it to the engine as --cpus.
    #[arg(long, value_name = "CPUS")]
    pub server_cpu: Option<CpuQuota>,
    /// Limit each server to this memory, such as 256MiB
    ///
    /// For all its processes together, with the files that they read and without swap, in a control group (cgroup). A
    /// server that needs more is killed, which fails the trial. Containers get it as --memory.
    #[arg(long, value_name = "SIZE")]
    pub server_memory: Option<Size>,
}

impl Limited {
    /// The limits.
    pub const fn limits(&self) -> ServerLimits {
        ServerLimits {
            cpus: self.server_cpu,
            memory: self.server_memory,
        }
    }

    /// Can these servers be limited?
    ///
    /// # Errors
    /// When one of them already runs.
    pub fn fit(&self, sides: &[String]) -> Result<()> {
        let given = [
            ("--server-cpu", self.server_cpu.is_some()),
            ("--server-memory", self.server_memory.is_some()),
        ];
        starts_all(&given, sides)
    }
}

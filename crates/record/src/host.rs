//! Description of the machine on which something was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A machine on which something was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Host {
    /// Name and version of the kernel.
    pub kernel: String,
    /// The CPU's name.
    pub cpu: String,
    /// CPUs that prony may use.
    pub cpus: usize,
    /// Memory, in bytes.
    pub memory: u64,
    /// Runs under a hypervisor.
    pub virtual_machine: bool,
    /// The CPU frequency governor; null where there is none to see (as in most virtual machines).
    pub governor: Option<String>,
    /// The clock source.
    pub clock: String,
    /// TCP congestion control.
    pub congestion_control: String,
    /// The limit on accept queues, `net.core.somaxconn`.
    pub somaxconn: u64,
    /// Mitigations of CPU weaknesses that are in force, by weakness.
    pub mitigations: BTreeMap<String, String>,
}

impl Host {
    /// Kernel and CPU, with `?` for what is not known.
    #[must_use]
    pub fn short(&self) -> String {
        let known = |text: &str| {
            if text.is_empty() {
                "?".to_owned()
            } else {
                text.to_owned()
            }
        };
        format!("{}, {}", known(&self.kernel), known(&self.cpu))
    }

    /// May figures of the two be compared? By CPU, number of CPUs and memory; the kernel may differ.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.cpu, self.cpus, self.memory) == (&other.cpu, other.cpus, other.memory)
    }
}

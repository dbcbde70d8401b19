//! On which machines an experiment is measured.

use prony_record::{CpuQuota, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Machines by their names in `hosts.toml` or on the command line (docs/hosts.md), whose options of the same names take
/// precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostPlacement {
    /// The machine on which servers are built, started, verified and watched; this one when absent.
    pub server_host: Option<String>,
    /// The machine on which the upstream of gateways is built and started; the servers' when absent.
    pub upstream_host: Option<String>,
    /// The machine on which services are started; the servers' when absent.
    pub service_host: Option<String>,
    /// How many CPUs of their machine the servers have; absent: all that are there for them.
    pub server_cpus: Option<NonZeroU32>,
    /// How much CPU time each server may use, in CPUs, such as 0.5; absent: not limited.
    pub server_cpu: Option<CpuQuota>,
    /// How much memory each server may use, such as "256MiB"; absent: not limited.
    pub server_memory: Option<Size>,
    /// The machines that the load comes from; this one when empty.
    pub client_host: Vec<String>,
    /// The machine from which a slow client measures beside the load; none when absent.
    pub probe_host: Option<String>,
}

//! Results of a load by machine, where several sent it, or a slow client measured beside it.

use super::named::NameTable;
use crate::show;
use prony_record::{ByHost, Generator, Nanos, Outcomes, Percentiles};
use schemars::JsonSchema;
use serde::Serialize;

/// Observations of one of the machines that sent a load.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HostReport {
    /// The machine's name.
    pub host: String,
    /// Number of the machine's connections.
    pub connections: u64,
    /// Outcomes of the machine's requests.
    pub outcomes: Outcomes,
    /// Response times: from when a request was due until it was answered.
    pub response: Percentiles,
    /// How late the generator itself was; open loop only.
    pub generator_lateness: Option<Percentiles>,
    /// Resources that the machine's generator used.
    pub generator: Generator,
    /// The most by which its clock may have been misread, in nanoseconds. Latencies are measured on one clock and do not
    /// depend on it; only windows of different machines may be so far apart.
    pub clock_error_ns: Nanos,
    /// How much too late it heard when the load begins, in nanoseconds; 0: in time.
    pub late_start_ns: Nanos,
    /// The machine is a slow client that measures beside the load: its requests are not among the load's.
    pub measuring: bool,
}

impl From<&ByHost> for HostReport {
    fn from(one: &ByHost) -> Self {
        let times = &one.times;
        Self {
            host: one.host.clone(),
            connections: one.connections,
            outcomes: one.outcomes.clone(),
            response: Percentiles::of(&times.response, one.outcomes.untimed())
                .with_intervals(&times.response, &times.effective),
            generator_lateness: (!times.late.is_empty()).then(|| Percentiles::of(&times.late, 0)),
            generator: one.generator.clone(),
            clock_error_ns: one.clock_error_ns,
            late_start_ns: one.late_start_ns,
            measuring: one.measuring,
        }
    }
}

/// A machine in a table: `gen3 (slow client)`.
pub(crate) fn name(host: &str, measuring: bool) -> String {
    match measuring {
        true => format!("{host} (slow client)"),
        false => host.to_owned(),
    }
}

pub(super) fn named(all: &[HostReport]) -> NameTable {
    let heads = vec![
        "from",
        "conns",
        "answers",
        "failed",
        "p50",
        "p99",
        "max",
        "CPU/request",
        "busy",
        "clock ±",
    ];
    let row = |one: &HostReport| {
        let times = &one.response;
        vec![
            name(&one.host, one.measuring),
            show::count(one.connections),
            show::count(one.outcomes.ok),
            show::count(one.outcomes.failed()),
            show::time_within(times.p50, times.intervals.p50),
            show::time_within(times.p99, times.intervals.p99),
            show::time_or_dash(times.max),
            one.generator
                .cpu_us_per_request
                .map_or("–".into(), |us| show::time(us * 1e3)),
            format!("{:.0}%", one.generator.busy * 100.0),
            show::time(one.clock_error_ns as f64),
        ]
    };
    NameTable {
        heads,
        rows: all.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

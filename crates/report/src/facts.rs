//! What one load has shown, besides its latency distributions: the figures that are kept with
//! each trial and printed for a single load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of the requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcomes {
    /// Answered as expected.
    pub ok: u64,
    /// Answered, but not as expected.
    pub wrong_answer: u64,
    /// Given up after the time-out; in the latency distributions at their full length.
    pub timeout: u64,
    /// No connection could be made.
    pub connect_error: u64,
    /// The connection ended or broke before the answer.
    pub read_error: u64,
    /// The request could not be sent.
    pub write_error: u64,
    /// Sent, and neither answered nor given up when the measurement ended.
    pub in_flight_at_end: u64,
    /// Due, and not sent when the measurement ended: an open loop had fallen behind.
    pub unsent_at_end: u64,
    /// Answers by class of their status; `other` is everything without one.
    pub status: Status,
}

/// Answers by class of their status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// 100 to 199.
    #[serde(rename = "1xx")]
    pub informational: u64,
    /// 200 to 299.
    #[serde(rename = "2xx")]
    pub success: u64,
    /// 300 to 399.
    #[serde(rename = "3xx")]
    pub redirection: u64,
    /// 400 to 499.
    #[serde(rename = "4xx")]
    pub client_error: u64,
    /// 500 to 599.
    #[serde(rename = "5xx")]
    pub server_error: u64,
    /// Without a status (an echo), or with another one.
    pub other: u64,
}

/// What the load generator itself used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// CPU time per request that ended, in microseconds; null when none did. Waiting without sleep
    /// (in an open loop) is left out.
    pub cpu_us_per_request: Option<f64>,
    /// The busiest thread's work as a part of the measured time, 0 to 1.
    pub busy: f64,
    /// Threads.
    pub threads: u32,
    /// How bytes were moved: `epoll` or `io_uring`.
    pub transport: String,
}

/// What the server and the machine used over the measurement of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resources {
    /// CPU time of the server's processes, in nanoseconds.
    pub server_cpu_ns: u64,
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
    pub cpu_pressure_ns: Option<u64>,
    /// Connections that found the accept queue full, on the whole machine.
    pub listen_overflows: u64,
    /// TCP segments sent again, on the whole machine.
    pub retransmits: u64,
    /// SYNs and SYN-ACKs among them.
    pub syn_retransmits: u64,
}

/// How long the parts of a trial took, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Durations {
    /// From the start of the server's command until it answered.
    pub ready_ns: u64,
    /// Both verifications.
    pub verify_ns: u64,
    /// Warm-up.
    pub warmup_ns: u64,
    /// The measurement.
    pub measured_ns: u64,
    /// Until nothing of the server was left.
    pub stop_ns: u64,
    /// The whole trial.
    pub total_ns: u64,
}

/// A check's finding, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The check's name.
    pub name: String,
    /// How grave it is.
    pub severity: prony_checks::Severity,
    /// What was seen, what it means, and what to do.
    pub text: String,
}

impl From<prony_checks::Finding> for Finding {
    fn from(finding: prony_checks::Finding) -> Self {
        Self {
            name: finding.name.to_owned(),
            severity: finding.severity,
            text: finding.text,
        }
    }
}

/// Everything about a trial that is kept as JSON beside its windows and histograms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// What became of the requests.
    pub outcomes: Outcomes,
    /// What the generator used.
    pub generator: Generator,
    /// What the server and the machine used.
    pub resources: Resources,
    /// How long the parts took.
    pub durations: Durations,
    /// The warm-up ended because the load was steady.
    pub warmed_up: bool,
    /// Errors in words, with their number.
    pub errors: BTreeMap<String, u64>,
    /// The first wrong answers, in words.
    pub wrong_answers: Vec<String>,
    /// Answers of the connection that had the fewest, and of the one that had the most.
    pub per_connection: Option<(u64, u64)>,
    /// What the checks found.
    pub checks: Vec<Finding>,
}

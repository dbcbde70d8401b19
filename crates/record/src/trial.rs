//! Trials: one fresh start of one server under one load, with all that was measured.

use crate::by_address::AddressShare;
use crate::by_request::RequestReport;
use crate::by_session::SessionReport;
use crate::times::percentile;
use crate::tls::Tls;
use crate::word::words;
use crate::{
    Backlog, CheckId, Distributions, Ends, Failure, Finding, Generator, HostShare, IdleConnections,
    Load, Nanos, Observation, Outcomes, Pool, Resources, SECOND, Step, Streams, Times, Window,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

words! {
    /// How a trial ended.
    TrialStatus {
        /// The trial was measured to its end.
        Ok = "ok",
        /// A step failed; which one, and how, stands beside it.
        Failed = "failed",
        /// The trial was not run.
        Skipped = "skipped",
        /// The user stopped the trial.
        Interrupted = "interrupted",
    }
}

/// Facts about a trial, except its windows and distributions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Place of the trial in the run's plan, from 0; unique in the run.
    pub ordinal: u32,
    /// Round of the trial, from 0.
    pub round: u32,
    /// The server's name.
    pub server: String,
    /// The server's workers, if it was given a number.
    pub workers: Option<u32>,
    /// The load.
    pub load: Load,
    /// The load's label: what trials of the same server under the same load have in common.
    pub cell: String,
    /// How it ended.
    pub status: TrialStatus,
    /// The step that failed, and why.
    #[serde(flatten, with = "failure_keys")]
    #[schemars(with = "FailureKeys")]
    pub failure: Option<Failure>,
    /// When it began; kept to the microsecond.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// The server's command line.
    pub command_line: String,
    /// Version that the server reports; null where it is not known.
    pub server_version: Option<String>,
    /// Main figures of the trial; null where nothing was measured.
    #[serde(flatten)]
    pub figures: Figures,
    /// Everything else that was measured; null where nothing was.
    pub observation: Option<Measurement>,
}

/// The main figures of a trial, as tables show them and SQL finds them. Null where they are not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Figures {
    /// The length of the measurement, in seconds.
    pub measured_seconds: Option<f64>,
    /// Right answers that came in that time.
    pub verified_answers: Option<u64>,
    /// Right answers per second.
    pub throughput: Option<f64>,
    /// CPU time of the server's processes per request that was [served](Observation::served), in nanoseconds.
    pub cpu_ns_per_request: Option<f64>,
    /// The most memory that the server's processes held, in bytes.
    pub rss_peak_bytes: Option<u64>,
    /// The median response time, in nanoseconds.
    pub p50_ns: Option<Nanos>,
    /// The 99th percentile of the response time, in nanoseconds.
    pub p99_ns: Option<Nanos>,
    /// The longest response time, in nanoseconds.
    pub max_ns: Option<Nanos>,
}

/// The JSON form of a trial's failure.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct FailureKeys {
    /// The step that failed.
    failed_step: Option<Step>,
    /// Why it failed.
    message: Option<String>,
    /// The end of what the server printed, when it failed.
    last_output: Option<String>,
}

mod failure_keys {
    use super::{Failure, FailureKeys};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        failure: &Option<Failure>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let keys = failure
            .as_ref()
            .map_or_else(FailureKeys::default, |failure| {
                let output = failure.output.clone();
                FailureKeys {
                    failed_step: Some(failure.step),
                    message: Some(failure.message.clone()),
                    last_output: Some(output).filter(|output| !output.is_empty()),
                }
            });
        keys.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Failure>, D::Error> {
        let keys = FailureKeys::deserialize(deserializer)?;
        Ok(keys.failed_step.map(|step| Failure {
            step,
            message: keys.message.unwrap_or_default(),
            output: keys.last_output.unwrap_or_default(),
        }))
    }
}

/// How long the parts of a trial took, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Durations {
    /// From the start of the server's command until it answered.
    pub ready_ns: Nanos,
    /// Both verifications.
    pub verify_ns: Nanos,
    /// Warm-up.
    pub warmup_ns: Nanos,
    /// The measurement.
    pub measured_ns: Nanos,
    /// Until nothing of the server was left.
    pub stop_ns: Nanos,
    /// The whole trial.
    pub total_ns: Nanos,
}

/// Everything measured in a trial, except its windows and distributions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// Outcomes of the requests.
    pub outcomes: Outcomes,
    /// Correction for requests that crossed an end of the measurement.
    #[serde(default)]
    pub ends: Ends,
    /// Requests that were due and had not ended, in an open loop.
    #[serde(default)]
    pub backlog: Backlog,
    /// The connections of an open loop.
    #[serde(default)]
    pub pool: Pool,
    /// Resources that the generator used.
    pub generator: Generator,
    /// Resources that the server and the machine used.
    pub resources: Resources,
    /// How long the parts took.
    pub durations: Durations,
    /// The warm-up ended because the load was steady.
    pub warmed_up: bool,
    /// Errors in words, with their number.
    pub errors: BTreeMap<String, u64>,
    /// The first wrong answers, in words.
    pub wrong_answers: Vec<String>,
    /// The first bytes that came unasked, in words.
    #[serde(default)]
    pub unsolicited: Vec<String>,
    /// Parameters that connections over TLS negotiated, and the number of handshakes; absent without TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// By request, in the order of the file that has them; empty where all requests are of one kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestReport>,
    /// By session, in the order of the file that has them; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionReport>,
    /// Times to the first byte, where answers came in parts; null where each came in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<MedianAndP99>,
    /// Right answers that kept the load's objective (`slo`); null where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good: Option<u64>,
    /// Answers that were streams of events; null where none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamFigures>,
    /// Idle connections during the load; null without --idle-connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleConnections>,
    /// Answers of the connection that had the fewest, and of the one that had the most.
    pub per_connection: Option<(u64, u64)>,
    /// By machine, where other machines sent the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<HostShare>,
    /// By address, where connections were spread over several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressShare>,
    /// The rig that it was measured on, where rounds were divided among several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rig: Option<String>,
    /// Findings of the checks.
    pub checks: Vec<Finding>,
}

/// Streams of events that were answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamFigures {
    /// How many there were, with their events.
    #[serde(flatten)]
    pub counts: Streams,
    /// Events per second.
    pub events_per_second: f64,
    /// From when a request was due to its first event.
    pub first_event: MedianAndP99,
    /// Between two events.
    pub gap: MedianAndP99,
    /// The longest time between two events of a stream.
    pub longest_gap: MedianAndP99,
}

impl StreamFigures {
    /// Figures of a load; None where no answer was a stream.
    #[must_use]
    pub fn of(seen: &Observation) -> Option<Self> {
        let times = &seen.times;
        let failed = seen.outcomes.untimed();
        seen.streams.any().then(|| Self {
            counts: seen.streams,
            events_per_second: match seen.measured_ns {
                0 => 0.0,
                _ => seen.streams.events as f64 / seen.seconds(),
            },
            first_event: MedianAndP99::of(&times.first_event, failed),
            gap: MedianAndP99::of(&times.gap, 0),
            longest_gap: MedianAndP99::of(&times.longest_gap, 0),
        })
    }
}

/// Percentiles of a distribution of times, in nanoseconds. Null where too few samples support them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MedianAndP99 {
    /// The median.
    pub p50_ns: Option<Nanos>,
    /// The 99th percentile.
    pub p99_ns: Option<Nanos>,
}

impl MedianAndP99 {
    /// Both percentiles of these times, and of `failed` requests that took longer.
    #[must_use]
    pub fn of(times: &Times, failed: u64) -> Self {
        let at = |share| percentile(times, failed, share);
        Self {
            p50_ns: at(0.5),
            p99_ns: at(0.99),
        }
    }

    /// Times to the first byte of a load; None where each answer came in one part.
    #[must_use]
    pub fn of_first_bytes(seen: &Observation) -> Option<Self> {
        let times = (!seen.times.in_parts.is_empty()).then(|| seen.times.to_first_byte())?;
        Some(Self::of(&times, seen.outcomes.untimed()))
    }
}

impl Measurement {
    /// Was the load generator at its limit, while the server was not? A note says that both were.
    #[must_use]
    pub fn limited(&self) -> bool {
        let saturated = |check: &Finding| {
            check.name == CheckId::GeneratorSaturated && check.severity > crate::Severity::Note
        };
        self.checks.iter().any(saturated)
    }
}

/// A trial with its windows and distributions: what the notebook takes, and what one host sends to
/// another. Where many are held at once, the distributions stay as they are kept:
/// [`Encoded`](crate::times::Encoded).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recording<D = Distributions> {
    /// Facts about the trial.
    #[serde(flatten)]
    pub trial: Trial,
    /// Windows of the trial, in order.
    pub windows: Vec<Window>,
    /// Distributions of the trial.
    pub histograms: D,
}

impl Figures {
    /// The main figures of what a generator saw and a server used.
    #[must_use]
    pub fn of(seen: &Observation, used: &Resources) -> Self {
        let response = crate::Percentiles::of(&seen.times.response, seen.outcomes.untimed());
        let ok = seen.outcomes.ok;
        Self {
            measured_seconds: Some(seen.seconds()),
            verified_answers: Some(ok),
            throughput: (ok > 0).then(|| seen.throughput()),
            cpu_ns_per_request: used.cpu_per_request(seen.served(), seen.measured_ns),
            rss_peak_bytes: (used.watched_ns > 0).then_some(used.rss_peak_bytes),
            p50_ns: response.p50,
            p99_ns: response.p99,
            max_ns: response.max,
        }
    }
}

impl Trial {
    /// The server's label: `name`, or `name@workers` with more than one.
    #[must_use]
    pub fn label(&self) -> String {
        label(&self.server, self.workers.unwrap_or(1))
    }

    /// The length of the measurement in nanoseconds; 0 where nothing was measured.
    #[must_use]
    pub fn measured_ns(&self) -> Nanos {
        (self.figures.measured_seconds.unwrap_or(0.0) * SECOND as f64) as Nanos
    }
}

/// `name`, or `name@workers` with more than one.
#[must_use]
pub fn label(server: &str, workers: u32) -> String {
    if workers == 1 {
        server.to_owned()
    } else {
        format!("{server}@{workers}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_trial_that_failed_survives_json() {
        let old = json!({
            "ordinal": 3, "round": 1, "server": "it", "workers": null,
            "load": {"connections": 4, "threads": 1, "rate": 50.0, "contract": "tcp-echo"},
            "cell": "50/s", "status": "failed", "failed_step": "verify-again",
            "message": "why", "last_output": null, "started": "2026-01-01T00:00:00Z",
            "command_line": "it 1", "server_version": null, "measured_seconds": null,
            "verified_answers": null, "throughput": null, "cpu_ns_per_request": null,
            "rss_peak_bytes": null, "p50_ns": null, "p99_ns": null, "max_ns": null,
            "observation": null
        });
        let trial: Trial = serde_json::from_value(old).unwrap();
        let failure = trial.failure.clone().unwrap();
        assert_eq!(
            (failure.step, failure.message.as_str()),
            (Step::VerifyAgain, "why")
        );
        assert_eq!(trial.load.rate, Some(50.0));
        let again = serde_json::to_value(&trial).unwrap();
        assert_eq!(again["failed_step"], "verify-again");
        assert_eq!(serde_json::from_value::<Trial>(again).unwrap(), trial);
    }
}

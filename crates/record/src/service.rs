//! How much a server can do within limits: the limits, and what a search has tried and found.

use crate::design::Pilot;
use crate::word::words;
use crate::{Finding, Percentiles, ServiceCost, Timed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits of a service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Limits of the response time, at least one.
    pub latency: Vec<LatencyLimit>,
    /// The share of requests that may fail, 0 to 1.
    pub errors: f64,
    /// The share of requests that must be answered well, 0 to 1: within all limits of the load's objective at once. Null: it has
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good: Option<f64>,
}

/// A percentile of the response time, or of another time of answers, and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyLimit {
    /// The percentile, such as 99.
    pub percentile: f64,
    /// Limit of that percentile, in milliseconds.
    pub within_ms: f64,
    /// Time that is limited.
    #[serde(default, skip_serializing_if = "Timed::is_response")]
    pub of: Timed,
}

impl LatencyLimit {
    /// A limit of a percentile of the response time.
    #[must_use]
    pub const fn new(percentile: f64, within_ms: f64) -> Self {
        Self {
            percentile,
            within_ms,
            of: Timed::Response,
        }
    }

    /// Name of what is limited: `p99`, `p99-ttfb`.
    #[must_use]
    pub fn name(&self) -> String {
        self.of.percentile(self.percentile)
    }
}

impl Limits {
    /// The highest percentile that is limited, 0 to 100: the one that needs the most answers.
    #[must_use]
    pub fn highest_percentile(&self) -> f64 {
        let all = self.latency.iter().map(|limit| limit.percentile);
        all.fold(0.0, f64::max)
    }

    /// The longest time that any of the limits allows, in milliseconds: an answer that takes longer is of
    /// no use. With what is limited: response times, if any of these are.
    #[must_use]
    pub fn longest_ms(&self) -> (f64, Timed) {
        let longest = |of: Timed| {
            let all = self.latency.iter().filter(|limit| limit.of == of);
            all.map(|limit| limit.within_ms)
                .reduce(f64::max)
                .map(|ms| (ms, of))
        };
        let mut all = Timed::ALL.iter().filter_map(|&of| longest(of));
        all.next().unwrap_or((0.0, Timed::Response))
    }
}

words! {
    /// Why a trial that broke a limit is no evidence against the server. The words are those of the
    /// checks that say more.
    Unclear {
        /// Other processes or the hypervisor used the CPUs.
        NoisyHost = "noisy-host",
        /// The generator sent requests late, by more than the limit was exceeded.
        LateGenerator = "schedule-lag",
        /// The generator had no time left.
        SaturatedGenerator = "generator-saturated",
        /// The load had too few connections.
        TooFewConnections = "connections-limit",
        /// The rate gives too few answers for the percentile in a trial of this length.
        TooFewAnswers = "too-few-samples",
    }
}

impl Unclear {
    /// The cause as a clause that follows "because".
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::NoisyHost => "other processes or the hypervisor used the CPUs",
            Self::LateGenerator => "the load generator sent requests late",
            Self::SaturatedGenerator => "the load generator had no time left",
            Self::TooFewConnections => "the load needed more connections than it may have",
            Self::TooFewAnswers => "there were too few answers for the percentile",
        }
    }
}

/// Conclusion about the server from a trial at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateOutcome {
    /// The server kept all limits.
    Kept,
    /// The server broke a limit.
    Broken,
    /// A limit was broken, but possibly not by the server.
    Unclear(Unclear),
}

/// Output of `prony capacity --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "prony capacity")]
pub struct CapacityReport {
    /// Number of the run in the notebook.
    pub run: i64,
    /// The server.
    pub server: String,
    /// The limits.
    pub limits: Limits,
    /// The rate at which the median start is just at them, requests per second; null when that is not known: then `known` says
    /// between which rates it lies.
    pub capacity: Option<f64>,
    /// Interval of the capacity, or the rates that bound it, with the reasons why it is not known better.
    pub known: CapacityBounds,
    /// Findings of the pilot on the server; null where the search was interrupted before.
    pub pilot: Option<Pilot>,
    /// Findings of the checks.
    pub checks: Vec<Finding>,
    /// Latency at parts of the capacity; of `known.low`, when the capacity is not known.
    pub curve: Vec<RateStep>,
    /// Part of the capacity that the server keeps after an overload, without a restart; null where that was not tried.
    pub after_overload: Option<AfterOverload>,
    /// Every rate that was tried, in order.
    pub steps: Vec<RateStep>,
    /// Results at rates beyond the capacity, where those were requested; otherwise empty.
    pub beyond: Vec<Overload>,
    /// The user ended the search.
    pub interrupted: bool,
}

/// Between which rates a capacity lies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct CapacityBounds {
    /// The capacity, in requests per second: the rate at which the median start is just at the limits. Null when less than three
    /// starts have shown where theirs lies, or nothing limits its interval.
    pub estimate: Option<f64>,
    /// The lower end of its 95% interval; without an estimate the highest rate that was kept. Null when none was.
    pub low: Option<f64>,
    /// The upper end of its interval; without an estimate the lowest rate above that which the server did not keep. Null when the
    /// server itself broke the limits at no rate.
    pub high: Option<f64>,
    /// Starts that have shown both a rate that they kept and one that they did not.
    pub starts: u32,
    /// Why that is not known better, in words: always said without an estimate, unless the server kept no rate.
    pub because: Vec<String>,
}

/// Part of its capacity that a server keeps after an overload, without a restart, compared with the part that it kept
/// before.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AfterOverload {
    /// The overload, as a share of the capacity.
    pub of_capacity: f64,
    /// The highest part of the capacity that it kept before; as a share.
    pub before: f64,
    /// The highest part that it kept after it; null when it kept none of those that were tried. Less than before: the server is
    /// metastable, it stays overloaded at a rate that it keeps otherwise.
    pub after: Option<f64>,
}

/// A rate that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RateStep {
    /// On which start of the server, from 0.
    pub start: u32,
    /// Requests per second that were asked for.
    pub rate: f64,
    /// How long it was measured, in seconds.
    pub seconds: f64,
    /// Answers per second that came.
    pub achieved: f64,
    /// The limited percentiles, in the order of the limits.
    pub limited: Vec<Limited>,
    /// The response times.
    pub latency: Percentiles,
    /// The share of requests that were answered within the SLO, 0 to 1; null where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub good: Option<f64>,
    /// The share of requests that failed, 0 to 1.
    pub errors: f64,
    /// How many responses were late or failed, as a multiple of what the limits allow: up to 1 they are kept.
    pub excess: f64,
    /// The server's CPU time per request, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// Costs of each of its services per request; empty without services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceCost>,
    /// The server kept all limits at the rate, and no check failed.
    pub kept: bool,
    /// Limits and checks that were not kept, in words.
    pub broken: Vec<String>,
    /// Why that is no evidence against the server; null when it is.
    pub unclear: Option<Unclear>,
}

impl RateStep {
    /// Conclusion about the server from this step.
    #[must_use]
    pub fn outcome(&self) -> RateOutcome {
        match (self.kept, self.unclear) {
            (true, _) => RateOutcome::Kept,
            (false, None) => RateOutcome::Broken,
            (false, Some(why)) => RateOutcome::Unclear(why),
        }
    }
}

/// A limited percentile, as it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Limited {
    /// The percentile, such as 99.
    pub percentile: f64,
    /// Time that is limited.
    #[serde(default, skip_serializing_if = "Timed::is_response")]
    pub of: Timed,
    /// Value of that percentile, in milliseconds; null when there were too few answers for it.
    pub ms: Option<f64>,
    /// The share of the response times that were longer than the limit, 0 to 1; null when there were too few to judge.
    pub longer: Option<f64>,
}

impl Limited {
    /// Name of what was limited: `p99`, `p99-ttfb`.
    #[must_use]
    pub fn name(&self) -> String {
        self.of.percentile(self.percentile)
    }
}

/// Results of a server at a rate beyond its capacity, and after that.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Overload {
    /// Requests per second that were asked for.
    pub rate: f64,
    /// The same as a share of the capacity, above 1.
    pub of_capacity: f64,
    /// Right answers per second within the longest of the latency limits.
    pub goodput: f64,
    /// Right answers per second, however late.
    pub throughput: f64,
    /// The share of the requests that ended because their connection failed, 0 to 1.
    pub errors: f64,
    /// The share that timed out, 0 to 1.
    pub timeouts: f64,
    /// The share that was answered, but not as expected (such as with status 503), 0 to 1.
    pub rejected: f64,
    /// The response times.
    pub latency: Percentiles,
    /// Under a load of 50% of the capacity that follows at once: seconds until the end of the first
    /// window that keeps the limits; null when none did.
    pub recovery_seconds: Option<f64>,
    /// How long that load lasted, in seconds.
    pub recovery_watched_seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CheckId;

    #[test]
    fn every_reason_has_the_word_of_its_check() {
        for why in Unclear::ALL {
            assert!(CheckId::of_word(why.word()).is_some(), "{why}");
        }
    }

    #[test]
    fn the_highest_percentile_and_the_longest_time() {
        let limit = LatencyLimit::new;
        let first = LatencyLimit {
            of: Timed::FirstByte,
            ..limit(99.9, 20.0)
        };
        let of = |latency| Limits {
            latency,
            errors: 0.0,
            good: None,
        };
        let limits = of(vec![limit(99.0, 10.0), limit(50.0, 2.0), first]);
        assert_eq!(limits.highest_percentile(), 99.9);
        assert_eq!(limits.longest_ms(), (10.0, Timed::Response));
        assert_eq!(of(vec![first]).longest_ms(), (20.0, Timed::FirstByte));
        assert_eq!(first.name(), "p99.9-ttfb");
    }
}

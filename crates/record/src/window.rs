//! Windows: equal pieces of a load's time.

use crate::word::words;
use crate::{Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// The part of a trial that a window belongs to.
    Phase {
        /// Before the load was steady: kept, not counted.
        Warmup = "warmup",
        /// Counted.
        Measure = "measure",
    }
}

/// One window of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Place of the window in the load, from 0; unique in the trial.
    pub index: u32,
    /// Start of the window, in nanoseconds since the load's start.
    pub start_ns: Nanos,
    /// Length of the window, in nanoseconds.
    pub length_ns: Nanos,
    /// Before or during the measurement.
    pub phase: Phase,
    /// Right answers that came in it.
    pub verified_answers: u64,
    /// Wrong answers.
    pub wrong_answers: u64,
    /// Connections that failed, in any way but a time-out.
    pub errors: u64,
    /// Requests that took too long.
    pub timeouts: u64,
    /// The median response time, in nanoseconds; null without an answer.
    pub p50_ns: Option<Nanos>,
    /// The 99th percentile of the response time, in nanoseconds.
    pub p99_ns: Option<Nanos>,
    /// CPU time of the server's processes, in nanoseconds; null where it is not known.
    pub server_cpu_ns: Option<Nanos>,
    /// CPU time of the generator's threads for the work, in nanoseconds.
    pub generator_cpu_ns: Option<Nanos>,
    /// Memory of the server's processes at its end, in bytes.
    pub rss_bytes: Option<u64>,
    /// Requests that were due and had not ended at its end: for displays and checks while the load runs. What it says of the
    /// whole load is its [`Backlog`](crate::Backlog).
    #[serde(skip)]
    pub outstanding: u64,
    /// Events of streams that came in it: for displays, and for the interval of their rate in a single load.
    #[serde(skip)]
    pub events: u64,
}

impl Window {
    /// The same window, begun at `start_ns` of a load that was measured from `from` until `until`, all in
    /// nanoseconds since the load's start: a part of the measurement when it lies wholly inside.
    #[must_use]
    pub fn placed(self, start_ns: Nanos, (from, until): (Nanos, Nanos)) -> Self {
        let inside = start_ns >= from && start_ns.saturating_add(self.length_ns) <= until;
        Self {
            start_ns,
            phase: match inside {
                true => Phase::Measure,
                false => Phase::Warmup,
            },
            ..self
        }
    }

    /// A window in which nothing has happened.
    #[must_use]
    pub fn empty(index: u32, start_ns: Nanos, length_ns: Nanos) -> Self {
        Self {
            index,
            start_ns,
            length_ns,
            phase: Phase::Warmup,
            verified_answers: 0,
            wrong_answers: 0,
            errors: 0,
            timeouts: 0,
            p50_ns: None,
            p99_ns: None,
            server_cpu_ns: None,
            generator_cpu_ns: None,
            rss_bytes: None,
            outstanding: 0,
            events: 0,
        }
    }

    /// End of the window, in nanoseconds since the load's start.
    #[must_use]
    pub fn end_ns(&self) -> Nanos {
        self.start_ns + self.length_ns
    }

    /// Length of the window, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.length_ns as f64 / SECOND as f64
    }

    /// Right answers per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.verified_answers as f64 / self.seconds()
    }

    /// Events of streams per second.
    #[must_use]
    pub fn event_rate(&self) -> f64 {
        self.events as f64 / self.seconds()
    }

    /// Requests that ended in it without the answer that was expected.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.wrong_answers + self.errors + self.timeouts
    }
}

/// The windows of one load and of another after it, numbered and timed as if they were one.
#[must_use]
pub fn followed_by(mut before: Vec<Window>, after: Vec<Window>) -> Vec<Window> {
    let (next, end) = before
        .last()
        .map_or((0, 0), |last| (last.index + 1, last.end_ns()));
    before.extend(after.into_iter().map(|window| Window {
        index: next + window.index,
        start_ns: end + window.start_ns,
        ..window
    }));
    before
}

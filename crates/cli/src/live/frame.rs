//! Contents of a live view, as plain data.

use prony_record::{CheckId, Phase, Window};
use std::collections::VecDeque;
use std::time::Instant;

/// The most windows that are shown.
const WINDOWS: usize = 40;

/// State of a measurement at a moment.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// Name of the whole measurement.
    pub title: String,
    /// Parts of the whole that are done, and all of them, where they can be counted.
    pub parts: Option<(u64, u64)>,
    /// Current activity.
    pub doing: String,
    /// When the whole ends.
    pub end: End,
    /// The load that is on, or was the last one.
    pub load: LoadProgress,
    /// Results so far: names, each with its result in words.
    pub known: Vec<(String, String)>,
    /// Checks that have fired: each with its text.
    pub checks: Vec<(CheckId, String)>,
    /// The user has had enough.
    pub interrupted: bool,
}

/// When something ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// Not known.
    #[default]
    Unknown,
    /// About then.
    At(Instant),
    /// Then, or sooner.
    AtMost(Instant),
}

/// A part of a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LoadPhase {
    /// Warm-up, which is not measured.
    #[default]
    WarmUp,
    /// The part that is measured.
    Measurement,
    /// The measurement is over; requests that are still without an answer are waited for.
    Rest,
}

impl LoadPhase {
    /// Returns the part that the next window belongs to.
    pub fn then(self, window: &Window) -> Self {
        match (self, window.phase) {
            (_, Phase::Measure) => Self::Measurement,
            (Self::WarmUp, Phase::Warmup) => Self::WarmUp,
            (Self::Measurement | Self::Rest, Phase::Warmup) => Self::Rest,
        }
    }
}

/// The windows of a load, and what is known from them.
#[derive(Debug, Clone, Default)]
pub struct LoadProgress {
    /// The last windows.
    pub windows: VecDeque<Window>,
    /// Outcomes of the requests of the warm-up, or, when that is over, of the measurement.
    pub outcomes: OutcomeCounts,
    /// The length of what [`outcomes`](Self::outcomes) counts, in seconds.
    pub seconds: f64,
    /// Part that the last window belonged to.
    pub part: LoadPhase,
    /// CPUs that the server used in the last window, where it can be seen.
    pub server: Option<f64>,
}

/// Requests by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// Right answers.
    pub ok: u64,
    /// Wrong answers.
    pub wrong: u64,
    /// Requests that took too long.
    pub timeouts: u64,
    /// Connections that failed in another way.
    pub errors: u64,
}

impl OutcomeCounts {
    /// Requests that ended.
    pub fn finished(&self) -> u64 {
        self.ok + self.wrong + self.timeouts + self.errors
    }

    fn add(&mut self, window: &Window) {
        self.ok += window.verified_answers;
        self.wrong += window.wrong_answers;
        self.timeouts += window.timeouts;
        self.errors += window.errors;
    }
}

/// CPUs that the generator used for the work in a window.
pub fn generator(window: &Window) -> f64 {
    window.generator_cpu_ns.unwrap_or(0) as f64 / window.length_ns.max(1) as f64
}

impl LoadProgress {
    /// A window has ended. What was counted in a warm-up, or after the end, is not what is measured.
    pub fn add(&mut self, window: Window) {
        let before = self.part;
        self.part = before.then(&window);
        match (before, self.part) {
            (_, LoadPhase::Rest) => return,
            (LoadPhase::WarmUp, LoadPhase::Measurement) => {
                self.outcomes = OutcomeCounts::default();
                self.seconds = 0.0;
            }
            _ => {}
        }
        self.outcomes.add(&window);
        self.seconds += window.seconds();
        if self.windows.len() == WINDOWS {
            self.windows.pop_front();
        }
        self.windows.push_back(window);
    }
}

impl Frame {
    /// How far the whole is, judged by the parts that are done: when it ends if the others take as long.
    pub fn extrapolate(&mut self, begun: Instant, now: Instant) {
        if let Some((done, all)) = self.parts
            && done > 0
        {
            let each = now.duration_since(begun).div_f64(done as f64);
            self.end = End::At(now + each.mul_f64(all.saturating_sub(done) as f64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        let begun = Instant::now();
        let mut frame = Frame::default();
        frame.extrapolate(begun, begun);
        assert_eq!(frame.end, End::Unknown);
        frame.parts = Some((0, 4));
        frame.extrapolate(begun, begun + Duration::from_secs(1));
        assert_eq!(frame.end, End::Unknown);
        frame.parts = Some((2, 4));
        let now = begun + Duration::from_secs(6);
        frame.extrapolate(begun, now);
        assert_eq!(frame.end, End::At(now + Duration::from_secs(6)));
    }

    #[test]
    fn a_warmup_is_not_counted_with_what_is_measured() {
        let of = |phase| Window {
            phase,
            verified_answers: 100,
            generator_cpu_ns: Some(250_000_000),
            ..Window::empty(0, 0, 500_000_000)
        };
        assert_eq!(generator(&of(Phase::Measure)), 0.5);
        let mut load = LoadProgress::default();
        load.add(of(Phase::Warmup));
        load.add(of(Phase::Warmup));
        assert_eq!((load.outcomes.ok, load.seconds), (200, 1.0));
        load.add(of(Phase::Measure));
        assert_eq!((load.outcomes.ok, load.seconds), (100, 0.5));
        for _ in 0..2 * WINDOWS {
            load.add(of(Phase::Measure));
        }
        assert_eq!(load.windows.len(), WINDOWS);
        let ok = load.outcomes.ok;
        load.add(of(Phase::Warmup));
        assert_eq!(load.part, LoadPhase::Rest, "the measurement is over");
        assert_eq!(load.outcomes.ok, ok);
    }
}

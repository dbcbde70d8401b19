//! What a live view shows, as plain data.

use prony_engine::{Outcomes, Window};
use std::collections::VecDeque;
use std::time::Instant;

/// So many windows are shown at the most.
const WINDOWS: usize = 40;

/// What is known at a moment.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// What the whole is about.
    pub title: String,
    /// Parts of the whole that are done, and all of them, where they can be counted.
    pub parts: Option<(u64, u64)>,
    /// What is being done.
    pub doing: String,
    /// When the whole ends.
    pub end: End,
    /// The load that is on, or was the last one.
    pub load: Load,
    /// What is known so far: names, and what is known of them.
    pub known: Vec<(String, String)>,
    /// Checks that have fired: their names, and what they say.
    pub checks: Vec<(String, String)>,
    /// The user has had enough.
    pub interrupted: bool,
}

/// When something ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// Nobody knows.
    #[default]
    Unknown,
    /// About then.
    At(Instant),
    /// Then, or sooner.
    AtMost(Instant),
}

/// The windows of a load, and what is known from them.
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// The last windows.
    pub windows: VecDeque<Glance>,
    /// What became of the requests of the warm-up, or, when that is over, of the measurement.
    pub outcomes: Outcomes,
    /// The length of what [`outcomes`](Self::outcomes) counts, in seconds.
    pub seconds: f64,
    /// It is not measured yet.
    pub warmup: bool,
    /// CPUs that the server used in the last window, where it can be seen.
    pub server: Option<f64>,
}

/// What is shown of a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Glance {
    /// Right answers per second.
    pub rate: f64,
    /// The median response time, in nanoseconds; none without an answer.
    pub p50: Option<u64>,
    /// The 99th percentile.
    pub p99: Option<u64>,
    /// What ended in it.
    pub outcomes: Outcomes,
    /// Its length, in seconds.
    pub seconds: f64,
    /// CPUs that the generator used for the work.
    pub generator: f64,
}

impl Glance {
    /// What is shown of this window.
    pub fn of(window: &Window) -> Self {
        let response = &window.response;
        let at = |q| (!response.is_empty()).then(|| response.value_at_quantile(q));
        Self {
            rate: window.rate(),
            p50: at(0.5),
            p99: at(0.99),
            outcomes: window.outcomes.clone(),
            seconds: window.length as f64 / 1e9,
            generator: window.work as f64 / window.length as f64,
        }
    }
}

impl Load {
    /// A window has ended. What was counted in a warm-up is not what is measured.
    pub fn add(&mut self, glance: Glance, warmup: bool) {
        if self.warmup && !warmup {
            self.outcomes = Outcomes::default();
            self.seconds = 0.0;
        }
        self.warmup = warmup;
        self.outcomes += &glance.outcomes;
        self.seconds += glance.seconds;
        if self.windows.len() == WINDOWS {
            self.windows.pop_front();
        }
        self.windows.push_back(glance);
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
        let mut window = Window::empty(0, 0, 500_000_000);
        window.outcomes.ok = 100;
        window.work = 250_000_000;
        window.response.record(7_000).unwrap();
        let glance = Glance::of(&window);
        assert_eq!((glance.rate, glance.generator), (200.0, 0.5));
        assert!(glance.p50.is_some_and(|p50| p50.abs_diff(7_000) < 70));
        let mut load = Load::default();
        load.add(glance.clone(), true);
        load.add(glance.clone(), true);
        assert_eq!((load.outcomes.ok, load.seconds), (200, 1.0));
        load.add(glance.clone(), false);
        assert_eq!((load.outcomes.ok, load.seconds), (100, 0.5));
        for _ in 0..2 * WINDOWS {
            load.add(glance.clone(), false);
        }
        assert_eq!(load.windows.len(), WINDOWS);
        assert_eq!(Glance::of(&Window::empty(0, 0, 1)).p99, None);
    }
}

//! How long something took, again and again, and when.

use hdrhistogram::Histogram;
use prony_record::times::{EffectiveSamples, HIGHEST, times};
use prony_record::{Distributions, Nanos, Times};
use prony_stats::order_interval::Beyond;

/// Stretches of time that are kept apart: enough to see whether long durations come together, which is what
/// their number is judged by. With more windows neighbours are joined.
const STRETCHES: usize = 64;
/// Significant digits of a stretch's histogram: within 1%, like a window's.
const DIGITS: u8 = 2;

/// Durations, with the windows in which they ended.
#[derive(Debug)]
pub(super) struct Durations {
    all: Times,
    /// By stretches of `1 << joined` windows, none at the end that are empty.
    stretches: Vec<Histogram<u32>>,
    joined: u32,
}

impl Durations {
    pub(super) fn new() -> Self {
        Self {
            all: times(),
            stretches: Vec::new(),
            joined: 0,
        }
    }

    /// One that ended in this window, 0-based since the load began.
    #[inline]
    pub(super) fn add(&mut self, window: u32, duration: Nanos) {
        self.all.saturating_record(duration);
        match self.stretches.get_mut((window >> self.joined) as usize) {
            Some(stretch) => stretch.saturating_record(duration),
            None => self.new_stretch(window, duration),
        }
    }

    #[cold]
    fn new_stretch(&mut self, window: u32, duration: Nanos) {
        while (window >> self.joined) as usize >= STRETCHES {
            self.join();
        }
        let at = (window >> self.joined) as usize;
        let empty =
            || Histogram::new_with_bounds(1, HIGHEST, DIGITS).expect("constant bounds are valid");
        if self.stretches.len() <= at {
            self.stretches.resize_with(at + 1, empty);
        }
        self.stretches[at].saturating_record(duration);
    }

    /// Joins neighbours.
    fn join(&mut self) {
        let pairs = std::mem::take(&mut self.stretches);
        let mut pairs = pairs.into_iter();
        while let Some(mut first) = pairs.next() {
            if let Some(second) = pairs.next() {
                first.add(&second).expect("all have the same bounds");
            }
            self.stretches.push(first);
        }
        self.joined += 1;
    }

    /// Returns the durations as the record has them: as response times.
    pub(super) fn seen(&self) -> Distributions {
        let filled = || self.stretches.iter().filter(|stretch| !stretch.is_empty());
        let effective = EffectiveSamples::of(&self.all, |value| {
            let beyond = |stretch: &Histogram<u32>| Beyond {
                above: stretch.len() - stretch.count_between(0, value),
                all: stretch.len(),
            };
            filled().map(beyond).collect()
        });
        Distributions {
            response: self.all.clone(),
            effective,
            ..Distributions::default()
        }
    }
}

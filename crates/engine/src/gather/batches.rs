//! Response times over the course of a load, in batches of neighbouring windows: as many as say how much
//! the times vary, in memory that does not grow with the length of the load.

use crate::clock::Nanos;
use crate::recorder::{Slice, WINDOW_DIGITS};
use hdrhistogram::Histogram;
use prony_record::times::HIGHEST;
use prony_stats::order_interval::Beyond;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The most batches that are kept: some 4 MB. Above, neighbours are put together in pairs, so that at
/// least half of it is there.
const MOST: usize = 256;

/// Whole windows, added in any order.
pub(super) struct Batches {
    /// Windows for each batch.
    width: u32,
    /// By the index of a batch's first window, divided by `width`.
    batches: BTreeMap<u32, Batch>,
    /// Histograms of batches that were put together with others. They are used again: windows' own ones, which come from other
    /// threads, would leave holes in memory of which more and more is touched in hours.
    spare: Vec<Histogram<u32>>,
}

/// Windows that were put together.
struct Batch {
    from: Nanos,
    until: Nanos,
    response: Histogram<u32>,
}

impl Batch {
    fn merge(&mut self, from: Nanos, until: Nanos, response: &Histogram<u32>) {
        self.from = self.from.min(from);
        self.until = self.until.max(until);
        self.response
            .add(response)
            .expect("all windows have the same bounds");
    }
}

impl Batches {
    pub fn new() -> Self {
        Self {
            width: 1,
            batches: BTreeMap::new(),
            spare: Vec::new(),
        }
    }

    /// Adds a window, which all workers have finished.
    pub fn add(&mut self, slice: &Slice) {
        let (from, until) = (slice.start, slice.start + slice.length);
        match self.batches.entry(slice.index / self.width) {
            Entry::Occupied(mut entry) => entry.get_mut().merge(from, until, &slice.response),
            Entry::Vacant(entry) => {
                let response = self.spare.pop().unwrap_or_else(empty);
                let mut batch = Batch {
                    from,
                    until,
                    response,
                };
                batch.merge(from, until, &slice.response);
                entry.insert(batch);
            }
        }
        if self.batches.len() > MOST {
            self.halve();
        }
    }

    /// Puts neighbours together in pairs.
    #[cold]
    fn halve(&mut self) {
        self.width *= 2;
        for (index, batch) in std::mem::take(&mut self.batches) {
            match self.batches.entry(index / 2) {
                Entry::Vacant(entry) => {
                    entry.insert(batch);
                }
                Entry::Occupied(mut entry) => {
                    (entry.get_mut()).merge(batch.from, batch.until, &batch.response);
                    let mut response = batch.response;
                    response.reset();
                    self.spare.push(response);
                }
            }
        }
    }

    /// How many response times lie above `value`, batch by batch, of those that lie wholly between `from`
    /// and `until` on the engine's clock.
    pub fn beyond(&self, value: Nanos, from: Nanos, until: Nanos) -> Vec<Beyond> {
        self.batches
            .values()
            .filter(|batch| batch.from >= from && batch.until <= until)
            .map(|batch| Beyond {
                above: batch.response.len() - batch.response.count_between(0, value),
                all: batch.response.len(),
            })
            .collect()
    }
}

/// All of its memory has been written to: what is not would be added to the process's only as rare response times come.
fn empty() -> Histogram<u32> {
    let histogram = Histogram::new_with_bounds(1, HIGHEST, WINDOW_DIGITS);
    let mut histogram = histogram.expect("constant bounds are valid");
    histogram.saturating_record(HIGHEST);
    histogram.reset();
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Window `index` of 1 s with `index % 7 + 1` answers of 1 ms and one of 2 ms.
    fn slice(index: u32) -> Slice {
        let mut slice = Slice::empty(index, u64::from(index) * 1_000_000_000, 1_000_000_000);
        let fast = u64::from(index % 7) + 1;
        slice.response.record_n(1_000_000, fast as u32).unwrap();
        slice.response.record(2_000_000).unwrap();
        slice
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn a_load_of_any_length_keeps_every_answer_in_few_batches() {
        for windows in [1, 256, 257, 1_000, 7_200] {
            let mut batches = Batches::new();
            // Workers finish windows in about, not exactly, their order.
            for pair in 0..windows / 2 {
                batches.add(&slice(2 * pair + 1));
                batches.add(&slice(2 * pair));
            }
            if windows % 2 == 1 {
                batches.add(&slice(windows - 1));
            }
            let beyond = batches.beyond(1_500_000, 0, u64::MAX);
            assert!(beyond.len() <= MOST, "{windows}: {}", beyond.len());
            assert!(beyond.len() >= MOST.min(windows as usize) / 2, "{windows}");
            let histograms = batches.batches.len() + batches.spare.len();
            assert_eq!(histograms, (MOST + 1).min(windows as usize), "{windows}");
            let above: u64 = beyond.iter().map(|it| it.above).sum();
            assert_eq!(above, u64::from(windows));
            let all: u64 = beyond.iter().map(|it| it.all).sum();
            let expected = (0..windows).map(|i| u64::from(i % 7) + 2).sum::<u64>();
            assert_eq!(all, expected, "{windows}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn what_is_not_wholly_inside_is_left_out() {
        let mut batches = Batches::new();
        (0..1_000).for_each(|index| batches.add(&slice(index)));
        // Batches of four windows: the first and the last are cut.
        let beyond = batches.beyond(0, 1_000_000_000, 999_000_000_000);
        assert_eq!(beyond.len(), 248);
    }
}

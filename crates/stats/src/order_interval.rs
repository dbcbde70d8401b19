//! Percentiles with intervals, in values, from whatever holds the samples.
//!
//! [`percentile`](crate::percentile) knows the ranks and takes sorted, independent samples. Here are
//! the other two forms in which samples come: a series in the order of time, and a histogram.
//!
//! Samples that follow each other are not independent, and an interval that takes them for it is too
//! narrow. What counts for a percentile is not how the *values* hang together but how their being
//! beyond the percentile does: one pause of 100 ms puts hundreds of neighbouring requests beyond it
//! at once. So it is the number beyond, window by window, whose spread says what the samples are
//! worth (Heidelberger & Lewis, "Quantile estimation in dependent sequences", *Operations Research*
//! 32 (1984)).

use crate::autocorrelation::{MIN_BLOCKS, autocorrelation_factor};
use crate::percentile::{percentile_of_dependent, percentile_ranks, rank};
use crate::{Estimate, Interval, StatsError, Unit};

/// How many samples of a window lie beyond a value, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beyond {
    /// Samples above the value; at most `all`.
    pub above: u64,
    /// All samples of the window.
    pub all: u64,
}

/// The percentile `p` (from 0 to 1) of samples in the order of time, with its interval. The
/// estimate's n is what they are worth as independent samples, rounded down.
///
/// # Errors
///
/// If there are no samples, one is not finite, or p is not from 0 to 1.
pub fn percentile_of_series(series: &[f64], p: f64, unit: Unit) -> Result<Estimate, StatsError> {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = series.len() as f64;
    let value = percentile_of_dependent(&sorted, n, p, unit)?.value();
    let beyond: Vec<f64> = series
        .iter()
        .map(|sample| f64::from(u8::from(*sample > value)))
        .collect();
    percentile_of_dependent(&sorted, n / autocorrelation_factor(&beyond), p, unit)
}

/// The percentile `p` (from 0 to 1) of a histogram's values with their counts, in ascending order of
/// values, worth `n_eff` independent samples (see [`effective_samples`]). It is walked through
/// twice. The estimate's n is `n_eff`, rounded down.
///
/// A histogram's value stands for all samples of its cell: the interval is exact up to the width of
/// a cell.
///
/// # Errors
///
/// If there are no samples, a value is not finite or below the one before it, or p is not from 0 to
/// 1.
pub fn percentile_of_counts<I>(
    counts: I,
    n_eff: f64,
    p: f64,
    unit: Unit,
) -> Result<Estimate, StatsError>
where
    I: IntoIterator<Item = (f64, u64)>,
    I::IntoIter: Clone,
{
    let counts = counts.into_iter();
    let n = total(counts.clone())?;
    if n == 0 {
        return Err(StatsError::Empty("a percentile"));
    }
    let middle = rank(n, p).ok_or(StatsError::OutOfRange {
        what: "a percentile from 0 to 1",
        value: p,
    })?;
    let ranks = percentile_ranks(n, n_eff, p);
    let (low, high) = ranks.unwrap_or((middle, middle));
    let [low, value, high] = at_ranks(counts, [low, middle, high]);
    let interval = ranks.and_then(|_| Interval::new(low, high));
    Estimate::new(value, interval, n_eff as u64, unit)
}

/// All samples; checks the values and their order.
fn total(counts: impl Iterator<Item = (f64, u64)>) -> Result<u64, StatsError> {
    let mut last = f64::NEG_INFINITY;
    let mut n = 0_u64;
    for (at, (value, count)) in counts.enumerate() {
        if !value.is_finite() {
            return Err(StatsError::NotFinite { at, value });
        }
        if value < last {
            return Err(StatsError::Unordered { at });
        }
        last = value;
        n = n.saturating_add(count);
    }
    Ok(n)
}

/// The values at three ranks, which are in order and not above the number of samples.
fn at_ranks(counts: impl Iterator<Item = (f64, u64)>, ranks: [u64; 3]) -> [f64; 3] {
    let mut found = [f64::NAN; 3];
    let mut so_far = 0_u64;
    for (value, count) in counts {
        let before = so_far;
        so_far = so_far.saturating_add(count);
        for (found, rank) in found.iter_mut().zip(ranks) {
            if (before + 1..=so_far).contains(&rank) {
                *found = value;
            }
        }
    }
    found
}

/// How many times more the number beyond a value spreads from window to window than it would with
/// independent samples; at least 1. `windows` in the order of time, all counted against one value:
/// the percentile of all of them together.
///
/// Of k samples in a window, of which a share q lies beyond, k·q(1 − q) is the variance that chance
/// gives; the factor is the observed one over it, the largest over windows joined by 1, 2, 4, … while
/// [`MIN_BLOCKS`] are left (a "design effect", Kish, *Survey Sampling* (1965); windows may
/// differ in size). Fewer than [`MIN_BLOCKS`] windows give 1: dependence cannot be seen in them, which
/// does not mean that there is none.
#[must_use]
pub fn dispersion_factor(windows: &[Beyond]) -> f64 {
    let (above, all) = windows
        .iter()
        .fold((0, 0), |(above, all), w| (above + w.above, all + w.all));
    let share = above as f64 / all as f64;
    let chance = all as f64 * share * (1.0 - share);
    if chance.is_nan() || chance <= 0.0 {
        return 1.0;
    }
    std::iter::successors(Some(1), |size| Some(size * 2))
        .take_while(|size| windows.len() / size >= MIN_BLOCKS)
        .map(|size| {
            let blocks = windows.chunks_exact(size);
            let used: u64 = blocks.clone().flatten().map(|w| w.all).sum();
            let m = blocks.len() as f64;
            let squares: f64 = blocks
                .map(|block| {
                    let above: u64 = block.iter().map(|w| w.above).sum();
                    let all: u64 = block.iter().map(|w| w.all).sum();
                    (above as f64 - share * all as f64).powi(2)
                })
                .sum();
            squares * m / (m - 1.0) / (chance * used as f64 / all as f64)
        })
        .fold(1.0, f64::max)
}

/// What the samples of all windows are worth as independent ones for the percentile that `windows`
/// were counted against: all samples / [`dispersion_factor`].
#[must_use]
pub fn effective_samples(windows: &[Beyond]) -> f64 {
    windows.iter().map(|w| w.all as f64).sum::<f64>() / dispersion_factor(windows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::percentile::percentile;

    #[test]
    fn a_histogram_gives_what_its_samples_give() {
        let counts = [(1.0, 700_u64), (2.0, 250), (2.5, 0), (5.0, 40), (9.0, 10)];
        let sorted: Vec<f64> = counts
            .iter()
            .flat_map(|&(value, count)| vec![value; count as usize])
            .collect();
        for p in [0.0, 0.3, 0.5, 0.7, 0.95, 0.99, 1.0] {
            assert_eq!(
                percentile_of_counts(counts, 1_000.0, p, Unit::Seconds),
                percentile(&sorted, p, Unit::Seconds),
                "{p}"
            );
        }
    }

    #[test]
    fn histograms_that_are_none() {
        let of = |counts: &[(f64, u64)], p| {
            percentile_of_counts(counts.iter().copied(), 10.0, p, Unit::Seconds)
        };
        assert_eq!(of(&[], 0.5), Err(StatsError::Empty("a percentile")));
        assert_eq!(of(&[(1.0, 0)], 0.5), Err(StatsError::Empty("a percentile")));
        assert_eq!(
            of(&[(1.0, 1), (0.5, 1)], 0.5),
            Err(StatsError::Unordered { at: 1 })
        );
        assert!(of(&[(f64::NAN, 1)], 0.5).is_err());
        assert!(of(&[(1.0, 1)], 1.5).is_err());
    }

    #[test]
    fn a_pause_is_worth_one_sample() {
        // 100 windows of 1,000 samples; all that lies beyond the p99 lies in ten of them.
        let bursts: Vec<Beyond> = (0..100)
            .map(|i| Beyond {
                above: if i % 10 == 0 { 100 } else { 0 },
                all: 1_000,
            })
            .collect();
        let factor = dispersion_factor(&bursts);
        assert!((80.0..110.0).contains(&factor), "{factor}");
        let worth = effective_samples(&bursts);
        assert!((900.0..1_300.0).contains(&worth), "{worth}");
    }

    #[test]
    fn no_dispersion_without_spread_or_windows() {
        let window = |above, all| Beyond { above, all };
        assert_eq!(dispersion_factor(&[]), 1.0);
        assert_eq!(dispersion_factor(&[window(0, 100); 20]), 1.0);
        assert_eq!(dispersion_factor(&[window(100, 100); 20]), 1.0);
        assert_eq!(dispersion_factor(&[window(1, 100); 20]), 1.0);
        assert_eq!(dispersion_factor(&[window(0, 100), window(90, 100)]), 1.0);
        assert_eq!(effective_samples(&[]), 0.0);
    }

    #[test]
    fn a_series_of_blocks_is_worth_its_blocks() {
        let mixed: Vec<f64> = (0..1_000).map(|i| f64::from(i * 37 % 1_000)).collect();
        let mut sorted = mixed.clone();
        sorted.sort_by(f64::total_cmp);
        let independent = percentile_of_series(&mixed, 0.9, Unit::Seconds).expect("samples");
        let dependent = percentile_of_series(&sorted, 0.9, Unit::Seconds).expect("samples");
        assert_eq!(independent.value(), dependent.value());
        assert!(independent.n() > 20 * dependent.n(), "{dependent:?}");
        assert!(independent.interval().is_some());
    }
}

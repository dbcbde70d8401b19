//! How many independent samples dependent ones are worth for a percentile.
//!
//! Samples that follow each other are not independent, and an interval that takes them for it is too
//! narrow. What counts for a percentile is not how the *values* hang together but how their being
//! beyond the percentile does: one pause of 100 ms puts hundreds of neighbouring requests beyond it
//! at once. So it is the number beyond, window by window, whose spread says what the samples are
//! worth (Heidelberger & Lewis, "Quantile estimation in dependent sequences", *Operations Research*
//! 32 (1984)).

use crate::autocorrelation::MIN_BLOCKS;

/// How many samples of a window lie beyond a value, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beyond {
    /// Samples above the value; at most `all`.
    pub above: u64,
    /// All samples of the window.
    pub all: u64,
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

/// Effective number of independent samples in all windows, for the percentile that `windows` were counted against:
/// all samples / [`dispersion_factor`].
#[must_use]
pub fn effective_samples(windows: &[Beyond]) -> f64 {
    windows.iter().map(|w| w.all as f64).sum::<f64>() / dispersion_factor(windows)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

//! How many independent samples a series is worth.
//!
//! Neighbouring requests or windows share what the server and the host were doing, so they differ
//! less than independent ones would, and an interval that counts them all is too narrow.

use crate::summary::{average, variance};

/// The fewest blocks whose means a variance is taken of. The variance of m independent values has
/// itself a relative standard error of √(2/(m − 1)): 53% at eight; fewer would mostly show noise.
pub const MIN_BLOCKS: usize = 8;

/// τ, the autocorrelation factor: the largest B·Var(means of blocks of B)/Var(values), over B = 1,
/// 2, 4, … while [`MIN_BLOCKS`] whole blocks are left. At least 1: independent values have 1 for
/// every B, and what averages out faster than that is not believed to be better than independent.
///
/// The largest of several noisy figures errs upwards (independent values give 1 to 1.5, at times
/// 2), towards wider intervals. Fewer than 2·[`MIN_BLOCKS`] values give 1: dependence in so short
/// a series cannot be seen, which does not mean that there is none.
///
/// Source: batch means, e.g. Law, *Simulation Modeling and Analysis* (2015), 9.5.3.
#[must_use]
pub fn autocorrelation_factor(values: &[f64]) -> f64 {
    let Some(total) = variance(values).filter(|&variance| variance > 0.0) else {
        return 1.0;
    };
    let largest = values.len() / MIN_BLOCKS;
    std::iter::successors(Some(1), |size| Some(size * 2))
        .take_while(|&size| size <= largest)
        .filter_map(|size| {
            let means: Vec<f64> = values.chunks_exact(size).filter_map(average).collect();
            Some(size as f64 * variance(&means)? / total)
        })
        .fold(1.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_values_are_worth_one_each_block() {
        // Each value four times over: 64 samples worth 16. The largest block holds 8.
        let values: Vec<f64> = (0..64).map(|i| f64::from((i / 4) * 37 % 16)).collect();
        let n = values.len() as f64 / autocorrelation_factor(&values);
        assert!((8.0..=16.5).contains(&n), "{n}");
    }

    #[test]
    fn a_constant_or_a_short_series_is_left_alone() {
        assert_eq!(autocorrelation_factor(&[5.0; 100]), 1.0);
        assert_eq!(autocorrelation_factor(&[1.0, 2.0, 3.0]), 1.0);
        assert_eq!(autocorrelation_factor(&[]), 1.0);
    }

    #[test]
    fn alternation_is_not_better_than_independence() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert_eq!(autocorrelation_factor(&values), 1.0);
    }
}

//! The ratio of two groups of starts, each with its windows, by a hierarchical bootstrap.
//!
//! For two runs that were not made in pairs, such as two from the notebook. Starts are drawn with
//! replacement, then windows within each drawn start, as often as there were (Davison & Hinkley,
//! *Bootstrap Methods and their Application* (1997), 3.8; Kalibera & Jones, "Quantifying performance
//! changes with effect size confidence intervals" (2012)); the ratio of means of each such resample
//! is a value the experiment might as well have given.
//!
//! The plain percentiles of these, 2.5 % and 97.5 %, are too close together when starts are few: a
//! resample of n starts spreads by √((n−1)/n) too little, and knows nothing of Student's t. So the
//! percentiles are moved outwards by just that (Hesterberg, "What teachers should know about the
//! bootstrap", *The American Statistician* 69 (2015), "expanded percentile interval"): to
//! Φ(−t·√(n/(n−1))), where t has Welch's degrees of freedom. Measured coverage of a nominal 95 %,
//! where starts differ by 5 % and windows by 2 % (2,500 simulations; `tests/groups.rs` has fewer):
//!
//! | starts in each group | plain | expanded |
//! |---|---|---|
//! | 3 | 80 % | 90 % |
//! | 5 | 88 % | 94 % |
//! | 10 | 92 % | 95 % |
//!
//! Where windows within a start differ more than starts do, it covers up to 99 %: the windows are
//! then drawn twice, as it were. Below 5 starts [`fieller`](crate::fieller) is the better choice:
//! three starts have no resample beyond the largest of them.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::fieller::{positive_mean, welch};
use crate::mean::t_quantile;
use crate::summary::{average, variance};
use crate::{Estimate, Interval, StatsError, Unit};

/// How many resamples are enough for an interval whose ends do not change in the second digit of its
/// width from seed to seed.
pub const RESAMPLES: u32 = 10_000;

/// The fewest starts in a group for an interval.
pub const MIN_STARTS: usize = 3;

/// How many times larger the mean of `a` is than that of `b`: each a list of starts, each start a
/// list of its windows' values, at or above zero, in any unit. Every start counts the same, however
/// many windows it has. The estimate's n is the number of starts in the smaller group; with fewer
/// than [`MIN_STARTS`] there is no interval. The same seed gives the same interval.
///
/// # Errors
///
/// If a group or a start is empty, a value is not finite, or a group's mean is not above zero.
pub fn ratio_of_means(
    a: &[Vec<f64>],
    b: &[Vec<f64>],
    resamples: u32,
    seed: u64,
) -> Result<Estimate, StatsError> {
    let (a, b) = (Group::new(a)?, Group::new(b)?);
    let value = a.mean / b.mean;
    let n = a.starts.len().min(b.starts.len());
    let interval = (n >= MIN_STARTS)
        .then(|| tail(&a, &b))
        .flatten()
        .and_then(|tail| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut ratios: Vec<f64> = (0..resamples)
                .map(|_| a.resample(&mut rng) / b.resample(&mut rng))
                .collect();
            ratios.sort_by(f64::total_cmp);
            let beyond = (tail * f64::from(resamples)) as usize;
            let (low, high) = (ratios.get(beyond)?, ratios.iter().rev().nth(beyond)?);
            // A skewed handful of resamples need not hold the value itself.
            Interval::new(low.min(value), high.max(value))
        });
    Estimate::new(value, interval, n as u64, Unit::Ratio)
}

struct Group<'a> {
    starts: &'a [Vec<f64>],
    /// The mean of the starts' means.
    mean: f64,
    /// The square of its relative standard error.
    error: f64,
}

impl<'a> Group<'a> {
    fn new(starts: &'a [Vec<f64>]) -> Result<Self, StatsError> {
        // A start without an answer counts as zero; a start without windows is no start.
        let means: Vec<f64> = starts
            .iter()
            .map(|start| average(start).unwrap_or(f64::NAN))
            .collect();
        let mean = positive_mean(&means)?;
        let n = means.len() as f64;
        let error = variance(&means).unwrap_or(0.0) / n / (mean * mean);
        Ok(Self {
            starts,
            mean,
            error,
        })
    }

    fn resample(&self, rng: &mut Xoshiro256PlusPlus) -> f64 {
        let total: f64 = (0..self.starts.len())
            .map(|_| {
                let start = draw(rng, self.starts);
                let sum: f64 = (0..start.len()).map(|_| *draw(rng, start)).sum();
                sum / start.len() as f64
            })
            .sum();
        total / self.starts.len() as f64
    }
}

fn draw<'a, T>(rng: &mut Xoshiro256PlusPlus, from: &'a [T]) -> &'a T {
    &from[rng.random_range(0..from.len() as u64) as usize]
}

/// The share of resamples to leave out at either end.
fn tail(a: &Group<'_>, b: &Group<'_>) -> Option<f64> {
    let (n_a, n_b) = (a.starts.len(), b.starts.len());
    let errors = a.error + b.error;
    if errors == 0.0 {
        return Some((1.0 - crate::CONFIDENCE) / 2.0);
    }
    // What the resamples show of it.
    let shown = |error: f64, n: usize| error * (n as f64 - 1.0) / n as f64;
    let widen = (errors / (shown(a.error, n_a) + shown(b.error, n_b))).sqrt();
    let t = t_quantile(welch(a.error, n_a, b.error, n_b))?;
    Some(Normal::standard().sf(t * widen))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(means: &[f64]) -> Vec<Vec<f64>> {
        means
            .iter()
            .map(|mean| vec![mean * 0.99, *mean, mean * 1.01])
            .collect()
    }

    #[test]
    fn the_seed_decides() {
        let (a, b) = (
            group(&[10.0, 11.0, 10.5, 9.8]),
            group(&[5.0, 5.2, 4.9, 5.1]),
        );
        let of = |seed| ratio_of_means(&a, &b, 1_000, seed).expect("a ratio");
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_eq!(of(1).n(), 4);
    }

    #[test]
    fn two_starts_give_a_ratio_without_an_interval() {
        let (a, b) = (group(&[10.0, 11.0]), group(&[5.0, 5.2, 4.9]));
        let ratio = ratio_of_means(&a, &b, 100, 1).expect("a ratio");
        assert_eq!(ratio.interval(), None);
        assert!((ratio.value() - 10.5 / (15.1 / 3.0)).abs() < 1e-12);
    }

    #[test]
    fn a_start_counts_once_however_many_windows_it_has() {
        let a = [vec![1.0; 100], vec![3.0]];
        let b = [vec![1.0], vec![1.0]];
        let ratio = ratio_of_means(&a, &b, 100, 1).expect("a ratio");
        assert_eq!(ratio.value(), 2.0);
    }

    #[test]
    fn a_start_without_an_answer_counts_as_zero() {
        let (a, b) = (vec![vec![0.0], vec![3.0]], vec![vec![1.0], vec![1.0]]);
        assert_eq!(ratio_of_means(&a, &b, 100, 1).map(|r| r.value()), Ok(1.5));
    }

    #[test]
    fn what_has_no_ratio_is_refused() {
        let fine = group(&[1.0, 2.0, 3.0]);
        assert!(ratio_of_means(&[], &fine, 100, 1).is_err());
        assert!(ratio_of_means(&[vec![]], &fine, 100, 1).is_err());
        assert!(ratio_of_means(&fine, &[vec![0.0]], 100, 1).is_err());
        assert!(ratio_of_means(&fine, &[vec![f64::INFINITY]], 100, 1).is_err());
        let none = ratio_of_means(&fine, &fine, 0, 1).expect("a ratio");
        assert_eq!(none.interval(), None);
    }
}

//! The mean of a series whose values depend on their neighbours, such as the windows of one load.
//!
//! The windows of a load are few, 10 to 40 for the most part, and neighbours share what the server and the
//! host were doing. Both make an interval that takes them for independent too narrow; and how much they
//! depend on each other is itself hardly known from so few, and underestimated. The model is the simplest
//! that has dependence at all, a first-order autoregressive series: each value keeps a part φ of what the
//! one before it was off the mean.
//!
//! - **φ** is the first autocorrelation r, which is too low by (1 + 4φ)/n on average because the mean is
//!   estimated as well (Kendall; Marriott & Pope; both *Biometrika* 41 (1954)). That is put back, and half
//!   a standard error of r more ([`SAFETY`]): an interval is wrong more often from a φ that is too low than
//!   it gains from one that is not. φ lies between 0 and [`MOST`].
//! - **τ**, how many times more the mean varies than that of independent values: from φ and n without
//!   approximation (Bayley & Hammersley, *Supplement to the Journal of the Royal Statistical Society* 8
//!   (1946)), and at least what blocks of values show, which also see a slow drift below much noise
//!   ([`autocorrelation_factor`]).
//! - **The variance** of the values around their own mean is too low by (n − τ)/(n − 1), which is divided
//!   out (the same).
//! - **Student's t** has n/τ − 1 degrees of freedom, [`LEAST_FREEDOM`] at least.
//!
//! Coverage of a nominal 95% (10,000 simulations for each number; `tests/stats/series.rs`), and where windows are
//! independent the width as a multiple of that of an interval that is told so:
//!
//! | windows | φ = 0 | 0.25 | 0.5 | 0.7 | width at φ = 0 |
//! |---|---|---|---|---|---|
//! | 10 | 97.9% | 96.9% | 94.9% | 92.6% | 2.1 |
//! | 15 | 97.6% | 96.5% | 95.1% | 94.2% | 1.55 |
//! | 20 | 97.5% | 96.6% | 95.6% | 95.4% | 1.35 |
//! | 50 | 96.8% | 96.0% | 96.1% | 95.9% | 1.15 |
//! | 100 | 96.7% | 96.3% | 96.1% | 96.1% | 1.12 |
//!
//! From fewer than [`MIN_VALUES`] there is no interval: nothing that covers at φ = 0.5 would say anything.

use crate::autocorrelation::autocorrelation_factor;
use crate::mean::t_quantile;
use crate::summary::{average, variance};

/// The fewest values for an interval: from ten, r has a standard error of a third already.
pub const MIN_VALUES: usize = 10;

/// How many standard errors of r, 1/√n, are added to φ: what simulation asks for at φ = 0.5.
pub const SAFETY: f64 = 0.5;

/// The bias that Kendall's term of the order 1/n leaves, as a multiple of 1/n²: from simulation too. It is a
/// sixth with 10 values and nothing with 40.
pub const REST: f64 = 16.0;

/// The largest φ. A series that keeps more moves more slowly than any measurement of this length: it drifts, and
/// the check `not-steady` is there for it.
pub const MOST: f64 = 0.9;

/// The fewest degrees of freedom. Below three the quantile explodes, while τ is mostly what [`MOST`] allows.
pub const LEAST_FREEDOM: f64 = 3.0;

/// How well the mean of a series is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanPrecision {
    /// Half of the width of the mean's interval.
    pub half: f64,
    /// Effective number of independent values: one more than the degrees of freedom.
    pub n: f64,
}

/// How well the mean of values in the order of time is known; None of fewer than [`MIN_VALUES`].
#[must_use]
pub fn known(values: &[f64]) -> Option<MeanPrecision> {
    if values.len() < MIN_VALUES {
        return None;
    }
    let n = values.len() as f64;
    let tau = inflation(kept(values), n).max(autocorrelation_factor(values));
    let spread = variance(values)? * (n - 1.0) / (n - tau);
    let freedom = (n / tau - 1.0).max(LEAST_FREEDOM);
    let half = t_quantile(freedom)? * (spread * tau / n).sqrt();
    Some(MeanPrecision {
        half,
        n: freedom + 1.0,
    })
}

/// φ, with its bias put back and a margin: see the module.
fn kept(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let r = first_autocorrelation(values);
    let unbiased = r + (1.0 + 4.0 * r) / n;
    (unbiased.max(-MOST) + SAFETY / n.sqrt() + REST / (n * n)).clamp(0.0, MOST)
}

/// r: the first autocorrelation; 0 of a constant series.
fn first_autocorrelation(values: &[f64]) -> f64 {
    let mean = average(values).unwrap_or(0.0);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    if squares > 0.0 {
        products / squares
    } else {
        0.0
    }
}

/// τ of the mean of n values: Σ of φ^|i − j| over all i and j, divided by n.
fn inflation(phi: f64, n: f64) -> f64 {
    let gap = 1.0 - phi;
    (1.0 + phi) / gap - 2.0 * phi * (1.0 - phi.powf(n)) / (n * gap * gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inflation_is_the_sum_over_all_pairs() {
        for (phi, n) in [(0.0, 10), (0.5, 10), (0.9, 25)] {
            let pairs = (0..n).flat_map(|i| (0..n).map(move |j| i32::abs(i - j)));
            let sum: f64 = pairs.map(|apart| f64::powi(phi, apart)).sum();
            let got = inflation(phi, f64::from(n));
            assert!((got - sum / f64::from(n)).abs() < 1e-9, "{phi} {n}: {got}");
        }
    }

    #[test]
    fn too_few_have_no_interval_and_a_constant_series_has_no_width() {
        assert_eq!(known(&[1.0; 9]), None);
        assert_eq!(known(&[1.0; 10]).map(|known| known.half), Some(0.0));
    }

    #[test]
    fn a_trend_is_worth_next_to_nothing() {
        let trend: Vec<f64> = (0..40).map(f64::from).collect();
        let mixed: Vec<f64> = (0..40).map(|i| f64::from(i * 17 % 40)).collect();
        let (trend, mixed) = (known(&trend).unwrap(), known(&mixed).unwrap());
        assert!(
            trend.n < 6.0 && trend.half > 3.0 * mixed.half,
            "{trend:?} {mixed:?}"
        );
    }
}

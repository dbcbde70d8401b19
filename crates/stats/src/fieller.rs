//! The ratio of two means that were not measured in pairs, with Fieller's interval.
//!
//! For two groups of starts, each with one value: what happens within a start says nothing about the next
//! one. Where the starts can be paired by round, [`ratio`](crate::ratio) is narrower.
//!
//! Welch's degrees of freedom follow from how much more one group spreads than the other, and three starts
//! hardly know that: with 3 on one side and 10 on the other the interval covers in as little as 92%. So
//! they are the fewest that come of any ratio of the two variances within a factor of [`UNSURE`]. Simulated
//! coverage of a nominal 95% (`tests/stats/groups.rs`, normal values with coefficients of variation of 2 to 20%
//! on either side, equal and not; the range over these), where a bootstrap of three starts has 90%:
//!
//! | starts | Welch's degrees | these | wider, at equal spreads |
//! |---|---|---|---|
//! | 3 and 3 | 93.6 to 96.6% | 94.9 to 97.7% | 13% |
//! | 5 and 5 | 94.9 to 95.9% | 95.1 to 96.7% | 6% |
//! | 10 and 10 | 94.8 to 95.4% | 95.1 to 95.8% | 3% |
//! | 3 and 10 | 92.2 to 95.5% | 94.8 to 96.3% | 16% |

use crate::change_of_mean::common_variance;
use crate::mean::t_quantile;
use crate::summary::{average, variance};
use crate::{Estimate, Interval, StatsError, Unit, finite};

/// By what factor the ratio of the two groups' variances may be off. With three values in each group it is off by
/// more half of the time; with ten, one time in nine, and then it changes next to nothing.
pub const UNSURE: f64 = 3.0;

/// How many times larger the mean of `a` is than that of `b`: independent values, one for each
/// start, in any unit, of means above zero. The estimate's n is the smaller group's.
///
/// The interval holds every ρ with (ā − ρb̄)² ≤ t²·(s²ₐ/nₐ + ρ²·s²_b/n_b) (Fieller, *Journal of the
/// Royal Statistical Society B* 16 (1954)), where t has the degrees of freedom of the module at ρ = ā/b̄.
/// There is none with a single value on either side, nor if b̄ does not differ significantly from zero:
/// then the ratio has no bound.
///
/// # Errors
///
/// If a group is empty, a value is not finite, or a mean is not above zero.
pub fn ratio_of_means(a: &[f64], b: &[f64]) -> Result<Estimate, StatsError> {
    let (mean_a, mean_b) = (positive_mean(a)?, positive_mean(b)?);
    let interval = variance(a).zip(variance(b)).and_then(|(var_a, var_b)| {
        let a = (mean_a, var_a / a.len() as f64, a.len());
        limits(a, (mean_b, var_b / b.len() as f64, b.len()))
    });
    let n = a.len().min(b.len()) as u64;
    Estimate::new(mean_a / mean_b, interval, n, Unit::Ratio)
}

/// The same of groups that spread alike, so that two values of each are enough: both have the variance that they
/// have in common, and t has two degrees of freedom less than there are values.
///
/// # Errors
///
/// As [`ratio_of_means`].
pub fn ratio_of_means_spread_alike(a: &[f64], b: &[f64]) -> Result<Estimate, StatsError> {
    let (mean_a, mean_b) = (positive_mean(a)?, positive_mean(b)?);
    let (n_a, n_b) = (a.len() as f64, b.len() as f64);
    let interval = common_variance(a, b).and_then(|variance| {
        let t = t_quantile(n_a + n_b - 2.0)?;
        roots((mean_a, variance / n_a), (mean_b, variance / n_b), t)
    });
    let n = a.len().min(b.len()) as u64;
    Estimate::new(mean_a / mean_b, interval, n, Unit::Ratio)
}

fn positive_mean(values: &[f64]) -> Result<f64, StatsError> {
    finite(values, "a ratio of means")?;
    match average(values) {
        Some(mean) if mean > 0.0 => Ok(mean),
        mean => Err(StatsError::NotPositive {
            at: 0,
            value: mean.unwrap_or(f64::NAN),
        }),
    }
}

/// Fieller limits from the mean, its variance and n of both sides.
fn limits(a: (f64, f64, usize), b: (f64, f64, usize)) -> Option<Interval> {
    let ratio = a.0 / b.0;
    if a.1 == 0.0 && b.1 == 0.0 {
        return Interval::new(ratio, ratio);
    }
    let t = t_quantile(freedom((a.1, a.2), (ratio * ratio * b.1, b.2)))?;
    roots((a.0, a.1), (b.0, b.1), t)
}

/// Roots of the quadratic equation in ρ, which is not below zero, from the mean and its variance of both sides. None
/// if b̄ does not differ significantly from zero.
fn roots(a: (f64, f64), b: (f64, f64), t: f64) -> Option<Interval> {
    let ratio = a.0 / b.0;
    let square = b.0 * b.0 - t * t * b.1;
    if square <= 0.0 {
        return None;
    }
    let product = a.0 * b.0;
    let root = (product * product - square * (a.0 * a.0 - t * t * a.1))
        .max(0.0)
        .sqrt();
    let (low, high) = ((product - root) / square, (product + root) / square);
    // Rounding must not leave the ratio itself outside.
    Interval::new(low.min(ratio).max(0.0), high.max(ratio))
}

/// The fewest of [`welch`]'s degrees for ratios of the two variances within [`UNSURE`]. Of variance and n of both sides.
fn freedom(a: (f64, usize), b: (f64, usize)) -> f64 {
    // They rise to one maximum and fall, so the fewest are at an end.
    let at = |factor: f64| welch((a.0 * factor, a.1), b);
    at(UNSURE).min(at(1.0 / UNSURE))
}

/// Degrees of freedom of the sum of two variances of means, each with the number of values behind it (Welch,
/// *Biometrika* 34 (1947)).
pub(crate) fn welch(a: (f64, usize), b: (f64, usize)) -> f64 {
    let part = |(var, n): (f64, usize)| var * var / (n as f64 - 1.0);
    (a.0 + b.0).powi(2) / (part(a) + part(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_interval_without_spread_or_bound() {
        let one = ratio_of_means(&[2.0], &[1.0, 1.1]).expect("a ratio");
        assert_eq!(one.interval(), None);
        let unbounded = ratio_of_means(&[2.0, 2.1], &[0.1, 5.0]).expect("a ratio");
        assert_eq!(unbounded.interval(), None);
        let constant = ratio_of_means(&[2.0; 3], &[1.0; 3]).expect("a ratio");
        assert_eq!((constant.low(), constant.high()), (Some(2.0), Some(2.0)));
    }

    #[test]
    fn what_has_no_ratio_is_refused() {
        assert!(ratio_of_means(&[], &[1.0]).is_err());
        assert!(ratio_of_means(&[1.0], &[0.0]).is_err());
        assert!(ratio_of_means(&[f64::NAN], &[1.0]).is_err());
    }
}

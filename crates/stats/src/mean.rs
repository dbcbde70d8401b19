//! The mean with Student's t interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::summary::{average, standard_deviation};
use crate::{CONFIDENCE, Estimate, Interval, StatsError, Unit, Z, finite};

/// From here on the expansion in 1/ν is exact to nine digits.
const MANY_DEGREES: f64 = 100.0;

/// Student's t quantile of a two-sided interval at [`CONFIDENCE`] with `freedom` degrees of
/// freedom, which need not be whole. None unless `freedom` is above zero, and where the quantile
/// is beyond 10⁹ (some tenth of a degree), which says nothing any more.
///
/// Inverts the distribution function by bisection: `StudentsT::inverse_cdf` of statrs 0.19 iterates
/// without end for some degrees of freedom. For many degrees, Abramowitz & Stegun, *Handbook of
/// Mathematical Functions*, 26.7.5.
#[must_use]
pub fn t_quantile(freedom: f64) -> Option<f64> {
    if freedom >= MANY_DEGREES {
        return Some(expansion(freedom));
    }
    upper_quantile(freedom, (1.0 - CONFIDENCE) / 2.0)
}

/// The same for each of several intervals that are to hold together: each may miss its part of the 5%
/// (Bonferroni), so all of them hold in 95%, however they depend on each other. 0 is taken for 1.
#[must_use]
pub fn t_quantile_among(freedom: f64, comparisons: u32) -> Option<f64> {
    match comparisons {
        0 | 1 => t_quantile(freedom),
        // The expansion is for one probability alone; more degrees than this change nothing.
        several => {
            let each = (1.0 - CONFIDENCE) / 2.0 / f64::from(several);
            upper_quantile(freedom.min(1e6), each)
        }
    }
}

/// The value that Student's t with these degrees of freedom exceeds with this probability, below 15%.
/// None as for [`t_quantile`].
pub(crate) fn upper_quantile(freedom: f64, probability: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let below = |x: f64| t.cdf(x) < 1.0 - probability;
    let (mut low, mut high) = (1.0, 1e9);
    if below(high) {
        return None;
    }
    // Each step halves the interval; it ends when no number is left between its ends.
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return Some(middle);
        }
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

fn expansion(freedom: f64) -> f64 {
    let z = Z;
    let g1 = (z.powi(3) + z) / 4.0;
    let g2 = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let g3 = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + g1 / freedom + g2 / freedom.powi(2) + g3 / freedom.powi(3)
}

/// The probability of a value of Student's t with `freedom` degrees of freedom at least as far from
/// zero as `t`, to either side: the p-value of a two-sided t test. None unless `freedom` is above
/// zero and `t` a number.
#[must_use]
pub fn t_p_value(t: f64, freedom: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    // The tail itself, not 1 minus the rest: small probabilities keep their digits.
    (!t.is_nan()).then(|| (2.0 * distribution.sf(t.abs())).min(1.0))
}

/// mean ± t·s/√n, with n − 1 degrees of freedom.
///
/// `n` need not be whole: samples that depend on each other count as fewer. None unless n > 1.
/// Assumes means that are about normal, which a handful of observations of about the same kind
/// gives; heavy tails make the interval too narrow.
#[must_use]
pub fn t_interval(mean: f64, standard_deviation: f64, n: f64) -> Option<Interval> {
    let half = t_quantile(n - 1.0)? * standard_deviation / n.sqrt();
    Interval::new(mean - half, mean + half)
}

/// The mean of independent observations with its [`t_interval`].
///
/// # Errors
///
/// If there are no values, or one is not finite.
pub fn mean(values: &[f64], unit: Unit) -> Result<Estimate, StatsError> {
    finite(values, "a mean")?;
    let value = average(values).ok_or(StatsError::Empty("a mean"))?;
    let n = values.len();
    let interval = standard_deviation(values).and_then(|s| t_interval(value, s, n as f64));
    Estimate::new(value, interval, n as u64, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_ways_to_the_quantile_meet() {
        let (below, above) = (t_quantile(99.999_999).unwrap(), t_quantile(100.0).unwrap());
        assert!((below - above).abs() < 1e-7, "{below} and {above}");
        assert!((t_quantile(1e12).unwrap() - Z).abs() < 1e-9);
    }

    #[test]
    fn every_number_of_degrees_has_an_answer_and_more_are_better() {
        let mut last = f64::INFINITY;
        for step in 0..400 {
            let t = t_quantile(0.2 * 1.05_f64.powi(step)).expect("a quantile");
            assert!(
                t < last || (t - Z).abs() < 1e-6,
                "step {step}: {t} after {last}"
            );
            last = t;
        }
        for none in [0.0, -1.0, f64::NAN, 0.01] {
            assert_eq!(t_quantile(none), None, "{none}");
        }
    }
}

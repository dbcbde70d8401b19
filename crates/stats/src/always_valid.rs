//! A ratio's interval that holds at every number of rounds, without a plan.
//!
//! For comparisons without a fixed end: rounds may be added tomorrow, or for as long as one likes. It
//! costs more than a plan (see [`sequential`](crate::sequential)): with 30 rounds it
//! finds a difference of half a standard deviation of a round in 41 % of all cases, where a plan
//! finds 69 % and a single look at the end 75 %.
//!
//! The t statistic is weighed against a mixture of alternatives: effects, in units of one round's
//! standard deviation, normal with variance 1/[`WEIGHT`], the spread unknown. The likelihood ratio
//! of the t statistics is then a martingale, which exceeds 20 at *any* time in at most 5 % of all
//! cases (Ville's inequality). Lai, *Annals of Statistics* 4 (1976); Wang & Ramdas, "Anytime-valid
//! t-tests and confidence sequences for Gaussian means with unknown variance" (2024). The
//! logarithms of the rounds' ratios are taken to be independent and about normal.

use crate::ratio::log_ratios;
use crate::summary::{average, standard_deviation};
use crate::{CONFIDENCE, Estimate, Interval, StatsError, Unit};

/// How many rounds the mixture's knowledge beforehand is worth. One: differences as large as a
/// round's own spread are what is looked for.
pub const WEIGHT: f64 = 1.0;

/// How many times larger `a` is than `b`, with an interval that may be looked at after every round:
/// the intervals of all rounds together hold the true ratio in 95 %. Values as for
/// [`paired_log_ratio`](crate::ratio::paired_log_ratio); the first interval comes with 5 whole
/// pairs.
///
/// # Errors
///
/// As for [`paired_log_ratio`](crate::ratio::paired_log_ratio).
pub fn always_valid_ratio(a: &[Option<f64>], b: &[Option<f64>]) -> Result<Estimate, StatsError> {
    let logs = log_ratios(a, b)?;
    let center = average(&logs).ok_or(StatsError::Empty("a ratio"))?;
    let n = logs.len() as f64;
    let interval = critical(n)
        .zip(standard_deviation(&logs))
        .and_then(|(c, s)| {
            let half = c * s / n.sqrt();
            Interval::new((center - half).exp(), (center + half).exp())
        });
    Estimate::new(center.exp(), interval, logs.len() as u64, Unit::Ratio)
}

/// The |t| at which the martingale √w·((1 + T)/(1 + w·T))^(n/2), with T = t²/(n − 1) and
/// w = WEIGHT/(n + WEIGHT), reaches 1/(1 − confidence). None where it never does.
fn critical(n: f64) -> Option<f64> {
    let w = WEIGHT / (n + WEIGHT);
    let enough = 1.0 / (1.0 - CONFIDENCE);
    let k = (enough * enough / w).powf(1.0 / n);
    (k * w < 1.0).then(|| ((n - 1.0) * (k - 1.0) / (1.0 - k * w)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_martingale_is_at_its_limit_at_the_critical_value() {
        for n in [5.0, 10.0, 100.0] {
            let t = critical(n).expect("a value");
            let (w, t) = (WEIGHT / (n + WEIGHT), t * t / (n - 1.0));
            let martingale = w.sqrt() * ((1.0 + t) / (1.0 + w * t)).powf(n / 2.0);
            assert!((martingale - 20.0).abs() < 1e-9, "{n}: {martingale}");
        }
        assert_eq!(critical(4.0), None);
        assert!(critical(5.0).is_some());
    }
}

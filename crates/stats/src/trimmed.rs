//! The mean without its tails: for series in which now and then a value is far off for reasons that have
//! nothing to do with what is asked, such as rounds in which a host took a CPU away.
//!
//! With g = ⌊n/10⌋ values left out at either end and as many put in their place by the outermost that
//! stay (*winsorized*, of standard deviation s_w), the trimmed mean has the standard error
//! s_w/((1 − 2g/n)·√n) with n − 2g − 1 degrees of freedom (Tukey & McLaughlin, *Sankhyā A* 25 (1963);
//! Wilcox, *Introduction to Robust Estimation and Hypothesis Testing* (2012), 4.3).
//!
//! Of 60 values, of which a twentieth spreads ten times as wide as the others, it tells a shift of half a
//! standard deviation in 89% of cases where the mean tells it in 51% (`tests/stats/sequential.rs` prints both).

use crate::summary::{average, standard_deviation};

/// From this many values on, the tails are left out: with fewer, a tenth is too small to matter, and each
/// degree of freedom that it costs is worth too much.
pub const FEWEST: usize = 40;

/// One value in this many is left out at either end.
const PART: usize = 10;

/// A mean, trimmed if there are enough values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trimmed {
    /// The mean of those that stay, in the values' unit.
    pub center: f64,
    /// Standard error of the mean, in the same unit.
    pub error: f64,
    /// Degrees of freedom for Student's t.
    pub freedom: f64,
}

/// The trimmed mean of [`FEWEST`] values or more, the mean of fewer; None of fewer than two. Values are
/// finite.
#[must_use]
pub fn trimmed_mean(values: &[f64]) -> Option<Trimmed> {
    let n = values.len();
    let out = if n < FEWEST { 0 } else { n / PART };
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let center = average(sorted.get(out..n - out)?)?;
    let (low, high) = (sorted[out], sorted[n - 1 - out]);
    for value in &mut sorted {
        *value = value.clamp(low, high);
    }
    let stay = (n - 2 * out) as f64;
    Some(Trimmed {
        center,
        error: standard_deviation(&sorted)? / (stay / (n as f64).sqrt()),
        freedom: stay - 1.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mean::t_quantile;

    /// Forty values, of which three are far off.
    fn values() -> Vec<f64> {
        let value = |i: i32| f64::from((i * 7919) % 101 - 50) / 100.0;
        let mut values: Vec<f64> = (0..40).map(value).collect();
        (values[3], values[17], values[22]) = (9.0, -4.0, 12.5);
        values
    }

    /// scipy 1.17, `mstats.trimmed_mean_ci(values, limits=(0.1, 0.1), inclusive=(True, True))` and its
    /// parts `trimmed_mean` and `trimmed_stde`.
    #[test]
    fn as_scipy_has_it() {
        let trimmed = trimmed_mean(&values()).expect("a mean");
        assert!((trimmed.center - -0.008_125).abs() < 1e-12, "{trimmed:?}");
        assert!((trimmed.error - 0.057_087_339_603_004_06).abs() < 1e-12);
        let half = t_quantile(trimmed.freedom).expect("t") * trimmed.error;
        assert!((trimmed.center - half - -0.124_555_4).abs() < 1e-6);
        assert!((trimmed.center + half - 0.108_305_4).abs() < 1e-6);
    }

    #[test]
    fn few_values_keep_their_tails() {
        let few = &values()[..39];
        let plain = trimmed_mean(few).expect("a mean");
        assert!((plain.center - average(few).expect("a mean")).abs() < 1e-12);
        let error = standard_deviation(few).expect("two") / 39_f64.sqrt();
        assert!((plain.error - error).abs() < 1e-12);
        assert_eq!(plain.freedom, 38.0);
        assert_eq!(trimmed_mean(&[1.0]), None);
        assert_eq!(trimmed_mean(&[]), None);
    }

    #[test]
    fn exchanging_the_sides_changes_nothing_but_the_sign() {
        let turned: Vec<f64> = values().iter().map(|value| -value).collect();
        let (one, other) = (
            trimmed_mean(&values()).unwrap(),
            trimmed_mean(&turned).unwrap(),
        );
        assert!((one.center + other.center).abs() < 1e-12);
        assert!((one.error - other.error).abs() < 1e-12);
    }
}

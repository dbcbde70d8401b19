//! Two servers compared: the ratio of what was measured, paired by round.

use crate::mean::t_quantile_among;
use crate::summary::{average, standard_deviation};
use crate::{Estimate, Interval, StatsError, Unit};

/// How many times larger `a` is than `b`: with d = ln(a/b) for each pair, exp(d̄ ± t·s/√n), where
/// t has n − 1 degrees of freedom.
///
/// A pair is one round: what the host did to both in it cancels out. Pairs of which either half is
/// missing (a failed trial) are left out, and n counts the others. Swapping `a` and `b` gives the
/// inverse, ends included.
///
/// The logarithms are taken to be about normal. The method is the one of `docs/method.md`; see
/// Jain, *The Art of Computer Systems Performance Analysis* (1991), 13.4.1, for paired
/// observations, here of logarithms.
///
/// # Errors
///
/// If the two differ in length, no pair is whole, or a value of a whole pair is not finite or not
/// above zero.
pub fn paired_log_ratio(a: &[Option<f64>], b: &[Option<f64>]) -> Result<Estimate, StatsError> {
    paired_log_ratio_among(a, b, 1)
}

/// The same as one of several comparisons whose intervals are to hold together
/// ([`t_quantile_among`]).
///
/// # Errors
///
/// As for [`paired_log_ratio`].
pub fn paired_log_ratio_among(
    a: &[Option<f64>],
    b: &[Option<f64>],
    comparisons: u32,
) -> Result<Estimate, StatsError> {
    let logs = log_ratios(a, b)?;
    let center = average(&logs).ok_or(StatsError::Empty("a ratio"))?;
    let n = logs.len();
    let interval = standard_deviation(&logs).and_then(|s| {
        let half = t_quantile_among(n as f64 - 1.0, comparisons)? * s / (n as f64).sqrt();
        Interval::new((center - half).exp(), (center + half).exp())
    });
    Estimate::new(center.exp(), interval, n as u64, Unit::Ratio)
}

/// ln(a/b) of every whole pair, in the rounds' order: what the ratio's statistics are about.
///
/// # Errors
///
/// As for [`paired_log_ratio`], but that nothing is made of nothing.
pub fn log_ratios(a: &[Option<f64>], b: &[Option<f64>]) -> Result<Vec<f64>, StatsError> {
    if a.len() != b.len() {
        return Err(StatsError::Unpaired {
            left: a.len(),
            right: b.len(),
        });
    }
    let pairs = a
        .iter()
        .zip(b)
        .enumerate()
        .filter_map(|(at, pair)| match pair {
            (Some(a), Some(b)) => Some((at, *a, *b)),
            _ => None,
        });
    // Two logarithms, not one of the quotient: their difference changes nothing but its sign when
    // the two are swapped.
    pairs
        .map(|(at, a, b)| Ok(logarithm(at, a)? - logarithm(at, b)?))
        .collect()
}

pub(crate) fn logarithm(at: usize, value: f64) -> Result<f64, StatsError> {
    if !value.is_finite() {
        Err(StatsError::NotFinite { at, value })
    } else if value <= 0.0 {
        Err(StatsError::NotPositive { at, value })
    } else {
        Ok(value.ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_with_a_missing_half_are_left_out() {
        let a = [Some(2.0), None, Some(8.0), Some(3.0)];
        let b = [Some(1.0), Some(5.0), Some(4.0), None];
        let ratio = paired_log_ratio(&a, &b).expect("two pairs");
        assert_eq!(ratio.n(), 2);
        assert!((ratio.value() - 2.0).abs() < 1e-12, "{ratio:?}");
        assert_eq!(
            paired_log_ratio(&[None], &[Some(1.0)]),
            Err(StatsError::Empty("a ratio"))
        );
    }

    #[test]
    fn what_has_no_ratio_is_refused() {
        let one = [Some(1.0)];
        assert!(paired_log_ratio(&[Some(0.0)], &one).is_err());
        assert!(paired_log_ratio(&one, &[Some(-1.0)]).is_err());
        assert!(paired_log_ratio(&[Some(f64::NAN)], &one).is_err());
        assert!(paired_log_ratio(&one, &[]).is_err());
    }
}

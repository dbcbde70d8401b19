//! Percentiles and their intervals by order statistics.
//!
//! The interval between two order statistics needs no assumption about the distribution: whether
//! x₍ⱼ₎ lies below the true percentile is a matter of counting, and the count is binomial. The
//! ranks here are those of its normal approximation, ⌊np − z√(np(1−p))⌋ and ⌈np + z√(np(1−p))⌉ + 1
//! (Le Boudec, *Performance Evaluation of Computer and Communication Systems*, 2010, theorem 2.1
//! and appendix A).

use crate::Z;

/// The fewest samples that must lie beyond a percentile for it to be shown. With fewer, the upper
/// rank of its interval comes close to the maximum, which is a single sample: at ten the normal
/// approximation of the binomial is the textbooks' usual minimum as well, and the interval's upper
/// end still has two or three samples above it.
pub const MIN_SAMPLES_BEYOND: f64 = 10.0;

/// Slack for products such as 0.999 × 10,000 that are whole numbers but for rounding.
const ROUNDING: f64 = 1e-9;

/// Do `n` samples support the percentile `p` (from 0 to 1): do at least [`MIN_SAMPLES_BEYOND`] lie
/// beyond it? `n` is the number of *independent* samples.
#[must_use]
pub fn supported(n: f64, p: f64) -> bool {
    (0.0..1.0).contains(&p) && n - n * p >= MIN_SAMPLES_BEYOND * (1.0 - ROUNDING)
}

/// The ranks, from 1 to `n`, between which the true percentile `p` lies, for a caller that has the
/// samples, or a histogram of them, and can look values up.
///
/// `n` samples are held, worth `n_eff` independent ones (see
/// [`effective_samples`](crate::order_interval::effective_samples)); give the same number twice
/// where they are independent. The interval is as wide as n_eff samples make it, its ranks count
/// in all n.
///
/// None where the samples are too few for an interval: a rank would be below 1 or above n.
#[must_use]
pub fn percentile_ranks(n: u64, n_eff: f64, p: f64) -> Option<(u64, u64)> {
    if !(0.0..=1.0).contains(&p) || !n_eff.is_finite() || n_eff < 1.0 {
        return None;
    }
    let samples = n as f64;
    let center = samples * p;
    let half = samples * Z * (p * (1.0 - p) / n_eff).sqrt();
    let low = (center - half).floor();
    let high = (center + half).ceil() + 1.0;
    (low >= 1.0 && high <= samples).then_some((low as u64, high as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_ten_samples_beyond() {
        for (n, p) in [
            (100.0, 0.9),
            (1_000.0, 0.99),
            (10_000.0, 0.999),
            (20.0, 0.5),
        ] {
            assert!(supported(n, p), "{n} at {p}");
            assert!(!supported(n - 1.0, p), "{n} − 1 at {p}");
            let (_, high) = percentile_ranks(n as u64, n, p).expect("a supported percentile");
            assert!(
                high < n as u64,
                "an upper end below the maximum for {n} at {p}"
            );
        }
        assert!(!supported(1e9, 1.0));
        assert!(!supported(1e9, f64::NAN));
    }

    #[test]
    fn dependent_samples_widen_the_interval() {
        let independent = percentile_ranks(10_000, 10_000.0, 0.99).expect("ranks");
        let dependent = percentile_ranks(10_000, 2_500.0, 0.99).expect("ranks");
        assert_eq!(independent, (9_880, 9_921));
        assert_eq!(dependent, (9_860, 9_941));
    }

    #[test]
    fn too_few_for_an_interval() {
        assert_eq!(percentile_ranks(5, 5.0, 0.5), None);
        assert_eq!(percentile_ranks(100, 100.0, 0.99), None);
        assert_eq!(percentile_ranks(0, 0.0, 0.5), None);
    }
}

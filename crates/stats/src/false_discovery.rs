//! Many tests at once: which of them to believe.

/// The share of false findings among all findings that is put up with, on average.
pub const RATE: f64 = 0.05;

/// Whether each of the p-values is a finding, at a false discovery rate of `rate`. Findings are all p-values up to
/// the largest that is at most its rank × rate/m, with m the number of p-values. NaN is no finding and does not
/// count.
///
/// Benjamini & Hochberg, *Journal of the Royal Statistical Society B* 57 (1995). The rate holds for
/// independent tests and for tests that depend on each other positively; for all pairs of a set of
/// means it has been found to hold as well (Yekutieli, *Journal of Statistical Planning and Inference*
/// 138 (2008)).
#[must_use]
pub fn findings(p_values: &[f64], rate: f64) -> Vec<bool> {
    let mut sorted: Vec<f64> = p_values.iter().copied().filter(|p| !p.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    let m = sorted.len() as f64;
    let limit = sorted
        .iter()
        .enumerate()
        .rev()
        .find(|&(below, &p)| p <= (below as f64 + 1.0) * rate / m)
        .map(|(_, &p)| p);
    p_values
        .iter()
        .map(|&p| limit.is_some_and(|limit| p <= limit))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Benjamini & Hochberg (1995), 3.2: 15 p-values of a study of thrombolysis, of
    /// which the procedure keeps the first four at 5% (Bonferroni's three).
    #[test]
    fn the_authors_example() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let kept = findings(&p, 0.05);
        assert!(kept[..4].iter().all(|kept| *kept), "{kept:?}");
        assert!(kept[4..].iter().all(|kept| !kept), "{kept:?}");
    }

    #[test]
    fn a_value_above_its_own_limit_may_be_kept_by_a_later_one() {
        assert_eq!(findings(&[0.04, 0.045], 0.05), [true, true]);
        assert_eq!(findings(&[0.04, 0.06], 0.05), [false, false]);
        assert!(findings(&[], 0.05).is_empty());
        assert_eq!(findings(&[f64::NAN, 0.01], 0.05), [false, true]);
    }
}

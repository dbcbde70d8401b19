//! Single windows that are far off: taken for accidents, not for a change.

use crate::summary::median;

/// How many windows to either side a window is compared with.
const REACH: usize = 5;

/// How many robust standard deviations from its neighbours' median a window must lie: of normal
/// values, one in 16,000 does, and some more for so few neighbours.
const FAR: f64 = 4.0;

/// The most windows in a row that are one accident. What lasts longer is a change.
const LONGEST: usize = 2;

/// The standard deviation of normal values over their median absolute deviation.
const OF_NORMAL: f64 = 1.4826;

/// The series with the median of its neighbours in place of each outlier (Hampel's filter). The
/// first window is never one: a first window that is far off is a cold start.
///
/// An outlier is alone: were there neighbours close to it, more than one, it would belong to a level
/// of its own, such as one that comes and goes.
pub(super) fn replaced(values: &[f64]) -> Vec<f64> {
    let steps: Vec<f64> = values
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .collect();
    let everywhere = median(&steps).unwrap_or(0.0) / 2.0_f64.sqrt();
    let normal: Vec<Option<f64>> = (0..values.len())
        .map(|at| expected(values, at, everywhere))
        .collect();
    let mut clean = values.to_vec();
    let mut from = 0;
    for run in normal.chunk_by(|a, b| a.is_some() == b.is_some()) {
        if run.len() <= LONGEST {
            for (value, normal) in clean[from..].iter_mut().zip(run) {
                *value = normal.unwrap_or(*value);
            }
        }
        from += run.len();
    }
    clean
}

/// Value expected in place of an outlier; None where there is no outlier. `everywhere` is the whole series' median
/// absolute deviation, from its steps.
fn expected(values: &[f64], at: usize, everywhere: f64) -> Option<f64> {
    if at == 0 {
        return None;
    }
    let from = at.saturating_sub(REACH);
    let to = (at + REACH + 1).min(values.len());
    let mut near = values[from..to].to_vec();
    let value = near.remove(at - from);
    let middle = median(&near)?;
    let distances =
        |center: f64| -> Vec<f64> { near.iter().map(|other| (other - center).abs()).collect() };
    let scale = OF_NORMAL * median(&distances(middle))?.max(everywhere);
    let off = (value - middle).abs();
    let alike = distances(value)
        .iter()
        .filter(|by| **by < off / 2.0)
        .count();
    (off > FAR * scale && alike < LONGEST).then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accidents_go_and_changes_stay() {
        let mut values: Vec<f64> = (0..30).map(|i| 100.0 + f64::from(i * 7 % 5)).collect();
        let flat = values.clone();
        (values[7], values[20], values[21], values[29]) = (20.0, 50.0, 180.0, 10.0);
        let clean = replaced(&values);
        for (i, (clean, flat)) in clean.iter().zip(&flat).enumerate() {
            assert!((clean - flat).abs() < 5.0, "{i}: {clean}");
        }
        assert_eq!(replaced(&flat), flat);
        let mut change = flat.clone();
        change[15..].fill(150.0);
        assert_eq!(replaced(&change), change);
        let mut cold = flat.clone();
        cold[0] = 10.0;
        assert_eq!(replaced(&cold), cold);
    }

    #[test]
    fn a_level_that_comes_and_goes_stays() {
        let cycle: Vec<f64> = (0..40)
            .map(|i| f64::from(100 + 50 * (i / 3 % 2) + i % 2))
            .collect();
        assert_eq!(replaced(&cycle), cycle);
    }

    #[test]
    fn nothing_much_to_compare_with() {
        assert_eq!(replaced(&[]), Vec::<f64>::new());
        assert_eq!(replaced(&[1.0]), [1.0]);
        assert_eq!(replaced(&[1.0, 9.0]), [1.0, 9.0]);
    }
}

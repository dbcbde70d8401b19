//! Do values fall into two groups, as the starts of a server do that now and then begins badly?
//!
//! Of all ways to cut the sorted values in two, with two values or more on either side, the best one has the largest sum of
//! squares between the groups for what is left within them. Of values from one normal distribution that ratio is known
//! (Engelman & Hartigan, *Journal of the American Statistical Association* 64 (1969)); the table here is simulated, since theirs
//! ends at n = 50 and lets single values be groups. Tails that are heavier, like those of Student's t with 5 degrees of
//! freedom, pass no more often.
//!
//! A single value that is far off is no group: a host that takes a CPU away makes one.

/// The fewest values that can be told to be two groups.
pub const FEWEST: usize = 6;
/// The fewest values of a group.
const FEWEST_OF_A_GROUP: usize = 2;

/// Values, and the ratio that one normal distribution exceeds in one of a thousand samples of so many; `tests/stats/two_modes.rs`
/// simulates it.
const CRITICAL: [(f64, f64); 12] = [
    (6.0, 98.5),
    (8.0, 32.2),
    (10.0, 18.6),
    (12.0, 13.1),
    (15.0, 9.30),
    (20.0, 6.74),
    (25.0, 5.63),
    (30.0, 4.87),
    (40.0, 4.12),
    (60.0, 3.45),
    (90.0, 2.99),
    (120.0, 2.77),
];

/// Two groups of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoModes {
    /// Values at or above this one are in the upper group.
    pub from: f64,
    /// How many are in the lower group.
    pub below: usize,
    /// The mean of the lower group, in the values' unit.
    pub low: f64,
    /// The mean of the upper group.
    pub high: f64,
}

/// The two groups, if one normal distribution makes such groups in fewer than one of a thousand samples. None of fewer than
/// [`FEWEST`] values, or if one of them is not finite.
#[must_use]
pub fn two_modes(values: &[f64]) -> Option<TwoModes> {
    let n = values.len();
    if n < FEWEST || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean = sorted.iter().sum::<f64>() / n as f64;
    let all: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
    let mut sum = 0.0;
    let mut best = (0.0, 0);
    for (at, value) in sorted.iter().enumerate().take(n - FEWEST_OF_A_GROUP) {
        sum += value - mean;
        let below = at + 1;
        let between = sum * sum * (1.0 / below as f64 + 1.0 / (n - below) as f64);
        if below >= FEWEST_OF_A_GROUP && between > best.0 {
            best = (between, below);
        }
    }
    let (between, below) = best;
    // All of it between the groups, but for rounding: two values, each several times.
    let within = (all - between).max(all * f64::EPSILON);
    if between <= critical(n) * within {
        return None;
    }
    let (lower, upper) = sorted.split_at(below);
    let center = |group: &[f64]| group.iter().sum::<f64>() / group.len() as f64;
    Some(TwoModes {
        from: upper[0],
        below,
        low: center(lower),
        high: center(upper),
    })
}

/// Between the lines of the table on a straight line of logarithms.
fn critical(n: usize) -> f64 {
    let n = n as f64;
    let pair = CRITICAL.windows(2).find(|pair| n <= pair[1].0);
    let Some(&[(n0, c0), (n1, c1)]) = pair else {
        return CRITICAL[CRITICAL.len() - 1].1;
    };
    let part = (n / n0).ln() / (n1 / n0).ln();
    c0 * (c1 / c0).powf(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `n` values around `center`, evenly spread.
    fn around(center: f64, n: usize) -> Vec<f64> {
        (0..n)
            .map(|i| center + 0.01 * (i as f64 / n as f64 - 0.5))
            .collect()
    }

    #[test]
    fn two_groups_are_found_with_their_sizes_and_means() {
        let values = [around(1.0, 17), around(0.7, 3)].concat();
        let found = two_modes(&values).unwrap();
        assert_eq!(found.below, 3);
        assert!((found.low - 0.7).abs() < 0.01 && (found.high - 1.0).abs() < 0.01);
        assert!(values.iter().filter(|value| **value >= found.from).count() == 17);
        let exact = two_modes(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]).unwrap();
        assert_eq!((exact.below, exact.low, exact.high), (3, 1.0, 2.0));
    }

    #[test]
    fn one_group_and_single_values_are_none() {
        assert_eq!(two_modes(&around(1.0, 30)), None);
        assert_eq!(two_modes(&[around(1.0, 29), vec![0.2]].concat()), None);
        assert_eq!(two_modes(&[1.0; 20]), None);
    }

    #[test]
    fn too_few_and_nonsense_are_none() {
        assert_eq!(two_modes(&[]), None);
        assert_eq!(two_modes(&[1.0, 1.0, 2.0, 2.0, 2.0]), None);
        assert_eq!(two_modes(&[f64::NAN, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), None);
    }

    #[test]
    fn the_table_is_read_between_its_lines() {
        assert!((critical(20) - 6.74).abs() < 1e-9);
        let between = critical(50);
        assert!(3.45 < between && between < 4.12);
        assert!((critical(1_000) - 2.77).abs() < 1e-9);
    }
}

//! Plain summaries of a series, without an interval: for checks and for other statistics.

/// The arithmetic mean; None of nothing.
#[must_use]
pub fn average(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample variance, with n − 1; None of fewer than two values.
#[must_use]
pub fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    // Two passes: the one-pass formula loses all digits when the mean is large and the spread
    // small, as with rates.
    let mean = average(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares / (values.len() - 1) as f64)
}

/// The sample standard deviation, in the values' unit; None of fewer than two values.
#[must_use]
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    variance(values).map(f64::sqrt)
}

/// The middle value, or the mean of the two middle ones; None of nothing.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST's certified values for the data set NumAcc1: three large numbers, a tiny spread
    /// (NIST StRD, univariate summary statistics).
    #[test]
    fn numacc1() {
        let data = [10_000_001.0, 10_000_003.0, 10_000_002.0];
        assert_eq!(average(&data), Some(10_000_002.0));
        assert_eq!(standard_deviation(&data), Some(1.0));
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    #[test]
    fn too_little_to_tell() {
        assert_eq!(average(&[]), None);
        assert_eq!(variance(&[1.0]), None);
    }
}

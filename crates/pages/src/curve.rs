//! The percentile curve of a distribution, as far as its samples support it.

use prony_record::Times;
use prony_stats::percentile::supported;

/// Points for each halving of what is left above: HdrHistogram's own figure for plots.
const PER_HALVING: u32 = 5;
/// Halvings, of which the last is far beyond what any run has samples for: 2⁻⁴⁰.
const HALVINGS: u32 = 40;

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// The share of samples at or below, from 0 to below 1.
    pub quantile: f64,
    /// The value there, in nanoseconds.
    pub nanoseconds: u64,
}

impl CurvePoint {
    /// Where it lies on HdrHistogram's axis: log₁₀ of 1/(1 − quantile), which is 1 at p90, 2 at p99.
    pub fn nines(&self) -> f64 {
        -(1.0 - self.quantile).log10()
    }
}

/// The curve from the smallest value on. No point has fewer than ten samples beyond it: its last is
/// the highest percentile that the samples support, which is not the largest value.
pub fn curve(times: &Times) -> Vec<CurvePoint> {
    let n = times.len() as f64;
    let mut points: Vec<CurvePoint> = Vec::new();
    for halving in 0..HALVINGS {
        for step in 0..PER_HALVING {
            let halvings = f64::from(halving) + f64::from(step) / f64::from(PER_HALVING);
            let quantile = 1.0 - 0.5_f64.powf(halvings);
            if !supported(n, quantile) {
                // The last percentile that is supported, exactly.
                let last = 1.0 - 10.0 / n;
                if n >= 10.0 && points.last().is_some_and(|point| point.quantile < last) {
                    points.push(point(times, last));
                }
                return points;
            }
            points.push(point(times, quantile));
        }
    }
    points
}

fn point(times: &Times, quantile: f64) -> CurvePoint {
    CurvePoint {
        quantile,
        nanoseconds: times.value_at_quantile(quantile),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times(n: u64) -> Times {
        let mut times = Times::new(3).unwrap();
        (1..=n).for_each(|i| times.record(i * 1_000).unwrap());
        times
    }

    #[test]
    fn the_curve_ends_where_ten_samples_are_left() {
        let points = curve(&times(1_000));
        let last = points.last().unwrap();
        assert!((last.quantile - 0.99).abs() < 1e-12);
        assert!((last.nines() - 2.0).abs() < 1e-9);
        assert!((989_000..=991_000).contains(&last.nanoseconds));
        assert_eq!(curve(&times(9)), []);
        assert_eq!(curve(&Times::new(3).unwrap()), []);
    }

    proptest! {
        #[test]
        fn no_point_goes_beyond_the_samples(n in 1_u64..20_000) {
            let points = curve(&times(n));
            for pair in points.windows(2) {
                prop_assert!(pair[0].quantile < pair[1].quantile);
                prop_assert!(pair[0].nanoseconds <= pair[1].nanoseconds);
            }
            for point in points {
                prop_assert!(supported(n as f64, point.quantile), "{point:?} of {n}");
            }
        }
    }
}

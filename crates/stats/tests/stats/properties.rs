//! Properties that must hold for any data.

use crate::common::percentile;
use prony_stats::mean::mean;
use prony_stats::percentile::{percentile_ranks, supported};
use prony_stats::ratio::paired_log_ratio;
use prony_stats::series::{MIN_VALUES, known};
use prony_stats::throughput::{Count, throughput};
use prony_stats::{Estimate, Unit};
use proptest::prelude::*;

/// Rates, times and sizes as they occur: above zero, over many orders of magnitude.
fn positive(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((-3.0_f64..9.0).prop_map(|e| 10_f64.powf(e)), count)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Equal but for rounding, which is of the size of the largest value involved.
fn near_within(a: Option<f64>, b: Option<f64>, scale: f64) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * scale,
        _ => false,
    }
}

fn holds_its_value(estimate: &Estimate) -> bool {
    estimate
        .interval()
        .is_none_or(|interval| interval.contains(estimate.value()))
}

proptest! {
    #[test]
    fn intervals_contain_their_value(values in positive(1..50), p in 0.0..=1.0) {
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let windows: Vec<Count> =
            values.iter().map(|&v| Count { answers: v as u64, seconds: 1.0 }).collect();
        let all = [
            mean(&values, Unit::Seconds).unwrap(),
            percentile(&sorted, sorted.len() as f64, p),
            throughput(&windows).unwrap(),
        ];
        for estimate in all {
            prop_assert!(holds_its_value(&estimate), "{estimate:?}");
            prop_assert!(estimate.n() <= values.len() as u64);
            prop_assert!(estimate.n() >= 2 || estimate.interval().is_none());
        }
    }

    #[test]
    fn scaling_the_values_scales_the_mean(values in positive(2..30), factor in 0.001..1000.0) {
        let scaled: Vec<f64> = values.iter().map(|v| v * factor).collect();
        let (one, other) =
            (mean(&values, Unit::Seconds).unwrap(), mean(&scaled, Unit::Seconds).unwrap());
        let scale = scaled.iter().sum::<f64>();
        prop_assert!(near(one.value() * factor, other.value()));
        prop_assert!(near_within(one.low().map(|l| l * factor), other.low(), scale));
        prop_assert!(near_within(one.high().map(|h| h * factor), other.high(), scale));
    }

    #[test]
    fn scaling_one_side_scales_the_ratio(
        pairs in prop::collection::vec((1.0..10.0, 1.0..10.0), 2..20),
        factor in 0.01..100.0,
    ) {
        let a: Vec<_> = pairs.iter().map(|(a, _): &(f64, f64)| Some(*a)).collect();
        let b: Vec<_> = pairs.iter().map(|(_, b): &(f64, f64)| Some(*b)).collect();
        let scaled: Vec<_> = a.iter().map(|a| a.map(|a| a * factor)).collect();
        let (one, other) =
            (paired_log_ratio(&a, &b).unwrap(), paired_log_ratio(&scaled, &b).unwrap());
        prop_assert!(near(one.value() * factor, other.value()));
        prop_assert!(near(one.low().unwrap() * factor, other.low().unwrap()));
        prop_assert!(near(one.high().unwrap() * factor, other.high().unwrap()));
    }

    #[test]
    fn swapping_the_sides_inverts_the_ratio(
        pairs in prop::collection::vec((0.1..10.0, 0.1..10.0), 1..20),
    ) {
        let a: Vec<_> = pairs.iter().map(|(a, _): &(f64, f64)| Some(*a)).collect();
        let b: Vec<_> = pairs.iter().map(|(_, b): &(f64, f64)| Some(*b)).collect();
        let (one, other) = (paired_log_ratio(&a, &b).unwrap(), paired_log_ratio(&b, &a).unwrap());
        prop_assert!(near(one.value(), 1.0 / other.value()));
        prop_assert!(holds_its_value(&one));
        prop_assert_eq!(one.low().is_some(), pairs.len() > 1);
        if let (Some(low), Some(high)) = (one.low(), other.high()) {
            prop_assert!(near(low, 1.0 / high));
        }
    }

    #[test]
    fn ranks_exist_and_enclose_the_percentile(n in 1_u64..1_000_000_000, p in 0.0..=1.0_f64) {
        let at = ((n as f64 * p).ceil() as u64).clamp(1, n);
        if let Some((low, high)) = percentile_ranks(n, n as f64, p) {
            prop_assert!(1 <= low && low <= at && at <= high && high <= n);
        }
    }

    #[test]
    fn a_supported_upper_percentile_has_an_interval(n in 20_u64..1_000_000, p in 0.5..1.0) {
        prop_assume!(supported(n as f64, p));
        prop_assert!(percentile_ranks(n, n as f64, p).is_some());
    }

    #[test]
    fn a_series_is_worth_at_most_its_length(values in positive(1..300)) {
        let known = known(&values);
        prop_assert_eq!(known.is_some(), values.len() >= MIN_VALUES);
        prop_assert!(known.is_none_or(|it| it.n <= values.len() as f64 && it.half >= 0.0));
    }

    #[test]
    fn json_brings_estimates_back(values in positive(1..20)) {
        let estimate = mean(&values, Unit::Bytes).unwrap();
        let json = serde_json::to_string(&estimate).unwrap();
        prop_assert_eq!(serde_json::from_str::<Estimate>(&json).unwrap(), estimate);
    }
}

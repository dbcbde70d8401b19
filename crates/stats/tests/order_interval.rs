//! Percentiles' intervals from histograms and from dependent samples.

mod common;

use common::Source;
use prony_stats::order_interval::{
    Beyond, dispersion_factor, effective_samples, percentile_of_counts, percentile_of_series,
};
use prony_stats::percentile::{percentile, percentile_of_dependent};
use prony_stats::{Estimate, Unit};
use proptest::prelude::*;

const RUNS: usize = 600;

fn coverage(truth: f64, mut simulate: impl FnMut() -> Estimate) -> f64 {
    let covered = (0..RUNS)
        .filter(|_| {
            let interval = simulate().interval();
            interval.expect("enough samples").contains(truth)
        })
        .count();
    covered as f64 / RUNS as f64
}

/// A series in which each value keeps part of the one before: its p90 is the normal distribution's,
/// 1.281552. Taken for independent, its interval would cover far less.
#[test]
fn dependent_series_are_covered() {
    let mut source = Source::new(300);
    let mut plain = 0;
    let share = coverage(1.281_552, || {
        let series = source.dependent(1_500, 0.6);
        let mut sorted = series.clone();
        sorted.sort_by(f64::total_cmp);
        let independent = percentile(&sorted, 0.9, Unit::Seconds).expect("samples");
        let interval = independent.interval().expect("enough samples");
        plain += usize::from(interval.contains(1.281_552));
        percentile_of_series(&series, 0.9, Unit::Seconds).expect("samples")
    });
    let plain = plain as f64 / RUNS as f64;
    println!("dependent: {share:.3}, taken for independent: {plain:.3}");
    assert!((0.93..1.0).contains(&share), "{share}");
    assert!(plain < 0.85, "{plain}");
}

/// Windows of which each has its own level, as with a noisy host: all samples of a window move
/// together, and only windows are independent. The samples are kept as histograms of the windows.
#[test]
fn windows_that_move_together_are_covered() {
    let mut source = Source::new(310);
    // ln of a sample: the window's level, normal with 0.3, and the sample's own, normal with 0.5.
    let truth = (1.281_552 * f64::sqrt(0.3 * 0.3 + 0.5 * 0.5)).exp();
    let mut plain = 0;
    let share = coverage(truth, || {
        let windows: Vec<Vec<f64>> = (0..60)
            .map(|_| {
                let level = 0.3 * source.normal();
                (0..50)
                    .map(|_| (level + 0.5 * source.normal()).exp())
                    .collect()
            })
            .collect();
        let mut sorted = windows.concat();
        sorted.sort_by(f64::total_cmp);
        let all = sorted.len() as f64;
        let value = percentile(&sorted, 0.9, Unit::Seconds).expect("samples");
        plain += usize::from(value.interval().expect("enough").contains(truth));
        let beyond: Vec<Beyond> = windows
            .iter()
            .map(|window| Beyond {
                above: window.iter().filter(|v| **v > value.value()).count() as u64,
                all: window.len() as u64,
            })
            .collect();
        assert!(effective_samples(&beyond) <= all);
        let counts = sorted.iter().map(|&value| (value, 1));
        percentile_of_counts(counts, effective_samples(&beyond), 0.9, Unit::Seconds)
            .expect("samples")
    });
    let plain = plain as f64 / RUNS as f64;
    println!("windows: {share:.3}, taken for independent: {plain:.3}");
    assert!((0.93..1.0).contains(&share), "{share}");
    assert!(plain < 0.75, "{plain}");
}

/// Kish's design effect for windows of b samples of which a share ρ of the variance is the windows'
/// own: 1 + (b − 1)ρ. Here the share beyond is drawn for each window, 5 % or 15 %, so that
/// ρ = 0.05²/(0.1·0.9) = 1/36, and b = 100: 1 + 99/36 = 3.75.
#[test]
fn the_factor_is_kishs() {
    let mut source = Source::new(320);
    let windows: Vec<Beyond> = (0..4_000)
        .map(|_| {
            let share = if source.uniform() < 0.5 { 0.05 } else { 0.15 };
            Beyond {
                above: (0..100).filter(|_| source.uniform() < share).count() as u64,
                all: 100,
            }
        })
        .collect();
    // Of blocks of one window; larger ones are as much, but for their own noise.
    let factor = dispersion_factor(&windows[..15]);
    assert!((1.0..12.0).contains(&factor), "{factor}");
    let mean: f64 = windows.chunks(15).map(dispersion_factor).sum::<f64>() / 267.0;
    assert!((3.0..4.5).contains(&mean), "{mean}");
}

fn histogram() -> impl Strategy<Value = Vec<(f64, u64)>> {
    prop::collection::vec((0_u32..1_000, 0_u64..50), 1..40).prop_map(|mut cells| {
        cells.sort_unstable();
        cells
            .into_iter()
            .map(|(value, count)| (f64::from(value), count))
            .collect()
    })
}

proptest! {
    #[test]
    fn a_histogram_says_what_its_samples_say(
        counts in histogram(),
        p in 0.0..=1.0,
        worth in 0.05..=1.0,
    ) {
        let sorted: Vec<f64> = counts
            .iter()
            .flat_map(|&(value, count)| vec![value; count as usize])
            .collect();
        let n_eff = worth * sorted.len() as f64;
        let one = percentile_of_counts(counts.iter().copied(), n_eff, p, Unit::Seconds);
        let other = percentile_of_dependent(&sorted, n_eff, p, Unit::Seconds);
        prop_assert_eq!(one, other);
    }

    #[test]
    fn the_order_of_time_changes_the_width_not_the_value(
        series in prop::collection::vec(0.0..100.0, 20..200),
        p in 0.1..0.9,
    ) {
        let mut sorted = series.clone();
        sorted.sort_by(f64::total_cmp);
        let one = percentile_of_series(&series, p, Unit::Seconds).unwrap();
        let independent = percentile(&sorted, p, Unit::Seconds).unwrap();
        prop_assert_eq!(one.value(), independent.value());
        prop_assert!(one.n() <= independent.n());
        if let (Some(one), Some(other)) = (one.interval(), independent.interval()) {
            prop_assert!(one.low() <= other.low() && other.high() <= one.high());
        }
    }

    #[test]
    fn dispersion_is_at_least_one(
        windows in prop::collection::vec((0_u64..100, 0_u64..100), 0..60),
    ) {
        let windows: Vec<Beyond> =
            windows.iter().map(|&(above, more)| Beyond { above, all: above + more }).collect();
        let factor = dispersion_factor(&windows);
        prop_assert!(factor >= 1.0 && factor.is_finite());
    }
}

//! Percentiles' intervals from dependent samples.

use crate::common::{Source, percentile};
use prony_stats::Estimate;
use prony_stats::order_interval::{Beyond, dispersion_factor, effective_samples};
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

/// Windows of which each has its own level, as with a noisy host: all samples of a window move
/// together, and only windows are independent.
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
        let value = percentile(&sorted, all, 0.9);
        plain += usize::from(value.interval().expect("enough").contains(truth));
        let beyond: Vec<Beyond> = windows
            .iter()
            .map(|window| Beyond {
                above: window.iter().filter(|v| **v > value.value()).count() as u64,
                all: window.len() as u64,
            })
            .collect();
        assert!(effective_samples(&beyond) <= all);
        percentile(&sorted, effective_samples(&beyond), 0.9)
    });
    let plain = plain as f64 / RUNS as f64;
    println!("windows: {share:.3}, taken for independent: {plain:.3}");
    assert!((0.93..1.0).contains(&share), "{share}");
    assert!(plain < 0.75, "{plain}");
}

/// Kish's design effect for windows of b samples of which a share ρ of the variance is the windows'
/// own: 1 + (b − 1)ρ. Here the share beyond is drawn for each window, 5% or 15%, so that
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

proptest! {
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

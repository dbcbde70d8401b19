//! Intervals must cover the truth as often as they say: simulated, with fixed seeds.

use crate::common::{Source, percentile};
use prony_stats::autocorrelation::autocorrelation_factor;
use prony_stats::mean::mean;
use prony_stats::ratio::paired_log_ratio;
use prony_stats::steady::steadiness;
use prony_stats::throughput::{Count, throughput};
use prony_stats::{Estimate, Unit};

const SIMULATIONS: usize = 5_000;

/// The share of simulations whose interval covers `truth`.
fn coverage(truth: f64, mut simulate: impl FnMut() -> Estimate) -> f64 {
    let covered = (0..SIMULATIONS)
        .filter(|_| {
            simulate()
                .interval()
                .expect("enough samples")
                .contains(truth)
        })
        .count();
    covered as f64 / SIMULATIONS as f64
}

#[test]
fn t_intervals_cover_in_95_percent() {
    for (seed, n) in [(1, 2), (2, 3), (3, 5), (4, 30)] {
        let mut source = Source::new(seed);
        let share = coverage(100.0, || {
            let values: Vec<f64> = (0..n).map(|_| 100.0 + 8.0 * source.normal()).collect();
            mean(&values, Unit::PerSecond).expect("values")
        });
        assert!((0.93..0.97).contains(&share), "n = {n}: {share}");
    }
}

/// Rounds differ by 30%, the servers by 5%, and a single trial by 8%, as measured on a small
/// cloud machine.
#[test]
fn paired_ratios_cover_in_95_percent_although_rounds_differ() {
    for (seed, n) in [(10, 3), (11, 10)] {
        let mut source = Source::new(seed);
        let share = coverage(1.05, || {
            let (a, b): (Vec<_>, Vec<_>) = (0..n)
                .map(|_| {
                    let round = 1e5 * (0.3 * source.normal()).exp();
                    let a = 1.05 * round * (0.08 * source.normal()).exp();
                    let b = round * (0.08 * source.normal()).exp();
                    (Some(a), Some(b))
                })
                .unzip();
            paired_log_ratio(&a, &b).expect("pairs")
        });
        assert!((0.93..0.97).contains(&share), "n = {n}: {share}");
    }
}

/// The ranks are rounded outwards, so they cover more, never less.
#[test]
fn percentile_intervals_cover_in_at_least_95_percent() {
    for (seed, n, p) in [
        (20, 200, 0.5),
        (21, 200, 0.9),
        (22, 1_000, 0.99),
        (23, 5_000, 0.99),
    ] {
        let mut source = Source::new(seed);
        // Exponential response times: the percentile p is −ln(1 − p).
        let truth = -(1.0_f64 - p).ln();
        let share = coverage(truth, || {
            let mut values: Vec<f64> = (0..n).map(|_| -source.uniform().ln()).collect();
            values.sort_by(f64::total_cmp);
            percentile(&values, f64::from(n), p)
        });
        assert!((0.94..0.99).contains(&share), "n = {n}, p = {p}: {share}");
    }
}

/// With the number of samples held, an interval around dependent ones would cover in some 80%.
#[test]
fn the_factor_restores_the_coverage_of_dependent_samples() {
    let (n, keep) = (1_000, 0.5);
    let mut source = Source::new(30);
    let mut naive = 0;
    let share = coverage(0.0, || {
        let values = source.dependent(n, keep);
        let n_eff = n as f64 / autocorrelation_factor(&values);
        let mut sorted = values;
        sorted.sort_by(f64::total_cmp);
        let plain = percentile(&sorted, n as f64, 0.5);
        naive += usize::from(plain.interval().expect("enough").contains(0.0));
        percentile(&sorted, n_eff, 0.5)
    });
    let naive = naive as f64 / SIMULATIONS as f64;
    assert!(naive < 0.85, "the plain interval covers in {naive}");
    assert!((0.94..1.0).contains(&share), "{share}");
}

/// An autoregressive series has τ = (1 + keep)/(1 − keep) for its mean; here 3. Independent values
/// have 1.
#[test]
fn the_factor_is_about_what_theory_says() {
    for (keep, low, high) in [(0.0, 1.0, 1.6), (0.5, 2.5, 4.5), (0.8, 7.0, 13.0)] {
        let mut source = Source::new(40);
        let mut factors: Vec<f64> = (0..500)
            .map(|_| autocorrelation_factor(&source.dependent(2_000, keep)))
            .collect();
        factors.sort_by(f64::total_cmp);
        let median = factors[factors.len() / 2];
        assert!((low..high).contains(&median), "keep = {keep}: {median}");
    }
}

#[test]
fn throughput_covers_although_windows_depend_on_each_other() {
    let mut source = Source::new(50);
    let share = coverage(100_000.0, || {
        let windows: Vec<Count> = source
            .dependent(120, 0.4)
            .into_iter()
            .map(|noise| Count {
                answers: (1e5 + 2e3 * noise) as u64,
                seconds: 1.0,
            })
            .collect();
        throughput(&windows).expect("windows")
    });
    assert!((0.92..0.99).contains(&share), "{share}");
}

/// The share of `rates` series of five windows found steady.
fn found_steady(seed: u64, mut rate: impl FnMut(&mut Source, usize) -> f64) -> f64 {
    let mut source = Source::new(seed);
    let steady = (0..SIMULATIONS)
        .filter(|_| {
            let rates: Vec<f64> = (0..5).map(|i| rate(&mut source, i)).collect();
            steadiness(&rates).is_steady()
        })
        .count();
    steady as f64 / SIMULATIONS as f64
}

#[test]
fn steadiness_tells_noise_from_warm_up() {
    let noise = |source: &mut Source, _| 1e5 * (1.0 + 0.01 * source.normal());
    assert!(found_steady(60, noise) > 0.95);
    let more_noise = |source: &mut Source, _| 1e5 * (1.0 + 0.02 * source.normal());
    assert!(found_steady(64, more_noise) > 0.85);
    // 3% more each window, with the same noise.
    let ramp = |source: &mut Source, i| 1e5 * (1.0 + 0.03 * i as f64 + 0.01 * source.normal());
    assert!(found_steady(61, ramp) < 0.05);
    // A warm-up that closes in: 20% to go, a third less each window.
    let closing = |source: &mut Source, i| {
        1e5 * (1.0 - 0.2 * 0.67_f64.powi(i as i32) + 0.01 * source.normal())
    };
    assert!(found_steady(62, closing) < 0.05);
    let wild = |source: &mut Source, _| 1e5 * (1.0 + 0.1 * source.normal());
    assert!(found_steady(63, wild) < 0.05);
}

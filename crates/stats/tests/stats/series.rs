//! The mean of windows that depend on their neighbours: simulated coverage and width, over the throughput
//! that `prony load` gives.

use crate::common::Source;
use prony_stats::Estimate;
use prony_stats::mean::t_quantile;
use prony_stats::throughput::{Count, throughput};

const RATE: f64 = 1e5;
const NOISE: f64 = 5e3;

/// A load of n windows of a second of which each keeps `keep` of the one before.
fn load(source: &mut Source, n: usize, keep: f64) -> Estimate {
    let windows: Vec<Count> = source
        .dependent(n, keep)
        .into_iter()
        .map(|noise| Count {
            answers: (RATE + NOISE * noise).round() as u64,
            seconds: 1.0,
        })
        .collect();
    throughput(&windows).expect("windows")
}

/// The half-width of an interval that is told how dependent the windows are and how much they spread: no
/// honest one is narrower.
fn told(n: usize, keep: f64) -> f64 {
    let pairs = (0..n).flat_map(|i| (0..n).map(move |j| i.abs_diff(j)));
    let sum: f64 = pairs.map(|apart| keep.powi(apart as i32)).sum();
    t_quantile(n as f64 - 1.0).expect("a quantile") * NOISE * sum.sqrt() / n as f64
}

/// How often the interval covers, and how many times wider it is than [`told`] on average.
fn simulate(n: usize, keep: f64, runs: usize) -> (f64, f64) {
    let mut source = Source::new(n as u64 * 1_000 + (keep * 100.0) as u64);
    let (mut covered, mut width) = (0_u32, 0.0);
    for _ in 0..runs {
        let interval = load(&mut source, n, keep).interval();
        let interval = interval.expect("an interval of ten windows or more");
        covered += u32::from(interval.contains(RATE));
        width += (interval.high() - interval.low()) / 2.0;
    }
    let runs = runs as f64;
    (f64::from(covered) / runs, width / runs / told(n, keep))
}

/// `least` up to a dependence of 0.5, and at 0.7 too from 15 windows on: ten do not allow it.
fn check(runs: usize, least: f64) {
    for (n, most) in [(10, 2.2), (15, 1.65), (20, 1.45), (50, 1.2), (100, 1.15)] {
        for keep in [0.0, 0.25, 0.5, 0.7] {
            let (share, width) = simulate(n, keep, runs);
            println!("{n} windows, {keep}: {share:.4}, width {width:.2}");
            let allowed = if n < 15 && keep > 0.5 { 0.02 } else { 0.0 };
            assert!(share >= least - allowed, "n = {n}, keep = {keep}: {share}");
            assert!(keep > 0.0 || width <= most, "n = {n}: {width}");
        }
    }
}

#[test]
fn few_dependent_windows_are_covered() {
    check(600, 0.925);
}

/// The numbers of the module's table.
#[test]
#[ignore = "scripts/campaign statistics: some seconds of simulation"]
fn few_dependent_windows_are_covered_in_94_percent() {
    check(10_000, 0.94);
}

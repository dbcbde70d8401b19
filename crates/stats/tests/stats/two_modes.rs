//! Two groups of starts: how often they are seen where there is one, and where there are two.

use crate::common::Source;
use prony_stats::two_modes::two_modes;

const SAMPLES: usize = 20_000;

/// How many of the samples of `n` such values have two groups.
fn found(n: usize, mut value: impl FnMut() -> f64) -> usize {
    (0..SAMPLES)
        .filter(|_| {
            let values: Vec<f64> = (0..n).map(|_| value()).collect();
            two_modes(&values).is_some()
        })
        .count()
}

#[test]
fn one_group_is_called_two_in_one_of_a_thousand() {
    for n in [6, 9, 10, 17, 20, 35, 60] {
        let mut source = Source::new(7);
        let normal = found(n, || source.normal());
        let mut source = Source::new(8);
        let heavy = found(n, || {
            let chi: f64 = (0..5).map(|_| source.normal().powi(2)).sum();
            source.normal() / (chi / 5.0).sqrt()
        });
        println!("{n} values: {normal} and {heavy} of {SAMPLES}");
        // 20 are expected; 45 or more come in one of 100,000 such tests.
        assert!(normal < 45 && heavy < 45, "{n}: {normal}, {heavy}");
    }
}

#[test]
fn a_tenth_of_starts_that_is_a_third_slower_is_seen() {
    let mut source = Source::new(9);
    let seen = found(30, || {
        let slow = source.uniform() < 0.1;
        0.02 * source.normal() - if slow { 0.36 } else { 0.0 }
    });
    // Two or more of the thirty are slow in 81.6% of the samples.
    let share = seen as f64 / SAMPLES as f64;
    assert!((share - 0.816).abs() < 0.02, "{share}");
}

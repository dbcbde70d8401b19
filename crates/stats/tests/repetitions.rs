//! Repetition counts: that they are the best ones, and that they can be found from a pilot.

mod common;

use common::Source;
use prony_stats::repetitions::plan;
use proptest::prelude::*;

/// A pilot of builds, starts and windows with known variances, 0.25, 4 and 1 from the top, and costs of
/// 60, 10 and 1: the best counts are √(10/1·1/4) = 1.58 windows and √(60/10·4/0.25) = 9.8 starts. From a
/// large pilot they are found.
#[test]
fn a_large_pilot_finds_the_best_counts() {
    let mut source = Source::new(700);
    let (windows, starts, builds) = (40, 40, 60);
    let mut values = Vec::new();
    for _ in 0..builds {
        let build = 0.5 * source.normal();
        for _ in 0..starts {
            let start = build + 2.0 * source.normal();
            values.extend((0..windows).map(|_| start + source.normal()));
        }
    }
    let plan = plan(&values, &[windows, starts, builds], &[1.0, 10.0, 60.0]).expect("a plan");
    let own: Vec<f64> = plan.levels.iter().map(|level| level.own_variance).collect();
    assert!((0.97..1.03).contains(&own[0]), "{own:?}");
    assert!((3.7..4.3).contains(&own[1]), "{own:?}");
    assert!((0.1..0.45).contains(&own[2]), "{own:?}");
    assert_eq!(plan.levels[0].repetitions, Some(2));
    let starts = plan.levels[1].repetitions.expect("a number");
    assert!((7..=16).contains(&starts), "{starts}");
}

/// The mean's variance, times its cost: what the counts are to make small.
fn price(own: &[f64], costs: &[f64], counts: &[f64]) -> f64 {
    let (mut variance, mut cost) = (0.0, 0.0);
    for i in 0..own.len() {
        let count = counts.get(i).copied().unwrap_or(1.0);
        variance = (variance + own[i].max(0.0)) / count;
        cost = (cost + costs[i]) * count;
    }
    variance * cost
}

proptest! {
    /// Of two levels, no other whole number of repetitions is better by more than rounding up costs.
    #[test]
    fn no_other_count_is_much_better(
        low in 0.01..100.0,
        high in 0.01..100.0,
        costs in (0.1..10.0, 0.1..100.0),
    ) {
        // A pilot with just these variances: values ±d around means ±e.
        let (d, e) = (f64::sqrt(low / 2.0), f64::sqrt((high + low / 2.0) / 2.0));
        let values = [e - d, e + d, -e - d, -e + d];
        let costs = [costs.0, costs.1];
        let plan = plan(&values, &[2, 2], &costs).unwrap();
        let own: Vec<f64> = plan.levels.iter().map(|level| level.own_variance).collect();
        prop_assert!(f64::abs(own[0] / low - 1.0) < 1e-9 && f64::abs(own[1] / high - 1.0) < 1e-6);
        let count = f64::from(plan.levels[0].repetitions.unwrap());
        let best = f64::sqrt(costs[1] / costs[0] * own[0] / own[1]).max(1.0);
        prop_assert!(count >= best * (1.0 - 1e-9) && count < best + 1.0);
        // One fewer or one more is not better than the exact optimum allows.
        let at = |count: f64| price(&own, &costs, &[count]);
        for other in [count + 1.0, count + 2.0] {
            prop_assert!(at(other) >= at(count) * (1.0 - 1e-9));
        }
        prop_assert!(at(count) <= at(best) * 2.0);
    }

    #[test]
    fn variances_add_up(values in prop::collection::vec(0.0..100.0, 24)) {
        let plan = plan(&values, &[2, 3, 4], &[1.0, 1.0, 1.0]).unwrap();
        // S² at the top is the plain variance of the four means.
        let means: Vec<f64> = values.chunks(6).map(|c| c.iter().sum::<f64>() / 6.0).collect();
        let mean = means.iter().sum::<f64>() / 4.0;
        let top = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 3.0;
        prop_assert!(f64::abs(plan.levels[2].variance_of_means - top) < 1e-9);
        for level in &plan.levels[..2] {
            prop_assert!(level.own_variance > 0.0 || level.repetitions == Some(1));
        }
        prop_assert_eq!(plan.levels[2].repetitions, None);
        let few = plan.at_the_top(1_000.0);
        prop_assert_eq!(few, Some(2));
    }
}

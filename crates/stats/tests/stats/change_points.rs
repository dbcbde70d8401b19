//! Change points against an exhaustive search, an independent implementation and what was planted.

use crate::common::Source;
use prony_stats::change_points::{RESOLUTION, SHORTEST, change_points, penalty};
use proptest::prelude::*;

const NONE: [usize; 0] = [];

fn cuts(values: &[f64]) -> Vec<usize> {
    change_points(values, penalty(values.len()), SHORTEST).expect("cuts")
}

/// Noise without a random generator, so that others can compute it: the sum of three Weyl sequences,
/// from −1.5 to 1.5.
fn noise(i: usize) -> f64 {
    let part = |a: f64| (i as f64 * a).fract();
    part(0.618_033_988_749_894_9) + part(0.414_213_562_373_095_1) + part(0.732_050_807_568_877_2)
        - 1.5
}

/// Two changes of the mean and one of mean and variance. `ruptures` 1.1.10 in Python, PELT with the
/// cost "normal", penalty 5·ln 120, at least 5 values and every place allowed, finds 30, 70, 90; so
/// does a plain dynamic program in numpy.
#[test]
fn an_independent_implementation_agrees() {
    let values: Vec<f64> = (0..120)
        .map(|i| match i {
            0..30 => 100.0 + 2.0 * noise(i),
            30..70 => 106.0 + 2.0 * noise(i),
            70..90 => 98.0 + 2.0 * noise(i),
            _ => 100.0 + 12.0 * noise(i),
        })
        .collect();
    assert_eq!(cuts(&values), [30, 70, 90]);
}

#[test]
fn ties_and_constants_are_no_trouble() {
    assert_eq!(cuts(&[5.0; 100]), NONE);
    assert_eq!(cuts(&[0.0; 100]), NONE);
    let mut two = vec![5.0; 100];
    two[40..].fill(6.0);
    assert_eq!(cuts(&two), [40]);
    // Values in steps, as a histogram gives them: many are equal.
    let steps: Vec<f64> = (0..100).map(|i| 50.0 + f64::from(i * 7 % 3)).collect();
    assert_eq!(cuts(&steps), NONE);
    // Six equal values in noise are no change.
    let mut source = Source::new(400);
    let mut noisy: Vec<f64> = (0..100).map(|_| 100.0 + 3.0 * source.normal()).collect();
    noisy[50..54].fill(100.0);
    assert_eq!(cuts(&noisy), NONE);
}

#[test]
fn too_short_or_nonsense() {
    assert_eq!(cuts(&[1.0]), NONE);
    assert_eq!(cuts(&[1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0]), NONE);
    assert!(change_points(&[], 1.0, 5).is_err());
    assert!(change_points(&[1.0, f64::NAN], 1.0, 5).is_err());
    assert!(change_points(&[1.0, 2.0], -1.0, 5).is_err());
    assert!(change_points(&[1.0, 2.0], f64::NAN, 5).is_err());
}

/// The penalty's figures: how often a series without a change is cut, and where a step of two
/// standard deviations is found.
#[test]
fn false_cuts_and_found_steps() {
    let mut source = Source::new(410);
    for n in [20, 50, 100, 200] {
        let flat = |source: &mut Source| -> Vec<f64> {
            (0..n)
                .map(|_| 1e4 * (1.0 + 0.03 * source.normal()))
                .collect()
        };
        let mut cut = 0;
        let mut found = 0;
        for _ in 0..400 {
            cut += i32::from(!cuts(&flat(&mut source)).is_empty());
            let mut step = flat(&mut source);
            for value in &mut step[..n / 2] {
                *value -= 1e4 * 0.06;
            }
            let cuts = cuts(&step);
            found += i32::from(cuts.iter().any(|cut| cut.abs_diff(n / 2) <= 3));
        }
        println!("n = {n}: {cut} of 400 cut without a change, {found} of 400 steps found");
        assert!(cut <= 10, "{n}: {cut}");
        assert!(n < 50 || found >= 360, "{n}: {found}");
    }
}

/// The cost as documented, of one segment.
fn cost(values: &[f64], least: f64) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / n;
    if variance > least {
        n * variance.ln() + n
    } else {
        n * least.ln() + n * variance / least
    }
}

fn total(values: &[f64], cuts: &[usize], penalty: f64) -> f64 {
    let magnitude = values.iter().map(|value| value.abs()).sum::<f64>() / values.len() as f64;
    let least = (magnitude * RESOLUTION).powi(2);
    let mut ends = vec![0];
    ends.extend(cuts);
    ends.push(values.len());
    let costs = ends
        .windows(2)
        .map(|ends| cost(&values[ends[0]..ends[1]], least));
    costs.sum::<f64>() + penalty * cuts.len() as f64
}

/// The least total of all ways to cut, by trying all.
fn least(values: &[f64], penalty: f64, shortest: usize) -> f64 {
    fn search(
        values: &[f64],
        cuts: &mut Vec<usize>,
        penalty: f64,
        shortest: usize,
        best: &mut f64,
    ) {
        *best = best.min(total(values, cuts, penalty));
        let from = cuts.last().copied().unwrap_or(0) + shortest;
        for cut in from..=values.len().saturating_sub(shortest) {
            cuts.push(cut);
            search(values, cuts, penalty, shortest, best);
            cuts.pop();
        }
    }
    let mut best = f64::INFINITY;
    search(values, &mut Vec::new(), penalty, shortest, &mut best);
    best
}

proptest! {
    #[test]
    fn no_other_way_to_cut_costs_less(
        levels in prop::collection::vec((1_u32..50, 1_usize..8), 1..5),
        jitter in prop::collection::vec(0.0..3.0, 32),
        penalty in 0.0..20.0,
        shortest in 2_usize..5,
    ) {
        let values: Vec<f64> = levels
            .iter()
            .flat_map(|&(level, n)| vec![f64::from(level); n])
            .zip(&jitter)
            // Some without jitter: ties.
            .map(|(level, jitter)| if *jitter < 1.0 { level } else { level + jitter })
            .take(18)
            .collect();
        let cuts = change_points(&values, penalty, shortest).unwrap();
        for pair in std::iter::once(&0).chain(&cuts).collect::<Vec<_>>().windows(2) {
            prop_assert!(pair[1] - pair[0] >= shortest);
        }
        prop_assert!(cuts.last().is_none_or(|last| values.len() - last >= shortest));
        let (found, least) = (total(&values, &cuts, penalty), least(&values, penalty, shortest));
        prop_assert!(found <= least + 1e-6 * least.abs().max(1.0), "{} {:?}", found - least, cuts);
    }

    #[test]
    fn a_unit_changes_nothing(
        values in prop::collection::vec(10.0..20.0, 10..60),
        factor in 0.001..1_000.0,
    ) {
        let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
        prop_assert_eq!(
            change_points(&values, 10.0, 3).unwrap(),
            change_points(&scaled, 10.0, 3).unwrap()
        );
    }
}

//! Comparisons that may stop early must not err more often for it: simulated, with fixed seeds.

use crate::common::Source;
use prony_stats::compare::{BAND, Better, Decision, rounds_needed, verdict};
use prony_stats::ratio::paired_log_ratio;
use prony_stats::sequential::{FIRST_LOOK, Plan, Spending};
use prony_stats::{Estimate, StatsError};
use proptest::prelude::*;

type Side = Vec<Option<f64>>;

/// Outcomes of simulated comparisons of up to 30 or 60 rounds.
#[derive(Debug, Default)]
struct Tally {
    runs: u32,
    called: u32,
    rounds: u32,
}

impl Tally {
    fn called(&self) -> f64 {
        f64::from(self.called) / f64::from(self.runs)
    }

    fn rounds(&self) -> f64 {
        f64::from(self.rounds) / f64::from(self.runs)
    }
}

/// Compares until an interval misses 1, or for all rounds. `noise` gives the logarithm of one round's
/// ratio, with a standard deviation of 1 when there is no effect.
fn compare(
    runs: u32,
    most: u32,
    mut noise: impl FnMut() -> f64,
    ratio: impl Fn(&[Option<f64>], &[Option<f64>]) -> Result<Estimate, StatsError>,
) -> Tally {
    let mut tally = Tally::default();
    let ones: Side = vec![Some(1.0); most as usize];
    for _ in 0..runs {
        // A standard deviation of 5%.
        let a: Side = (0..most).map(|_| Some((0.05 * noise()).exp())).collect();
        let misses = |n: &u32| {
            let n = *n as usize;
            let ratio = ratio(&a[..n], &ones[..n]).expect("pairs");
            ratio
                .interval()
                .is_some_and(|interval| !interval.contains(1.0))
        };
        let stop = (FIRST_LOOK..=most).find(misses);
        tally.runs += 1;
        tally.called += u32::from(stop.is_some());
        tally.rounds += stop.unwrap_or(most);
    }
    tally
}

/// 5% plus three standard errors of a share over `runs` runs.
fn at_most_five_percent(runs: u32) -> f64 {
    0.05 + 3.0 * (0.05 * 0.95 / f64::from(runs)).sqrt()
}

/// Equal servers are called different in 5% of all comparisons, whatever the number of rounds, with
/// every kind of spending; with tails as heavy as those of t with 5 degrees of freedom in no more.
// Slow: 36,000 simulated comparisons of up to 10 rounds.
#[test]
fn equal_servers_are_called_different_in_five_percent() {
    equal_servers(&[(100, 3), (101, 5), (102, 10)]);
}

/// The same with more rounds.
#[test]
#[ignore = "scripts/campaign statistics: a minute of simulation"]
fn equal_servers_are_called_different_in_five_percent_of_many_rounds() {
    equal_servers(&[(103, 30), (104, 60)]);
}

fn equal_servers(of: &[(u64, u32)]) {
    const RUNS: u32 = 2_000;
    for &(seed, most) in of {
        for spending in [Spending::OBrienFleming, Spending::Quadratic, Spending::Even] {
            let looks: Vec<u32> = (FIRST_LOOK..=most).collect();
            let plan = Plan::new(&looks, spending).expect("a plan");
            let mut source = Source::new(seed);
            let normal = compare(RUNS, most, || source.normal(), |a, b| plan.ratio(a, b));
            let mut source = Source::new(seed + 10);
            let heavy = compare(RUNS, most, || source.heavy(), |a, b| plan.ratio(a, b));
            println!(
                "{most} rounds, {spending:?}: {:.3}, heavy tails {:.3}",
                normal.called(),
                heavy.called()
            );
            for tally in [&normal, &heavy] {
                assert!(tally.called() <= at_most_five_percent(RUNS), "{tally:?}");
            }
            // And it uses what it may.
            assert!(normal.called() > 0.035, "{normal:?}");
        }
    }
}

/// On a host that spoils one round in twenty, equal servers are called different no more often, and a
/// difference is found that those rounds would hide.
#[test]
#[ignore = "scripts/campaign statistics: a quarter of a minute of simulation"]
fn spoilt_rounds_hide_little() {
    const RUNS: u32 = 2_000;
    const MOST: u32 = 60;
    let plan = Plan::up_to(MOST).expect("a plan");
    let spoilt = |source: &mut Source| {
        let wide = if source.uniform() < 0.05 { 10.0 } else { 1.0 };
        wide * source.normal()
    };
    let of = |effect: f64| {
        let mut source = Source::new(160);
        compare(
            RUNS,
            MOST,
            || effect + spoilt(&mut source),
            |a, b| plan.ratio(a, b),
        )
    };
    let (equal, half) = (of(0.0), of(0.5));
    // The same by the mean of all rounds, looked at once: as well as it can do.
    let mut source = Source::new(161);
    let once = |n: usize| n == MOST as usize;
    let mean = compare(
        RUNS,
        MOST,
        || 0.5 + spoilt(&mut source),
        |a, b| match once(a.len()) {
            true => paired_log_ratio(a, b),
            false => Estimate::new(1.0, None, 1, prony_stats::Unit::Ratio),
        },
    );
    println!(
        "spoilt: equal {:.3}, half {:.3}, by the mean {:.3}",
        equal.called(),
        half.called(),
        mean.called()
    );
    assert!(equal.called() <= at_most_five_percent(RUNS), "{equal:?}");
    assert!(half.called() > mean.called() + 0.2, "{half:?} {mean:?}");
}

/// Reason for the plans: an ordinary interval, looked at after every round, errs far more often.
#[test]
fn looking_at_ordinary_intervals_errs_far_more_often() {
    let mut source = Source::new(120);
    let peeked = compare(1_000, 30, || source.normal(), paired_log_ratio);
    println!("peeked: {:.3}", peeked.called());
    assert!(peeked.called() > 0.15, "{peeked:?}");
}

/// The table in `Spending`'s documentation.
// Slow: 11,000 simulated comparisons of up to 30 rounds.
#[test]
fn power_and_rounds() {
    const RUNS: u32 = 2_000;
    const MOST: u32 = 30;
    let looks: Vec<u32> = (FIRST_LOOK..=MOST).collect();
    let plan = |looks: &[u32], spending| Plan::new(looks, spending).expect("a plan");
    let at = |plan: &Plan, effect: f64, runs: u32| {
        let mut source = Source::new(130);
        compare(
            runs,
            MOST,
            || effect + source.normal(),
            |a, b| plan.ratio(a, b),
        )
    };
    let fixed = at(&plan(&[MOST], Spending::Even), 0.5, RUNS).called();
    println!("fixed: {fixed:.3}");
    assert!((0.72..0.78).contains(&fixed), "{fixed}");
    for (spending, least, most_rounds, at_2, at_10) in [
        (Spending::OBrienFleming, 0.69, 24.7, 10.8, 8.2),
        (Spending::Quadratic, 0.66, 23.8, 8.2, 4.4),
        (Spending::Even, 0.60, 23.5, 7.2, 3.5),
    ] {
        let plan = plan(&looks, spending);
        let half = at(&plan, 0.5, RUNS);
        let (two, ten) = (at(&plan, 2.0, 500), at(&plan, 10.0, 500));
        println!(
            "{spending:?}: {:.3} in {:.1}, at 2 s {:.1}, at 10 s {:.1}",
            half.called(),
            half.rounds(),
            two.rounds(),
            ten.rounds()
        );
        assert!(
            half.called() > least && half.rounds() < most_rounds,
            "{half:?}"
        );
        assert!(two.called() > 0.999 && two.rounds() < at_2, "{two:?}");
        assert!(ten.called() > 0.999 && ten.rounds() < at_10, "{ten:?}");
    }
}

/// All intervals of a comparison together hold the true ratio, not only those of equal servers; and
/// rounds that fail for reasons of their own, or an end before its time, change nothing.
// Slow: 2,000 simulated comparisons, looked at after each of 20 rounds.
#[test]
fn all_intervals_together_cover() {
    const RUNS: u32 = 2_000;
    let plan = Plan::up_to(20).expect("a plan");
    let ended: Vec<Plan> = (2..=20)
        .map(|rounds| plan.ended_at(rounds).expect("a plan"))
        .collect();
    let mut source = Source::new(140);
    let mut missed = 0;
    for _ in 0..RUNS {
        let a: Side = (0..20)
            .map(|_| {
                let value = 1.3 * (0.05 * source.normal()).exp();
                (source.uniform() > 0.15).then_some(value)
            })
            .collect();
        let ones = vec![Some(1.0); a.len()];
        let outside = |plan: &Plan, n: usize| {
            let ratio = plan.ratio(&a[..n], &ones[..n]).ok();
            let interval = ratio.and_then(|ratio| ratio.interval());
            interval.is_some_and(|interval| !interval.contains(1.3))
        };
        let ended = &ended[a.iter().flatten().count() - 2];
        missed += u32::from((1..=20).any(|n| outside(&plan, n)) || outside(ended, 20));
    }
    let share = f64::from(missed) / f64::from(RUNS);
    println!("missed: {share:.3}");
    assert!(
        share <= at_most_five_percent(RUNS) && share > 0.03,
        "{share}"
    );
}

/// The verdict: equal servers are called different in at most 5%; the number of rounds it asks for
/// then settles the matter, mostly.
#[test]
fn verdicts_and_the_rounds_they_ask_for() {
    const RUNS: u32 = 2_000;
    for (effect, wanted, least) in [
        (0.0, Decision::Same, 0.92),
        (0.02, Decision::Better, 0.95),
        (-0.03, Decision::Worse, 0.95),
    ] {
        let mut source = Source::new(150);
        let spread = 0.01;
        // The true spread, so that only the number itself is judged.
        let settles = f64::max(f64::abs(effect), BAND);
        let rounds = rounds_needed(spread, settles.ln_1p() / 2.0).expect("a number");
        let (mut right, mut wrong) = (0, 0);
        for _ in 0..RUNS {
            let a: Side = (0..rounds)
                .map(|_| Some((f64::ln_1p(effect) + spread * source.normal()).exp()))
                .collect();
            let ratio = paired_log_ratio(&a, &vec![Some(1.0); a.len()]).expect("pairs");
            let verdict = verdict(&ratio, BAND, Better::Higher).expect("a verdict");
            right += u32::from(verdict == wanted);
            wrong +=
                u32::from(!matches!(verdict, Decision::Inconclusive { .. }) && verdict != wanted);
        }
        println!("{effect}: {rounds} rounds, {right} right, {wrong} wrong of {RUNS}");
        assert!(f64::from(right) >= least * f64::from(RUNS));
        assert!(f64::from(wrong) <= 0.05 * f64::from(RUNS));
    }
}

/// t·s/√n for s = 0.08, by scipy 1.17: n = 10 has 0.05723, n = 11 has 0.05375; n = 248 has 0.010006,
/// n = 249 has 0.009985.
#[test]
fn the_number_of_rounds() {
    assert_eq!(rounds_needed(0.08, 0.055), Some(11));
    assert_eq!(rounds_needed(0.08, 0.01), Some(249));
    assert_eq!(rounds_needed(0.08, 10.0), Some(2));
    assert_eq!(rounds_needed(0.08, 0.001), None);
}

proptest! {
    #[test]
    fn exchanging_the_servers_exchanges_better_and_worse(
        pairs in prop::collection::vec((0.9..1.1, 0.9..1.1), 2..12),
        band in 0.0..0.1,
    ) {
        let (a, b): (Side, Side) = pairs.iter().map(|&(a, b)| (Some(a), Some(b))).unzip();
        let one = verdict(&paired_log_ratio(&a, &b).unwrap(), band, Better::Higher).unwrap();
        let other = verdict(&paired_log_ratio(&b, &a).unwrap(), band, Better::Higher).unwrap();
        let lower = verdict(&paired_log_ratio(&b, &a).unwrap(), band, Better::Lower).unwrap();
        match (one, other) {
            (Decision::Better, Decision::Worse)
            | (Decision::Worse, Decision::Better)
            | (Decision::Same, Decision::Same) => prop_assert_eq!(one, lower),
            (
                Decision::Inconclusive { more_rounds: a, difference: x },
                Decision::Inconclusive { more_rounds: b, difference: y },
            ) => {
                prop_assert!(f64::abs(x - y) < 1e-9);
                prop_assert!(a.unwrap_or(0).abs_diff(b.unwrap_or(0)) <= 1);
                prop_assert!(a != Some(0));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn half_a_band_always_settles(log in -0.1..0.1, part in 0.0..1.0) {
        let band: f64 = 0.02;
        let center = f64::exp(log);
        let half = part * band.ln_1p() / 2.0;
        let interval = prony_stats::Interval::new(f64::exp(log - half), f64::exp(log + half));
        let ratio = Estimate::new(center, interval, 5, prony_stats::Unit::Ratio);
        // Rounding may leave the center just outside an interval without width.
        prop_assume!(ratio.is_ok());
        let verdict = verdict(&ratio.unwrap(), band, Better::Higher).unwrap();
        prop_assert!(!matches!(verdict, Decision::Inconclusive { .. }), "{:?}", verdict);
    }

    #[test]
    fn fewer_rounds_are_not_enough(s in 0.001..0.5, half in 0.005..0.5) {
        if let Some(n) = rounds_needed(s, half) {
            let width = |n: u32| {
                let t = prony_stats::mean::t_quantile(f64::from(n) - 1.0).unwrap();
                t * s / f64::from(n).sqrt()
            };
            prop_assert!(width(n) <= half * (1.0 + 1e-12));
            prop_assert!(n == 2 || width(n - 1) > half);
        }
    }
}

proptest! {
    // A plan takes some milliseconds.
    #![proptest_config(ProptestConfig::with_cases(12))]

    // Slow: 36 plans of up to 19 looks, whose limits are integrated numerically.
    #[test]
    fn critical_values_are_wider_than_students(most in 4_u32..40, first in 2_u32..4) {
        let looks: Vec<u32> = (first..=most).step_by(2).collect();
        for spending in [Spending::OBrienFleming, Spending::Quadratic, Spending::Even] {
            let plan = Plan::new(&looks, spending).unwrap();
            for look in plan.looks() {
                let t = prony_stats::mean::t_quantile(f64::from(look.rounds) - 1.0).unwrap();
                prop_assert!(look.critical.is_none_or(|c| c >= t * (1.0 - 1e-6)), "{look:?}");
            }
            prop_assert!(plan.looks().last().unwrap().critical.is_some());
        }
    }
}

/// Four comparisons of five find the minimum detectable effect, where rounds have the spread that was given. With c +
/// 0.84 standard errors it was 60 to 74% of up to ten rounds.
#[test]
fn the_minimum_detectable_effect_is_found_in_four_of_five() {
    minimum_detectable_effect(&[4, 6, 10], 1_000);
}

#[test]
#[ignore = "scripts/campaign statistics: a quarter of a minute of simulation"]
fn the_minimum_detectable_effect_of_many_rounds_is_found_in_four_of_five() {
    minimum_detectable_effect(&[5, 8, 20, 30], 4_000);
}

fn minimum_detectable_effect(of: &[u32], runs: u32) {
    const SPREAD: f64 = 0.02;
    for &rounds in of {
        for among in [1, 4, 8] {
            let plan = Plan::up_to(rounds).expect("a plan").among(among);
            let errors = plan.detectable_at(rounds).expect("rounds");
            let effect = errors * SPREAD / f64::from(rounds).sqrt();
            let mut source = Source::new(600 + u64::from(rounds));
            let mut found = 0_u32;
            for _ in 0..runs {
                let a: Vec<Option<f64>> = (0..rounds)
                    .map(|_| Some((effect + SPREAD * source.normal()).exp()))
                    .collect();
                let b = vec![Some(1.0); a.len()];
                found += u32::from(plan.looks().iter().rev().any(|look| {
                    let n = look.rounds as usize;
                    let ratio = plan.ratio(&a[..n], &b[..n]).expect("a ratio");
                    ratio
                        .interval()
                        .is_some_and(|interval| interval.low() > 1.0)
                }));
            }
            let power = f64::from(found) / f64::from(runs);
            println!("{rounds} rounds, {among} comparisons: {power:.3}");
            assert!((0.77..0.87).contains(&power), "{rounds} {among}: {power}");
        }
    }
}

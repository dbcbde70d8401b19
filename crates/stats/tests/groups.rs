//! Groups of starts that were not measured in pairs: the bootstrap and Fieller's interval.

mod common;

use common::Source;
use prony_stats::{Estimate, bootstrap, fieller};
use proptest::prelude::*;

/// The quadratic inequality solved by scipy 1.17's `brentq` instead of a formula, with `t.ppf` of
/// Welch's 5.255806 degrees of freedom, 2.533403.
#[test]
fn fieller_against_a_root_finder() {
    let a = [101.2, 99.8, 103.4, 100.9, 98.7];
    let b = [88.1, 92.4, 90.3, 87.6];
    let ratio = fieller::ratio_of_means(&a, &b).expect("a ratio");
    let near = |got: Option<f64>, want: f64| f64::abs(got.expect("a number") - want) < 1e-8;
    assert!(near(Some(ratio.value()), 1.125), "{ratio:?}");
    assert!(near(ratio.low(), 1.084_554_938_915), "{ratio:?}");
    assert!(near(ratio.high(), 1.167_632_688_050), "{ratio:?}");
    assert_eq!(ratio.n(), 4);
}

/// Starts of 20 windows; the true ratio is 1.1. Coefficients of variation of the starts and of the
/// windows within a start.
fn group(source: &mut Source, level: f64, starts: usize, cv: (f64, f64)) -> Vec<Vec<f64>> {
    (0..starts)
        .map(|_| {
            let level = level * (1.0 + cv.0 * source.normal());
            (0..20)
                .map(|_| level * (1.0 + cv.1 * source.normal()).max(0.0))
                .collect()
        })
        .collect()
}

fn means(group: &[Vec<f64>]) -> Vec<f64> {
    let mean = |start: &Vec<f64>| start.iter().sum::<f64>() / start.len() as f64;
    group.iter().map(mean).collect()
}

struct Coverage {
    bootstrap: f64,
    fieller: f64,
    widths: f64,
}

fn simulate(seed: u64, starts: usize, cv: (f64, f64)) -> Coverage {
    const RUNS: u64 = 400;
    let mut source = Source::new(seed);
    let (mut by_bootstrap, mut by_fieller, mut widths) = (0_u32, 0_u32, 0.0);
    for run in 0..RUNS {
        let (a, b) = (
            group(&mut source, 1.1e5, starts, cv),
            group(&mut source, 1e5, starts, cv),
        );
        let one = bootstrap::ratio_of_means(&a, &b, 500, run).expect("a ratio");
        let other = fieller::ratio_of_means(&means(&a), &means(&b)).expect("a ratio");
        let holds = |ratio: &Estimate| ratio.interval().is_some_and(|i| i.contains(1.1));
        let width = |ratio: &Estimate| ratio.relative_half_width().unwrap_or(f64::NAN);
        by_bootstrap += u32::from(holds(&one));
        by_fieller += u32::from(holds(&other));
        widths += width(&one) / width(&other) / RUNS as f64;
    }
    let share = |n: u32| f64::from(n) / RUNS as f64;
    Coverage {
        bootstrap: share(by_bootstrap),
        fieller: share(by_fieller),
        widths,
    }
}

#[test]
fn both_intervals_cover() {
    for (seed, starts, cv, least, most) in [
        // Where starts differ most. Three are too few for a bootstrap: see its documentation.
        (200, 3, (0.05, 0.02), 0.85, 0.94),
        (201, 5, (0.05, 0.02), 0.92, 0.98),
        (202, 10, (0.05, 0.02), 0.92, 0.98),
        // Where windows do.
        (203, 5, (0.02, 0.2), 0.96, 1.0),
    ] {
        let Coverage {
            bootstrap,
            fieller,
            widths,
        } = simulate(seed, starts, cv);
        println!(
            "{starts} starts, {cv:?}: {bootstrap:.3}, Fieller {fieller:.3}, widths {widths:.2}"
        );
        assert!((least..=most).contains(&bootstrap), "{starts}: {bootstrap}");
        assert!((0.92..=0.985).contains(&fieller), "{starts}: {fieller}");
    }
}

/// With ten starts that differ, the two say about the same.
#[test]
fn the_bootstrap_agrees_with_fieller() {
    let mut source = Source::new(210);
    let a = group(&mut source, 1.1e5, 10, (0.05, 0.02));
    let b = group(&mut source, 1e5, 12, (0.05, 0.02));
    let one = bootstrap::ratio_of_means(&a, &b, bootstrap::RESAMPLES, 1).expect("a ratio");
    let other = fieller::ratio_of_means(&means(&a), &means(&b)).expect("a ratio");
    assert!(f64::abs(one.value() - other.value()) < 1e-12);
    let (one, other) = (
        one.interval().expect("ends"),
        other.interval().expect("ends"),
    );
    let width = other.high() - other.low();
    assert!(
        f64::abs(one.low() - other.low()) < 0.15 * width,
        "{one:?} {other:?}"
    );
    assert!(
        f64::abs(one.high() - other.high()) < 0.15 * width,
        "{one:?} {other:?}"
    );
}

/// Another seed changes the ends by little of the interval's width.
#[test]
fn ten_thousand_resamples_are_enough() {
    let mut source = Source::new(220);
    let a = group(&mut source, 1.1e5, 6, (0.03, 0.03));
    let b = group(&mut source, 1e5, 6, (0.03, 0.03));
    let ends: Vec<_> = (0..5)
        .map(|seed| {
            let ratio = bootstrap::ratio_of_means(&a, &b, bootstrap::RESAMPLES, seed);
            ratio.expect("a ratio").interval().expect("ends")
        })
        .collect();
    let width = ends[0].high() - ends[0].low();
    for other in &ends[1..] {
        assert!(
            f64::abs(other.low() - ends[0].low()) < 0.05 * width,
            "{ends:?}"
        );
        assert!(
            f64::abs(other.high() - ends[0].high()) < 0.05 * width,
            "{ends:?}"
        );
    }
}

fn starts() -> impl Strategy<Value = Vec<Vec<f64>>> {
    prop::collection::vec(prop::collection::vec(1.0..100.0, 1..8), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_ratio_is_inside_its_interval(a in starts(), b in starts(), seed in 0_u64..1_000) {
        let one = bootstrap::ratio_of_means(&a, &b, 200, seed).unwrap();
        prop_assert!(one.interval().is_none_or(|i| i.contains(one.value())));
        prop_assert_eq!(one.interval().is_some(), a.len().min(b.len()) >= bootstrap::MIN_STARTS);
        let other = fieller::ratio_of_means(&means(&a), &means(&b)).unwrap();
        prop_assert!(other.interval().is_none_or(|i| i.contains(other.value())));
        prop_assert!(f64::abs(one.value() / other.value() - 1.0) < 1e-12);
    }

    /// A bounded interval of a/b, inverted, is that of b/a, but for the degrees of freedom, which are
    /// the same: Welch's do not depend on which of the two is on top.
    #[test]
    fn fieller_is_the_same_upside_down(
        a in prop::collection::vec(50.0..60.0, 2..8),
        b in prop::collection::vec(50.0..60.0, 2..8),
    ) {
        let one = fieller::ratio_of_means(&a, &b).unwrap();
        let other = fieller::ratio_of_means(&b, &a).unwrap();
        if let (Some(one), Some(other)) = (one.interval(), other.interval()) {
            prop_assume!(one.low() > 0.0 && other.low() > 0.0);
            prop_assert!(f64::abs(one.low() * other.high() - 1.0) < 1e-9, "{:?} {:?}", one, other);
            prop_assert!(f64::abs(one.high() * other.low() - 1.0) < 1e-9, "{:?} {:?}", one, other);
        }
    }

    #[test]
    fn a_unit_changes_nothing(a in starts(), b in starts(), factor in 0.001..1_000.0) {
        let scaled: Vec<Vec<f64>> =
            a.iter().map(|start| start.iter().map(|v| v * factor).collect()).collect();
        let one = bootstrap::ratio_of_means(&a, &b, 100, 1).unwrap();
        let other = bootstrap::ratio_of_means(&scaled, &b, 100, 1).unwrap();
        prop_assert!(f64::abs(one.value() * factor / other.value() - 1.0) < 1e-9);
        if let (Some(one), Some(other)) = (one.interval(), other.interval()) {
            prop_assert!(f64::abs(one.low() * factor / other.low() - 1.0) < 1e-9);
        }
    }
}

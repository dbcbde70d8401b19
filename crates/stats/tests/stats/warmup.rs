//! The classes of windowed series against what was planted.

use crate::common::Source;
use crate::common::planted::{Planted, Shape, plant};
use prony_stats::change_points::SHORTEST;
use prony_stats::compare::Better;
use prony_stats::warmup_class::{Class, classify};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The first window that may be measured; None if none may.
fn steady_from(class: Class) -> Option<usize> {
    match class {
        Class::Flat => Some(0),
        Class::WarmUp { ends_at } | Class::Slowdown { ends_at } => Some(ends_at),
        Class::NoSteadyState | Class::TooFew { .. } => None,
    }
}

fn is_right(shape: Shape, class: Class) -> bool {
    match shape {
        Shape::Flat => class == Class::Flat,
        Shape::Step | Shape::Ramp => matches!(class, Class::WarmUp { .. }),
        Shape::Slowdown => matches!(class, Class::Slowdown { .. }),
        Shape::Cycle | Shape::Wave | Shape::Drift => class == Class::NoSteadyState,
    }
}

/// How far the mean of what would be measured lies from the steady level, in the unit that matters:
/// the larger of 1% and three standard errors.
fn bias(planted: &Planted, noise: f64, from: usize) -> f64 {
    let steady = &planted.rates[from..];
    // The middle value, for single windows that are far off.
    let mut sorted = steady.to_vec();
    sorted.sort_by(f64::total_cmp);
    let off = sorted[sorted.len() / 2] / planted.level - 1.0;
    off.abs() / f64::max(0.01, 3.0 * 1.25 * noise / (steady.len() as f64).sqrt())
}

/// All shapes, 40 to 240 windows, noise of 1 to 8%, without and with outliers. Shape by shape at least
/// 95% are right, and what would be measured is the level that the series settles at.
#[test]
fn planted_series_are_recognised() {
    let (mut all, mut all_right) = (0, 0);
    for shape in Shape::ALL {
        let (mut series, mut right, mut settled, mut biased) = (0, 0, 0, 0);
        for windows in [40, 60, 120, 240] {
            for noise in [0.01, 0.02, 0.04, 0.08] {
                for outliers in [0, windows / 40, windows / 20] {
                    for seed in 0..8 {
                        let mut rng = Xoshiro256PlusPlus::seed_from_u64(
                            1_000_000 + seed * 1_000 + windows as u64,
                        );
                        let planted = plant(shape, windows, noise, outliers, &mut rng);
                        let class = classify(&planted.rates, Better::Higher).expect("a class");
                        series += 1;
                        right += i32::from(is_right(shape, class));
                        if let Some(from) = steady_from(class).filter(|_| is_right(shape, class)) {
                            settled += 1;
                            biased += i32::from(bias(&planted, noise, from) > 1.0);
                        }
                    }
                }
            }
        }
        println!("{shape:?}: {right} of {series} right; {biased} of {settled} biased");
        assert!(
            f64::from(right) >= 0.95 * f64::from(series),
            "{shape:?}: {right}"
        );
        assert!(
            f64::from(biased) <= 0.05 * f64::from(settled),
            "{shape:?}: {biased}"
        );
        all += series;
        all_right += right;
    }
    println!("all: {all_right} of {all}");
    assert!(f64::from(all_right) >= 0.98 * f64::from(all));
}

/// Noise that is not independent and normal: heavy tails, and windows that depend on their neighbours.
/// The more they do, the more a flat series looks as if it moved.
#[test]
fn other_kinds_of_noise() {
    for (name, keep, heavy, least) in [
        ("heavy tails", 0.0, true, 0.95),
        ("0.3 of the window before", 0.3, false, 0.90),
        ("0.5 of the window before", 0.5, false, 0.90),
    ] {
        let mut source = Source::new(600);
        let (mut flat, mut step) = (0, 0);
        for _ in 0..100 {
            let noise = if heavy {
                (0..100).map(|_| source.heavy() * f64::sqrt(0.6)).collect()
            } else {
                source.dependent(100, keep)
            };
            let rates: Vec<f64> = noise.iter().map(|z| 5e4 * (1.0 + 0.03 * z)).collect();
            flat += i32::from(classify(&rates, Better::Higher) == Ok(Class::Flat));
            let mut warming = rates;
            for rate in &mut warming[..25] {
                *rate *= 0.7;
            }
            let class = classify(&warming, Better::Higher).expect("a class");
            step += i32::from(matches!(class, Class::WarmUp { ends_at: 24..=28 }));
        }
        println!("{name}: {flat} of 100 flat, {step} of 100 steps");
        assert!(
            f64::from(flat.min(step)) >= 100.0 * least,
            "{name}: {flat}, {step}"
        );
    }
}

/// The series that a server warming up in two stages makes, one that slows down after a fast phase, and
/// one with a disturbance in the middle.
#[test]
fn compound_series() {
    let mut source = Source::new(610);
    let mut series = |at: &dyn Fn(usize) -> f64| -> Vec<f64> {
        (0..100)
            .map(|i| 5e4 * at(i) * (1.0 + 0.02 * source.normal()))
            .collect()
    };
    let stages = series(&|i| [0.4, 0.8, 1.0][(i / 10).min(2)]);
    let Ok(Class::WarmUp { ends_at }) = classify(&stages, Better::Higher) else {
        panic!("two stages");
    };
    assert!(ends_at.abs_diff(20) <= 1, "{ends_at}");
    // The same numbers as response times: it was better before.
    assert_eq!(
        classify(&stages, Better::Lower),
        Ok(Class::Slowdown { ends_at })
    );
    let burst = series(&|i| [0.5, 1.4, 1.4, 1.0][(i / 12).min(3)]);
    assert!(matches!(
        classify(&burst, Better::Higher),
        Ok(Class::Slowdown { ends_at: 35..=37 })
    ));
    let disturbed = series(&|i| if (40..52).contains(&i) { 0.7 } else { 1.0 });
    assert!(matches!(
        classify(&disturbed, Better::Higher),
        Ok(Class::WarmUp { ends_at: 51..=53 })
    ));
    let cold = series(&|i| if i == 0 { 0.5 } else { 1.0 });
    assert_eq!(
        classify(&cold, Better::Higher),
        Ok(Class::WarmUp { ends_at: 1 })
    );
    let falls_at_the_end = series(&|i| if i < 90 { 1.4 } else { 1.0 });
    assert_eq!(
        classify(&falls_at_the_end, Better::Higher),
        Ok(Class::NoSteadyState)
    );
}

#[test]
fn extremes() {
    assert_eq!(classify(&[5.0; 40], Better::Higher), Ok(Class::Flat));
    assert_eq!(classify(&[0.0; 40], Better::Higher), Ok(Class::Flat));
    assert_eq!(
        classify(&[5.0; 9], Better::Higher),
        Ok(Class::TooFew { have: 9 })
    );
    assert!(classify(&[], Better::Higher).is_err());
    assert!(classify(&[f64::INFINITY; 40], Better::Higher).is_err());
    // A server that answers only from some time on.
    let mut late = vec![0.0; 40];
    late[12..].fill(1e4);
    assert_eq!(
        classify(&late, Better::Higher),
        Ok(Class::WarmUp { ends_at: 12 })
    );
}

proptest! {
    #[test]
    fn whatever_the_series_the_steady_part_is_inside_it(
        values in prop::collection::vec(0.0..1e6, 1..80),
    ) {
        match classify(&values, Better::Higher).unwrap() {
            Class::TooFew { have } => prop_assert!(have == values.len() && have < 2 * SHORTEST),
            class => {
                let from = steady_from(class).unwrap_or(0);
                prop_assert!(values.len() - from >= SHORTEST.max(values.len() / 4));
                prop_assert_eq!(from == 0, matches!(class, Class::Flat | Class::NoSteadyState));
            }
        }
    }

    #[test]
    fn turned_around_a_warm_up_is_a_slowdown(
        seed in 0_u64..1_000,
        factor in 0.001..1_000.0,
    ) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let planted = plant(Shape::Step, 60, 0.02, 1, &mut rng);
        let scaled: Vec<f64> = planted.rates.iter().map(|rate| rate * factor).collect();
        let class = classify(&planted.rates, Better::Higher).unwrap();
        prop_assert_eq!(class, classify(&scaled, Better::Higher).unwrap());
        let other = classify(&planted.rates, Better::Lower).unwrap();
        prop_assert_eq!(steady_from(class), steady_from(other));
        if matches!(class, Class::WarmUp { .. }) {
            prop_assert!(matches!(other, Class::Slowdown { .. }), "{:?}", other);
        }
    }
}

//! Changes of the mean: what was planted is found, and chance is not.

use crate::common::Source;
use prony_stats::change_of_mean::{ALPHA, change_of_mean};
use proptest::prelude::*;

#[test]
fn a_large_change_is_found_with_two_values_after_it() {
    assert_eq!(change_of_mean(&[100.0, 101.0, 80.0, 80.5]), Some(2));
    assert_eq!(
        change_of_mean(&[100.0, 101.0, 100.5, 99.8, 100.1, 80.0, 81.0]),
        Some(5)
    );
    // One value may be an accident.
    assert_eq!(
        change_of_mean(&[100.0, 101.0, 100.5, 99.8, 100.1, 80.0]),
        None
    );
}

#[test]
fn few_and_equal_values_are_no_change() {
    for values in [&[][..], &[1.0], &[1.0, 2.0, 3.0], &[5.0; 9], &[0.0; 9]] {
        assert_eq!(change_of_mean(values), None, "{values:?}");
    }
}

/// In at most one of a hundred steady series of normal values.
#[test]
fn chance_is_rarely_called_a_change() {
    let mut source = Source::new(77);
    const SERIES: u32 = 4_000;
    for n in [4, 6, 9, 30] {
        let steady = |source: &mut Source| -> Vec<f64> {
            (0..n).map(|_| 100.0 + 3.0 * source.normal()).collect()
        };
        let called = (0..SERIES).filter(|_| change_of_mean(&steady(&mut source)).is_some());
        let called = called.count() as f64 / f64::from(SERIES);
        // Three standard errors of the count above what is allowed.
        let allowed = ALPHA + 3.0 * (ALPHA / f64::from(SERIES)).sqrt();
        assert!(called <= allowed, "{n} values: {called}");
    }
}

/// A fifth less after five runs that spread by 2%: two runs show it.
#[test]
fn what_was_planted_is_found() {
    let mut source = Source::new(78);
    let found = (0..1_000).filter(|_| {
        let level = |at: usize| if at < 5 { 100.0 } else { 80.0 };
        let values: Vec<f64> = (0..7)
            .map(|at| level(at) * (1.0 + 0.02 * source.normal()))
            .collect();
        change_of_mean(&values) == Some(5)
    });
    let found = found.count();
    assert!(found >= 950, "{found}");
}

proptest! {
    #[test]
    fn the_place_leaves_enough_on_both_sides(
        values in prop::collection::vec(0.1..1e6_f64, 0..20),
    ) {
        if let Some(at) = change_of_mean(&values) {
            prop_assert!(at >= 2 && values.len() - at >= 2);
        }
    }
}

use super::*;
use prony_record::service::Unclear;
use proptest::prelude::*;

const NOISE: Outcome = Outcome::Unclear(Unclear::NoisyHost);

fn outcome(kept: bool) -> Outcome {
    match kept {
        true => Outcome::Kept,
        false => Outcome::Broken,
    }
}

/// Carries a search out. `answers` is told the rate, whether the trial is a long one, and its number.
fn search(first: f64, mut answers: impl FnMut(f64, bool, usize) -> Outcome) -> Search {
    let mut search = Search::from(first);
    while let Next::Try { rate, long } = search.next() {
        let number = search.trials.len();
        assert!(number < MOST, "it does not end");
        search.tried(answers(rate, long, number));
    }
    search
}

/// What it has found, if that is known.
fn found(search: &Search) -> Option<f64> {
    capacity(&search.known())
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Kept), Just(Outcome::Broken), Just(NOISE)]
}

proptest! {
    #[test]
    fn a_sharp_limit_is_found_within_its_precision(limit in 101.0..1e7_f64) {
        let search = search(100.0, |rate, _, _| outcome(rate <= limit));
        let found = found(&search).unwrap();
        prop_assert!(found <= limit && found > limit * 0.985, "{found} of {limit}");
        prop_assert!(search.trials.len() < 60, "{}", search.trials.len());
    }

    #[test]
    fn it_ends_whatever_is_seen(answers in proptest::collection::vec(any_outcome(), 1..50)) {
        let mut answers = answers.into_iter().cycle();
        // Rates cannot double for ever: no server keeps a billion requests a second.
        let search = search(100.0, |rate, _, _| match answers.next() {
            Some(answer) if rate < 1e9 => answer,
            _ => Outcome::Broken,
        });
        let known = search.known();
        if let (Some(low), Some(high)) = (known.low, known.high) {
            prop_assert!(low <= high, "{known:?}");
            prop_assert!(!known.because.is_empty() || high <= low * 1.100_001, "{known:?}");
        }
    }

    /// Noise breaks trials and never makes one that the server would not have kept: whatever it does, the
    /// truth is within the bounds.
    #[test]
    fn noise_that_is_seen_never_misleads(
        limit in 101.0..1e7_f64,
        noisy in proptest::collection::vec(any::<bool>(), 1..40),
    ) {
        let search = search(100.0, |rate, _, number| match noisy[number % noisy.len()] {
            true => NOISE,
            false => outcome(rate <= limit),
        });
        let known = search.known();
        prop_assert!(known.low.is_none_or(|low| low <= limit), "{limit}: {known:?}");
        prop_assert!(known.high.is_none_or(|high| high >= limit * 0.985), "{limit}: {known:?}");
        if let Some(found) = capacity(&known) {
            prop_assert!(found > limit * 0.9, "{limit}: {known:?}");
        }
    }

    /// Noise that no check sees may break any trial, at a rate of its own for every case.
    #[test]
    fn accidents_in_a_few_trials_are_overcome(
        limit in 200.0..1e6_f64,
        every in 7_usize..30,
        offset in 0_usize..30,
    ) {
        let search = search(100.0, |rate, _, number| {
            outcome(rate <= limit && (number + offset) % every != 0)
        });
        let known = search.known();
        let high = known.high.unwrap_or(f64::INFINITY);
        let held = found(&search).is_some_and(|found| found > limit * 0.85);
        prop_assert!(held || high >= limit * 0.9, "{limit}: {known:?}");
    }
}

#[test]
fn a_rate_may_fail_once() {
    let mut failed = false;
    let search = search(100.0, |rate, _, _| {
        if rate == 400.0 && !failed {
            failed = true;
            return Outcome::Broken;
        }
        outcome(rate <= 5_000.0)
    });
    assert!(found(&search).unwrap() > 4_900.0);
}

#[test]
fn it_steps_back_when_the_boundary_does_not_hold() {
    let mut long_tries = 0;
    let search = search(100.0, |rate, long, _| {
        long_tries += u32::from(long);
        outcome(rate <= if long { 930.0 } else { 1_000.0 })
    });
    let found = found(&search).unwrap();
    assert!(found <= 930.0 && found > 880.0, "{found}");
    assert!(long_tries > BOUNDARY);
}

#[test]
fn long_trials_that_disagree_with_short_ones_are_a_range() {
    let search = search(100.0, |rate, long, _| {
        outcome(rate <= if long { 700.0 } else { 1_000.0 })
    });
    let known = search.known();
    assert_eq!(capacity(&known), None);
    let low = known.low.unwrap();
    assert!((600.0..=700.0).contains(&low), "{known:?}");
    assert!(known.high.unwrap() >= 990.0, "{known:?}");
    assert!(known.because[0].contains("trials disagree"), "{known:?}");
}

#[test]
fn no_rate_is_kept() {
    let search = search(100.0, |_, _, _| Outcome::Broken);
    let known = search.known();
    assert_eq!((known.low, known.high), (None, Some(100.0)));
    assert_eq!(search.trials.len(), 2);
}

#[test]
fn a_rate_that_was_broken_by_accident_is_challenged() {
    // Until the boundary has held, nothing above 2,400/s is kept, and no check says why.
    let mut long_kept = 0;
    let search = search(100.0, |rate, long, _| {
        let kept = rate
            <= if long_kept < BOUNDARY {
                2_400.0
            } else {
                13_500.0
            };
        long_kept += u32::from(long && kept);
        outcome(kept)
    });
    let found = found(&search).unwrap();
    assert!(found > 13_300.0, "{found}");
}

#[test]
fn a_trial_that_noise_broke_is_repeated() {
    let mut noisy = 0;
    let search = search(100.0, |rate, _, _| {
        if rate == 400.0 && noisy < REPEATS {
            noisy += 1;
            return NOISE;
        }
        outcome(rate <= 5_000.0)
    });
    assert!(found(&search).unwrap() > 4_900.0);
}

#[test]
fn noise_that_persists_leaves_bounds_and_ends_soon() {
    let noisy = |above: f64, limit: f64| {
        search(100.0, move |rate, _, _| match rate {
            rate if rate > above && rate < 1.5 * limit => NOISE,
            rate => outcome(rate <= limit),
        })
    };
    let search = noisy(2_400.0, 13_500.0);
    let known = search.known();
    assert_eq!(capacity(&known), None);
    let low = known.low.unwrap();
    assert!((2_200.0..=2_400.0).contains(&low), "{known:?}");
    assert!(known.high.unwrap() >= 13_500.0, "{known:?}");
    assert!(known.because[0].contains("other processes"), "{known:?}");
    assert!(search.trials.len() < 50, "{}", search.trials.len());
    // Where nothing is broken for certain there is no upper bound.
    let search = noisy(2_400.0, f64::INFINITY);
    assert_eq!(search.known().high, None);
}

#[test]
fn noise_at_the_beginning_is_waited_for() {
    let search = search(100.0, |rate, _, number| match number {
        0..8 => NOISE,
        _ => outcome(rate <= 5_000.0),
    });
    assert!(search.known().low.unwrap() > 100.0, "{:?}", search.known());
    let hidden = super::tests::search(100.0, |_, _, _| NOISE);
    assert_eq!(hidden.known().low, None);
    assert!(hidden.trials.len() < 30, "{}", hidden.trials.len());
}

#[test]
fn a_contradicted_capacity_is_taken_back() {
    let mut search = search(100.0, |rate, _, _| outcome(rate <= 1_000.0));
    let before = found(&search).unwrap();
    // From now on 700/s is the most.
    let point = round(before * 0.8);
    for _ in 0..POINT_TRIES {
        search.note(point, Outcome::Broken);
    }
    assert!(found(&search).is_none());
    assert!(search.take_back(point));
    while let Next::Try { rate, .. } = search.next() {
        search.tried(outcome(rate <= 700.0));
    }
    let known = search.known();
    let low = known.low.unwrap();
    assert!(low <= 700.0 && low > 650.0, "{known:?}");
    assert_eq!(known.high, Some(before.max(known.high.unwrap())));
    assert!(
        known.because[0].contains("was not kept after that"),
        "{known:?}"
    );
    assert!(search.take_back(low));
    assert!(!search.take_back(low), "not for ever");
}

#[test]
fn the_first_rate_has_answers_enough() {
    assert_eq!(first_rate(99.0, 10.0), 120.0);
    assert_eq!(first_rate(50.0, 10.0), 100.0);
    assert_eq!(first_rate(99.9, 1.0), 12_000.0);
}

#[test]
fn shares_beyond_the_capacity() {
    assert_eq!(beyond(2.0), [1.1, 1.25, 1.5, 2.0]);
    assert_eq!(beyond(1.2), [1.1, 1.2]);
    assert_eq!(beyond(3.5), [1.1, 1.25, 1.5, 2.0, 3.0, 3.5]);
}

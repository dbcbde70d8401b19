use super::*;
use prony_record::service::Unclear;
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const NOISE: Outcome = Outcome::Unclear(Unclear::NoisyHost);

fn outcome(kept: bool) -> Outcome {
    match kept {
        true => Outcome::Kept,
        false => Outcome::Broken,
    }
}

/// Carries a search out. `answers` is told the start, the rate, and the trial's number.
fn search(guess: f64, floor: f64, mut answers: impl FnMut(u32, f64, usize) -> Outcome) -> Search {
    let mut search = Search::from(guess, floor);
    loop {
        match search.next() {
            Next::Try(rate) => {
                assert!(rate >= floor * 0.999, "{rate} is below {floor}");
                let number = search.trials.len();
                assert!(number < MOST, "it does not end");
                search.tried(answers(search.start(), rate, number));
            }
            Next::Restart => search.restarted(),
            Next::Over => return search,
        }
    }
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Kept), Just(Outcome::Broken), Just(NOISE)]
}

proptest! {
    #[test]
    fn a_sharp_limit_is_found_from_both_sides(limit in 10.0..1e7_f64, wrong in -5.0..5.0_f64) {
        // The guess is wrong by a factor of up to 150.
        let search = search(limit * wrong.exp(), 1.0, |_, rate, _| outcome(rate <= limit));
        let known = search.known();
        let found = known.estimate.unwrap();
        prop_assert!((found / limit - 1.0).abs() < 0.03, "{found} of {limit}");
        prop_assert!(known.low.unwrap() <= limit && known.high.unwrap() >= limit, "{known:?}");
        prop_assert!(known.high.unwrap() / known.low.unwrap() < 1.12, "{known:?}");
        prop_assert!(search.trials.len() < 45, "{}", search.trials.len());
    }

    #[test]
    fn it_ends_whatever_is_seen(answers in proptest::collection::vec(any_outcome(), 1..50)) {
        let mut answers = answers.into_iter().cycle();
        // No server keeps a billion requests a second.
        let search = search(100.0, 1.0, |_, rate, _| match answers.next() {
            Some(answer) if rate < 1e9 => answer,
            _ => Outcome::Broken,
        });
        let known = search.known();
        if let (Some(low), Some(high)) = (known.low, known.high) {
            prop_assert!(low <= high, "{known:?}");
        }
        if let Some(estimate) = known.estimate {
            prop_assert!(known.low.unwrap() <= estimate && estimate <= known.high.unwrap());
        }
    }

    /// Noise breaks trials and never makes one that the server would not have kept: whatever it does, the
    /// truth is within the bounds.
    #[test]
    fn noise_that_is_seen_never_misleads(
        limit in 101.0..1e7_f64,
        noisy in proptest::collection::vec(any::<bool>(), 1..40),
    ) {
        let search = search(100.0, 1.0, |_, rate, number| match noisy[number % noisy.len()] {
            true => NOISE,
            false => outcome(rate <= limit),
        });
        let known = search.known();
        prop_assert!(known.low.is_none_or(|low| low <= limit * 1.001), "{limit}: {known:?}");
        prop_assert!(known.high.is_none_or(|high| high >= limit * 0.999), "{limit}: {known:?}");
    }
}

/// The share of searches whose interval has the rate that half of all starts keep, when starts differ by `starts` and each trial
/// by `trials`, as standard deviations of logarithms; and how wide it is in the median.
fn coverage(seed: u64, (starts, trials): (f64, f64)) -> (f64, f64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let normal = move |rng: &mut StdRng| {
        let (u, v): (f64, f64) = (rng.random(), rng.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let (mut covered, mut widths) = (0, Vec::new());
    let searches = 400;
    for _ in 0..searches {
        let (mut on, mut this) = (u32::MAX, 0.0);
        let search = search(700.0, 1.0, |start, rate, _| {
            if start != on {
                (on, this) = (start, starts * normal(&mut rng));
            }
            outcome((rate / 1_000.0).ln() <= this + trials * normal(&mut rng))
        });
        let known = search.known();
        let (low, high) = (known.low.unwrap(), known.high.unwrap());
        covered += u32::from(known.estimate.is_some() && (low..=high).contains(&1_000.0));
        widths.push(high / low - 1.0);
    }
    widths.sort_by(f64::total_cmp);
    (
        f64::from(covered) / f64::from(searches),
        widths[widths.len() / 2],
    )
}

#[test]
fn the_interval_holds_however_starts_and_trials_differ() {
    for spread in [
        (0.0, 0.0),
        (0.02, 0.0),
        (0.05, 0.0),
        (0.0, 0.02),
        (0.03, 0.02),
        (0.1, 0.02),
    ] {
        let (covered, width) = coverage(7, spread);
        assert!(covered >= 0.90, "{spread:?}: {covered}, {width}");
        assert!(width < 0.2 + 6.0 * spread.0, "{spread:?}: {width}");
    }
}

#[test]
fn each_start_ends_with_what_it_breaks() {
    let search = search(1_000.0, 1.0, |_, rate, _| outcome(rate <= 3_000.0));
    for start in 0..=search.start() {
        let mut of = search.trials.iter().filter(|it| it.start == start).rev();
        assert_eq!(of.next().unwrap().outcome, Outcome::Broken);
        assert!(of.all(|it| it.outcome == Outcome::Kept));
    }
    assert_eq!(search.known().starts, STARTS);
}

#[test]
fn a_server_that_keeps_nothing_is_searched_down_to_the_lowest_rate() {
    let search = search(600.0, 5.0, |_, _, _| Outcome::Broken);
    let lowest = search.trials.last().unwrap().rate;
    assert!((lowest - 5.0).abs() < 0.01, "{lowest}");
    let known = search.known();
    assert_eq!((known.estimate, known.low), (None, None));
    assert!(known.because.is_empty(), "that is known");
    assert!(search.trials.len() < 12);
}

#[test]
fn beyond_noise_a_rate_is_looked_for_that_the_server_breaks() {
    // What is near the limit is never clear.
    let search = search(500.0, 1.0, |_, rate, _| match rate {
        rate if rate <= 800.0 => Outcome::Kept,
        rate if rate < 1_500.0 => NOISE,
        _ => Outcome::Broken,
    });
    let known = search.known();
    assert!(
        known.low.unwrap() <= 800.0 && known.high.unwrap() >= 1_500.0,
        "{known:?}"
    );
    assert!(known.because[0].contains("other processes"), "{known:?}");
}

#[test]
fn the_lowest_rate_has_answers_enough() {
    assert!((lowest_rate(99.0, 30.0) - 12.0).abs() < 1e-9);
    assert!((lowest_rate(50.0, 30.0) - 0.24).abs() < 1e-9);
}

#[test]
fn shares_beyond_the_capacity() {
    assert_eq!(beyond(1.05), [1.05]);
    assert_eq!(beyond(1.5), [1.1, 1.25, 1.5]);
    assert_eq!(beyond(3.5), [1.1, 1.25, 1.5, 2.0, 3.0, 3.5]);
}

#[test]
fn rates_have_four_digits() {
    assert_eq!(round(123_456.0), 123_500.0);
    assert!((round(0.123_456) - 0.123_5).abs() < 1e-12);
}

use super::*;
use proptest::prelude::*;

fn take(mut schedule: impl Schedule, n: usize) -> Vec<Arrival> {
    (0..n)
        .map(|_| {
            let arrival = schedule.peek().expect("an open loop never ends");
            schedule.advance();
            arrival
        })
        .collect()
}

proptest! {
    #[test]
    fn shares_cover_every_connection_once(total in 1u32..5_000, workers in 1u32..17) {
        prop_assume!(workers <= total);
        let mut seen = vec![0; total as usize];
        for worker in 0..workers {
            let share = Share { worker, workers, total };
            for local in 0..share.connections() {
                seen[share.global(local) as usize] += 1;
            }
        }
        prop_assert!(seen.iter().all(|&n| n == 1));
    }

    #[test]
    fn constant_workers_together_are_one_even_schedule(
        total in 1u32..200, workers in 1u32..9, rate in 1.0f64..1e6,
    ) {
        prop_assume!(workers <= total);
        let mut due: Vec<Nanos> = (0..workers)
            .flat_map(|worker| {
                let share = Share { worker, workers, total };
                take(Constant::new(rate, share), 3 * share.connections() as usize)
            })
            .map(|arrival| arrival.due)
            .collect();
        due.sort_unstable();
        for (nth, &due) in due.iter().enumerate() {
            let exact = nth as f64 * 1e9 / rate;
            prop_assert!((due as f64 - exact).abs() <= 1.0 + exact * 1e-12, "{nth}: {due} {exact}");
        }
    }

    #[test]
    fn due_times_never_go_back(rate in 1.0f64..1e7, seed: u64) {
        let share = Share { worker: 0, workers: 1, total: 13 };
        for arrivals in [take(Constant::new(rate, share), 500), take(Poisson::new(rate, share, seed), 500)] {
            prop_assert!(arrivals.windows(2).all(|pair| pair[0].due <= pair[1].due));
            prop_assert!(arrivals.iter().all(|arrival| arrival.connection < 13));
        }
    }
}

/// Counts the arrivals before `until` one by one, as a skip has to; also returns the arrival after them.
fn count(mut schedule: impl Schedule, until: Nanos) -> (Skipped, Option<Arrival>) {
    let mut skipped = Skipped::default();
    while let Some(arrival) = schedule.peek().filter(|arrival| arrival.due < until) {
        if skipped.count == 0 {
            skipped.first = arrival.due;
        }
        skipped.count += 1;
        skipped.last = arrival.due;
        schedule.advance();
    }
    (skipped, schedule.peek())
}

proptest! {
    #[test]
    fn a_skip_is_many_steps(
        total in 1u32..40, workers in 1u32..9, worker in 0u32..9, rate in 1.0f64..1e9,
        before in 0usize..50, until in 0u64..2_000_000, seed: u64,
    ) {
        prop_assume!(workers <= total && worker < workers);
        let until = (until as f64 * 1e6 / rate) as Nanos;
        let share = Share { worker, workers, total };
        let mut constant = Constant::new(rate, share);
        let mut poisson = Poisson::new(rate, share, seed);
        for _ in 0..before {
            constant.advance();
            poisson.advance();
        }
        let (expected, next) = count(constant.clone(), until);
        let skipped = constant.skip(until);
        prop_assert_eq!((skipped.count, constant.peek()), (expected.count, next));
        prop_assert!(skipped.count == 0 || skipped == expected);
        let (expected, next) = count(poisson.clone(), until);
        let skipped = poisson.skip(until);
        prop_assert_eq!((skipped.count, poisson.peek()), (expected.count, next));
    }

    #[test]
    fn ages_are_those_of_all(count in 0u64..5_000, first in 0u64..1_000, spacing in 0u64..1_000_000) {
        let last = first + spacing * count.saturating_sub(1);
        let now = last + 5;
        let (mut told, mut sum) = (0, 0.0);
        Skipped { count, first, last }.ages(now, |age, n| {
            assert!(age >= 5 && age <= now - first && n > 0);
            told += n;
            sum += age as f64 * n as f64;
        });
        prop_assert_eq!(told, count);
        let exact: f64 = (0..count).map(|nth| (now - first - nth * spacing) as f64).sum();
        prop_assert!((sum - exact).abs() <= exact * 0.002 + 1.0, "{} {}", sum, exact);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn a_skip_takes_no_longer_for_many() {
    let share = Share {
        worker: 1,
        workers: 3,
        total: 10,
    };
    let day = 86_400 * SECOND;
    let mut constant = Constant::new(1e9, share);
    let skipped = constant.skip(day);
    assert_eq!(skipped.count, 3 * day / 10, "each tenth three times");
    assert!(constant.peek().unwrap().due >= day);
    assert_eq!(constant.skip(day), Skipped::default());
    let mut poisson = Poisson::new(1e9, share, 1);
    let expected = 0.3 * day as f64;
    let count = poisson.skip(day).count as f64;
    assert!((count - expected).abs() < 6.0 * expected.sqrt(), "{count}");
    assert!(poisson.peek().unwrap().due >= day);
    let mut steps = 0;
    skipped.ages(day, |_, _| steps += 1);
    assert!(steps < 100_000, "{steps}");
    let mut few = skipped;
    few.limit(10);
    assert_eq!(few.count, 10);
}

#[test]
fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
    let share = Share {
        worker: 0,
        workers: 1,
        total: 10,
    };
    let due: Vec<f64> = take(Poisson::new(1e6, share, 1), 200_000)
        .iter()
        .map(|a| a.due as f64)
        .collect();
    let gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean / 1_000.0 - 1.0).abs() < 0.01, "mean gap {mean}");
    assert!(
        (variance.sqrt() / mean - 1.0).abs() < 0.01,
        "coefficient of variation"
    );
}

#[test]
fn poisson_repeats_with_its_seed_and_differs_between_workers() {
    let share = |worker| Share {
        worker,
        workers: 2,
        total: 10,
    };
    let draw = |worker, seed| take(Poisson::new(1e5, share(worker), seed), 50);
    assert_eq!(draw(0, 1), draw(0, 1));
    assert_ne!(draw(0, 1), draw(0, 2));
    assert_ne!(draw(0, 1), draw(1, 1));
}

fn stages() -> impl Strategy<Value = Vec<Stage>> {
    let stage = (
        1.0f64..10_000.0,
        1.0f64..10_000.0,
        1u64..5_000,
        any::<bool>(),
    );
    let stage = stage.prop_map(|(from, to, ms, even)| Stage {
        from,
        to: if even { from } else { to },
        duration: prony_record::Span(std::time::Duration::from_millis(ms)),
    });
    proptest::collection::vec(stage, 1..6)
}

proptest! {
    #[test]
    fn due_times_of_stages_equal_the_closed_form(
        stages in stages(), total in 1u32..50, workers in 1u32..5, steps in 1usize..2_000,
    ) {
        prop_assume!(workers <= total);
        let mut due: Vec<Nanos> = (0..workers)
            .flat_map(|worker| {
                let share = Share { worker, workers, total };
                let n = steps.div_ceil(total as usize) * share.connections() as usize;
                take(Staged::new(&stages, share), n)
            })
            .map(|arrival| arrival.due)
            .collect();
        due.sort_unstable();
        // By the time at which the nth is due, n are due: the area below the rate, which the record
        // computes on its own. A due time is cut to a nanosecond.
        let most = stages.iter().flat_map(|stage| [stage.from, stage.to]).fold(0.0, f64::max);
        for (nth, &due) in due.iter().enumerate() {
            let area = prony_record::stages::due_in(&stages, due as f64 / 1e9);
            let within = most * 2e-9 + nth as f64 * 1e-9 + 1e-9;
            prop_assert!((area - nth as f64).abs() <= within, "{}: {} {}", nth, due, area);
        }
    }

    #[test]
    fn a_skip_over_stages_is_many_steps(
        stages in stages(), total in 1u32..40, workers in 1u32..5, worker in 0u32..5,
        before in 0usize..50, until in 0u64..2_000_000_000,
    ) {
        prop_assume!(workers <= total && worker < workers);
        let share = Share { worker, workers, total };
        let mut staged = Staged::new(&stages, share);
        (0..before).for_each(|_| staged.advance());
        let (expected, next) = count(staged.clone(), until);
        let skipped = staged.skip(until);
        prop_assert_eq!((skipped.count, staged.peek()), (expected.count, next));
        prop_assert!(skipped.count == 0 || skipped == expected);
        let mut random = StagedPoisson::new(&stages, share, until);
        (0..before).for_each(|_| random.advance());
        let (expected, next) = count(random.clone(), until);
        let skipped = random.skip(until);
        prop_assert_eq!((skipped.count, random.peek()), (expected.count, next));
    }

    #[test]
    fn one_stage_of_one_rate_is_a_constant_rate(rate in 1.0f64..1e6, n in 1usize..2_000) {
        let share = Share { worker: 0, workers: 1, total: 7 };
        let duration = prony_record::Span(std::time::Duration::from_secs(1));
        let staged = take(Staged::new(&[Stage { from: rate, to: rate, duration }], share), n);
        for (one, other) in staged.iter().zip(take(Constant::new(rate, share), n)) {
            prop_assert!(one.due.abs_diff(other.due) <= 1, "{:?} {:?}", one, other);
        }
    }
}

/// Seen on the clock of the stages, which goes as fast as requests fall due, the arrivals of all workers together are a
/// Poisson process of rate 1.
#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn poisson_arrivals_follow_the_stages() {
    let stage = |from, to, seconds| Stage {
        from,
        to,
        duration: prony_record::Span(std::time::Duration::from_secs(seconds)),
    };
    let stages = [
        stage(1_000.0, 9_000.0, 20),
        stage(100.0, 100.0, 20),
        stage(8_000.0, 2_000.0, 20),
    ];
    let mut due: Vec<Nanos> = (0..3)
        .flat_map(|worker| {
            let share = Share {
                worker,
                workers: 3,
                total: 10,
            };
            take(StagedPoisson::new(&stages, share, 5), 90_000)
        })
        .map(|arrival| arrival.due)
        .filter(|&due| due < 60 * SECOND)
        .collect();
    due.sort_unstable();
    let passed = |due: Nanos| prony_record::stages::due_in(&stages, due as f64 / 1e9);
    let gaps: Vec<f64> = due
        .windows(2)
        .map(|pair| passed(pair[1]) - passed(pair[0]))
        .collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean - 1.0).abs() < 0.01, "mean gap {mean}");
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.01, "{variance}");
    // 100,000, 2,000 and 100,000 in the three stages, within five standard deviations.
    for (at, expected) in [100_000.0_f64, 2_000.0, 100_000.0].into_iter().enumerate() {
        let stage = 20 * SECOND * at as u64..20 * SECOND * (at as u64 + 1);
        let n = due.iter().filter(|due| stage.contains(due)).count() as f64;
        assert!(
            (n - expected).abs() < 5.0 * expected.sqrt(),
            "stage {at}: {n}"
        );
    }
}

use super::fakes::{Behaviour, lab, side, workload, world};
use prony_lab::capacity::overload::{AFTER, OVERLOAD, RECOVERY};
use prony_lab::capacity::{Capacity, CapacityError, CapacityResult};
use prony_lab::duel::LoadSpec;
use prony_lab::interrupt::Interrupt;
use prony_record::service::{LatencyLimit, Limits, RateOutcome, RateStep};
use prony_record::{CheckId, Load, Recording, Step};
use prony_verdict::capacity::{RateTrial, STARTS, Tried, known};
use prony_verdict::design::Given;
use std::time::Duration;

fn limit(percentile: f64, within_ms: f64) -> LatencyLimit {
    LatencyLimit::new(percentile, within_ms)
}

fn search(
    behaviour: Behaviour,
    interrupt_in: Option<u32>,
) -> (Result<CapacityResult, CapacityError>, Vec<Recording>) {
    search_within(behaviour, interrupt_in, vec![limit(99.0, 10.0)], None)
}

fn search_within(
    behaviour: Behaviour,
    interrupt_in: Option<u32>,
    latency: Vec<LatencyLimit>,
    beyond: Option<f64>,
) -> (Result<CapacityResult, CapacityError>, Vec<Recording>) {
    search_for(behaviour, interrupt_in, latency, (beyond, None))
}

fn search_for(
    behaviour: Behaviour,
    interrupt_in: Option<u32>,
    latency: Vec<LatencyLimit>,
    (beyond, max_time): (Option<f64>, Option<Duration>),
) -> (Result<CapacityResult, CapacityError>, Vec<Recording>) {
    let (world, host, generator) = world(&[("it", behaviour)]);
    world.interrupt_in.set(interrupt_in);
    let interrupt = Interrupt::default();
    let spec = LoadSpec {
        workload: workload(),
        load: Load::default(),
        given: Given {
            duration: Some(Duration::from_secs(6)),
            warmup: Some(Duration::from_secs(1)),
            ..Given::default()
        },
    };
    let side = side("it");
    let capacity = Capacity {
        lab: lab(&host, &generator, &interrupt),
        side: &side,
        spec: &spec,
        max_connections: 1_000,
        limits: Limits {
            latency,
            errors: 0.001,
            good: None,
        },
        starts: STARTS,
        beyond,
        max_time,
    };
    let mut journal = Vec::new();
    let found = capacity.carry_out(&mut journal, &mut |_| {});
    if let Ok(found) = &found {
        // Reports decide again, from every trial that was recorded.
        let tried = |step: &RateStep| Tried {
            start: step.start,
            rate: step.rate,
            trial: RateTrial::from(step),
        };
        let tried: Vec<Tried> = found.steps.iter().map(tried).collect();
        assert_eq!(known(&tried), found.known);
    }
    (found, journal)
}

/// Recordings that show something about the capacity.
fn steps(journal: &[Recording]) -> Vec<&Recording> {
    let unnamed = journal.iter().filter(|it| it.trial.load.name.is_none());
    unnamed.collect()
}

#[test]
fn the_knee_is_found_over_several_starts_and_every_try_is_recorded() {
    let (found, journal) = search(Behaviour::default(), None);
    let found = found.unwrap();
    // Response times rise at 95% of 10,000.
    let capacity = found.capacity.unwrap();
    assert!((9_300.0..=9_600.0).contains(&capacity), "{:?}", found.known);
    let (low, high) = (found.known.low.unwrap(), found.known.high.unwrap());
    assert!(
        low <= 9_500.0 && 9_500.0 <= high && high < low * 1.1,
        "{:?}",
        found.known
    );
    // Those of the search, and the one that shows latency below it.
    assert_eq!(found.known.starts, STARTS + 1);
    assert_eq!(found.curve.len(), 4);
    assert!(found.curve.iter().all(|step| step.kept));
    let after = found.after_overload.unwrap();
    assert_eq!((after.before, after.after), (0.9, Some(0.9)));
    let steps = steps(&journal);
    assert_eq!(steps.len(), found.steps.len());
    for (step, recording) in found.steps.iter().zip(steps) {
        assert_eq!(recording.trial.load.rate, Some(step.rate));
        assert_eq!(recording.trial.round, step.start);
        let measured = recording.trial.observation.as_ref().unwrap();
        assert!(measured.warmed_up && measured.resources.watched_ns > 0);
    }
}

#[test]
fn a_slow_server_is_found_from_above_and_below() {
    // 20 workers of 50 ms each, and one that serves three requests a second.
    for (capacity, latency) in [(400.0, 0.05), (3.0, 0.33), (50.0, 0.02)] {
        let slow = Behaviour {
            capacity,
            latency,
            ..Behaviour::default()
        };
        let limits = vec![limit(50.0, 1_000.0 * latency + 20.0)];
        let (found, _) = search_within(slow, None, limits, None);
        let found = found.unwrap();
        let estimate = found.capacity.unwrap();
        assert!(
            (0.94..1.02).contains(&(estimate / capacity)),
            "{capacity}: {:?}",
            found.known
        );
    }
}

#[test]
fn starts_that_differ_make_its_interval_wide() {
    // Starts lie some 40 loads apart at most, so each has another factor.
    let starts = |number: u32| [1.0, 0.8, 1.25, 0.9, 1.1][(number / 5) as usize % 5];
    let (found, _) = search(
        Behaviour {
            noise: starts,
            ..Behaviour::default()
        },
        None,
    );
    let known = found.unwrap().known;
    let (low, high) = (known.low.unwrap(), known.high.unwrap());
    assert!(high / low > 1.15, "{known:?}");
}

#[test]
fn a_noisy_host_makes_it_a_range_with_the_reason() {
    let (found, journal) = search(
        Behaviour {
            others_busy: 0.3,
            ..Behaviour::default()
        },
        None,
    );
    let found = found.unwrap();
    let known = &found.known;
    // What was kept was kept; what the server cannot do even with a quiet host is broken.
    let (low, high) = (known.low.unwrap(), known.high.unwrap());
    assert!(
        low <= 9_500.0 && high >= 9_500.0 && high > 1.3 * low,
        "{known:?}"
    );
    let because = known.because.join("; ");
    assert!(because.contains("other processes"), "{because}");
    let noisy = found.checks.iter().find(|it| it.name == CheckId::NoisyHost);
    assert!(noisy.is_some(), "{:?}", found.checks);
    for recording in journal {
        let measured = recording.trial.observation.unwrap();
        assert!(
            measured
                .checks
                .iter()
                .any(|it| it.name == CheckId::NoisyHost)
        );
    }
}

#[test]
fn a_trial_that_noise_broke_is_repeated() {
    // In one load of three others use the CPUs, and the server has half of its time.
    let (found, _) = search(
        Behaviour {
            others_in: |number| if number % 3 == 0 { 0.25 } else { 0.0 },
            noise: |number| if number % 3 == 0 { 0.5 } else { 1.0 },
            ..Behaviour::default()
        },
        None,
    );
    let found = found.unwrap();
    let unclear = |step: &&_| matches!(RateStep::outcome(step), RateOutcome::Unclear(_));
    assert!(found.steps.iter().filter(unclear).count() > 1);
    let known = &found.known;
    assert!(
        known.low.unwrap() <= 9_500.0 && known.high.unwrap() >= 9_500.0,
        "{known:?}"
    );
}

#[test]
fn a_generator_without_time_makes_it_a_range() {
    let (found, _) = search(
        Behaviour {
            // The server has time left.
            cpu_ns: 45_000.0,
            seen: |seen| {
                // It can ask for 5,000 per second.
                if seen.throughput() > 5_000.0 {
                    seen.generator.busy = 0.99;
                    seen.times.response.record_n(50_000_000, 1_000).unwrap();
                }
            },
            ..Behaviour::default()
        },
        None,
    );
    let found = found.unwrap();
    assert_eq!((found.capacity, found.known.high), (None, None));
    assert!(
        found.known.low.is_none_or(|low| low <= 5_000.0),
        "{:?}",
        found.known
    );
    let because = found.known.because.join("; ");
    assert!(
        because.contains("the load generator had no time left"),
        "{because}"
    );
}

#[test]
fn every_one_of_several_limits_is_kept() {
    let (loose, _) = search_within(
        Behaviour::default(),
        None,
        vec![limit(50.0, 2.0), limit(99.0, 10.0)],
        None,
    );
    let loose = loose.unwrap();
    assert!(loose.capacity.unwrap() > 9_000.0);
    let names: Vec<f64> = loose.steps[0]
        .limited
        .iter()
        .map(|it| it.percentile)
        .collect();
    assert_eq!(names, [50.0, 99.0]);
    // Every answer takes a millisecond at least.
    let (tight, _) = search_within(
        Behaviour::default(),
        None,
        vec![limit(50.0, 0.5), limit(99.0, 10.0)],
        None,
    );
    let tight = tight.unwrap();
    assert_eq!((tight.capacity, tight.known.low), (None, None));
    assert!(tight.known.because.is_empty(), "that is known");
    assert!(tight.steps[0].broken[0].starts_with("p50 was"));
    // Where one request alone takes longer than the limit, one trial shows it.
    let (nothing, _) = search_within(
        Behaviour {
            latency: 0.05,
            ..Behaviour::default()
        },
        None,
        vec![limit(99.0, 10.0)],
        None,
    );
    let nothing = nothing.unwrap();
    assert_eq!((nothing.known.low, nothing.steps.len()), (None, 1));
}

#[test]
fn beyond_the_capacity_and_how_soon_it_recovers() {
    let behaviour = Behaviour {
        recovers_in: 3,
        ..Behaviour::default()
    };
    let (found, journal) = search_within(behaviour, None, vec![limit(99.0, 10.0)], Some(2.0));
    let found = found.unwrap();
    let capacity = found
        .capacity
        .expect("loads beyond it say nothing about it");
    let shares: Vec<f64> = found.beyond.iter().map(|it| it.of_capacity).collect();
    assert_eq!(shares, [1.1, 1.25, 1.5, 2.0]);
    for seen in &found.beyond {
        assert!(seen.rate > capacity);
        assert_eq!(seen.throughput, 10_000.0);
        assert_eq!(seen.goodput, 0.0, "every answer came too late");
        // Three slow windows of 600 ms, and the one that is not.
        assert_eq!(seen.recovery_seconds, Some(2.4));
    }
    let called = |name: &str| {
        let of = |it: &&Recording| it.trial.load.name.as_deref() == Some(name);
        journal.iter().filter(of).count()
    };
    assert_eq!((called(OVERLOAD), called(RECOVERY)), (4, 4));
    assert_eq!(journal.len(), found.steps.len() + 8 + called(AFTER));
}

#[test]
fn a_server_that_does_not_recover_says_so() {
    let behaviour = Behaviour {
        recovers_in: u32::MAX,
        ..Behaviour::default()
    };
    let (found, _) = search_within(behaviour, None, vec![limit(99.0, 10.0)], Some(1.1));
    let seen = &found.unwrap().beyond[0];
    assert_eq!(seen.recovery_seconds, None);
    assert_eq!(seen.recovery_watched_seconds, 6.0);
}

#[test]
fn a_server_that_stays_overloaded_is_called_metastable() {
    let stuck = Behaviour {
        stays_overloaded: true,
        ..Behaviour::default()
    };
    let (found, _) = search(stuck, None);
    let found = found.unwrap();
    // Each start of the search ends with what it breaks, so its capacity is found all the same.
    assert!(found.capacity.unwrap() > 9_000.0, "{:?}", found.known);
    let after = found.after_overload.unwrap();
    assert_eq!(after.before, 0.9);
    assert!(after.after.is_none_or(|after| after < 0.9), "{after:?}");
}

#[test]
fn an_interrupt_ends_it_without_a_capacity() {
    let (clean, _) = search(Behaviour::default(), None);
    let pilot = clean.unwrap().pilot.unwrap().steps.len() as u32 + 3;
    // In the fourth load after the pilot's.
    let (found, journal) = search(Behaviour::default(), Some(pilot + 3));
    let found = found.unwrap();
    assert_eq!(found.capacity, None);
    assert_eq!(journal.len(), found.steps.len());
    assert!((1..4).contains(&journal.len()), "{}", journal.len());
}

#[test]
fn a_server_that_dies_says_at_which_rate() {
    let (found, _) = search(
        Behaviour {
            fails: Some((Step::Load, 1)),
            ..Behaviour::default()
        },
        None,
    );
    let message = found.unwrap_err().to_string();
    assert!(
        message.contains("ended by signal 9 under the load"),
        "{message}"
    );
}

#[test]
fn a_time_limit_ends_it_with_what_is_known() {
    let within = |max_time| {
        let limits = vec![limit(99.0, 10.0)];
        let (found, journal) = search_for(Behaviour::default(), None, limits, (None, max_time));
        (found.unwrap(), journal.len())
    };
    let (found, trials) = within(Some(Duration::ZERO));
    assert!(found.timed_out && found.capacity.is_none() && found.pilot.is_some());
    assert_eq!((found.steps.len(), found.curve.len(), trials), (0, 0, 0));
    let (found, trials) = within(Some(Duration::from_secs(3_600)));
    assert!(!found.timed_out && found.capacity.is_some() && trials > 0);
}

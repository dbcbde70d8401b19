use crate::fakes::{Behaviour, ask, lab, side, world};
use prony_lab::capacity::overload::{OVERLOAD, RECOVERY};
use prony_lab::capacity::{Capacity, CapacityError, Found};
use prony_lab::duel::{Manner, WINDOW};
use prony_lab::interrupt::Interrupt;
use prony_record::service::{LatencyLimit, Limits, Outcome, RateStep};
use prony_record::{Load, Recording, Span, Step};
use std::time::Duration;

fn limit(percentile: f64, within_ms: f64) -> LatencyLimit {
    LatencyLimit {
        percentile,
        within_ms,
    }
}

fn search(
    behaviour: Behaviour,
    interrupt_in: Option<u32>,
) -> (Result<Found, CapacityError>, Vec<Recording>) {
    search_within(behaviour, interrupt_in, vec![limit(99.0, 10.0)], None)
}

fn search_within(
    behaviour: Behaviour,
    interrupt_in: Option<u32>,
    latency: Vec<LatencyLimit>,
    beyond: Option<f64>,
) -> (Result<Found, CapacityError>, Vec<Recording>) {
    let (world, host, generator) = world(&[("it", behaviour)]);
    world.interrupt_in.set(interrupt_in);
    let interrupt = Interrupt::default();
    let manner = Manner {
        ask: ask(),
        load: Load {
            window: Span(WINDOW),
            ..Load::default()
        },
        duration: Duration::from_secs(2),
    };
    let side = side("it");
    let capacity = Capacity {
        lab: lab(&host, &generator, &interrupt),
        side: &side,
        manner: &manner,
        limits: Limits {
            latency,
            errors: 0.001,
        },
        beyond,
    };
    let mut journal = Vec::new();
    let found = capacity.carry_out(&mut journal, &mut |_| {});
    (found, journal)
}

#[test]
fn the_knee_is_found_and_every_try_is_recorded() {
    let (found, journal) = search(Behaviour::default(), None);
    let found = found.unwrap();
    // Response times rise at 95 % of 10,000.
    let capacity = found.capacity.unwrap();
    assert!((9_300.0..=9_500.0).contains(&capacity), "{capacity}");
    assert_eq!(found.curve.len(), 4);
    assert!(found.curve.iter().all(|step| step.kept));
    assert_eq!(journal.len(), found.steps.len());
    for (step, recording) in found.steps.iter().zip(&journal) {
        assert_eq!(recording.trial.load.rate, Some(step.rate));
        let measured = recording.trial.observation.as_ref().unwrap();
        assert!(measured.warmed_up && measured.resources.watched_ns > 0);
    }
}

#[test]
fn a_rate_that_is_spoilt_once_is_tried_again() {
    // Every 16th load gives a twentieth of what it should.
    let (found, _) = search(
        Behaviour {
            noise: |number| if number % 16 == 3 { 0.05 } else { 1.0 },
            ..Behaviour::default()
        },
        None,
    );
    let found = found.unwrap();
    let capacity = found.capacity.unwrap();
    assert!(capacity > 8_500.0, "{capacity}");
    let tried_again = found
        .steps
        .windows(2)
        .any(|two| two[0].rate == two[1].rate && !two[0].kept && two[1].kept);
    assert!(tried_again);
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
    assert_eq!(found.capacity, None);
    let (low, high) = (found.known.low.unwrap(), found.known.high.unwrap());
    // What was kept was kept; what the server cannot do even with a quiet host is broken.
    assert!((9_000.0..=9_500.0).contains(&low), "{:?}", found.known);
    assert!(high > 20_000.0, "{:?}", found.known);
    let because = &found.known.because[0];
    assert!(because.contains("other processes"), "{because}");
    let noisy = found.checks.iter().find(|it| it.name == "noisy-host");
    assert!(noisy.is_some(), "{:?}", found.checks);
    assert_eq!(journal.len(), found.steps.len());
    for recording in journal {
        let measured = recording.trial.observation.unwrap();
        assert!(measured.checks.iter().any(|it| it.name == "noisy-host"));
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
    let capacity = found.capacity.unwrap();
    assert!((9_300.0..=9_500.0).contains(&capacity), "{capacity}");
    let unclear = |step: &&_| matches!(RateStep::outcome(step), Outcome::Unclear(_));
    assert!(found.steps.iter().filter(unclear).count() > 1);
    assert!(found.curve.iter().all(|step| step.kept));
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
    assert!(found.known.low.unwrap() <= 5_000.0, "{:?}", found.known);
    let because = found.known.because.join("; ");
    assert!(
        because.contains("the load generator had no time left"),
        "{because}"
    );
}

/// Loads of a search without mishaps before it shows latency at parts of the capacity: the warm-up, and
/// every rate that it tries.
const BEFORE_THE_CURVE: u32 = 19;

#[test]
fn a_curve_that_contradicts_it_takes_the_capacity_back() {
    let (clean, _) = search(Behaviour::default(), None);
    let clean = clean.unwrap();
    let tried = clean.steps.len() - clean.curve.len();
    assert_eq!(1 + tried as u32, BEFORE_THE_CURVE);
    let slower = Behaviour {
        noise: |number| if number < BEFORE_THE_CURVE { 1.0 } else { 0.7 },
        ..Behaviour::default()
    };
    let (found, _) = search(slower, None);
    let found = found.unwrap();
    assert_eq!(found.capacity, None);
    // 95 % of 7,000.
    let low = found.known.low.unwrap();
    assert!((6_000.0..=6_650.0).contains(&low), "{:?}", found.known);
    assert!(found.known.high.unwrap() >= clean.capacity.unwrap());
    let because = found.known.because.join("; ");
    assert!(because.contains("was not kept after that"), "{because}");
    assert!(!found.curve.is_empty());
    assert!(found.curve.iter().all(|step| step.kept && step.rate < low));
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
        // Three slow windows of 100 ms, and the one that is not.
        assert_eq!(seen.recovery_seconds, Some(0.4));
    }
    let called = |name: &str| {
        let of = |it: &&Recording| it.trial.load.name.as_deref() == Some(name);
        journal.iter().filter(of).count()
    };
    assert_eq!((called(OVERLOAD), called(RECOVERY)), (4, 4));
    assert_eq!(journal.len(), found.steps.len() + 8);
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
    assert_eq!(seen.recovery_watched_seconds, 4.0);
}

#[test]
fn an_interrupt_ends_it_without_a_capacity() {
    let (found, journal) = search(Behaviour::default(), Some(4));
    let found = found.unwrap();
    assert_eq!(found.capacity, None);
    assert_eq!(journal.len(), found.steps.len());
    assert_eq!(
        journal.len(),
        3,
        "the warm-up, three rates, and the one under way"
    );
}

#[test]
fn a_server_that_dies_says_at_which_rate() {
    let (found, _) = search(
        Behaviour {
            fails: Some((Step::Load, 0)),
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

use crate::fakes::{Behaviour, ask, lab, side, world};
use prony_lab::capacity::{Capacity, CapacityError, Found};
use prony_lab::duel::{Manner, WINDOW};
use prony_lab::interrupt::Interrupt;
use prony_record::service::Limits;
use prony_record::{Load, Recording, Span, Step};
use std::time::Duration;

fn search(
    behaviour: Behaviour,
    interrupt_in: Option<u32>,
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
            percentile: 99.0,
            within_ms: 10.0,
            errors: 0.001,
        },
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
fn checks_see_what_a_search_met() {
    let (found, journal) = search(
        Behaviour {
            others_busy: 0.3,
            ..Behaviour::default()
        },
        None,
    );
    assert!(found.unwrap().capacity.is_some());
    for recording in journal {
        let measured = recording.trial.observation.unwrap();
        assert!(measured.checks.iter().any(|it| it.name == "noisy-host"));
    }
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

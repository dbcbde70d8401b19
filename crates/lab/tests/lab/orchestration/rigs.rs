//! Rounds that are handed to several rigs. Each rig has a world of its own.

use super::fakes::{Behaviour, FakeGenerator, FakeHost, World, lab, world};
use super::run::experiment;
use prony_lab::event::Event;
use prony_lab::interrupt::Interrupt;
use prony_lab::run::RunError;
use prony_lab::run::rigs::{Rig, Rigs};
use prony_record::{Recording, TrialStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

type Raised = (Arc<World>, FakeHost, FakeGenerator);

/// A round that was measured again: its number, its new one, and how many trials that adds.
type Again = (u32, u32, u64);

/// Runs an experiment on rigs with these servers each. Returns the result, the recordings, and, as events reported
/// them, the lost rigs and the rounds that were measured again.
fn run(
    rigs: &[Raised],
    names: &[&str],
    rounds: u32,
) -> (
    Result<(), RunError>,
    Vec<Recording>,
    Vec<String>,
    Vec<Again>,
) {
    let interrupt = Interrupt::default();
    let experiment = experiment(names, rounds);
    let rigs: Vec<_> = (rigs.iter().zip(1..))
        .map(|((_, host, generator), number)| Rig {
            name: format!("h{number}"),
            lab: lab(host, generator, &interrupt),
        })
        .collect();
    let (mut journal, mut lost, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let result = Rigs {
        rigs: &rigs,
        experiment: &experiment,
        seed: 1,
    }
    .carry_out(&mut journal, &mut |event| {
        if let Event::RigLost { rig, .. } = event {
            LOST.store(true, Ordering::Relaxed);
            lost.push(rig.to_owned());
        }
        if let Event::OnRig {
            event:
                Event::RoundAgain {
                    round,
                    number,
                    trials,
                },
            ..
        } = event
        {
            again.push((*round, *number, *trials));
        }
    });
    (result, journal, lost, again)
}

fn rig_of(recording: &Recording) -> Option<&str> {
    recording.trial.observation.as_ref()?.rig.as_deref()
}

fn two_servers() -> Raised {
    world(&[("a", Behaviour::default()), ("b", Behaviour::default())])
}

#[test]
fn every_round_is_measured_once_and_on_one_rig() {
    let rigs = [two_servers(), two_servers(), two_servers()];
    let (result, journal, lost, _) = run(&rigs, &["a", "b"], 12);
    result.unwrap();
    assert!(lost.is_empty());
    let mut rounds: BTreeMap<u32, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    for recording in &journal {
        let (servers, rigs) = rounds.entry(recording.trial.round).or_default();
        assert!(servers.insert(&recording.trial.server), "twice");
        rigs.insert(rig_of(recording).unwrap());
    }
    assert_eq!(rounds.len(), 12);
    for (servers, rigs) in rounds.values() {
        assert_eq!((servers.len(), rigs.len()), (2, 1));
    }
    let ordinals: BTreeSet<u32> = journal.iter().map(|it| it.trial.ordinal).collect();
    assert_eq!(ordinals.len(), 24);
    for (world, ..) in &rigs {
        let done = world.done.borrow();
        let count = |what: &str| done.iter().filter(|it| it.starts_with(what)).count();
        assert_eq!(count("start"), count("stop"), "no server is left");
    }
}

/// A rig is lost; the other one has waited for that.
static LOST: AtomicBool = AtomicBool::new(false);

#[test]
fn the_round_of_a_lost_rig_is_measured_again_by_another() {
    let patient = Behaviour {
        noise: |_| {
            while !LOST.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            1.0
        },
        ..Behaviour::default()
    };
    let rigs = [
        two_servers(),
        world(&[("a", patient.clone()), ("b", patient)]),
    ];
    // Its first trial is measured, and its second is not.
    rigs[0].0.lost_in.set(Some(1));
    let (result, journal, lost, again) = run(&rigs, &["a", "b"], 10);
    result.unwrap();
    assert_eq!(lost, ["h1"]);
    let of = |rig: &str| journal.iter().filter(|it| rig_of(it) == Some(rig)).count();
    let failed: Vec<&Recording> = journal
        .iter()
        .filter(|it| it.trial.status == TrialStatus::Failed)
        .collect();
    assert_eq!((of("h1"), of("h2"), failed.len()), (1, 20, 1));
    let given_back = failed[0].trial.round;
    assert_eq!(again, [(given_back, 10, 2)]);
    let mut whole: BTreeMap<u32, usize> = BTreeMap::new();
    for it in journal.iter().filter(|it| rig_of(it) == Some("h2")) {
        *whole.entry(it.trial.round).or_default() += 1;
    }
    assert!(
        !whole.contains_key(&given_back),
        "the lost round's own number is not mixed"
    );
    assert!(whole.contains_key(&10) && whole.values().all(|trials| *trials == 2));
    let message = &failed[0].trial.failure.as_ref().unwrap().message;
    assert!(
        message.contains("rig h1 is lost (no route to host)") && message.contains("measured again"),
        "{message}"
    );
}

#[test]
fn without_a_rig_the_run_ends_and_says_what_it_has_not_measured() {
    let rigs = [two_servers()];
    rigs[0].0.lost_in.set(Some(3));
    let (result, journal, lost, _) = run(&rigs, &["a", "b"], 5);
    match result {
        Err(RunError::NoRig { rounds, why }) => {
            assert_eq!((rounds, why.as_str()), (4, "no route to host"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!((journal.len(), lost.len()), (4, 1));
}

#[test]
fn a_server_that_is_not_set_up_is_noted_once() {
    let missing = Behaviour {
        unbuildable: Some(true),
        ..Behaviour::default()
    };
    let one = || world(&[("a", Behaviour::default()), ("missing", missing.clone())]);
    let rigs = [one(), one(), one()];
    let (result, journal, ..) = run(&rigs, &["a", "missing"], 3);
    result.unwrap();
    let skipped = journal
        .iter()
        .filter(|it| it.trial.status == TrialStatus::Skipped);
    assert_eq!((skipped.count(), journal.len()), (1, 4));
}

use super::fakes::{Behaviour, lab, server, world};
use prony_lab::contract::Contract;
use prony_lab::event::{Event, Journal, JournalError};
use prony_lab::experiment::{Entrant, Experiment, ExperimentLoad, HostPlacement};
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::Sharing;
use prony_lab::run::{Run, RunError};
use prony_record::{Load, Recording, Step, TrialStatus};

pub fn experiment(names: &[&str], rounds: u32) -> Experiment {
    let entrant = |name: &&str| Entrant {
        server: server(name),
        workers: 1,
        named: true,
        contract: Contract::TcpEcho,
    };
    Experiment {
        name: "made-up".into(),
        title: "Made up".into(),
        contract: Contract::TcpEcho,
        entrants: names.iter().map(entrant).collect(),
        baseline: names[0].into(),
        upstream: None,
        loads: vec![ExperimentLoad {
            shape: Load::default(),
            requests: None,
            weight: None,
        }],
        published_loads: Vec::new(),
        rounds,
        placement: Sharing::Split,
        place: HostPlacement::default(),
        published: None,
    }
}

fn run(
    servers: &[(&str, Behaviour)],
    rounds: u32,
    interrupt_in: Option<u32>,
) -> (Result<(), RunError>, Vec<Recording>, u64) {
    let (world, host, generator) = world(servers);
    world.interrupt_in.set(interrupt_in);
    let interrupt = Interrupt::default();
    let names: Vec<&str> = servers.iter().map(|(name, _)| *name).collect();
    let experiment = experiment(&names, rounds);
    let run = Run {
        lab: lab(&host, &generator, &interrupt),
        experiment: &experiment,
        seed: 1,
    };
    let (mut journal, mut planned) = (Vec::new(), 0);
    let result = run.carry_out(&mut journal, &mut |event| {
        if let Event::Trials(n) = event {
            planned = n;
        }
    });
    let done = world.done.borrow();
    let count = |what: &str| done.iter().filter(|it| it.starts_with(what)).count();
    assert_eq!(count("start"), count("stop"), "no server is left");
    (result, journal, planned)
}

fn statuses(journal: &[Recording], server: &str) -> Vec<TrialStatus> {
    let of = journal.iter().filter(|it| it.trial.server == server);
    of.map(|it| it.trial.status).collect()
}

#[test]
fn every_server_in_every_round() {
    let servers = [("a", Behaviour::default()), ("b", Behaviour::default())];
    let (result, journal, planned) = run(&servers, 3, None);
    result.unwrap();
    assert_eq!((journal.len(), planned), (6, 6));
    for round in 0..3 {
        let of = journal.iter().filter(|it| it.trial.round == round);
        assert_eq!(of.count(), 2);
    }
    let trial = &journal[0].trial;
    assert!((9_990.0..=10_010.0).contains(&trial.figures.throughput.unwrap()));
    assert!(!journal[0].windows.is_empty() && !journal[0].histograms.response.is_empty());
    assert_eq!(trial.server_version.as_deref(), Some("1"));
}

#[test]
fn servers_that_cannot_take_part_are_recorded_and_the_others_go_on() {
    let missing = Behaviour {
        unbuildable: Some(true),
        ..Behaviour::default()
    };
    let broken = Behaviour {
        unbuildable: Some(false),
        ..Behaviour::default()
    };
    let servers = [
        ("good", Behaviour::default()),
        ("missing", missing),
        ("broken", broken),
    ];
    let (result, journal, planned) = run(&servers, 2, None);
    result.unwrap();
    assert_eq!(planned, 2);
    assert_eq!(statuses(&journal, "good"), [TrialStatus::Ok; 2]);
    assert_eq!(statuses(&journal, "missing"), [TrialStatus::Skipped]);
    assert_eq!(statuses(&journal, "broken"), [TrialStatus::Failed]);
    let failure = |server: &str| {
        let found = journal.iter().find(|it| it.trial.server == server);
        found.unwrap().trial.failure.clone().unwrap()
    };
    assert_eq!(failure("broken").output, "no rule");
    assert_eq!(failure("missing").step, Step::Build);
}

#[test]
fn a_contract_broken_once_is_not_tried_again_and_a_crash_is() {
    let liar = Behaviour {
        fails: Some((Step::Verify, 0)),
        ..Behaviour::default()
    };
    let crashes = Behaviour {
        fails: Some((Step::Load, 1)),
        ..Behaviour::default()
    };
    let (result, journal, _) = run(&[("liar", liar), ("crashes", crashes)], 3, None);
    result.unwrap();
    assert_eq!(statuses(&journal, "liar"), [TrialStatus::Failed]);
    let (ok, failed) = (TrialStatus::Ok, TrialStatus::Failed);
    assert_eq!(statuses(&journal, "crashes"), [ok, failed, ok]);
}

#[test]
fn a_server_that_fails_after_the_load_has_failed() {
    let tired = Behaviour {
        fails: Some((Step::VerifyAgain, 0)),
        ..Behaviour::default()
    };
    let (result, journal, _) = run(&[("tired", tired)], 1, None);
    result.unwrap();
    let trial = &journal[0].trial;
    assert_eq!(trial.failure.as_ref().unwrap().step, Step::VerifyAgain);
    assert_eq!(trial.figures.throughput, None);
}

#[test]
fn an_interrupted_trial_keeps_what_was_measured() {
    let servers = [("a", Behaviour::default())];
    let (result, journal, _) = run(&servers, 5, Some(2));
    result.unwrap();
    let last = journal.last().unwrap();
    assert_eq!(
        (journal.len(), last.trial.status),
        (3, TrialStatus::Interrupted)
    );
}

#[test]
fn a_journal_that_is_full_ends_the_run() {
    struct Full;
    impl Journal for Full {
        fn add(&mut self, _: &Recording) -> Result<(), JournalError> {
            Err(JournalError("the disk is full".into()))
        }
    }
    let (_world, host, generator) = world(&[("a", Behaviour::default())]);
    let interrupt = Interrupt::default();
    let experiment = experiment(&["a"], 3);
    let run = Run {
        lab: lab(&host, &generator, &interrupt),
        experiment: &experiment,
        seed: 1,
    };
    let error = run.carry_out(&mut Full, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
}

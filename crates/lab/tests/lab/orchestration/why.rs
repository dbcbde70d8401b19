use super::fakes::{Behaviour, lab, side, workload, world};
use prony_lab::duel::LoadSpec;
use prony_lab::interrupt::Interrupt;
use prony_lab::side::{Side, What};
use prony_lab::tree::Root;
use prony_lab::why::{Anatomist, ProbeMode, Refused, RunningProbe, Sight, Why, WhyResult};
use prony_record::anatomy::Dissections;
use prony_record::design::Pilot;
use prony_record::{Load, Step};
use prony_verdict::design::{Given, design};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// Allows these looks, and notes those that are taken.
struct Fake {
    allowed: Vec<ProbeMode>,
    taken: RefCell<Vec<ProbeMode>>,
    /// Number of processes in each clean-up of traces.
    cleaned: RefCell<Vec<usize>>,
}

struct FakeLooking<'a> {
    look: ProbeMode,
    of: &'a Fake,
}

impl Anatomist for Fake {
    fn probe(
        &self,
        _root: Root,
        _cpus: &[usize],
        look: ProbeMode,
    ) -> Result<Box<dyn RunningProbe + '_>, Refused> {
        match self.allowed.contains(&look) {
            true => Ok(Box::new(FakeLooking { look, of: self })),
            false => Err(Refused {
                what: format!("{look:?} is refused"),
                remedy: "be root".into(),
            }),
        }
    }

    fn clean_up(&self, ended: &[libc::pid_t]) {
        self.cleaned.borrow_mut().push(ended.len());
    }
}

impl RunningProbe for FakeLooking<'_> {
    fn measure(&self, _from: u64, _until: u64) {
        self.of.taken.borrow_mut().push(self.look);
    }

    fn finish(self: Box<Self>) -> Sight {
        let one = |look, name: &str, n| match self.look == look {
            true => BTreeMap::from([(name.to_owned(), n)]),
            false => BTreeMap::new(),
        };
        Sight {
            stacks: match self.look {
                ProbeMode::Waits => one(ProbeMode::Waits, "main;lock", 500),
                _ => one(ProbeMode::Stacks, "main;work", 7),
            },
            calls: one(ProbeMode::Calls, "sendto", 9),
            counts: BTreeMap::from([("voluntary switches".into(), 3.0)]),
            lost: 0,
            unnamed: Vec::new(),
        }
    }
}

fn look_at(fake: &Fake, rounds: u32) -> Dissections {
    let outcome = look_until(fake, rounds, None);
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    outcome.seen
}

/// Both servers fail at this step in this start.
fn look_until(fake: &Fake, rounds: u32, fails: Option<(Step, u32)>) -> WhyResult {
    look_with(fake, rounds, fails, &[side("a"), side("b")])
}

fn look_with(fake: &Fake, rounds: u32, fails: Option<(Step, u32)>, sides: &[Side]) -> WhyResult {
    let server = |capacity| Behaviour {
        capacity,
        fails,
        ..Behaviour::default()
    };
    let servers = [("a", server(50_000.0)), ("b", server(40_000.0))];
    let (_world, host, generator) = world(&servers);
    let interrupt = Interrupt::default();
    let spec = LoadSpec {
        workload: workload(),
        load: Load::default(),
        given: Given {
            connections: Some(64),
            warmup: Some(Duration::from_secs(1)),
            rate: Some(10_000.0),
            ..Given::default()
        },
    };
    let pilot = Pilot {
        alone_ns: 100_000,
        ..Pilot::default()
    };
    let design = design(vec![pilot; sides.len()], &spec.given, (false, true)).unwrap();
    let why = Why {
        lab: lab(&host, &generator, &interrupt),
        anatomist: fake,
        sides,
        spec: &spec,
        design: &design,
        duration: Duration::from_secs(1),
        rate: 10_000.0,
        rounds,
    };
    why.carry_out(&mut |_| {})
}

#[test]
fn every_round_looks_at_every_side_in_every_way_twice() {
    let fake = Fake {
        allowed: vec![
            ProbeMode::Plain,
            ProbeMode::Stacks,
            ProbeMode::Calls,
            ProbeMode::Waits,
        ],
        taken: RefCell::default(),
        cleaned: RefCell::default(),
    };
    let seen = look_at(&fake, 3);
    assert_eq!((seen.rounds.len(), seen.refused.len()), (3, 0));
    for side in seen.rounds.iter().flatten() {
        assert_eq!((side.samples, side.stacks["main;work"]), (14, 14));
        assert_eq!(side.calls["sendto"], 18);
        assert_eq!(side.waits["main;lock"], 1_000);
        assert!(side.waited.requests > 0.0);
        // Only of what was measured without sampling.
        assert_eq!(side.counts["voluntary switches"], 6.0);
        assert!(side.plain.requests > 0.0 && side.sampled.requests > side.counted.requests);
    }
    let taken = fake.taken.borrow();
    let times = |look| taken.iter().filter(|it| **it == look).count();
    let all = [
        ProbeMode::Plain,
        ProbeMode::Stacks,
        ProbeMode::Calls,
        ProbeMode::Waits,
    ];
    assert_eq!(all.map(times), [12; 4]);
}

#[test]
fn a_server_that_fails_ends_it_and_whole_rounds_are_kept() {
    let fake = Fake {
        allowed: vec![ProbeMode::Plain, ProbeMode::Stacks, ProbeMode::Calls],
        taken: RefCell::default(),
        cleaned: RefCell::default(),
    };
    for step in [Step::Start, Step::Load] {
        let outcome = look_until(&fake, 5, Some((step, 2)));
        assert_eq!(outcome.seen.rounds.len(), 2, "{step:?}");
        let said = outcome.failure.map(|failure| failure.to_string());
        assert!(said.is_some_and(|said| said.starts_with("a: ")), "{step:?}");
    }
}

#[test]
fn a_server_with_a_profile_is_loaded_without_it_too_and_cleaned_up_after() {
    let fake = Fake {
        allowed: vec![ProbeMode::Plain, ProbeMode::Stacks],
        taken: RefCell::default(),
        cleaned: RefCell::default(),
    };
    let mut profiled = side("b");
    let What::Started { server, .. } = &mut profiled.what else {
        unreachable!("a side of a test is started")
    };
    let profile = &mut server.manifest.profile.env;
    profile.insert("PORT".into(), "more".into());
    profile.insert("NAMES".into(), "yes".into());
    let sides = [side("a"), profiled];
    assert!(sides[0].profiled().is_none());
    let with = sides[1].profiled().unwrap();
    let What::Started { server, .. } = &with.what else {
        unreachable!("it is started too")
    };
    let env = &server.manifest.env;
    assert_eq!(
        (env["PORT"].as_str(), env["NAMES"].as_str()),
        ("{port} more", "yes")
    );
    let outcome = look_with(&fake, 2, None, &sides);
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    for round in &outcome.seen.rounds {
        assert_eq!(round[0].unprofiled, None);
        let (plain, without) = (round[1].plain, round[1].unprofiled.unwrap());
        assert!(without.requests > 0.0 && without.requests <= plain.requests);
    }
    // Each server of each round; and what was measured without is not sampled.
    assert_eq!(fake.cleaned.borrow().len(), 4);
    let stacks = fake
        .taken
        .borrow()
        .iter()
        .filter(|it| **it == ProbeMode::Stacks)
        .count();
    assert_eq!(stacks, 8);
}

#[test]
fn what_is_refused_is_said_once_and_the_rest_is_done() {
    let fake = Fake {
        allowed: vec![ProbeMode::Plain],
        taken: RefCell::default(),
        cleaned: RefCell::default(),
    };
    let seen = look_at(&fake, 3);
    assert_eq!(
        seen.refused,
        [
            "Stacks is refused; be root",
            "Calls is refused; be root",
            "Waits is refused; be root"
        ]
    );
    assert_eq!(seen.rounds.len(), 3);
    for side in seen.rounds.iter().flatten() {
        assert_eq!((side.samples, side.calls.len()), (0, 0));
        assert!(side.plain.requests > 0.0 && side.counts["voluntary switches"] > 0.0);
    }
}

use crate::fakes::{Behaviour, ask, lab, side, world};
use prony_lab::duel::{Manner, WINDOW};
use prony_lab::interrupt::Interrupt;
use prony_lab::why::{Anatomist, Look, Looking, Refused, Sight, Why};
use prony_record::anatomy::Dissections;
use prony_record::{Load, Span};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// Allows these looks, and notes those that are taken.
struct Fake {
    allowed: Vec<Look>,
    taken: RefCell<Vec<Look>>,
}

struct FakeLooking<'a> {
    look: Look,
    of: &'a Fake,
}

impl Anatomist for Fake {
    fn probe(
        &self,
        _root: libc::pid_t,
        _cpus: &[usize],
        look: Look,
    ) -> Result<Box<dyn Looking + '_>, Refused> {
        match self.allowed.contains(&look) {
            true => Ok(Box::new(FakeLooking { look, of: self })),
            false => Err(Refused {
                what: format!("{look:?} is refused"),
                remedy: "be root".into(),
            }),
        }
    }
}

impl Looking for FakeLooking<'_> {
    fn measure(&self, _from: u64, _until: u64) {
        self.of.taken.borrow_mut().push(self.look);
    }

    fn finish(self: Box<Self>) -> Sight {
        let one = |look, name: &str, n| match self.look == look {
            true => BTreeMap::from([(name.to_owned(), n)]),
            false => BTreeMap::new(),
        };
        Sight {
            stacks: one(Look::Stacks, "main;work", 7),
            calls: one(Look::Calls, "sendto", 9),
            counts: BTreeMap::from([("voluntary switches".into(), 3.0)]),
            lost: 0,
        }
    }
}

fn look_at(fake: &Fake, rounds: u32) -> Dissections {
    let server = |capacity| Behaviour {
        capacity,
        ..Behaviour::default()
    };
    let servers = [("a", server(50_000.0)), ("b", server(40_000.0))];
    let (_world, host, generator) = world(&servers);
    let interrupt = Interrupt::default();
    let manner = Manner {
        ask: ask(),
        load: Load {
            window: Span(WINDOW),
            warmup: Span(Duration::from_secs(1)),
            ..Load::default()
        },
        duration: Duration::from_secs(1),
    };
    let why = Why {
        lab: lab(&host, &generator, &interrupt),
        anatomist: fake,
        sides: &[side("a"), side("b")],
        manner: &manner,
        rate: 10_000.0,
        rounds,
    };
    why.carry_out(&mut |_| {}).unwrap()
}

#[test]
fn every_round_looks_at_every_side_in_every_way_twice() {
    let fake = Fake {
        allowed: vec![Look::Plain, Look::Stacks, Look::Calls],
        taken: RefCell::default(),
    };
    let seen = look_at(&fake, 3);
    assert_eq!((seen.rounds.len(), seen.refused.len()), (3, 0));
    for side in seen.rounds.iter().flatten() {
        assert_eq!((side.samples, side.stacks["main;work"]), (14, 14));
        assert_eq!(side.calls["sendto"], 18);
        // Only of what was measured without sampling.
        assert_eq!(side.counts["voluntary switches"], 6.0);
        assert!(side.plain.requests > 0 && side.sampled.requests > side.counted.requests);
    }
    let taken = fake.taken.borrow();
    let times = |look| taken.iter().filter(|it| **it == look).count();
    assert_eq!([Look::Plain, Look::Stacks, Look::Calls].map(times), [12; 3]);
}

#[test]
fn what_is_refused_is_said_once_and_the_rest_is_done() {
    let fake = Fake {
        allowed: vec![Look::Plain],
        taken: RefCell::default(),
    };
    let seen = look_at(&fake, 3);
    assert_eq!(
        seen.refused,
        ["Stacks is refused; be root", "Calls is refused; be root"]
    );
    assert_eq!(seen.rounds.len(), 3);
    for side in seen.rounds.iter().flatten() {
        assert_eq!((side.samples, side.calls.len()), (0, 0));
        assert!(side.plain.requests > 0 && side.counts["voluntary switches"] > 0.0);
    }
}

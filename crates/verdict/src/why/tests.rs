use super::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a request costs in made-up servers: nanoseconds by stack, calls by name.
struct MadeUp {
    stacks: Vec<(&'static str, f64)>,
    calls: Vec<(&'static str, f64)>,
}

const SEND: &str = "main;send;__x64_sys_sendto_[k];tcp_sendmsg_[k]";

fn base() -> MadeUp {
    MadeUp {
        stacks: vec![
            ("main;serve", 1_000.0),
            ("main;json_encode", 1_500.0),
            (SEND, 2_500.0),
        ],
        calls: vec![("sendto", 1.0), ("epoll_wait", 0.4)],
    }
}

/// A round of it: noise of its start, and the noise that samples have.
fn round(made: &MadeUp, rng: &mut Xoshiro256PlusPlus) -> Dissection {
    let requests = 40_000_u64;
    let mut dissection = Dissection {
        period_ns: crate_period(),
        ..Dissection::default()
    };
    let start = 1.0 + 0.02 * (rng.random::<f64>() - 0.5);
    for (stack, ns) in &made.stacks {
        let expected = ns * start * requests as f64 / dissection.period_ns as f64;
        // A sum of coins: about as noisy as counts of samples are.
        let samples = (0..2 * expected as u64)
            .filter(|_| rng.random::<bool>())
            .count() as u64;
        dissection.samples += samples;
        dissection.stacks.insert((*stack).to_owned(), samples);
    }
    let cpu: f64 = made.stacks.iter().map(|(_, ns)| ns * start).sum();
    let spent = Spent {
        requests,
        cpu_ns: (cpu * requests as f64) as u64,
    };
    (dissection.plain, dissection.sampled, dissection.counted) = (spent, spent, spent);
    for (name, n) in &made.calls {
        let calls = (n * requests as f64) as u64;
        dissection.calls.insert((*name).to_owned(), calls);
    }
    dissection
}

const fn crate_period() -> u64 {
    500_000
}

fn duel(a: &MadeUp, b: &MadeUp, seed: u64) -> Anatomy {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let rounds = (0..8).map(|_| vec![round(a, &mut rng), round(b, &mut rng)]);
    anatomy(&Dissections {
        names: vec!["old".into(), "new".into()],
        rate: 40_000.0,
        rounds: rounds.collect(),
        refused: Vec::new(),
    })
}

#[test]
fn a_function_that_costs_more_is_named_with_its_share() {
    let mut slower = base();
    slower.stacks[1].1 += 1_000.0;
    let seen = duel(&base(), &slower, 1);
    let against = &seen.differences[0];
    let (part, row) = &against.parts[0];
    assert_eq!(*part, Part::Function("json_encode".into()));
    assert!(row.differs && row.share.is_some_and(|share| (0.7..1.3).contains(&share)));
    assert!(
        against.sentence.starts_with("new costs ") && against.sentence.contains("in `json_encode`"),
        "{}",
        against.sentence
    );
}

#[test]
fn kernel_time_is_explained_by_its_calls() {
    let mut slower = base();
    let control = "main;epoll_ctl;__x64_sys_epoll_ctl_[k]";
    slower.stacks.push((control, 800.0));
    slower.calls.push(("epoll_ctl", 2.0));
    let sentence = &duel(&base(), &slower, 2).differences[0].sentence;
    assert!(
        sentence.contains("in the kernel by 2.00 more `epoll_ctl` calls per request"),
        "{sentence}"
    );
    // And the other way round.
    let sentence = &duel(&slower, &base(), 2).differences[0].sentence;
    assert!(
        sentence.contains(" less CPU time per request than old: ")
            && sentence.contains("2.00 fewer `epoll_ctl` calls"),
        "{sentence}"
    );
}

#[test]
fn the_same_server_twice_is_hardly_ever_called_different() {
    let named = |seed| {
        let seen = duel(&base(), &base(), seed);
        let against = &seen.differences[0];
        let parts = against.parts.iter().map(|(_, row)| row.differs);
        let counts = against.counts.iter().map(|(_, row)| row.differs);
        parts.chain(counts).any(|differs| differs)
    };
    let wrong = (0..300).filter(|seed| named(100 + seed)).count();
    // 5 % of 300 are 15; more than 27 happen once in a thousand times.
    assert!(wrong <= 27, "{wrong}");
}

#[test]
fn parts_are_all_of_the_cpu_time() {
    let seen = duel(&base(), &base(), 3);
    for side in &seen.sides {
        let sum: f64 = side.parts.iter().map(|(_, part)| part.value()).sum();
        let cpu = side.cpu.unwrap().value();
        assert!((sum - cpu).abs() < 1e-6 * cpu, "{sum} of {cpu}");
    }
}

#[test]
fn without_samples_counts_are_compared_all_the_same() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut blind = |made: &MadeUp| Dissection {
        samples: 0,
        stacks: BTreeMap::new(),
        calls: BTreeMap::new(),
        counts: BTreeMap::from([("voluntary switches".to_owned(), 40_000.0 * made.calls[0].1)]),
        ..round(made, &mut rng)
    };
    let mut restless = base();
    restless.calls[0].1 = 2.0;
    let rounds = (0..8).map(|_| vec![blind(&base()), blind(&restless)]);
    let seen = anatomy(&Dissections {
        names: vec!["old".into(), "new".into()],
        rate: 40_000.0,
        rounds: rounds.collect(),
        refused: vec!["sampling stacks is refused".into()],
    });
    let against = &seen.differences[0];
    assert!(against.parts.iter().all(|(_, row)| !row.differs));
    assert!(
        against.sentence.contains("1.00 more voluntary switches"),
        "{}",
        against.sentence
    );
    assert_eq!(seen.sides[0].cpu, None);
}

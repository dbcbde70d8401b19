use super::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Costs of a request in made-up servers: nanoseconds by stack, calls by name.
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
        requests: requests as f64,
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
fn what_a_manifest_adds_is_compared_with_the_server_without_it() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut rounds: Vec<Vec<Dissection>> = (0..4)
        .map(|_| vec![round(&base(), &mut rng), round(&base(), &mut rng)])
        .collect();
    for round in &mut rounds {
        let plain = round[1].plain;
        round[1].unprofiled = Some(Spent {
            cpu_ns: plain.cpu_ns / 2,
            ..plain
        });
    }
    let seen = anatomy(&Dissections {
        names: vec!["plain".into(), "profiled".into()],
        rate: 40_000.0,
        rounds,
        refused: Vec::new(),
    });
    assert_eq!(seen.sides[0].profile, None);
    let cost = seen.sides[1].profile.unwrap().value();
    assert!((cost - 2.0).abs() < 1e-6, "{cost}");
}

#[test]
fn a_function_that_costs_more_is_named_with_its_share() {
    let mut slower = base();
    slower.stacks[1].1 += 1_000.0;
    let seen = duel(&base(), &slower, 1);
    let against = &seen.differences[0];
    let (part, row) = &against.parts[0];
    assert_eq!(*part, CostPart::Function("json_encode".into()));
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

/// Like `base`, with 24 functions that `base` does not have, each of 25 ns per request.
fn with_framework() -> MadeUp {
    let mut made = base();
    made.stacks
        .extend(FRAMEWORK.iter().map(|stack| (*stack, 25.0)));
    made
}

static FRAMEWORK: std::sync::LazyLock<Vec<&'static str>> = std::sync::LazyLock::new(|| {
    let stacks = (0..24).map(|n| format!("main;serve;hook{n}"));
    stacks.map(|stack| &*stack.leak()).collect()
});

#[test]
fn functions_that_only_one_server_runs_are_a_part_of_their_own() {
    let framework = with_framework();
    let seen = duel(&base(), &framework, 6);
    let against = &seen.differences[0];
    let sentence = &against.sentence;
    assert!(
        sentence.contains(" in small functions that only new runs (")
            && sentence.contains(", such as `hook"),
        "{sentence}"
    );
    let only = CostPart::OnlyIn("new".into());
    let row = against.parts.iter().find(|(part, _)| *part == only);
    let ns = row.unwrap().1.difference.value();
    // Of 600 ns, less what `round` rounds down, and less those that are not seen in two other rounds.
    assert!((300.0..600.0).contains(&ns), "{ns}");
    // And the other way round.
    let sentence = &duel(&framework, &base(), 6).differences[0].sentence;
    assert!(
        sentence.contains(" in small functions that only old runs ("),
        "{sentence}"
    );
}

#[test]
fn equal_servers_have_no_functions_of_their_own() {
    let framework = with_framework();
    for seed in 0..40 {
        let against = duel(&framework, &framework, 200 + seed)
            .differences
            .remove(0);
        let of_one = |(part, _): &&(CostPart, Difference)| matches!(part, CostPart::OnlyIn(_));
        let found: Vec<_> = (against.parts.iter()).filter(of_one).collect();
        assert!(found.iter().all(|(_, row)| !row.differs), "{found:?}");
        let sum: f64 = (against.parts.iter())
            .map(|(_, row)| row.difference.value())
            .sum();
        let whole = against.cpu.unwrap().difference.value();
        assert!((sum - whole).abs() < 1.0, "{sum} of {whole}");
    }
}

#[test]
fn the_same_server_twice_is_hardly_ever_called_different() {
    let named = |seed| {
        let seen = duel(&base(), &base(), seed);
        let against = &seen.differences[0];
        let parts = against.parts.iter().map(|(_, row)| row.differs);
        let counts = against.counts.iter().map(|(_, row)| row.differs);
        let whole = against.cpu.iter().map(|row| row.differs);
        whole.chain(parts).chain(counts).any(|differs| differs)
    };
    let wrong = (0..300).filter(|seed| named(100 + seed)).count();
    // 5% of 300 are 15; more than 27 happen once in a thousand times.
    assert!(wrong <= 27, "{wrong}");
}

/// A whole that differs with this probability of chance, among parts that do not.
fn among_equal_parts(p: f64) -> (bool, usize) {
    let row = |p: f64| Difference {
        base: 1_000.0,
        side: 1_050.0,
        difference: mean(&[49.0, 50.0, 51.0], CPU).unwrap(),
        p,
        differs: false,
        share: None,
    };
    let part = |n: u32| UnjudgedRow {
        key: CostPart::Function(n.to_string()),
        // Evenly, as those of equal servers are.
        value: row(f64::from(n) / 41.0),
        relevant: true,
    };
    let mut cpu = Some(UnjudgedRow {
        key: (),
        value: row(p),
        relevant: true,
    });
    let mut parts: Vec<UnjudgedRow<CostPart>> = (1..=40).map(part).collect();
    judge(&mut cpu, &mut parts, &mut [], &mut []);
    let found = parts.iter().filter(|row| row.value.differs).count();
    (cpu.unwrap().value.differs, found)
}

#[test]
fn the_whole_is_not_one_of_dozens() {
    assert_eq!(among_equal_parts(0.02), (true, 0));
    assert_eq!(among_equal_parts(0.03), (false, 0));
}

#[test]
fn an_interval_beyond_zero_is_not_called_equal() {
    let row = |p| Difference {
        base: 10_000.0,
        side: 10_330.0,
        difference: mean(&[100.0, 330.0, 560.0, 330.0], CPU).unwrap(),
        p,
        differs: false,
        share: None,
    };
    let sentence = |cpu: Difference| {
        words::sentence(
            "old",
            &Against {
                side: "new".into(),
                sentence: String::new(),
                cpu: Some(cpu),
                parts: Vec::new(),
                one_sided: Vec::new(),
                counts: Vec::new(),
                waits: Vec::new(),
                unexplained_ns: None,
            },
        )
    };
    let said = sentence(row(0.04));
    assert!(
        said.starts_with("the CPU time per request of new and old may differ (+"),
        "{said}"
    );
    let none = Difference {
        difference: mean(&[-300.0, 330.0, 560.0, 330.0], CPU).unwrap(),
        ..row(0.4)
    };
    let said = sentence(none);
    assert!(said.starts_with("no difference was found"), "{said}");
}

#[test]
fn what_only_one_server_runs_is_named_however_little_it_costs() {
    let row = |values: &[f64], differs| Difference {
        base: 10_000.0,
        side: 10_030.0,
        difference: mean(values, CPU).unwrap(),
        p: 0.001,
        differs,
        share: None,
    };
    let small = |part| (part, row(&[29.0, 30.0, 31.0], true));
    let sentence = words::sentence(
        "old",
        &Against {
            side: "new".into(),
            sentence: String::new(),
            cpu: Some(row(&[-300.0, 30.0, 360.0], false)),
            parts: vec![
                small(CostPart::OnlyIn("new".into())),
                small(CostPart::Function("parse".into())),
            ],
            one_sided: vec![OneSided {
                server: "new".into(),
                functions: vec![("lockSlow".into(), 20.0), ("dequeue".into(), 10.0)],
            }],
            counts: Vec::new(),
            waits: Vec::new(),
            unexplained_ns: None,
        },
    );
    assert_eq!(
        sentence,
        "the CPU time per request of new and old is not known to differ as a whole, but parts of it do: 30 ns more in small functions that only new runs (`lockSlow`, `dequeue`)."
    );
}

#[test]
fn a_server_by_itself_is_summed_up_in_a_sentence() {
    let seen = duel(&base(), &base(), 5);
    let sentence = &seen.sides[0].sentence;
    assert!(sentence.starts_with("a request costs old "), "{sentence}");
    let places = [
        "% in the kernel's `sendto()`, ",
        "% in `json_encode`, ",
        "% in `serve`. ",
    ];
    assert!(
        places.iter().all(|place| sentence.contains(place)),
        "{sentence}"
    );
    assert!(
        sentence.ends_with("It makes 1.40 system calls: 1.00 `sendto`, 0.40 `epoll_wait`."),
        "{sentence}"
    );
    let blind = anatomy(&Dissections {
        names: vec!["old".into()],
        rounds: vec![vec![Dissection::default()]; 3],
        ..Dissections::default()
    });
    assert_eq!(
        blind.sides[0].sentence,
        "nothing is known of the CPU time of old"
    );
}

#[test]
fn parts_are_all_of_the_cpu_time() {
    let seen = duel(&base(), &base(), 3);
    for side in &seen.sides {
        let sum: f64 = side.parts.iter().map(|(_, part)| part.value()).sum();
        let cpu = side.sampled_cpu.unwrap().value();
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
    let side = &seen.sides[0];
    assert!(side.parts.is_empty() && side.sampling.is_none() && side.cpu.is_some());
}

/// Like `base`, with threads that wait for a lock and for requests, for `lock` and `idle` nanoseconds per request.
fn waiting(lock: f64, idle: f64) -> impl Fn(&mut Xoshiro256PlusPlus) -> Dissection {
    move |rng| {
        let mut it = round(&base(), rng);
        it.waited = it.plain;
        let requests = it.waited.requests;
        let mut wait = |stack: &str, ns: f64| {
            let noise = 1.0 + 0.02 * (rng.random::<f64>() - 0.5);
            it.waits
                .insert(stack.to_owned(), (ns * noise * requests) as u64);
        };
        wait("main;serve;lock;__x64_sys_futex_[k];schedule_[k]", lock);
        wait("main;serve;__x64_sys_epoll_wait_[k];schedule_[k]", idle);
        it
    }
}

fn waited(old: (f64, f64), new: (f64, f64)) -> Anatomy {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let (old, new) = (waiting(old.0, old.1), waiting(new.0, new.1));
    let rounds = (0..8).map(|_| vec![old(&mut rng), new(&mut rng)]);
    anatomy(&Dissections {
        names: vec!["old".into(), "new".into()],
        rate: 40_000.0,
        rounds: rounds.collect(),
        refused: Vec::new(),
    })
}

#[test]
fn a_lock_that_threads_wait_for_is_named_and_idling_is_not() {
    let seen = waited((500.0, 40_000.0), (9_500.0, 20_000.0));
    let against = &seen.differences[0];
    let [(part, row)] = &against.waits[..] else {
        panic!("{:?}", against.waits);
    };
    assert_eq!(*part, CostPart::Call("futex".into()));
    assert!(row.differs && (row.difference.value() - 9_000.0).abs() < 300.0);
    let text = &against.sentence;
    assert!(
        text.contains(" Its threads wait ") && text.contains(" longer in `futex` per request."),
        "{text}"
    );
    // Of one server all waits are shown.
    let own: Vec<&CostPart> = seen.sides[1].waits.iter().map(|(part, _)| part).collect();
    let call = |name: &str| CostPart::Call(name.into());
    assert_eq!(own, [&call("epoll_wait"), &call("futex")]);

    let same = waited((500.0, 40_000.0), (500.0, 40_000.0));
    assert!(
        !same.differences[0].sentence.contains("wait"),
        "{}",
        same.differences[0].sentence
    );
}

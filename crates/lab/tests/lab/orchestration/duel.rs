use super::fakes::{Behaviour, lab, side, workload, world};
use prony_lab::duel::{Duel, DuelError, LoadSpec, Time};
use prony_lab::event::Event;
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::Placement;
use prony_lab::topology::Topology;
use prony_record::verdict::{Bands, Quantity, Terms, Verdict};
use prony_record::{CheckId, Load, Recording, Step};
use prony_verdict::design::Given;
use prony_verdict::seen::DuelObservations;
use std::time::Duration;

/// All that a pilot would decide is said, but for the rate, if that is none.
fn spec(rate: Option<f64>) -> LoadSpec {
    LoadSpec {
        workload: workload(),
        load: Load::default(),
        given: Given {
            connections: Some(64),
            threads: None,
            duration: Some(Duration::from_secs(1)),
            warmup: Some(Duration::from_secs(1)),
            timeout: None,
            rate,
            no_pause: false,
            other_rates: false,
        },
    }
}

/// Loads of a pilot of a side, when the number of connections is said: alone, to warm it up, alone again, and as it is loaded.
const PILOT: u32 = 4;

fn terms(most: u32, exact: bool) -> Terms {
    Terms {
        quantities: Quantity::ALL.to_vec(),
        most,
        exact,
        precision: None,
        band: 0.01,
        bands: Bands::all(0.01),
    }
}

/// Some 1% of noise, without a random generator.
fn noise(number: u32) -> f64 {
    1.0 + 0.01 * (f64::from(number * 7919 % 13) / 6.0 - 1.0)
}

fn noisy(capacity: f64) -> Behaviour {
    Behaviour {
        capacity,
        cpu_ns: 0.5e9 / capacity,
        noise,
        ..Behaviour::default()
    }
}

/// Carries a duel out; gives what it was, the records, and how many rounds were told of.
fn duel(
    servers: &[(&str, Behaviour)],
    terms: &Terms,
) -> (
    Result<prony_verdict::seen::DuelObservations, DuelError>,
    Vec<Recording>,
    u32,
) {
    let (_world, host, generator) = world(servers);
    let interrupt = Interrupt::default();
    let sides: Vec<_> = servers.iter().map(|(name, _)| side(name)).collect();
    let spec = spec(None);
    let duel = Duel {
        lab: lab(&host, &generator, &interrupt),
        sides: &sides,
        spec: &spec,
        terms,
        time: Time::Unlimited,
    };
    let (mut journal, mut rounds) = (Vec::new(), 0);
    let seen = duel.carry_out(&mut journal, &mut |event| {
        rounds += u32::from(matches!(event, Event::Compared { .. }));
    });
    (seen.map(|(seen, _)| seen), journal, rounds)
}

#[test]
fn it_ends_as_soon_as_everything_is_settled() {
    let servers = [("old", noisy(10_000.0)), ("new", noisy(20_000.0))];
    let (seen, journal, rounds) = duel(&servers, &terms(60, false));
    let seen = seen.unwrap();
    assert!((3..20).contains(&rounds), "{rounds}");
    assert_eq!(seen.rounds.len() as u32, rounds);
    let report = seen.report(1, &terms(60, false), true).unwrap();
    assert_eq!(report.comparisons[0].verdict, Verdict::Faster);
    assert!(!report.cut_short);
    // Half of the slower one's rate is common to both.
    assert!((4_900.0..=5_100.0).contains(&report.rate.unwrap()));
    // Two sides, two parts.
    assert_eq!(journal.len() as u32, 4 * rounds);
    let ordinals: Vec<u32> = journal.iter().map(|it| it.trial.ordinal).collect();
    assert!(ordinals.is_sorted() && ordinals[0] == 0);
}

#[test]
fn cpu_time_is_compared_at_other_rates_if_asked() {
    let (_world, host, generator) = world(&[("old", noisy(10_000.0)), ("new", noisy(10_000.0))]);
    let interrupt = Interrupt::default();
    let sides = [side("old"), side("new")];
    let (mut spec, terms) = (spec(Some(5_000.0)), terms(4, true));
    spec.given.other_rates = true;
    let duel = Duel {
        lab: lab(&host, &generator, &interrupt),
        sides: &sides,
        spec: &spec,
        terms: &terms,
        time: Time::Unlimited,
    };
    let mut journal: Vec<Recording> = Vec::new();
    let (seen, _) = duel.carry_out(&mut journal, &mut |_| {}).unwrap();
    let cells: Vec<&str> = journal[..4]
        .iter()
        .map(|it| it.trial.cell.as_str())
        .collect();
    assert_eq!(cells, ["saturation", "5000/s", "2000/s", "8000/s"]);
    for values in seen.rounds.iter().flatten() {
        let (lower, higher) = (values.lower.unwrap(), values.higher.unwrap());
        assert_eq!(
            (values.rate, lower.rate, higher.rate),
            (Some(5_000.0), 2_000.0, 8_000.0)
        );
        assert!(
            lower.cpu > Some(0.0) && higher.cpu > Some(0.0),
            "{values:?}"
        );
    }
    let report = seen.report(1, &terms, true).unwrap();
    let told = report
        .notes
        .iter()
        .find(|note| note.contains("by rate: new uses, compared with old"));
    assert!(
        told.is_some_and(|it| it.contains("at 2000 requests/s")),
        "{:?}",
        report.notes
    );
}

#[test]
fn equals_are_not_called_different_in_all_their_rounds() {
    let servers = [("a", noisy(10_000.0)), ("b", noisy(10_000.0))];
    let (seen, _, rounds) = duel(&servers, &terms(12, false));
    let report = seen.unwrap().report(1, &terms(12, false), true).unwrap();
    assert!(rounds <= 12);
    for comparison in &report.comparisons {
        assert!(!comparison.verdict.is_difference(), "{comparison:?}");
    }
}

#[test]
fn as_many_rounds_as_were_asked_for() {
    let servers = [("old", noisy(10_000.0)), ("new", noisy(20_000.0))];
    let (seen, _, rounds) = duel(&servers, &terms(7, true));
    assert_eq!((seen.unwrap().rounds.len(), rounds), (7, 7));
}

#[test]
fn threads_grow_where_there_are_cpus_for_them() {
    let busy = |cpus: &[usize]| Behaviour {
        seen: |it| it.generator.busy = 0.95,
        placement: Some(Placement::split(&Topology::unknown(cpus))),
        ..noisy(10_000.0)
    };
    let threads = |behaviour: Behaviour| -> Vec<u32> {
        let servers = [("a", behaviour.clone()), ("b", behaviour)];
        let (_, journal, _) = duel(&servers, &terms(3, true));
        let loads = journal.iter().map(|it| it.trial.load.threads);
        loads.collect()
    };
    let eight = threads(busy(&[0, 1, 2, 3, 4, 5, 6, 7]));
    assert!(eight.iter().all(|&n| n == 4), "{eight:?}");
    let two = threads(busy(&[0, 1]));
    assert!(two.iter().all(|&n| n == 1), "{two:?}");
    let calm = threads(Behaviour {
        seen: |_| {},
        ..busy(&[0, 1, 2, 3, 4, 5, 6, 7])
    });
    assert!(calm.iter().all(|&n| n == 1), "{calm:?}");
}

#[test]
fn sides_of_a_round_get_the_same_arrivals_and_other_values() {
    let (world, host, generator) = world(&[("a", noisy(10_000.0)), ("b", noisy(10_000.0))]);
    let (interrupt, sides, spec) = (
        Interrupt::default(),
        [side("a"), side("b")],
        spec(Some(100.0)),
    );
    let duel = Duel {
        lab: lab(&host, &generator, &interrupt),
        sides: &sides,
        spec: &spec,
        terms: &terms(3, true),
        time: Time::Unlimited,
    };
    duel.carry_out(&mut Vec::<Recording>::new(), &mut |_| {})
        .unwrap();
    let drawn = world.drawn.borrow().clone();
    let arrivals = |name: &str| -> Vec<u64> {
        let of = drawn.iter().filter(|(of, ..)| of == name);
        of.map(|(_, arrivals, _)| *arrivals).collect()
    };
    let (a, b) = (arrivals("a"), arrivals("b"));
    assert!(a.len() >= 3, "{drawn:?}");
    assert_eq!(a, b);
    // Each segment of each round has its own, and no two loads send the same values.
    let mut all: Vec<u64> = [
        &a[..],
        &drawn.iter().filter_map(|it| it.2).collect::<Vec<_>>(),
    ]
    .concat();
    let number = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), number, "{drawn:?}");
}

#[test]
fn every_part_has_the_record_of_a_run() {
    let slow_start = Behaviour {
        warms_up_for: 40,
        retransmits: 3,
        others_busy: 0.2,
        ..Behaviour::default()
    };
    let servers = [("calm", Behaviour::default()), ("wild", slow_start)];
    let (seen, journal, _) = duel(&servers, &terms(3, true));
    for recording in &journal {
        let trial = &recording.trial;
        let measured = trial.observation.as_ref().unwrap();
        let wild = trial.server == "wild";
        assert_eq!(measured.warmed_up, !wild, "{}", trial.cell);
        assert!(!recording.windows.is_empty());
        assert_eq!(measured.resources.watched_ns, SECOND_OF_A_PART);
        assert_eq!(measured.resources.retransmits, if wild { 6 } else { 0 });
        assert!(measured.durations.ready_ns > 0 && measured.durations.warmup_ns > 0);
        let raised: Vec<CheckId> = measured.checks.iter().map(|c| c.name).collect();
        for check in [CheckId::NotSteady, CheckId::NoisyHost] {
            assert_eq!(raised.contains(&check), wild, "{raised:?}");
        }
    }
    // The windows of the warm-up stand before those of the first part; before the others those of lead-ins.
    let of = |cell: &str| {
        let found = journal.iter().find(|it| it.trial.cell.starts_with(cell));
        found.unwrap().windows.clone()
    };
    let cold = |windows: &[prony_record::Window]| {
        let is_cold = |w: &&prony_record::Window| w.phase == prony_record::Phase::Warmup;
        windows.iter().filter(is_cold).count()
    };
    assert!(cold(&of("saturation")) >= 5 + cold(&of("5")));
    let found = seen.unwrap().findings();
    assert!(
        found.iter().any(|it| it.name == CheckId::NoisyHost),
        "{found:?}"
    );
}

const SECOND_OF_A_PART: u64 = 1_000_000_000;

#[test]
fn a_side_that_fails_ends_it_and_what_was_recorded_stays() {
    let dies = Behaviour {
        // The first start is the pilot's, the second is the first round's.
        fails: Some((Step::Load, 2)),
        ..noisy(10_000.0)
    };
    let servers = [("good", noisy(10_000.0)), ("bad", dies)];
    let (seen, journal, rounds) = duel(&servers, &terms(60, true));
    match seen {
        Err(DuelError::Side { side, failure }) => {
            assert_eq!((side.as_str(), failure.step), ("bad", Step::Load));
            assert!(failure.output.contains("bad said this"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!((rounds, journal.len()), (1, 4));
}

#[test]
fn sides_too_slow_for_a_common_rate() {
    let servers = [
        (
            "slow",
            Behaviour {
                capacity: 1.5,
                ..Behaviour::default()
            },
        ),
        ("other", Behaviour::default()),
    ];
    let only_cpu = Terms {
        quantities: vec![Quantity::Cpu],
        ..terms(5, true)
    };
    let (seen, journal, _) = duel(&servers, &only_cpu);
    assert!(matches!(seen, Err(DuelError::NoRate)), "{seen:?}");
    assert!(journal.is_empty());
}

#[test]
fn an_interrupt_keeps_whole_rounds() {
    let (world, host, generator) = world(&[("a", noisy(9_000.0)), ("b", noisy(10_000.0))]);
    let interrupt = Interrupt::default();
    let sides = [side("a"), side("b")];
    let spec = spec(Some(1_000.0));
    let terms = terms(60, true);
    let duel = Duel {
        lab: lab(&host, &generator, &interrupt),
        sides: &sides,
        spec: &spec,
        terms: &terms,
        time: Time::Unlimited,
    };
    // A round: two warm-ups and eight segments.
    world.interrupt_in.set(Some(2 * PILOT + 25));
    let mut journal: Vec<Recording> = Vec::new();
    let (seen, _) = duel.carry_out(&mut journal, &mut |_| {}).unwrap();
    assert_eq!((seen.rounds.len(), journal.len()), (2, 8));
    let done = world.done.borrow();
    let count = |what: &str| done.iter().filter(|it| it.starts_with(what)).count();
    assert_eq!(count("start"), count("stop"), "no server is left");
}

#[test]
fn sides_are_loaded_there_and_back() {
    let (world, host, generator) = world(&[("a", noisy(9_000.0)), ("b", noisy(10_000.0))]);
    let interrupt = Interrupt::default();
    let sides = [side("a"), side("b")];
    let spec = spec(Some(1_000.0));
    let terms = terms(2, true);
    let duel = Duel {
        lab: lab(&host, &generator, &interrupt),
        sides: &sides,
        spec: &spec,
        terms: &terms,
        time: Time::Unlimited,
    };
    let mut journal: Vec<Recording> = Vec::new();
    duel.carry_out(&mut journal, &mut |_| {}).unwrap();
    let done = world.done.borrow();
    let loads: Vec<&str> = done
        .iter()
        .filter_map(|it| it.strip_prefix("load "))
        .collect();
    let (pilots, rounds) = loads.split_at(2 * PILOT as usize);
    assert_eq!((pilots[0], rounds.len()), ("a", 20));
    for round in rounds.chunks(10) {
        let (warm, rest) = round.split_at(2);
        assert_ne!(warm[0], warm[1]);
        for part in rest.chunks(4) {
            let mut back = part.to_vec();
            back.reverse();
            assert_eq!(part, back, "in an order and its reverse");
        }
    }
}

/// Returns what was done with the servers of a duel of two rounds after its pilots. The load with the number `fails`
/// since then fails.
fn done_in_rounds(no_pause: bool, fails: Option<u32>) -> Vec<String> {
    let (world, host, generator) = world(&[("a", noisy(9_000.0)), ("b", noisy(10_000.0))]);
    world.lost_in.set(fails.map(|load| 2 * PILOT + load));
    let (interrupt, sides) = (Interrupt::default(), [side("a"), side("b")]);
    let mut spec = spec(Some(1_000.0));
    spec.given.no_pause = no_pause;
    let duel = Duel {
        lab: lab(&host, &generator, &interrupt),
        sides: &sides,
        spec: &spec,
        terms: &terms(2, true),
        time: Time::Unlimited,
    };
    let outcome = duel.carry_out(&mut Vec::<Recording>::new(), &mut |_| {});
    assert_eq!(outcome.is_err(), fails.is_some());
    let done = world.done.borrow();
    let pilots = done.iter().filter(|it| it.starts_with("stop")).take(2);
    let last = pilots.last().unwrap();
    let at = done.iter().position(|it| it == last).unwrap();
    done[at + 1..].to_vec()
}

#[test]
fn the_other_side_is_stopped_while_one_is_measured() {
    let done = done_in_rounds(false, None);
    // A round: two starts, two warm-ups, eight segments, two ends.
    let (round, segments) = (4 + 3 * 8 + 2, 4..4 + 3 * 8);
    assert_eq!(done.len(), 2 * round, "{done:?}");
    for round in done.chunks(round) {
        assert!(
            round[..4].iter().all(|it| !it.contains("pause")),
            "{round:?}"
        );
        for segment in round[segments.clone()].chunks(3) {
            let loaded = segment[1].strip_prefix("load ").unwrap();
            let other = if loaded == "a" { "b" } else { "a" };
            assert_eq!(segment[0], format!("pause {other}"), "{round:?}");
            assert_eq!(segment[2], format!("resume {other}"), "{round:?}");
        }
    }
    let done = done_in_rounds(true, None);
    assert!(!done.iter().any(|it| it.contains("pause")), "{done:?}");
}

#[test]
fn what_is_stopped_goes_on_when_a_measurement_fails() {
    let done = done_in_rounds(false, Some(2));
    let words: Vec<&str> = done.iter().filter_map(|it| it.split(' ').next()).collect();
    let all = [
        "start", "start", "load", "load", "pause", "load", "resume", "stop", "stop",
    ];
    assert_eq!(words, all);
}

#[test]
fn a_side_that_is_stopped_does_not_disturb_the_others() {
    let busy = || Behaviour {
        never_rests: true,
        ..noisy(10_000.0)
    };
    let (seen, ..) = duel(
        &[("calm", noisy(10_000.0)), ("busy", busy())],
        &terms(2, true),
    );
    let found = seen.unwrap().findings();
    assert!(
        found.iter().all(|it| it.name != CheckId::SideNotIdle),
        "{found:?}"
    );
}

/// Faster in the pilot, which finds the common rate, than later.
fn fades(number: u32) -> f64 {
    if number < 2 * PILOT { 4.0 } else { 1.0 }
}

#[test]
fn a_common_rate_that_is_missed_is_lowered_and_what_was_measured_at_it_is_not_compared() {
    let fading = Behaviour {
        noise: fades,
        ..Behaviour::default()
    };
    let servers = [("old", fading.clone()), ("new", fading)];
    let (seen, _, _) = duel(&servers, &terms(4, true));
    let seen = seen.unwrap();
    let missed: Vec<bool> = seen.rounds.iter().map(|round| round[1].missed).collect();
    assert_eq!(missed, [true, true, false, false]);
    assert_eq!(seen.rounds[0][1].cpu, None, "measured in overload");
    let rates: Vec<Option<f64>> = seen.rounds.iter().map(|round| round[0].rate).collect();
    assert_eq!(
        rates,
        [20_000.0, 20_000.0, 5_000.0, 5_000.0].map(Some),
        "half of what it reaches now"
    );
    let report = seen.report(1, &terms(4, true), true).unwrap();
    assert_eq!(report.rate, Some(5_000.0));
    let told = report.notes.join(" ");
    for part in [
        "new did not keep",
        "rounds 1, 2",
        "lowered from 20000 to 5000",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let cpu = report
        .comparisons
        .iter()
        .find(|one| one.quantity == Quantity::Cpu)
        .unwrap();
    assert_eq!(cpu.ratio.n(), 2);
}

/// Faster and slower by a third in turns, round by round: ten loads.
fn wild(number: u32) -> f64 {
    if (number.saturating_sub(2 * PILOT) / 10).is_multiple_of(2) {
        4.0 / 3.0
    } else {
        0.75
    }
}

#[test]
fn what_cannot_be_found_in_time_is_left_out_and_given_up() {
    let calm_cpu = |watched: &mut prony_lab::host::Watched| {
        let per_second = 500_000_000.0;
        let seconds = watched.resources.watched_ns as f64 / 1e9;
        watched.resources.server_cpu_ns = (per_second * seconds) as u64;
    };
    let expensive_cpu = |watched: &mut prony_lab::host::Watched| {
        let seconds = watched.resources.watched_ns as f64 / 1e9;
        watched.resources.server_cpu_ns = (530_000_000.0 * seconds) as u64;
    };
    let behaves = |noise: fn(u32) -> f64, used| Behaviour {
        capacity: 20_000.0,
        noise,
        used,
        ..Behaviour::default()
    };
    let (_world, host, generator) = world(&[
        ("old", behaves(|_| 1.0, calm_cpu)),
        ("new", behaves(wild, expensive_cpu)),
    ]);
    let interrupt = Interrupt::default();
    let sides = [side("old"), side("new")];
    let (spec, terms) = (spec(Some(5_000.0)), terms(40, false));
    let duel = Duel {
        lab: lab(&host, &generator, &interrupt),
        sides: &sides,
        spec: &spec,
        terms: &terms,
        time: Time::Unlimited,
    };
    let (mut journal, mut dropped) = (Vec::<Recording>::new(), 0);
    let seen = duel.carry_out(&mut journal, &mut |event| {
        dropped += u32::from(matches!(event, Event::Outlook { dropped: true, .. }));
    });
    let (seen, _) = seen.unwrap();
    assert_eq!(dropped, 1);
    assert!(seen.rounds.len() < 40, "{}", seen.rounds.len());
    let measured = seen
        .rounds
        .iter()
        .filter(|round| round[0].throughput.is_some());
    assert_eq!(measured.count(), 4);
    let report = seen.report(1, &terms, true).unwrap();
    assert!(
        report.sentences[0]
            .starts_with("new is more expensive than old: 6.0% more CPU per request"),
        "{:?}",
        report.sentences
    );
    assert!(report.sentences[0].contains("inconclusive in throughput (needs "));
    assert!(report.notes[0].starts_with("Throughput was measured in the first 4 rounds only"));
}

/// A pilot decides everything.
fn by_default(servers: &[(&str, Behaviour)]) -> (DuelObservations, Vec<Recording>, Terms) {
    let (_world, host, generator) = world(servers);
    let interrupt = Interrupt::default();
    let sides: Vec<_> = servers.iter().map(|(name, _)| side(name)).collect();
    let spec = LoadSpec {
        given: Given::default(),
        ..spec(None)
    };
    let duel = Duel {
        lab: lab(&host, &generator, &interrupt),
        sides: &sides,
        spec: &spec,
        terms: &terms(3, true),
        time: Time::Unlimited,
    };
    let mut journal: Vec<Recording> = Vec::new();
    let (seen, terms) = duel.carry_out(&mut journal, &mut |_| {}).unwrap();
    (seen, journal, terms)
}

#[test]
fn a_server_that_leaves_connections_waiting_is_loaded_over_few() {
    let fair = Behaviour {
        latency: 0.000_1,
        ..noisy(10_000.0)
    };
    let unfair = Behaviour {
        seen: |it| it.times.response.record(2_000_000_000).unwrap(),
        ..fair.clone()
    };
    let connections = |other: Behaviour| {
        let (seen, ..) = by_default(&[("a", fair.clone()), ("b", other)]);
        let design = seen.design.unwrap();
        (design.saturation.connections, design.at_rate.connections)
    };
    assert_eq!(connections(fair.clone()), (64, 64));
    let (saturation, at_rate) = connections(unfair);
    assert!(saturation <= 8 && at_rate <= 8, "{saturation} {at_rate}");
}

#[test]
fn servers_that_wait_for_something_are_compared_by_what_they_wait() {
    let waits = |latency| Behaviour {
        capacity: 1e6,
        latency,
        ..Behaviour::default()
    };
    for (old, new) in [(0.01, 0.012), (0.2, 0.24), (1.0, 1.2)] {
        let (seen, journal, _) = by_default(&[("old", waits(old)), ("new", waits(new))]);
        let report = seen.report(1, &terms(3, true), true).unwrap();
        let throughput = &report.comparisons[0];
        assert_eq!(
            (throughput.quantity, throughput.verdict),
            (Quantity::Throughput, Verdict::Slower)
        );
        assert!(
            (throughput.ratio.value() - old / new).abs() < 0.001,
            "{throughput:?}"
        );
        for recording in &journal {
            let measured = recording.trial.observation.as_ref().unwrap();
            assert!(!measured.backlog.missed(), "{old}: {:?}", measured.backlog);
            let load = &recording.trial.load;
            // It was measured for 20 response times, after 5.
            assert!(load.lead_in.0.as_secs_f64() >= 4.99 * old, "{load:?}");
            let length = measured.durations.measured_ns as f64 / 1e9;
            assert!(length >= 19.99 * old, "{length}");
        }
        let p50 = report
            .comparisons
            .iter()
            .find(|it| it.quantity == Quantity::P50);
        assert!(
            (p50.unwrap().ratio.value() - new / old).abs() < 0.01,
            "{p50:?}"
        );
    }
}

#[test]
fn a_slow_application_gets_the_connections_that_it_can_use() {
    let process = |capacity| Behaviour {
        capacity,
        latency: 1.0 / capacity,
        cpu_ns: 1e9 / capacity,
        ..Behaviour::default()
    };
    let (seen, journal, _) = by_default(&[("old", process(50.0)), ("new", process(45.0))]);
    let design = seen.design.as_ref().unwrap();
    assert_eq!(design.saturation.connections, 2, "{design:?}");
    assert_eq!(design.rate, Some(22.0));
    assert_eq!(design.given, [""; 0]);
    let report = seen.report(1, &terms(3, true), true).unwrap();
    let throughput = report.comparisons[0].ratio.value();
    assert!((throughput - 0.9).abs() < 0.01, "{throughput}");
    assert!(
        report
            .comparisons
            .iter()
            .any(|it| it.quantity == Quantity::Cpu)
    );
    assert!(journal.iter().all(|it| it.trial.load.connections <= 16));
}

#[test]
fn rounds_are_planned_by_their_length_and_the_time_there_is() {
    let (_world, host, generator) = world(&[("a", noisy(9_000.0)), ("b", noisy(10_000.0))]);
    let interrupt = Interrupt::default();
    let sides = [side("a"), side("b")];
    let spec = spec(Some(1_000.0));
    let wanted = terms(60, false);
    // Made up, rounds take no time but what is expected of them: some 4 s.
    let duel = Duel {
        lab: lab(&host, &generator, &interrupt),
        sides: &sides,
        spec: &spec,
        terms: &wanted,
        time: Time::AtMost(Duration::from_secs(20)),
    };
    let (mut journal, mut planned) = (Vec::<Recording>::new(), 0);
    let (_, terms) = duel
        .carry_out(&mut journal, &mut |event| {
            if let Event::Designed { most, .. } = event {
                planned = most;
            }
        })
        .unwrap();
    assert!((4..=7).contains(&planned), "{planned}");
    assert!(terms.most <= planned && terms.quantities == wanted.quantities);
}

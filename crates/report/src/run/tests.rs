use super::*;
use crate::table::UNLIMITED;
use prony_record::trial::Figures;
use prony_record::{Distributions, Measurement, StreamFigures};

fn head(baseline: &str) -> RunHead {
    RunHead {
        id: 7,
        name: "it".into(),
        title: "T".into(),
        started: "2026-11-21T10:00:00Z".into(),
        status: "finished".into(),
        failure: None,
        contract: "tcp-echo".into(),
        baseline: baseline.into(),
        upstream: None,
        rounds: 3,
        placement: "server on CPU 0, generator on CPU 1".into(),
        host: "Linux".into(),
        prony: "0".into(),
    }
}

pub(super) fn trial(server: &str, round: u32, throughput: f64) -> Trial {
    let mut seen = Measurement::default();
    seen.outcomes.ok = 2_000;
    Trial {
        ordinal: 0,
        round,
        server: server.into(),
        workers: Some(1),
        load: Load::default(),
        cell: "c64".into(),
        status: TrialStatus::Ok,
        failure: None,
        started: jiff::Timestamp::UNIX_EPOCH,
        command_line: server.into(),
        server_version: None,
        figures: Figures {
            throughput: Some(throughput),
            cpu_ns_per_request: Some(3_000.0),
            rss_peak_bytes: Some(1 << 20),
            ..Figures::default()
        },
        observation: Some(seen),
    }
}

/// The report of these trials, each of which has 2,000 requests.
fn report_of(run: RunHead, trials: &[Trial], failures: Vec<FailureReport>) -> RunReport {
    weighted(run, &BTreeMap::new(), trials, failures)
}

fn weighted(
    run: RunHead,
    weights: &BTreeMap<String, f64>,
    trials: &[Trial],
    failures: Vec<FailureReport>,
) -> RunReport {
    let mut times: ByCell<CellTimes> = ByCell::new();
    for trial in trials {
        let mut all = Distributions::default();
        for kind in [&mut all.response, &mut all.service, &mut all.send_delay] {
            (0..2_000).for_each(|i| kind.record(1_000 + i).unwrap());
        }
        times.entry(cell_of(trial)).or_default().add(&all, 0);
    }
    RunReport::new(run, weights, trials, &times, failures)
}

#[test]
fn cells_are_compared_within_rounds() {
    // The rounds differ by a factor of two; within each, b is 10% faster.
    let trials: Vec<Trial> = [100.0, 200.0, 150.0]
        .iter()
        .zip(0..)
        .flat_map(|(&base, round)| [trial("a", round, base), trial("b", round, base * 1.1)])
        .collect();
    let report = report_of(head("a"), &trials, Vec::new());
    assert_eq!(report.cells.len(), 2);
    let [b, a] = &report.cells[..] else { panic!() };
    assert_eq!((b.server.as_str(), b.trials, b.answers), ("b", 3, 6_000));
    let ratio = b.ratio.as_ref().unwrap();
    assert!((ratio.value() - 1.1).abs() < 1e-9 && ratio.interval().unwrap().low() > 1.099);
    assert_eq!(a.ratio.as_ref().unwrap().value(), 1.0);
    assert_eq!(b.latency.response.n, 6_000);
    assert!(
        b.checks
            .iter()
            .any(|finding| finding.name == CheckId::SpreadExceedsEffect)
    );
    assert!(
        report
            .text(false, UNLIMITED)
            .contains("b is faster than a: 10.0% more requests/s (95% CI 10.0% to 10.0%).")
    );
}

#[test]
fn streams_have_a_table() {
    let with = |rate: f64, round: u32| {
        let mut trial = trial("a", round, 100.0);
        trial.observation.as_mut().unwrap().streams = Some(StreamFigures {
            events_per_second: rate,
            ..StreamFigures::default()
        });
        trial
    };
    let trials = [with(2_000.0, 0), with(2_200.0, 1), trial("b", 0, 100.0)];
    let report = report_of(head("a"), &trials, Vec::new());
    let events = |server: &str| {
        let cell = report.cells.iter().find(|cell| cell.server == server);
        cell.unwrap().events.as_ref().map(Estimate::value)
    };
    assert_eq!((events("a"), events("b")), (Some(2_100.0), None));
    let text = report.text(false, UNLIMITED);
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.contains("events/s ±95%"));
    let row = lines[at.unwrap() + 2];
    assert!(row.starts_with('a') && row.contains("2.10k ±"), "{text}");
    let next = lines.get(at.unwrap() + 3);
    assert!(next.is_none_or(|line| !line.starts_with('b')), "{text}");
}

/// No load counts for more because its rates are higher, and a server without figures under one load has no composite.
#[test]
fn loads_are_weighed_by_ratios() {
    let under = |load: &str, trial: Trial| Trial {
        cell: load.into(),
        ..trial
    };
    let mut trials = Vec::new();
    for round in 0..3 {
        let noise = 1.0 + 0.01 * f64::from(round);
        // Twice as fast under one, half as fast under the other, which counts three times as much.
        for (server, fast, slow) in [("a", 1e6, 100.0), ("b", 2e6, 50.0)] {
            trials.push(under("fast", trial(server, round, fast * noise)));
            trials.push(under("slow", trial(server, round, slow * noise)));
        }
        trials.push(under("fast", trial("c", round, 5e6)));
        trials.push(under("other", trial("b", round, 1.0)));
    }
    let weights = [("fast".to_owned(), 1.0), ("slow".to_owned(), 3.0)].into();
    let report = weighted(head("a"), &weights, &trials, Vec::new());
    let composite = report.composite.as_ref().unwrap();
    assert_eq!(composite.weights["slow"], 0.75);
    let [a, b] = &composite.servers[..] else {
        panic!("{composite:?}")
    };
    assert_eq!((a.server.as_str(), a.ratio.value()), ("a", 1.0));
    let expected = 2f64.powf(0.25) * 0.5f64.powf(0.75);
    assert!((b.ratio.value() - expected).abs() < 1e-9, "{b:?}");
    let text = report.text(false, UNLIMITED);
    assert!(
        text.contains("throughput ratios over 2 loads (fast 25.0%, slow 75.0%)"),
        "{text}"
    );
    assert!(
        report_of(head("a"), &trials, Vec::new())
            .composite
            .is_none()
    );
}

#[test]
fn missing_trials_leave_their_round_out_of_the_ratio() {
    let trials = [
        trial("a", 0, 100.0),
        trial("a", 2, 100.0),
        trial("b", 1, 50.0),
        trial("b", 2, 50.0),
    ];
    let report = report_of(head("a"), &trials, Vec::new());
    let b = report.cells.iter().find(|cell| cell.server == "b").unwrap();
    assert_eq!((b.trials, b.ratio.as_ref().unwrap().n()), (2, 1));
}

#[test]
fn failures_are_told_and_skips_are_not_failures() {
    let failure = |skipped| FailureReport {
        server: "c".into(),
        load: String::new(),
        round: Some(2),
        skipped,
        step: Some(Step::Build),
        message: "no compiler".into(),
        output: "line one\nline\x1b two".into(),
    };
    let failed = report_of(head("a"), &[trial("a", 0, 1.0)], vec![failure(false)]);
    assert!(!failed.complete());
    let text = failed.text(false, UNLIMITED);
    assert!(
        text.contains("failed: c (round 2): build: no compiler\n  | line one\n  | line\\u{1b} two"),
        "{text}"
    );
    let skipped = report_of(head("a"), &[], vec![failure(true), failure(true)]);
    assert!(skipped.complete());
    let text = skipped.text(false, UNLIMITED);
    assert!(
        text.ends_with("\n2 servers are not set up: `prony servers setup tcp-echo`\n"),
        "{text}"
    );
    assert!(
        skipped
            .text(true, UNLIMITED)
            .ends_with("`\n  c: no compiler\n  c: no compiler\n")
    );
}

#[test]
fn loads_that_request_what_a_server_lacks_are_listed_by_server() {
    let lacking = |load: &str| FailureReport {
        server: "c".into(),
        load: load.into(),
        round: None,
        skipped: true,
        step: Some(Step::Verify),
        message: "has no updates".into(),
        output: String::new(),
    };
    let both = vec![lacking("updates-1"), lacking("updates-20")];
    let report = report_of(head("a"), &[trial("a", 0, 1.0)], both);
    assert!(report.complete());
    let text = report.text(false, UNLIMITED);
    let line = "not measured: c under updates-1, updates-20: has no updates\n";
    assert!(text.contains(line), "{text}");
    assert!(!text.contains("not set up"), "{text}");
}

#[test]
fn one_round_is_said_to_prove_nothing() {
    let report = report_of(
        head("a"),
        &[trial("a", 0, 1.0), trial("b", 0, 2.0)],
        Vec::new(),
    );
    assert!(report.text(false, UNLIMITED).contains("in the only round"));
    let tie = [1.0, 1.0, 1.0]
        .iter()
        .zip(0..)
        .flat_map(|(&base, round)| {
            [
                trial("a", round, base),
                trial("b", round, base + 0.02 * (f64::from(round) - 0.9)),
            ]
        })
        .collect::<Vec<_>>();
    let text = report_of(head("a"), &tie, Vec::new()).text(false, UNLIMITED);
    assert!(
        text.contains("b and a: inconclusive (95% CI of the change -"),
        "{text}"
    );
}

#[test]
fn a_tie_in_front_says_who_is_behind() {
    let rates = [("a", 100.0), ("b", 101.0), ("slow", 50.0), ("slower", 10.0)];
    let trials: Vec<_> = (0..4)
        .flat_map(|round| {
            rates.map(|(name, rate)| {
                let wide = if name == "b" { 0.05 } else { 0.01 };
                trial(name, round, rate * (1.0 + wide * (f64::from(round) - 1.5)))
            })
        })
        .collect();
    let text = report_of(head("a"), &trials, Vec::new()).text(false, UNLIMITED);
    let sentence = text
        .lines()
        .find(|line| line.contains("inconclusive: b"))
        .unwrap();
    assert!(
        sentence.starts_with("Slower than a: slow -50.0% (95% CI -")
            && sentence.contains(", slower -90.0% (95% CI -")
            && sentence.ends_with("; inconclusive: b."),
        "{text}"
    );
}

/// A difference that one interval of 95% would show, and eight that hold together do not, is no difference
/// in any part of the report: not in the sentence, not in the interval, not in the letters.
#[test]
fn many_servers_are_held_against_the_baseline_together() {
    let noise = [0.01, -0.02, 0.015, -0.005, 0.02, -0.02];
    let report = |servers: usize| {
        let trials: Vec<_> = (0..6)
            .flat_map(|round| (0..servers).map(move |at| (round, at)))
            .map(|(round, at)| {
                let level = [100.0, 102.5, 80.0][at.min(2)];
                let off = if at == 0 {
                    0.0
                } else {
                    noise[(round + at) % 6]
                };
                let round = u32::try_from(round).unwrap();
                trial(&format!("s{at}"), round, level * (1.0 + off))
            })
            .collect();
        report_of(head("s0"), &trials, Vec::new())
    };
    let sentence = |report: &RunReport| report.sentence(&report.by_load()[0].1);
    let two = report(2);
    assert!(
        sentence(&two).starts_with("s1 is faster than s0: 2."),
        "{}",
        sentence(&two)
    );
    let nine = report(9);
    assert!(
        sentence(&nine).ends_with("; inconclusive: s1."),
        "{}",
        sentence(&nine)
    );
    let base = nine.cells.iter().find(|cell| cell.server == "s0").unwrap();
    let letters = |cell: &CellReport| cell.group.clone().unwrap();
    for cell in nine.cells.iter().filter(|cell| cell.server != "s0") {
        let shared = letters(cell).chars().any(|it| letters(base).contains(it));
        let interval = cell.ratio.unwrap().interval().unwrap();
        assert_eq!(shared, interval.contains(1.0), "{}", cell.server);
        assert_eq!(shared, cell.server == "s1", "{}", cell.server);
    }
}

#[test]
fn gateways_at_their_upstreams_rate_measure_the_upstream() {
    let trials = [
        trial("nginx", 0, 100.0),
        trial("quick", 0, 97.0),
        trial("slow", 0, 40.0),
    ];
    let head = RunHead {
        upstream: Some("nginx".into()),
        ..head("nginx")
    };
    let report = report_of(head, &trials, Vec::new());
    let raised: Vec<&str> = report
        .cells
        .iter()
        .filter(|cell| {
            cell.checks
                .iter()
                .any(|check| check.name == CheckId::Ceiling)
        })
        .map(|cell| cell.server.as_str())
        .collect();
    assert_eq!(raised, ["quick"]);
}

use super::*;
use crate::table::UNLIMITED;
use prony_record::design::Pilot;
use prony_record::service::Unclear;
use prony_record::{CheckId, Finding, Percentiles, ServiceCost, Severity};

fn step(rate: f64, kept: bool) -> RateStep {
    RateStep {
        start: 0,
        rate,
        seconds: 2.0,
        achieved: rate,
        limited: vec![Limited {
            percentile: 99.0,
            of: prony_record::Timed::Response,
            ms: Some(2.0),
            longer: Some(0.0),
        }],
        latency: Percentiles::default(),
        good: None,
        errors: 0.0,
        excess: if kept { 0.0 } else { 20.0 },
        cpu_us_per_request: None,
        services: Vec::new(),
        kept,
        broken: if kept {
            vec![]
        } else {
            vec!["p99 was 30 ms".into()]
        },
        unclear: None,
    }
}

fn report() -> CapacityReport {
    let limit = LatencyLimit::new;
    CapacityReport {
        run: 1,
        server: "it".into(),
        limits: Limits {
            latency: vec![limit(99.0, 10.0), limit(50.0, 2.0)],
            errors: 0.001,
            good: None,
        },
        capacity: Some(1_000.0),
        known: CapacityBounds {
            estimate: Some(1_000.0),
            low: Some(960.0),
            high: Some(1_040.0),
            starts: 5,
            because: vec![],
        },
        pilot: None,
        after_overload: None,
        checks: vec![],
        curve: vec![step(100.0, true), step(500.0, true)],
        steps: vec![
            step(2_000.0, false),
            step(1_000.0, true),
            step(1_080.0, false),
            step(100.0, true),
            step(500.0, true),
        ],
        beyond: vec![],
        interrupted: false,
    }
}

#[test]
fn the_sentence_the_curve_and_the_capacity_itself() {
    let shown = text(&report(), UNLIMITED);
    assert!(
        shown.starts_with(
            "it keeps p99 ≤ 10.0 ms, p50 ≤ 2.00 ms and errors ≤ 0.10% up to 1.00k req/s (95% CI \
             960 to 1.04k; 5 starts).\n"
        ),
        "{shown}"
    );
    for part in ["of capacity", "10%", "50%"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("Beyond"), "{shown}");
}

#[test]
fn lines_of_progress() {
    assert_eq!(line(&step(1_000.0, true)), "1.00k req/s: kept, p99 2.00 ms");
    let broken = step(2_000.0, false);
    assert_eq!(line(&broken), "2.00k req/s: not kept: p99 was 30 ms");
    let unclear = RateStep {
        unclear: Some(Unclear::NoisyHost),
        ..broken
    };
    assert_eq!(
        line(&unclear),
        "2.00k req/s: not kept, and not counted: p99 was 30 ms, but other processes or the hypervisor \
         used the CPUs"
    );
}

#[test]
fn a_range_with_its_reason_and_its_checks() {
    let noisy = CapacityReport {
        capacity: None,
        known: CapacityBounds {
            estimate: None,
            low: Some(1_000.0),
            high: Some(14_000.0),
            starts: 1,
            because: vec![
                "other processes or the hypervisor used the CPUs in 9 of 31 trials".into(),
            ],
        },
        checks: vec![Finding {
            name: CheckId::NoisyHost,
            severity: Severity::Warning,
            text: "in 9 of 31 trials: other processes".into(),
        }],
        ..report()
    };
    let shown = text(&noisy, UNLIMITED);
    for part in [
        "up to a rate between 1.00k and 14.0k req/s, not better known here, because other processes \
         or the hypervisor used the CPUs in 9 of 31 trials.\n",
        "of 1.00k req/s",
        "\nwarning: noisy-host: in 9 of 31 trials: other processes\n",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("of capacity"), "{shown}");
}

#[test]
fn costs_of_services_are_shown_by_rate() {
    let mut with = report();
    for (step, statements) in with.curve.iter_mut().zip([1.0, 2.0]) {
        step.services = vec![ServiceCost {
            name: "postgres".into(),
            what: "PostgreSQL 15".into(),
            cpu_ns: 200_000.0,
            statements: Some(statements),
            rows: None,
            written_bytes: None,
            memory_bytes: 0,
        }];
    }
    let shown = text(&with, UNLIMITED);
    let rows = shown.lines().filter(|line| line.contains("  postgres  "));
    let statements: Vec<&str> = rows
        .filter_map(|row| row.split_whitespace().nth(4))
        .collect();
    assert_eq!(statements, ["1.00", "2.00"], "{shown}");
    assert_eq!(
        shown.matches("postgres: PostgreSQL 15").count(),
        1,
        "{shown}"
    );
    assert!(!text(&report(), UNLIMITED).contains("postgres"));
}

#[test]
fn what_is_not_known_is_not_claimed() {
    let of = |low, high, because: &[&str]| {
        let because = because.iter().map(ToString::to_string).collect();
        let known = CapacityBounds {
            low,
            high,
            because,
            ..CapacityBounds::default()
        };
        sentence("it", "p99 ≤ 1.00 s", &known)
    };
    assert!(of(Some(2e3), None, &["x"]).contains("up to at least 2.00k req/s, not better"));
    assert!(of(None, Some(100.0), &[]).contains("at no rate that was tried"));
    assert!(of(None, None, &["x"]).contains("is not known here, because x."));
}

#[test]
fn an_interrupted_search_claims_nothing() {
    let interrupted = CapacityReport {
        capacity: None,
        interrupted: true,
        ..report()
    };
    assert!(text(&interrupted, UNLIMITED).starts_with("interrupted before"));
}

#[test]
fn beyond_the_capacity_has_a_table_of_its_own() {
    let seen = Overload {
        rate: 2_000.0,
        of_capacity: 2.0,
        goodput: 400.0,
        throughput: 900.0,
        errors: 0.01,
        timeouts: 0.25,
        rejected: 0.5,
        latency: Percentiles::default(),
        recovery_seconds: Some(0.3),
        recovery_watched_seconds: 4.0,
    };
    let never = Overload {
        recovery_seconds: None,
        ..seen.clone()
    };
    let overloaded = CapacityReport {
        beyond: vec![seen.clone(), never],
        ..report()
    };
    let shown = text(&overloaded, UNLIMITED);
    for part in [
        "\nBeyond it:\n",
        "200%",
        "400",
        "900",
        "50.00%",
        "25.00%",
        "1.00%",
        "≤ 300 ms",
        "> 4.00 s",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(
        overload_line(&seen),
        "2.00k req/s (200%): 400 req/s within the limit, 900 req/s in all, recovers in ≤ 300 ms"
    );
}

#[test]
fn what_it_keeps_after_an_overload_is_named() {
    let seen = |after| AfterOverload {
        of_capacity: 1.25,
        before: 0.9,
        after,
    };
    assert_eq!(
        after_overload(&seen(Some(0.9))),
        "After an overload of 125% it keeps 90% again."
    );
    let worse = after_overload(&seen(Some(0.5)));
    assert!(
        worse.contains("only 50% without a restart") && worse.ends_with("metastable."),
        "{worse}"
    );
    assert!(after_overload(&seen(None)).contains("none of these"));
}

#[test]
fn a_limit_that_one_request_breaks_is_told_apart_from_a_low_capacity() {
    let impossible = CapacityReport {
        capacity: None,
        known: CapacityBounds {
            high: Some(280.0),
            ..CapacityBounds::default()
        },
        pilot: Some(Pilot {
            alone_ns: 50_000_000,
            ..Pilot::default()
        }),
        ..report()
    };
    let said = result(&impossible);
    assert!(
        said.ends_with("its capacity is below 280 req/s. One request alone takes 50.0 ms."),
        "{said}"
    );
    assert!(!result(&report()).contains("alone"));
}

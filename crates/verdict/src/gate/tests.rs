use super::*;
use crate::duel::compare;
use crate::made_up::found;
use prony_record::verdict::{Bands, Values, Verdict, Withheld};
use prony_stats::sequential::Plan;
use proptest::prelude::*;

fn condition(text: &str) -> Condition {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn subject(metric: Metric, low: f64, high: f64) -> Subject {
    let reading = MetricReading::new(f64::midpoint(low, high), Some((low, high)));
    Subject {
        name: "it".into(),
        request: None,
        values: vec![(metric, reading)],
        ratios: vec![(metric, reading)],
        serious: Vec::new(),
    }
}

#[test]
fn conditions_are_read() {
    for (text, metric, above, limit) in [
        (
            "p99 > 10ms",
            Metric::Percentile(Timed::Response, 9_900),
            true,
            Limit::Absolute(1e7),
        ),
        (
            "p99.9>2.5s",
            Metric::Percentile(Timed::Response, 9_990),
            true,
            Limit::Absolute(2.5e9),
        ),
        (
            "p99-ttfb > 200ms",
            Metric::Percentile(Timed::FirstByte, 9_900),
            true,
            Limit::Absolute(2e8),
        ),
        (
            "p99-gap > 50ms",
            Metric::Percentile(Timed::Gap, 9_900),
            true,
            Limit::Absolute(5e7),
        ),
        (
            "events < 2k/s",
            Metric::Events,
            false,
            Limit::Absolute(2_000.0),
        ),
        ("cpu > +5%", Metric::Cpu, true, Limit::Relative(1.05)),
        (
            "throughput < -5%",
            Metric::Throughput,
            false,
            Limit::Relative(0.95),
        ),
        (
            "throughput < 5k",
            Metric::Throughput,
            false,
            Limit::Absolute(5e3),
        ),
        (
            "throughput < 4.5k req/s",
            Metric::Throughput,
            false,
            Limit::Absolute(4.5e3),
        ),
        (
            "capacity < 1200/s",
            Metric::Capacity,
            false,
            Limit::Absolute(1_200.0),
        ),
        ("errors > 0", Metric::Errors, true, Limit::Absolute(0.0)),
        (
            "errors > 0.1%",
            Metric::Errors,
            true,
            Limit::Absolute(0.001),
        ),
        (
            "memory > 200MiB",
            Metric::Memory,
            true,
            Limit::Absolute(209_715_200.0),
        ),
    ] {
        let read = condition(text);
        assert_eq!((read.metric, read.above), (metric, above), "{text}");
        match (read.limit, limit) {
            (Limit::Absolute(a), Limit::Absolute(b)) | (Limit::Relative(a), Limit::Relative(b)) => {
                assert!((a - b).abs() <= 1e-9 * b.abs(), "{text}: {a}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn what_is_no_condition_says_what_is_missing() {
    for (text, part) in [
        ("p99", "is not a condition"),
        ("p99 >= 10ms", "is not a condition"),
        ("p99 > 10", "one of ns, us, µs, ms, s"),
        ("p101 > 1ms", "there is no \"p101\""),
        ("speed < 3", "there is no \"speed\""),
        ("cpu > 5%", "has no sign"),
        ("throughput < -5", "a change is given in %"),
        ("errors > x", "is not a number"),
        ("throughput < -150%", "a change is given in %"),
    ] {
        let error = text.parse::<Condition>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn the_interval_decides() {
    let judge =
        |text: &str, metric, low, high| condition(text).judge(&subject(metric, low, high)).0;
    let p99 = Metric::Percentile(Timed::Response, 9_900);
    assert_eq!(judge("p99 > 10ms", p99, 8e6, 9.9e6), GateOutcome::Held);
    assert_eq!(judge("p99 > 10ms", p99, 9e6, 11e6), GateOutcome::NotKnown);
    assert_eq!(judge("p99 > 10ms", p99, 10.1e6, 11e6), GateOutcome::Broken);
    assert_eq!(
        judge("throughput < -5%", Metric::Throughput, 0.90, 0.94),
        GateOutcome::Broken
    );
    assert_eq!(
        judge("throughput < -5%", Metric::Throughput, 0.96, 1.02),
        GateOutcome::Held
    );
    assert_eq!(
        judge("errors > 0", Metric::Errors, 0.0, 0.0),
        GateOutcome::Held
    );
    assert_eq!(
        judge("errors > 0", Metric::Errors, 0.01, 0.01),
        GateOutcome::Broken
    );
    assert_eq!(
        judge("cpu > +5%", Metric::Memory, 2.0, 2.0),
        GateOutcome::NotKnown
    );
}

#[test]
fn a_serious_check_never_lets_a_condition_hold_and_never_excuses_one() {
    let with_check = |low, high| Subject {
        serious: vec![CheckId::RateMissed],
        ..subject(Metric::Percentile(Timed::Response, 9_900), low, high)
    };
    let p99 = condition("p99 > 10ms");
    let (outcome, why) = p99.judge(&with_check(1e6, 2e6));
    assert_eq!(outcome, GateOutcome::NotKnown);
    assert_eq!(
        why,
        "1.500 ms (1.000 ms to 2.000 ms), but rate-missed was raised"
    );
    assert_eq!(p99.judge(&with_check(11e6, 12e6)).0, GateOutcome::Broken);
}

/// The condition `cpu > +5%`, judged by eight rounds of a side against the first: CPU time in microseconds, and wake-ups,
/// of a request. Both sides' own code takes 3 µs of it. The verdict is withheld, since wake-ups explain the difference.
fn judged_with_wake_ups(first: (f64, f64), new: (f64, f64)) -> (GateOutcome, String) {
    let at = |(cpu, wakeups): (f64, f64)| Values {
        cpu: Some(1e3 * cpu),
        user: Some(3e3),
        kernel: Some(1e3 * cpu - 3e3),
        wakeups: Some(wakeups),
        ..Values::default()
    };
    let names = ["old".to_owned(), "new".to_owned()];
    let rounds = vec![vec![at(first), at(new)]; 8];
    let plan = Plan::up_to(20).unwrap();
    let all = compare(&names, &[Quantity::Cpu], &rounds, &plan, &Bands::all(0.01)).unwrap();
    let cpu = all.iter().find(|it| it.quantity == Quantity::Cpu).unwrap();
    let cause = cpu.withheld.as_ref().map(|it| it.cause);
    assert_eq!(cause, Some(Cause::WakeUps), "{cpu:?}");
    condition("cpu > +5%").judge(&Subject {
        ratios: ratios(&all),
        ..subject(Metric::Memory, 0.0, 0.0)
    })
}

#[test]
fn a_verdict_that_wake_ups_withhold_breaks_a_condition_and_lets_none_hold() {
    // A quarter more CPU time per request, all of it for more wake-ups.
    let (outcome, why) = judged_with_wake_ups((6.0, 0.8), (7.5, 1.0));
    assert_eq!(outcome, GateOutcome::Broken, "{why}");
    // Less of it, for fewer wake-ups: the code may cost more all the same.
    let (outcome, why) = judged_with_wake_ups((7.5, 1.0), (6.0, 0.8));
    assert_eq!(outcome, GateOutcome::NotKnown);
    assert_eq!(why, "-20.0%, but its verdict is withheld: wake-ups differ");
}

#[test]
fn a_verdict_withheld_for_another_reason_says_nothing_of_a_condition() {
    let one = Comparison {
        withheld: Some(Withheld {
            cause: Cause::MissedRate,
            why: String::new(),
        }),
        ..found(Quantity::Cpu, 1.25, Verdict::Inconclusive)
    };
    let (outcome, why) = condition("cpu > +5%").judge(&Subject {
        ratios: ratios([&one]),
        ..subject(Metric::Memory, 0.0, 0.0)
    });
    assert_eq!(outcome, GateOutcome::NotKnown);
    assert_eq!(why, "+25.0%, with no interval");
}

#[test]
fn the_worst_counts() {
    let p99 = [condition("p99 > 10ms")];
    let subjects = [
        subject(Metric::Percentile(Timed::Response, 9_900), 1e6, 2e6),
        subject(Metric::Percentile(Timed::Response, 9_900), 11e6, 12e6),
    ];
    assert_eq!(worst(&judge(&p99, &subjects)), GateOutcome::Broken);
    assert_eq!(worst(&judge(&p99, &subjects[..1])), GateOutcome::Held);
    assert_eq!(worst(&[]), GateOutcome::Held);
}

proptest! {
    #[test]
    fn nothing_that_is_typed_breaks_it(text in "[a-z0-9.<>%+ -]{0,12}") {
        let _ = text.parse::<Condition>();
    }

    #[test]
    fn an_interval_is_never_both(low in 0.0..2.0_f64, width in 0.0..1.0_f64, limit in -90..90_i32) {
        let subject = subject(Metric::Cpu, low, low + width);
        let above = condition(&format!("cpu > {limit:+}%")).judge(&subject).0;
        let below = condition(&format!("cpu < {limit:+}%")).judge(&subject).0;
        prop_assert!(above != GateOutcome::Broken || below == GateOutcome::Held);
        prop_assert!(above != GateOutcome::NotKnown || below == GateOutcome::NotKnown);
    }
}

//! `not-steady`: the rate was still changing.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};
use prony_stats::compare::Better;
use prony_stats::warmup_class::{Class, classify};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::NotSteady,
    cause: "The rate was still changing: parts of the measurement differ, or the warm-up reached its time limit and the measurement is too short to show that the rate was steady.",
    evidence: "The rates of the windows: first half against second half, unless they differ by no more answers than can be in flight. With 20 windows or more, also the thirds, and a classification by change points (flat, warm-up, slowdown, no steady state).",
    remedy: "Use a longer warm-up and a longer measurement. A server that never becomes steady has no single throughput: look at its rate over time.",
};

/// The two halves of a steady measurement agree within this share.
const DRIFT: f64 = 0.1;
/// Fewest windows that can be split into halves.
const ENOUGH: usize = 4;
/// Fewest windows for a class that can be relied on.
const ENOUGH_FOR_CLASS: usize = 20;
/// A class alone says that something changed, however little; a change matters when thirds of the
/// measurement differ by this share.
const CHANGE: f64 = 0.05;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let rates = &seen.window_rates;
    let (first, second) = rates.split_at(rates.len() / 2);
    let (first, second) = (mean(first), mean(second));
    let drift = if rates.len() >= ENOUGH && differ(seen, first, second, 2) {
        second / first - 1.0
    } else {
        0.0
    };
    let text = if seen.closed_loop && drift.abs() > DRIFT {
        format!(
            "the second half of the measurement was {:.0}% {} than the first",
            drift.abs() * 100.0,
            if drift > 0.0 { "faster" } else { "slower" }
        )
    } else if let Some(changing) = seen.closed_loop.then(|| changing(seen)).flatten() {
        changing
    } else if seen.warmed_up == Some(false) && !(seen.closed_loop && level(rates)) {
        "the warm-up reached its limit before the load was steady".to_owned()
    } else {
        return None;
    };
    let text = format!("{text}: use a longer warm-up and a longer measurement");
    finding(CheckId::NotSteady, Severity::Warning, text)
}

fn mean(part: &[f64]) -> f64 {
    part.iter().sum::<f64>() / part.len() as f64
}

/// Do the rates of two of so many equal parts of the measurement differ by more answers than can be in flight? Those come
/// together where a server takes the same long time for each, and fall into one part or into the next.
fn differ(seen: &Evidence, one: f64, other: f64, parts: u32) -> bool {
    let in_flight = f64::from(seen.connections) * f64::from(seen.pipeline.max(1));
    (one - other).abs() * seen.seconds / f64::from(parts) > in_flight
}

/// Do the windows show by themselves that the load was steady, whatever the warm-up made of its own? Few
/// of them scatter too much for the warm-up's simple rule on many a host and with many a server, and all
/// of them tell more. In an open loop the rate is the schedule's, and tells nothing.
fn level(rates: &[f64]) -> bool {
    rates.len() >= ENOUGH_FOR_CLASS && apart(rates) <= CHANGE
}

/// How far the fastest third lies above the slowest, as a share.
fn apart(rates: &[f64]) -> f64 {
    let (least, most) = thirds(rates);
    most / least - 1.0
}

/// The rates of the slowest and of the fastest third.
fn thirds(rates: &[f64]) -> (f64, f64) {
    let thirds = rates.chunks(rates.len().div_ceil(3)).map(mean);
    thirds.fold((f64::INFINITY, 0.0_f64), |(least, most), third| {
        (least.min(third), most.max(third))
    })
}

/// Describes what changed, and when, if the windows are of a class that is not flat.
fn changing(seen: &Evidence) -> Option<String> {
    let rates = &seen.window_rates;
    if rates.len() < ENOUGH_FOR_CLASS {
        return None;
    }
    let apart = apart(rates);
    let (least, most) = thirds(rates);
    if apart <= CHANGE || !differ(seen, least, most, 3) {
        return None;
    }
    let text = match classify(rates, Better::Higher).ok()? {
        Class::Flat | Class::TooFew { .. } => return None,
        Class::WarmUp { ends_at } => {
            format!("the server was still warming up for {ends_at} windows")
        }
        Class::Slowdown { ends_at } => format!("the server slowed down until window {ends_at}"),
        Class::NoSteadyState => "the rate never became steady".to_owned(),
    };
    Some(format!(
        "{text} of {}, and the thirds of the measurement differ by {:.0}%",
        rates.len(),
        apart * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 64_000.0;

    #[test]
    fn drift_and_an_unfinished_warm_up() {
        assert_eq!(check(&Evidence::clean()), None);
        let drifting = Evidence {
            window_rates: vec![RATE, RATE, 1.5 * RATE, 1.5 * RATE],
            ..Evidence::clean()
        };
        assert!(check(&drifting).unwrap().text.contains("50% faster"));
        let noise = |i: u32| RATE * (1.0 + 0.004 * f64::from((i * 7) % 5));
        let flat: Vec<f64> = (0..40).map(noise).collect();
        let late: Vec<f64> = (0..40)
            .map(|i| noise(i) * if i < 12 { 0.92 } else { 1.0 })
            .collect();
        let with = |window_rates| Evidence {
            window_rates,
            ..Evidence::clean()
        };
        assert_eq!(check(&with(flat)), None);
        let found = check(&with(late.clone())).unwrap();
        assert!(
            found.text.contains("warming up for 12 windows"),
            "{}",
            found.text
        );
        assert_eq!(
            check(&Evidence {
                closed_loop: false,
                ..with(late)
            }),
            None
        );
        let cold = |window_rates, closed_loop| Evidence {
            warmed_up: Some(false),
            closed_loop,
            ..with(window_rates)
        };
        let said = |evidence: &Evidence| check(evidence).unwrap().text;
        assert!(said(&cold(vec![RATE; 19], true)).contains("reached its limit"));
        // Twenty windows are the better witness, of a rate that is not the schedule's.
        let scattered: Vec<f64> = (0..40)
            .map(|i| RATE * (1.0 + 0.06 * f64::from(i % 3)))
            .collect();
        assert_eq!(check(&cold(scattered.clone(), true)), None);
        assert!(said(&cold(scattered, false)).contains("reached its limit"));
        let rising = (0..40)
            .map(|i| RATE * (1.0 + 0.002 * f64::from(i)))
            .collect();
        assert!(said(&cold(rising, true)).contains("warm"));
        // Eight connections to a server that takes 300 ms: their answers come together.
        let together = |connections| Evidence {
            window_rates: vec![0.0, 32.0, 32.0, 32.0],
            connections,
            pipeline: 1,
            seconds: 1.0,
            ..Evidence::clean()
        };
        assert_eq!(check(&together(8)), None);
        assert!(said(&together(7)).contains("100% faster"));
        let short = Evidence {
            window_rates: vec![RATE, 2.0 * RATE],
            ..Evidence::clean()
        };
        assert_eq!(check(&short), None);
    }
}

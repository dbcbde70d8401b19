//! `not-steady`: the rate was still changing.

use crate::{Evidence, Explanation, Finding, Severity};
use prony_stats::compare::Better;
use prony_stats::warmup_class::{Class, classify};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: "not-steady",
    cause: "The rate was still changing: parts of the measurement disagree, or the warm-up ended because its time was up.",
    evidence: "The rates of the windows: their halves; with 20 windows or more also their class (flat, warm-up, slowdown, no steady state) by change points.",
    remedy: "Give it a longer warm-up and a longer measurement. A server that never becomes steady has no single throughput: look at its windows over time.",
};

/// The two halves of a steady measurement agree within this share.
const DRIFT: f64 = 0.1;
/// So many windows are needed to have halves.
const ENOUGH: usize = 4;
/// So many are needed for a class that can be relied on.
const ENOUGH_FOR_CLASS: usize = 20;
/// A class alone says that something changed, however little; a change matters when thirds of the
/// measured part differ by this share, which is what the warm-up takes for steady.
const CHANGE: f64 = prony_stats::steady::RATE_BAND;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let rates = &seen.window_rates;
    let (first, second) = rates.split_at(rates.len() / 2);
    let drift = if rates.len() >= ENOUGH {
        mean(second) / mean(first) - 1.0
    } else {
        0.0
    };
    let text = if seen.closed_loop && drift.abs() > DRIFT {
        format!(
            "the second half of the measured part was {:.0} % {} than the first",
            drift.abs() * 100.0,
            if drift > 0.0 { "faster" } else { "slower" }
        )
    } else if let Some(changing) = seen.closed_loop.then(|| changing(rates)).flatten() {
        changing
    } else if seen.warmed_up == Some(false) {
        "the warm-up reached its limit before the load was steady".to_owned()
    } else {
        return None;
    };
    let text = format!("{text}: give it a longer warm-up and a longer measurement");
    Finding::new("not-steady", Severity::Warning, text)
}

fn mean(part: &[f64]) -> f64 {
    part.iter().sum::<f64>() / part.len() as f64
}

/// What changed, and when, if the windows are of a class that is not flat.
fn changing(rates: &[f64]) -> Option<String> {
    if rates.len() < ENOUGH_FOR_CLASS {
        return None;
    }
    let thirds: Vec<f64> = rates.chunks(rates.len().div_ceil(3)).map(mean).collect();
    let least = thirds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = thirds.iter().copied().fold(0.0, f64::max);
    if most <= least * (1.0 + CHANGE) {
        return None;
    }
    let share = (most / least - 1.0) * 100.0;
    let text = match classify(rates, Better::Higher).ok()? {
        Class::Flat | Class::TooFew { .. } => return None,
        Class::WarmUp { ends_at } => {
            format!("the server was still warming up for {ends_at} windows")
        }
        Class::Slowdown { ends_at } => format!("the server became slower until window {ends_at}"),
        Class::NoSteadyState => "the rate never became steady".to_owned(),
    };
    Some(format!(
        "{text} of {}, with thirds of the measured part {share:.0} % apart",
        rates.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_and_an_unfinished_warm_up() {
        assert_eq!(check(&Evidence::clean()), None);
        let drifting = Evidence {
            window_rates: vec![1.0, 1.0, 1.5, 1.5],
            ..Evidence::clean()
        };
        assert!(check(&drifting).unwrap().text.contains("50 % faster"));
        let noise = |i: u32| 1.0 + 0.004 * f64::from((i * 7) % 5);
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
        let cold = Evidence {
            warmed_up: Some(false),
            ..Evidence::clean()
        };
        assert!(check(&cold).unwrap().text.contains("warm-up"));
        let short = Evidence {
            window_rates: vec![1.0, 2.0],
            ..Evidence::clean()
        };
        assert_eq!(check(&short), None);
    }
}

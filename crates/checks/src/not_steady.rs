//! `not-steady`: the rate was still changing.

use crate::{Evidence, Explanation, Finding, Severity};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: "not-steady",
    cause: "The rate was still changing: the halves of the measured part disagree, or the warm-up ended because its time was up.",
    evidence: "The rates of the windows.",
    remedy: "Give it a longer warm-up and a longer measurement. A server that never becomes steady has no single throughput: look at its windows over time.",
};

/// The two halves of a steady measurement agree within this share.
const DRIFT: f64 = 0.1;
/// So many windows are needed to have halves.
const ENOUGH: usize = 4;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let rates = &seen.window_rates;
    let (first, second) = rates.split_at(rates.len() / 2);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
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
    } else if seen.warmed_up == Some(false) {
        "the warm-up reached its limit before the load was steady".to_owned()
    } else {
        return None;
    };
    let text = format!("{text}: give it a longer warm-up and a longer measurement");
    Finding::new("not-steady", Severity::Warning, text)
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

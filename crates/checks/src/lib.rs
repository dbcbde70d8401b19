//! Named tests of whether a measurement means what it seems to mean.
//!
//! A check looks at [`Evidence`] and raises a [`Finding`] or nothing. Each has a file of its own
//! with its thresholds; every threshold carries its reason.

mod evidence;
mod explanation;
mod finding;

mod ceiling;
mod co_located;
mod errors;
mod generator_saturated;
mod listen_overflow;
mod littles_law;
mod noisy_host;
mod not_steady;
mod oversubscribed;
mod rate_missed;
mod retransmits;
mod schedule_lag;
mod server_idle;
mod spread_exceeds_effect;
mod too_few_samples;
mod too_short;
mod uneven_connections;
mod wrong_answers;

pub use ceiling::ceiling;
pub use evidence::{Evidence, Server, Tcp};
pub use explanation::Explanation;
pub use finding::{Finding, Severity};
pub use littles_law::littles_law;
pub use spread_exceeds_effect::spread_exceeds_effect;

/// A check of one measurement.
type Check = fn(&Evidence) -> Option<Finding>;

/// All checks of one measurement, the gravest first.
const CHECKS: [Check; 16] = [
    wrong_answers::check,
    errors::check,
    generator_saturated::check,
    rate_missed::check,
    schedule_lag::check,
    littles_law::check,
    listen_overflow::check,
    retransmits::check,
    server_idle::check,
    not_steady::check,
    noisy_host::check,
    co_located::check,
    oversubscribed::check,
    uneven_connections::check,
    too_few_samples::check,
    too_short::check,
];

/// What each check means, in the order of their names.
pub const EXPLANATIONS: [Explanation; 18] = [
    ceiling::EXPLANATION,
    co_located::EXPLANATION,
    errors::EXPLANATION,
    generator_saturated::EXPLANATION,
    listen_overflow::EXPLANATION,
    littles_law::EXPLANATION,
    noisy_host::EXPLANATION,
    not_steady::EXPLANATION,
    oversubscribed::EXPLANATION,
    rate_missed::EXPLANATION,
    retransmits::EXPLANATION,
    schedule_lag::EXPLANATION,
    server_idle::EXPLANATION,
    spread_exceeds_effect::EXPLANATION,
    too_few_samples::EXPLANATION,
    too_short::EXPLANATION,
    uneven_connections::EXPLANATION,
    wrong_answers::EXPLANATION,
];

/// Everything that the checks find in one measurement.
pub fn examine(evidence: &Evidence) -> Vec<Finding> {
    CHECKS.iter().filter_map(|check| check(evidence)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_measurement_raises_nothing() {
        assert_eq!(examine(&Evidence::clean()), []);
    }

    #[test]
    fn nothing_is_made_up_when_nothing_is_known_of_server_and_host() {
        let alone = Evidence {
            server: None,
            tcp: None,
            others_busy: None,
            stolen: None,
            co_located: None,
            warmed_up: None,
            ..Evidence::clean()
        };
        assert_eq!(examine(&alone), []);
    }

    #[test]
    fn every_check_is_explained_once_in_order() {
        let names = EXPLANATIONS.map(|explanation| explanation.name);
        assert!(names.is_sorted() && names.len() > CHECKS.len());
        for explanation in EXPLANATIONS {
            let Explanation {
                cause,
                evidence,
                remedy,
                ..
            } = explanation;
            for text in [cause, evidence, remedy] {
                assert!(text.len() > 10 && text.ends_with('.'), "{text}");
            }
        }
    }

    #[test]
    fn an_empty_measurement_does_not_panic() {
        let names: Vec<&str> = examine(&Evidence::default())
            .iter()
            .map(|f| f.name)
            .collect();
        assert!(
            names.contains(&"too-few-samples") && names.contains(&"too-short"),
            "{names:?}"
        );
    }
}

//! Named tests of whether a measurement means what it seems to mean.
//!
//! A check looks at [`Evidence`] and raises a [`Finding`] or nothing. Each has a file of its own
//! with its thresholds; every threshold carries its reason.

mod evidence;
mod explanation;

mod agents_disagree;
mod ceiling;
mod clock_slow;
mod clock_uncertain;
mod close_ignored;
mod co_located;
mod connections_limit;
mod errors;
mod flow_control_stalls;
mod frequency_varies;
mod generator_saturated;
mod idle_closed;
mod link_saturated;
mod listen_overflow;
mod littles_law;
mod noisy_host;
mod not_steady;
mod numa_crossed;
mod oversubscribed;
mod packet_loss;
mod queries_missing;
mod rate_missed;
mod redirects;
mod retransmits;
mod rigs_differ;
mod schedule_lag;
mod server_idle;
mod side_not_idle;
mod smt_shared;
mod spread_exceeds_effect;
mod start_skew;
mod throttled;
mod too_few_samples;
mod too_short;
mod udp_buffer_overflow;
mod uneven_connections;
mod unsolicited;
mod wrong_answers;

pub use ceiling::ceiling;
pub use evidence::{Evidence, OneGenerator, ServerCpu, Tcp};
pub use explanation::Explanation;
pub use littles_law::littles_law;
pub use prony_record::{CheckId, Finding, Severity};
pub use rigs_differ::rigs_differ;
pub use spread_exceeds_effect::spread_exceeds_effect;

/// A check of one measurement.
type Check = fn(&Evidence) -> Option<Finding>;

/// Every check with what it means, the most serious first. Those without a function look at several
/// measurements, and are called by what compares them.
const CHECKS: [(Explanation, Option<Check>); 38] = [
    (wrong_answers::EXPLANATION, Some(wrong_answers::check)),
    (unsolicited::EXPLANATION, Some(unsolicited::check)),
    (errors::EXPLANATION, Some(errors::check)),
    (queries_missing::EXPLANATION, Some(queries_missing::check)),
    (redirects::EXPLANATION, Some(redirects::check)),
    (
        generator_saturated::EXPLANATION,
        Some(generator_saturated::check),
    ),
    (rate_missed::EXPLANATION, Some(rate_missed::check)),
    (
        connections_limit::EXPLANATION,
        Some(connections_limit::check),
    ),
    (schedule_lag::EXPLANATION, Some(schedule_lag::check)),
    (clock_slow::EXPLANATION, Some(clock_slow::check)),
    (agents_disagree::EXPLANATION, Some(agents_disagree::check)),
    (start_skew::EXPLANATION, Some(start_skew::check)),
    (clock_uncertain::EXPLANATION, Some(clock_uncertain::check)),
    (littles_law::EXPLANATION, Some(littles_law::check)),
    (link_saturated::EXPLANATION, Some(link_saturated::check)),
    (listen_overflow::EXPLANATION, Some(listen_overflow::check)),
    (packet_loss::EXPLANATION, Some(packet_loss::check)),
    (
        udp_buffer_overflow::EXPLANATION,
        Some(udp_buffer_overflow::check),
    ),
    (retransmits::EXPLANATION, Some(retransmits::check)),
    (
        flow_control_stalls::EXPLANATION,
        Some(flow_control_stalls::check),
    ),
    (throttled::EXPLANATION, Some(throttled::check)),
    (server_idle::EXPLANATION, Some(server_idle::check)),
    (not_steady::EXPLANATION, Some(not_steady::check)),
    (noisy_host::EXPLANATION, Some(noisy_host::check)),
    (frequency_varies::EXPLANATION, Some(frequency_varies::check)),
    (side_not_idle::EXPLANATION, Some(side_not_idle::check)),
    (co_located::EXPLANATION, Some(co_located::check)),
    (smt_shared::EXPLANATION, Some(smt_shared::check)),
    (numa_crossed::EXPLANATION, Some(numa_crossed::check)),
    (oversubscribed::EXPLANATION, Some(oversubscribed::check)),
    (
        uneven_connections::EXPLANATION,
        Some(uneven_connections::check),
    ),
    (idle_closed::EXPLANATION, Some(idle_closed::check)),
    (close_ignored::EXPLANATION, Some(close_ignored::check)),
    (too_few_samples::EXPLANATION, Some(too_few_samples::check)),
    (too_short::EXPLANATION, Some(too_short::check)),
    (ceiling::EXPLANATION, None),
    (rigs_differ::EXPLANATION, None),
    (spread_exceeds_effect::EXPLANATION, None),
];

/// Explanations of all checks, in the order of their names.
pub fn explanations() -> Vec<Explanation> {
    let mut all: Vec<Explanation> = CHECKS.iter().map(|(explanation, _)| *explanation).collect();
    all.sort_by_key(|explanation| explanation.name);
    all
}

/// A finding, as checks raise it.
fn finding(name: CheckId, severity: Severity, text: String) -> Option<Finding> {
    Some(Finding {
        name,
        severity,
        text,
    })
}

/// Everything that the checks find in one measurement.
pub fn examine(evidence: &Evidence) -> Vec<Finding> {
    CHECKS
        .iter()
        .filter_map(|(_, check)| check.and_then(|check| check(evidence)))
        .collect()
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
        let all = explanations();
        assert!(all.windows(2).all(|two| two[0].name < two[1].name));
        for explanation in all {
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
        let names: Vec<CheckId> = examine(&Evidence::default())
            .into_iter()
            .map(|finding| finding.name)
            .collect();
        for name in [CheckId::TooFewSamples, CheckId::TooShort] {
            assert!(names.contains(&name), "{names:?}");
        }
    }
}

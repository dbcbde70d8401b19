//! CPU time per request at two rates: the common one, and as fast as responses come.
//!
//! What a request costs depends on the rate. A server that has time to spare goes to sleep, and is woken for the next
//! request or two; one that is busy finds several waiting. So a difference at one rate may be one of wake-ups.

use prony_record::verdict::{Quantity, Terms, Values};
use prony_stats::Estimate;
use prony_stats::compare::{Better, Decision, verdict};
use prony_stats::sequential::Plan;

/// Says in a sentence that the CPU time of this side, against the first one's, depends on the rate; none where it does
/// not, or nothing is known of it. `rounds` has for each round the values of all sides, in the order of `names`.
pub(crate) fn sentence(
    names: &[String],
    rounds: &[Vec<Values>],
    side: usize,
    (plan, terms): (&Plan, &Terms),
) -> Option<String> {
    if !terms.quantities.contains(&Quantity::Cpu) {
        return None;
    }
    let at_rate = |values: &Values| values.of(Quantity::Cpu);
    let busy = |values: &Values| values.cpu_at_saturation.filter(|cpu| *cpu > 0.0);
    // Of rounds that show both, so that the same starts are compared.
    let both = |values: &Values| at_rate(values).zip(busy(values));
    let whole = |round: &&Vec<Values>| both(&round[0]).and(both(&round[side])).is_some();
    let rounds: Vec<&Vec<Values>> = rounds.iter().filter(whole).collect();
    let ratio = |of: &dyn Fn(&Values) -> Option<f64>| -> Option<Estimate> {
        let column = |side: usize| -> Vec<Option<f64>> {
            rounds.iter().map(|round| of(&round[side])).collect()
        };
        plan.ratio(&column(side), &column(0)).ok()
    };
    let change = ratio(&|values| both(values).map(|(at_rate, busy)| busy / at_rate))?;
    let band = terms.bands.of(Quantity::Cpu);
    let differs = verdict(&change, band, Better::Lower).ok()?;
    if !matches!(differs, Decision::Better | Decision::Worse) {
        return None;
    }
    let rate = rounds.last()?[0].rate?;
    Some(format!(
        "CPU per request depends on the rate: {} uses {} than {} at {rate:.0} requests/s, and {} as fast as responses come.",
        names[side],
        said(&ratio(&at_rate)?),
        names[0],
        said(&ratio(&busy)?),
    ))
}

/// `25.0% more`.
fn said(ratio: &Estimate) -> String {
    let change = ratio.value() - 1.0;
    let word = if change < 0.0 { "less" } else { "more" };
    format!("{} {word}", crate::sentence::percent(change.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::terms;

    /// Rounds of two sides: CPU time per request at the common rate and at saturation, as ratios to the first's.
    fn told(n: usize, at_rate: f64, busy: f64) -> Option<String> {
        let round = |i: usize| {
            let noise = 1.0 + 0.01 * [0.5, -1.0, 0.8, -0.3][i % 4];
            let at = |at_rate: f64, busy: f64| Values {
                cpu: Some(6_000.0 * at_rate),
                cpu_at_saturation: Some(4_000.0 * busy),
                rate: Some(12_000.0),
                ..Values::default()
            };
            vec![at(1.0, 1.0), at(at_rate * noise, busy)]
        };
        let rounds: Vec<Vec<Values>> = (0..n).map(round).collect();
        let names = ["old".to_owned(), "new".to_owned()];
        let plan = Plan::up_to(20).unwrap();
        sentence(&names, &rounds, 1, (&plan, &terms()))
    }

    #[test]
    fn a_difference_that_is_lost_when_the_server_is_busy_is_told_with_both_rates() {
        assert_eq!(
            told(8, 1.25, 1.0).unwrap(),
            "CPU per request depends on the rate: new uses 25.0% more than old at 12000 requests/s, and 0.0% more as \
             fast as responses come."
        );
        let told = told(8, 0.9, 1.1).unwrap();
        assert!(told.contains("uses 10.0% less than old"), "{told}");
        assert!(told.contains("and 10.0% more as fast"), "{told}");
    }

    #[test]
    fn the_same_difference_at_both_rates_is_not_told() {
        assert_eq!(told(8, 1.25, 1.25), None);
        assert_eq!(told(8, 1.0, 1.0), None);
        assert_eq!(told(1, 1.25, 1.0), None, "not of one round");
        assert_eq!(told(0, 1.25, 1.0), None);
    }
}

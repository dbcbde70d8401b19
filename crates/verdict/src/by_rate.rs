//! CPU time per request at several rates: the common one, others if they were measured, and as fast as responses come.
//!
//! The cost of a request depends on the rate. A server that has time to spare goes to sleep, and is woken for the next
//! request or two; one that is busy finds several waiting. So a difference at one rate may be one of wake-ups.

use crate::frequency;
use prony_record::verdict::{AtRate, Quantity, Terms, Values};
use prony_stats::Estimate;
use prony_stats::compare::{Better, Decision, verdict};
use prony_stats::sequential::Plan;

/// A value of a side in a round: CPU time per request at one of the rates, or a rate.
type At = fn(&Values) -> Option<f64>;

/// CPU time as fast as responses come.
const BUSY: At = |values| values.cpu_at_saturation;
/// CPU time at the common rate.
const COMMON: At = |values| values.cpu;
/// CPU time at the rates at which a duel measures if it is asked to, the lowest first, with the rate.
const RATES: [(At, At); 3] = [
    (|values| values.lower?.cpu, |values| rate(values.lower)),
    (COMMON, |values| values.rate),
    (|values| values.higher?.cpu, |values| rate(values.higher)),
];

fn rate(at: Option<AtRate>) -> Option<f64> {
    at.map(|at| at.rate)
}

/// A sentence about the CPU time of this side at each rate, against the first one's: where it was measured at other rates
/// than the common one, or where it depends on the rate. `rounds` has for each round the values of all sides, in the order
/// of `names`.
pub(crate) fn sentence(
    names: &[String],
    rounds: &[Vec<Values>],
    side: usize,
    (plan, terms): (&Plan, &Terms),
) -> Option<String> {
    if !terms.quantities.contains(&Quantity::Cpu) {
        return None;
    }
    let rounds = &Paired { rounds, side, plan };
    let rate = |at: At| rounds.rounds.iter().rev().find_map(|it| at(&it[0]));
    let at_rates: Vec<(f64, Estimate)> = RATES
        .into_iter()
        .filter_map(|(at, which)| rate(which).zip(rounds.ratio(at)))
        .collect();
    if at_rates.len() > 1 {
        let mut each: Vec<String> = at_rates
            .iter()
            .map(|(rate, ratio)| format!("{} at {rate:.0} requests/s", said(ratio)))
            .collect();
        let busy = rounds.ratio(BUSY);
        each.extend(busy.map(|ratio| format!("{} as fast as responses come", said(&ratio))));
        return Some(format!(
            "CPU per request by rate: {} uses, compared with {}, {}.",
            names[side],
            names[0],
            each.join(", ")
        ));
    }
    let change = rounds.change(COMMON, BUSY)?;
    let band = terms.bands.of(Quantity::Cpu);
    // The CPU's speed explains it as well, and has a note already.
    if frequency::slower(rounds.rounds, side, band).is_some() {
        return None;
    }
    let differs = verdict(&change, band, Better::Lower).ok()?;
    if !matches!(differs, Decision::Better | Decision::Worse) {
        return None;
    }
    // Of rounds that show both, so that the same starts are compared.
    let both: At = |values| COMMON(values).filter(|_| BUSY(values).is_some());
    let busy: At = |values| BUSY(values).filter(|_| COMMON(values).is_some());
    Some(format!(
        "CPU per request depends on the rate: {} uses {} than {} at {:.0} requests/s, and {} as fast as responses come.",
        names[side],
        change_of(&rounds.ratio(both)?),
        names[0],
        rate(|values| values.rate)?,
        change_of(&rounds.ratio(busy)?),
    ))
}

/// Rounds in which a side is compared with the first.
struct Paired<'a> {
    rounds: &'a [Vec<Values>],
    side: usize,
    plan: &'a Plan,
}

impl Paired<'_> {
    fn column(&self, side: usize, of: impl Fn(&Values) -> Option<f64>) -> Vec<Option<f64>> {
        let positive = |value: &f64| *value > 0.0;
        let each = self
            .rounds
            .iter()
            .map(|round| of(&round[side]).filter(positive));
        each.collect()
    }

    /// The side's value as a multiple of the first's.
    fn ratio(&self, of: At) -> Option<Estimate> {
        let (ours, theirs) = (self.column(self.side, of), self.column(0, of));
        self.plan.ratio(&ours, &theirs).ok()
    }

    /// How that multiple changes from one rate to another, as a factor.
    fn change(&self, from: At, to: At) -> Option<Estimate> {
        let of = |values: &Values| {
            let positive = |value: &f64| *value > 0.0;
            Some(to(values).filter(positive)? / from(values).filter(positive)?)
        };
        let (ours, theirs) = (self.column(self.side, of), self.column(0, of));
        self.plan.ratio(&ours, &theirs).ok()
    }
}

/// `25.0% more (20.1% to 30.3%)`.
fn said(ratio: &Estimate) -> String {
    let percent = |value: f64| crate::sentence::percent(value - 1.0);
    match ratio.interval() {
        Some(interval) => format!(
            "{} ({} to {})",
            change_of(ratio),
            percent(interval.low()),
            percent(interval.high())
        ),
        None => change_of(ratio),
    }
}

/// `25.0% more`.
fn change_of(ratio: &Estimate) -> String {
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
    fn other_rates_that_were_measured_are_all_reported() {
        let at = |rate, cpu| Some(AtRate { rate, cpu });
        let round = |i: usize| {
            let noise = 1.0 + 0.001 * [0.5, -1.0, 0.8, -0.3][i % 4];
            let first = Values {
                cpu: Some(6_000.0 * noise),
                cpu_at_saturation: Some(4_000.0),
                rate: Some(12_000.0),
                lower: at(4_800.0, Some(8_000.0)),
                higher: at(19_000.0, Some(5_000.0)),
                ..Values::default()
            };
            let second = Values {
                cpu: Some(6_600.0),
                cpu_at_saturation: Some(4_000.0 * noise),
                lower: at(4_800.0, Some(10_000.0)),
                // It did not keep it in the first round.
                higher: at(19_000.0, (i > 0).then_some(5_000.0)),
                ..first
            };
            vec![first, second]
        };
        let rounds: Vec<Vec<Values>> = (0..8).map(round).collect();
        let names = ["old".to_owned(), "new".to_owned()];
        let plan = Plan::up_to(20).unwrap();
        let told = sentence(&names, &rounds, 1, (&plan, &terms())).unwrap();
        assert!(
            told.starts_with(
                "CPU per request by rate: new uses, compared with old, 25.0% more (25.0% to 25.0%) at 4800 requests/s, \
                 10.0% more ("
            ),
            "{told}"
        );
        assert!(
            told.contains(
                "at 12000 requests/s, 0.0% more (0.0% to 0.0%) at 19000 requests/s, 0.0%"
            ),
            "{told}"
        );
        assert!(told.ends_with("as fast as responses come."), "{told}");
    }

    #[test]
    fn the_same_difference_at_both_rates_is_not_told() {
        assert_eq!(told(8, 1.25, 1.25), None);
        assert_eq!(told(8, 1.0, 1.0), None);
        assert_eq!(told(1, 1.25, 1.0), None, "not of one round");
        assert_eq!(told(0, 1.25, 1.0), None);
    }
}

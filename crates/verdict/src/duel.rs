//! How the sides of a duel compare, at which rate, and when it may end.

use crate::doubt;
use crate::frequency;
use crate::outlook::{Outlook, nothing_left_to_find, prospect};
use crate::seen::in_parts;
use prony_record::verdict::{Bands, Comparison, Quantity, Terms, Values, Verdict};
use prony_stats::StatsError;
use prony_stats::compare::verdict;
use prony_stats::sequential::{Plan, Spending};

/// Rounds before a duel may end by itself.
const FEWEST: u32 = 3;
/// The common rate is this part of what the slowest side reaches: busy, and far from any queue.
const COMMON: f64 = 0.5;
/// Other rates at which CPU time may be compared, as the same parts.
const OTHERS: [f64; 2] = [0.2, 0.8];
/// A rate that was missed is lowered to this part of it.
const STEP_DOWN: f64 = 0.7;

/// When a duel on these terms is looked at, and how wide its intervals are then. Takes some 2 ms for
/// each round.
///
/// # Errors
/// When there are more rounds than a plan can have.
pub fn plan(terms: &Terms, sides: usize) -> Result<Plan, StatsError> {
    let plan = match terms.exact {
        true => Plan::new(&[terms.most.max(2)], Spending::Quadratic),
        false => Plan::up_to(terms.most),
    };
    let pairs = sides.saturating_sub(1) as u32;
    Ok(plan?.among(terms.quantities.len() as u32 * pairs))
}

/// May it end after this many rounds, with these verdicts?
#[must_use]
pub fn may_end(terms: &Terms, rounds: u32, comparisons: &[Comparison]) -> bool {
    if terms.exact || rounds < FEWEST {
        return false;
    }
    match terms.precision {
        None => settled(comparisons),
        Some(share) => comparisons.iter().all(|comparison| {
            if !Quantity::ALL.contains(&comparison.quantity) {
                return true;
            }
            let half = comparison.ratio.relative_half_width();
            half.is_some_and(|half| half <= share)
        }),
    }
}

/// Is there a verdict for everything, but for what only explains others?
#[must_use]
pub fn settled(comparisons: &[Comparison]) -> bool {
    let mut about = comparisons
        .iter()
        .filter(|one| Quantity::ALL.contains(&one.quantity))
        .peekable();
    about.peek().is_some() && about.all(is_settled)
}

fn is_settled(one: &Comparison) -> bool {
    one.verdict != Verdict::Inconclusive || one.withheld.is_some()
}

/// Is everything settled that can be settled in the time there is, by this outlook? The names are those of
/// all sides.
#[must_use]
pub fn may_give_up(
    terms: &Terms,
    names: &[String],
    comparisons: &[Comparison],
    outlook: &[Outlook],
) -> bool {
    nothing_left_to_find(terms, outlook, |side, quantity| {
        let this = |one: &&Comparison| one.side == names[side] && one.quantity == quantity;
        comparisons.iter().find(this).is_some_and(is_settled)
    })
}

/// Values of a side in a quantity, round by round.
pub(crate) fn column(rounds: &[Vec<Values>], side: usize, quantity: Quantity) -> Vec<Option<f64>> {
    rounds
        .iter()
        .map(|round| round[side].of(quantity))
        .collect()
}

/// Compares every side with the first, in every one of these quantities that is known, and with CPU time
/// in its parts. `rounds` has for each round the values of all sides, in the order of `names`.
///
/// # Errors
/// When there are more rounds than were planned.
pub fn compare(
    names: &[String],
    quantities: &[Quantity],
    rounds: &[Vec<Values>],
    plan: &Plan,
    bands: &Bands,
) -> Result<Vec<Comparison>, StatsError> {
    let mut shown = quantities.to_vec();
    // Rounds of few requests have no p99, but first bytes and events.
    let times = |it: &Quantity| matches!(it, Quantity::P50 | Quantity::P99);
    if let Some(last) = quantities
        .iter()
        .rposition(times)
        .filter(|_| in_parts(rounds))
    {
        shown.splice(last + 1..last + 1, Quantity::FIRST_BYTES);
    }
    let asked = |one| quantities.contains(&one);
    if asked(Quantity::P99) || (asked(Quantity::P50) && asked(Quantity::Throughput)) {
        shown.extend(Quantity::STREAMS);
    }
    if quantities.contains(&Quantity::Cpu) {
        shown.extend(Quantity::PARTS);
        shown.extend(Quantity::SERVICES);
    }
    let mut all = Vec::new();
    for (side, name) in names.iter().enumerate().skip(1) {
        let begun = all.len();
        let of = match frequency::slower(rounds, side, bands.of(Quantity::Cpu)) {
            Some(_) => frequency::at_full_speed,
            None => column,
        };
        for &quantity in &shown {
            let (ours, theirs) = (of(rounds, side, quantity), of(rounds, 0, quantity));
            let ratio = match plan.ratio(&ours, &theirs) {
                Ok(ratio) => ratio,
                Err(StatsError::Empty(_)) => continue,
                Err(error) => return Err(error),
            };
            let band = bands.of(quantity);
            let said = verdict(&ratio, band, quantity.better())?;
            // Throughput may have been left out for its spread: what all rounds would have found of it.
            let counted = match quantity {
                Quantity::Throughput => rounds.len() as u32,
                _ => ratio.n() as u32,
            };
            let detectable = prospect(&ours, &theirs, plan, counted).map(|it| it.detectable);
            all.push(Comparison {
                side: name.clone(),
                quantity,
                ratio,
                band,
                verdict: Verdict::of(said, quantity),
                detectable,
                at_least: false,
                withheld: None,
            });
        }
        doubt::of_rounds(&mut all[begun..], names, rounds, side, plan);
    }
    Ok(all)
}

/// A lower rate, after one that a side has missed: by a good step, and no more than half of what the
/// slowest side has reached in the same round.
#[must_use]
pub fn lower_rate(missed: f64, reached: impl IntoIterator<Item = f64>) -> Option<f64> {
    two_digits(STEP_DOWN * missed)
        .map(|rate| common_rate(reached).map_or(rate, |new| new.min(rate)))
}

/// A rate that every side can well keep, from what each reaches as fast as it can: two significant
/// digits. None when the slowest gives less than two answers a second.
#[must_use]
pub fn common_rate(reached: impl IntoIterator<Item = f64>) -> Option<f64> {
    two_digits(COMMON * reached.into_iter().fold(f64::INFINITY, f64::min))
}

/// Rates at which CPU time is compared too: 20% and 80% of what the slowest side reaches, if this is the common rate that was
/// chosen for it.
#[must_use]
pub fn other_rates(common: f64) -> [Option<f64>; 2] {
    OTHERS.map(|share| two_digits(share / COMMON * common))
}

/// Rounded down to two significant digits; none below 1.
fn two_digits(rate: f64) -> Option<f64> {
    if !rate.is_finite() || rate < 1.0 {
        return None;
    }
    let unit = 10_f64.powf(rate.log10().floor() - 1.0);
    Some((rate / unit).floor() * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_rate_is_half_of_the_slowest() {
        assert_eq!(common_rate([50_000.0, 24_600.0]), Some(12_000.0));
        assert_eq!(common_rate([1.5]), None);
        assert_eq!(common_rate([]), None);
    }

    #[test]
    fn events_are_compared_also_where_rounds_have_no_p99() {
        let names = ["a".to_owned(), "b".to_owned()];
        let values = |events: f64| Values {
            throughput: Some(1_000.0),
            p50: Some(1e6),
            events: Some(events),
            ..Values::default()
        };
        let rounds: Vec<Vec<Values>> = (0..5)
            .map(|nth| vec![values(1e4 + f64::from(nth)), values(2e4 - f64::from(nth))])
            .collect();
        let bands = Bands::all(0.01);
        let compared = |quantities: &[Quantity]| -> Vec<Quantity> {
            let plan = Plan::up_to(5).unwrap();
            let all = compare(&names, quantities, &rounds, &plan, &bands).unwrap();
            all.iter().map(|one| one.quantity).collect()
        };
        let (throughput, p50) = (Quantity::Throughput, Quantity::P50);
        let all = compared(&[throughput, p50]);
        assert_eq!(all, [throughput, p50, Quantity::Events]);
        // Only what was asked for.
        assert_eq!(compared(&[p50]), [p50]);
    }

    #[test]
    fn other_rates_are_below_and_above_the_common_one() {
        assert_eq!(other_rates(12_000.0), [Some(4_800.0), Some(19_000.0)]);
        assert_eq!(other_rates(2.0), [None, Some(3.2)]);
    }

    #[test]
    fn a_rate_that_was_missed_is_lowered() {
        assert_eq!(lower_rate(10_000.0, []), Some(7_000.0));
        assert_eq!(lower_rate(10_000.0, [9_000.0, 20_000.0]), Some(4_500.0));
        assert_eq!(lower_rate(10_000.0, [90_000.0]), Some(7_000.0));
        assert_eq!(lower_rate(1.2, []), None);
    }
}

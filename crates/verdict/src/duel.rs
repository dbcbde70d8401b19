//! How the sides of a duel compare, at which rate, and when it may end.

use prony_record::verdict::{Bands, Comparison, Quantity, Terms, Values};
use prony_stats::StatsError;
use prony_stats::compare::{Verdict, verdict};
use prony_stats::sequential::{Plan, Spending};

/// Rounds before a duel may end by itself.
const FEWEST: u32 = 3;
/// The common rate is this part of what the slowest side reaches: busy, and far from any queue.
const COMMON: f64 = 0.5;

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
            let half = comparison.ratio.relative_half_width();
            half.is_some_and(|half| half <= share)
        }),
    }
}

/// Is there a verdict for everything?
#[must_use]
pub fn settled(comparisons: &[Comparison]) -> bool {
    !comparisons.is_empty() && comparisons.iter().all(|c| c.verdict != "inconclusive")
}

/// Compares every side with the first, in every one of these quantities that is known. `rounds` has
/// for each round the values of all sides, in the order of `names`.
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
    let column = |side: usize, quantity: Quantity| -> Vec<Option<f64>> {
        rounds
            .iter()
            .map(|round| round[side].of(quantity))
            .collect()
    };
    let mut all = Vec::new();
    for (side, name) in names.iter().enumerate().skip(1) {
        for &quantity in quantities {
            let (ours, theirs) = (column(side, quantity), column(0, quantity));
            let ratio = match plan.ratio(&ours, &theirs) {
                Ok(ratio) => ratio,
                Err(StatsError::Empty(_)) => continue,
                Err(error) => return Err(error),
            };
            let band = bands.of(quantity);
            let said = verdict(&ratio, band, quantity.better())?;
            let (settles, more_rounds) = match said {
                Verdict::Inconclusive {
                    difference,
                    more_rounds,
                } => (Some(difference), more_rounds),
                _ => (None, None),
            };
            all.push(Comparison {
                side: name.clone(),
                quantity,
                ratio,
                band,
                verdict: word(said, quantity).to_owned(),
                more_rounds,
                settles,
            });
        }
    }
    Ok(all)
}

fn word(said: Verdict, quantity: Quantity) -> &'static str {
    match (said, quantity) {
        (Verdict::Better, Quantity::Cpu) => "cheaper",
        (Verdict::Worse, Quantity::Cpu) => "more expensive",
        (Verdict::Better, _) => "faster",
        (Verdict::Worse, _) => "slower",
        (Verdict::Same, _) => "same",
        (Verdict::Inconclusive { .. }, _) => "inconclusive",
    }
}

/// A rate that every side can well keep, from what each reaches as fast as it can: two significant
/// digits. None when the slowest gives less than two answers a second.
#[must_use]
pub fn common_rate(reached: impl IntoIterator<Item = f64>) -> Option<f64> {
    let rate = COMMON * reached.into_iter().fold(f64::INFINITY, f64::min);
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
}

//! Verdicts that are withheld, because something else than the servers' code explains a difference, or hides one.
//!
//! The interval stays: it says what was measured. What the verdict would say of it does not follow.

mod failures;
mod generator;
mod missed;
mod modes;
mod starts;
mod wake_ups;

pub(crate) use failures::Failed;
pub(crate) use missed::sentence as missed_rates;
pub(crate) use modes::sentences as two_kinds;
pub(crate) use starts::unseen;

use prony_record::verdict::{Cause, Comparison, Quantity, Values, Verdict, Withheld};
use prony_stats::compare::Better;
use prony_stats::sequential::Plan;

/// Side of a pair that a verdict prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preferred {
    First,
    This,
    /// The sides are the same.
    Neither,
}

/// Side that this verdict prefers; None where there is no verdict, or where more is neither better nor worse.
fn preferred(one: &Comparison) -> Option<Preferred> {
    match (one.verdict, one.quantity.better()) {
        (Verdict::Inconclusive | Verdict::More | Verdict::Fewer, _) => None,
        (Verdict::Same, _) => Some(Preferred::Neither),
        (_, better) => {
            let more = one.ratio.value() > 1.0;
            match more == (better == Better::Higher) {
                true => Some(Preferred::This),
                false => Some(Preferred::First),
            }
        }
    }
}

/// Withholds verdicts on `all`, the comparisons of the side with this number with the first: what its rounds give
/// reason to doubt.
pub(crate) fn of_rounds(
    all: &mut [Comparison],
    names: &[String],
    rounds: &[Vec<Values>],
    side: usize,
    plan: &Plan,
) {
    let own_code = all
        .iter()
        .find(|one| one.quantity == Quantity::User)
        .map(|one| one.verdict);
    let per_request = wake_ups::PerRequest::of(rounds, side);
    for one in all {
        generator::doubt(one, rounds, side);
        let why = per_request.and_then(|seen| wake_ups::explain(one, own_code, seen));
        withhold(one, Cause::WakeUps, why);
        let why = missed::explain(one, rounds, side);
        withhold(one, Cause::MissedRate, why);
        let why = modes::explain(one, names, rounds, side)
            .or_else(|| starts::explain(one, rounds, side, plan));
        withhold(one, Cause::RareStarts, why);
    }
}

/// Withholds the verdicts that prefer a side that failed more requests. `names` and `failed` are those of all sides, in
/// their order.
pub(crate) fn of_failures(all: &mut [Comparison], names: &[String], failed: &[Failed]) {
    for one in all {
        let side = names.iter().position(|name| *name == one.side);
        let why =
            side.and_then(|side| failures::explain(one, (&names[0], failed[0], failed[side])));
        withhold(one, Cause::Failures, why);
    }
}

/// Withholds every verdict of a duel of which fewer rounds were made than had been said: it goes on, has failed, or was
/// ended by a user, who had seen the figures.
pub(crate) fn of_missing_rounds(all: &mut [Comparison], made: u32, said: u32) {
    for one in all {
        let why = format!("only {made} of the {said} rounds that were asked for have been made");
        withhold(one, Cause::RoundsMissing, Some(why));
    }
}

/// Takes the verdict back, if there is a reason; the first reason stays.
fn withhold(one: &mut Comparison, cause: Cause, why: Option<String>) {
    if let Some(why) = why.filter(|_| one.withheld.is_none()) {
        one.withheld = Some(Withheld { cause, why });
        one.at_least = false;
        one.verdict = Verdict::Inconclusive;
    }
}

//! Results of a duel by the name of requests and sessions, where a file has several.

use crate::duel::compare;
use crate::seen::{Figure, figures};
use prony_record::by_request::RequestReport;
use prony_record::by_session::SessionReport;
use prony_record::verdict::{Comparison, Quantity, Terms, Values};
use prony_record::{CheckId, Percentiles, Trial};
use prony_stats::StatsError;
use prony_stats::sequential::Plan;
use schemars::JsonSchema;
use serde::Serialize;

/// Quantities that are compared by name, at the common rate.
const QUANTITIES: [Quantity; 2] = [Quantity::P50, Quantity::P99];

/// The requests of one name so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NameResults {
    name: String,
    /// Every round, its sides in their order.
    rounds: Vec<Vec<Values>>,
    /// Right answers and failures of each side, in all its measurements.
    ended: Vec<(u64, u64)>,
}

/// The requests, or the sessions, of one name.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NamedReport {
    /// The name.
    pub name: String,
    /// The sides in their order.
    pub sides: Vec<NamedSide>,
    /// Every other side against the first. The intervals of all names, quantities and sides hold together in 95%.
    pub comparisons: Vec<Comparison>,
}

/// The requests, or the sessions, of one name to one side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NamedSide {
    /// Name of the side.
    pub side: String,
    /// Right answers, or completed sessions, in all measurements.
    pub answers: u64,
    /// Requests, or sessions, that failed.
    pub failed: u64,
    /// Response times, or lengths of the sessions, at the common rate: each quantity's mean over the rounds.
    pub figures: Vec<Figure>,
}

/// Returns a report on each of several names; a single one has the results of the whole. The 5% of error are shared among all names, quantities and sides.
///
/// # Errors
/// When there are more rounds than were planned.
pub(crate) fn reports(
    all: &[NameResults],
    names: &[String],
    plan: &Plan,
    terms: &Terms,
) -> Result<Vec<NamedReport>, StatsError> {
    // Also because a plan takes milliseconds for each round.
    if all.len() < 2 {
        return Ok(Vec::new());
    }
    let comparisons = all.len() * QUANTITIES.len() * names.len().saturating_sub(1);
    let plan = plan.among(u32::try_from(comparisons).unwrap_or(u32::MAX));
    all.iter()
        .map(|named| named.report(names, &plan, terms))
        .collect()
}

/// Adds a measurement of a side, of so many.
pub(crate) fn add(all: &mut Vec<NameResults>, (side, sides): (usize, usize), trial: &Trial) {
    let Some(seen) = &trial.observation else {
        return;
    };
    let requests = seen.requests.iter().map(NameMeasurement::of_request);
    let sessions = seen.sessions.iter().map(NameMeasurement::of_session);
    for one in requests.chain(sessions) {
        let at = all.iter().position(|named| named.name == one.name);
        let at = at.unwrap_or_else(|| {
            all.push(NameResults {
                name: one.name.clone(),
                rounds: Vec::new(),
                ended: vec![(0, 0); sides],
            });
            all.len() - 1
        });
        let named = &mut all[at];
        named.ended[side].0 += one.right;
        named.ended[side].1 += one.failed;
        // Of a server that misses the rate the response times are those of its overload.
        let missed = seen
            .checks
            .iter()
            .any(|found| found.name == CheckId::RateMissed);
        if trial.load.rate.is_none() || missed {
            continue;
        }
        let round = trial.round as usize;
        while named.rounds.len() <= round {
            named.rounds.push(vec![Values::default(); sides]);
        }
        let values = &mut named.rounds[round][side];
        values.p50 = one.took.p50.map(|ns| ns as f64);
        values.p99 = one.took.p99.map(|ns| ns as f64);
    }
}

/// Measurements of one name in a trial.
struct NameMeasurement<'a> {
    name: String,
    right: u64,
    failed: u64,
    took: &'a Percentiles,
}

impl<'a> NameMeasurement<'a> {
    fn of_request(one: &'a RequestReport) -> Self {
        Self {
            name: one.name.clone(),
            right: one.outcomes.ok,
            failed: one.outcomes.failed(),
            took: &one.response,
        }
    }

    /// A session may be called as one of its steps is.
    fn of_session(one: &'a SessionReport) -> Self {
        Self {
            name: format!("{} (session)", one.name),
            right: one.completed,
            failed: one.failed,
            took: &one.duration,
        }
    }
}

impl NameResults {
    /// Returns the report on this name if the duel ends here.
    ///
    /// # Errors
    /// When there are more rounds than were planned.
    fn report(
        &self,
        names: &[String],
        plan: &Plan,
        terms: &Terms,
    ) -> Result<NamedReport, StatsError> {
        let side = |(at, name): (usize, &String)| NamedSide {
            side: name.clone(),
            answers: self.ended[at].0,
            failed: self.ended[at].1,
            figures: figures(&self.rounds, at),
        };
        Ok(NamedReport {
            name: self.name.clone(),
            sides: names.iter().enumerate().map(side).collect(),
            comparisons: compare(names, &QUANTITIES, &self.rounds, plan, &terms.bands)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::terms;

    fn named(name: &str, sides: usize) -> NameResults {
        let at = |round: usize, side: usize| Values {
            p50: Some(100.0 + [1.0, -2.0, 1.5, -0.5][(round + side) % 4]),
            ..Values::default()
        };
        let round = |round| (0..sides).map(|side| at(round, side)).collect();
        NameResults {
            name: name.to_owned(),
            rounds: (0..8).map(round).collect(),
            ended: vec![(8, 0); sides],
        }
    }

    /// Half of the width of the first comparison's interval.
    fn half(requests: usize, sides: usize) -> f64 {
        let all: Vec<NameResults> = (0..requests)
            .map(|i| named(&i.to_string(), sides))
            .collect();
        let names: Vec<String> = (0..sides).map(|i| i.to_string()).collect();
        let plan = crate::duel::plan(&terms(), sides).unwrap();
        let told = reports(&all, &names, &plan, &terms()).unwrap();
        let ratio = &told[0].comparisons[0].ratio;
        ratio.relative_half_width().unwrap()
    }

    #[test]
    fn a_single_name_has_the_results_of_the_whole() {
        let (names, terms) = (["a".to_owned(), "b".to_owned()], terms());
        let plan = crate::duel::plan(&terms, 2).unwrap();
        let all = [named("only", 2)];
        assert_eq!(reports(&all, &names, &plan, &terms).unwrap(), []);
    }

    #[test]
    fn more_names_and_more_sides_share_the_same_error() {
        assert!(half(2, 2) < half(4, 2));
        assert!(half(4, 2) < half(4, 3));
    }
}

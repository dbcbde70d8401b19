//! What a duel has seen of the requests of each name, where a file has several.

use crate::duel::compare;
use crate::seen::{Figure, figures};
use prony_record::Trial;
use prony_record::verdict::{Comparison, Quantity, Terms, Values};
use prony_stats::StatsError;
use prony_stats::sequential::Plan;
use schemars::JsonSchema;
use serde::Serialize;

/// What is compared by name, at the common rate.
const QUANTITIES: [Quantity; 2] = [Quantity::P50, Quantity::P99];

/// The requests of one name so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Named {
    name: String,
    /// Every round, its sides in their order.
    rounds: Vec<Vec<Values>>,
    /// Right answers and failures of each side, in all its measurements.
    ended: Vec<(u64, u64)>,
}

/// The requests of one name.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NamedReport {
    /// The name.
    pub name: String,
    /// The sides in their order.
    pub sides: Vec<NamedSide>,
    /// Every other side against the first. The intervals do not allow for the number of names: of many
    /// names, some differ by chance.
    pub comparisons: Vec<Comparison>,
}

/// The requests of one name to one side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NamedSide {
    /// What the side is called.
    pub side: String,
    /// Right answers in all measurements.
    pub answers: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Response times at the common rate: each quantity's mean over the rounds.
    pub figures: Vec<Figure>,
}

/// Adds a measurement of a side, of so many.
pub(crate) fn add(all: &mut Vec<Named>, (side, sides): (usize, usize), trial: &Trial) {
    let Some(seen) = &trial.observation else {
        return;
    };
    for one in &seen.requests {
        let at = all.iter().position(|named| named.name == one.name);
        let at = at.unwrap_or_else(|| {
            all.push(Named {
                name: one.name.clone(),
                rounds: Vec::new(),
                ended: vec![(0, 0); sides],
            });
            all.len() - 1
        });
        let named = &mut all[at];
        named.ended[side].0 += one.outcomes.ok;
        named.ended[side].1 += one.outcomes.failed();
        // Of a server that misses the rate the response times are those of its overload.
        let missed = seen.checks.iter().any(|found| found.name == "rate-missed");
        if trial.load.rate.is_none() || missed {
            continue;
        }
        let round = trial.round as usize;
        while named.rounds.len() <= round {
            named.rounds.push(vec![Values::default(); sides]);
        }
        let values = &mut named.rounds[round][side];
        values.p50 = one.response.p50.map(|ns| ns as f64);
        values.p99 = one.response.p99.map(|ns| ns as f64);
    }
}

impl Named {
    /// What it says if the duel ends here.
    ///
    /// # Errors
    /// When there are more rounds than were planned.
    pub(crate) fn report(
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

//! What a duel has seen of the requests and sessions of each name, where a file has several.

use crate::duel::compare;
use crate::seen::{Figure, figures};
use prony_record::by_request::RequestReport;
use prony_record::by_session::SessionReport;
use prony_record::verdict::{Comparison, Quantity, Terms, Values};
use prony_record::{Percentiles, Trial};
use prony_stats::StatsError;
use prony_stats::sequential::Plan;
use schemars::JsonSchema;
use serde::Serialize;

/// What is compared by name, at the common rate.
pub(crate) const QUANTITIES: [Quantity; 2] = [Quantity::P50, Quantity::P99];

/// The requests of one name so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Named {
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
    /// Every other side against the first. The intervals of all names and quantities hold together in 95 %.
    pub comparisons: Vec<Comparison>,
}

/// The requests, or the sessions, of one name to one side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NamedSide {
    /// What the side is called.
    pub side: String,
    /// Right answers, or completed sessions, in all measurements.
    pub answers: u64,
    /// Requests, or sessions, that failed.
    pub failed: u64,
    /// Response times, or lengths of the sessions, at the common rate: each quantity's mean over the rounds.
    pub figures: Vec<Figure>,
}

/// Adds a measurement of a side, of so many.
pub(crate) fn add(all: &mut Vec<Named>, (side, sides): (usize, usize), trial: &Trial) {
    let Some(seen) = &trial.observation else {
        return;
    };
    let requests = seen.requests.iter().map(Part::of_request);
    let sessions = seen.sessions.iter().map(Part::of_session);
    for one in requests.chain(sessions) {
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
        named.ended[side].0 += one.right;
        named.ended[side].1 += one.failed;
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
        values.p50 = one.took.p50.map(|ns| ns as f64);
        values.p99 = one.took.p99.map(|ns| ns as f64);
    }
}

/// What was measured of one name.
struct Part<'a> {
    name: String,
    right: u64,
    failed: u64,
    took: &'a Percentiles,
}

impl<'a> Part<'a> {
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

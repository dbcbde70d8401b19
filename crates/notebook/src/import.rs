//! Runs that were measured elsewhere, put in whole.

use jiff::Timestamp;
use prony_record::anatomy::Dissections;
use prony_record::calibration::Calibration;
use prony_record::{Recording, RunFacts, RunStatus};
use rusqlite::{Row, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use crate::anatomy;
use crate::column::{Json, Moment, Word};
use crate::error::{ErrorContext, NotebookError};
use crate::open::Notebook;
use crate::process::ProcessKey;
use crate::run::{self, RunId, StoredRun};
use crate::trial;

/// Where a run comes from that was not measured into this notebook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// When it was put in; kept to the microsecond.
    pub imported: Timestamp,
    /// Number of the run in the notebook that it comes from.
    pub number: i64,
    /// The calibration of the host there, if that was known.
    pub calibration: Option<Calibration>,
}

/// A run to be put in.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// Facts that were known when the run began.
    pub facts: RunFacts,
    /// Status with which the run ended; none is under way here.
    pub status: RunStatus,
    /// When it ended.
    pub finished: Timestamp,
    /// Result of the run, in a sentence or two, if it has one.
    pub result: Option<String>,
    /// Where it comes from.
    pub origin: Origin,
    /// All trials of the run.
    pub trials: Vec<Recording>,
    /// Anatomy of a request that the `why` rounds measured; none if the run had no such rounds.
    pub anatomy: Option<Dissections>,
}

impl Notebook {
    /// Puts a run in, under a number of its own: all of it, or nothing.
    ///
    /// # Errors
    ///
    /// If two of its trials have the same ordinal, or the file cannot be written.
    pub fn import(&mut self, import: &Import) -> Result<RunId, NotebookError> {
        let process = ProcessKey::current().map_err(NotebookError::Process)?;
        let name = &import.facts.name;
        let what = || format!("importing the run {name:?}");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .doing(what)?;
        let id = run::insert(&transaction, &import.facts, &process).doing(what)?;
        for trial in &import.trials {
            let ordinal = trial.trial.ordinal;
            trial::insert(&transaction, id, trial)
                .doing(|| format!("importing trial {ordinal} of the run {name:?}"))?;
        }
        if let Some(seen) = &import.anatomy {
            anatomy::insert(&transaction, id, seen).doing(what)?;
        }
        let origin = &import.origin;
        transaction
            .execute(
                "UPDATE run SET status = ?2, finished = ?3, imported = ?4, imported_number = ?5,
                     imported_calibration_json = ?6, result = ?7 WHERE id = ?1",
                params![
                    id.0,
                    Word(import.status),
                    Moment(import.finished),
                    Moment(origin.imported),
                    origin.number,
                    origin.calibration.as_ref().map(Json),
                    import.result,
                ],
            )
            .and_then(|_| transaction.commit())
            .doing(what)?;
        Ok(id)
    }

    /// The run of which exactly this was known when it began. Of several, one that has ended, and the first such.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn same_run(&self, facts: &RunFacts) -> Result<Option<StoredRun>, NotebookError> {
        let mut runs = self.runs_of(&facts.name)?;
        runs.retain(|run| run.facts == *facts);
        let ended = runs
            .iter()
            .rposition(|run| run.status != RunStatus::Running);
        Ok(match ended {
            Some(at) => Some(runs.swap_remove(at)),
            None => runs.pop(),
        })
    }
}

pub(crate) fn read_origin(row: &Row<'_>) -> rusqlite::Result<Option<Origin>> {
    let Some(Moment(imported)) = row.get("imported")? else {
        return Ok(None);
    };
    Ok(Some(Origin {
        imported,
        number: row.get("imported_number")?,
        calibration: row
            .get::<_, Option<Json<Calibration>>>("imported_calibration_json")?
            .map(|json| json.0),
    }))
}

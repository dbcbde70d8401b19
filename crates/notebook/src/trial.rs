//! Trials: one fresh start of one server under one load, written with all that was measured.

use std::fmt;

use prony_record::trial::Figures;
use prony_record::{Failure, Recording, Trial};
use rusqlite::{ErrorCode, Row, Transaction, TransactionBehavior, named_params};
use serde::{Deserialize, Serialize};

use crate::column::{Json, Moment, Whole, Word, line, lines, optional_line, optional_lines, whole};
use crate::error::{ErrorContext, NotebookError};
use crate::histogram;
use crate::open::Notebook;
use crate::run::RunId;
use crate::window;

/// A trial's number, from 1, never used twice, whatever the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrialId(pub i64);

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A trial as the notebook has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredTrial {
    /// Number of the trial.
    pub id: TrialId,
    /// The run it belongs to.
    pub run_id: RunId,
    /// Facts and figures of the trial.
    pub trial: Trial,
}

impl Notebook {
    /// Writes a trial with its windows and histograms: all of it, or nothing. When this returns, it
    /// is safe from the end of the process.
    ///
    /// # Errors
    ///
    /// If there is no such run, the run has a trial with that ordinal already, two windows have the
    /// same index, or the file cannot be written.
    pub fn add_trial(&mut self, run: RunId, trial: &Recording) -> Result<TrialId, NotebookError> {
        let ordinal = trial.trial.ordinal;
        let missing = |error: &rusqlite::Error| {
            error.sqlite_error().is_some_and(|e| {
                e.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY
                    && e.code == ErrorCode::ConstraintViolation
            })
        };
        let written = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| {
                let id = insert(&transaction, run, trial)?;
                transaction.commit()?;
                Ok(id)
            });
        match written {
            Err(error) if missing(&error) => Err(NotebookError::NoSuchRun(run)),
            other => other.doing(|| format!("writing trial {ordinal} of run {run}")),
        }
    }

    /// A run's trials, in the order of its plan. None of a run that does not exist.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn trials(&self, run: RunId) -> Result<Vec<StoredTrial>, NotebookError> {
        self.select(
            "SELECT * FROM trial WHERE run_id = ?1 ORDER BY ordinal",
            run.0,
            read_trial,
        )
        .doing(|| format!("reading the trials of run {run}"))
    }

    pub(crate) fn select<T>(
        &self,
        sql: &str,
        id: i64,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.connection
            .prepare_cached(sql)?
            .query_map([id], read)?
            .collect()
    }
}

pub(crate) fn insert(
    transaction: &Transaction<'_>,
    run: RunId,
    recording: &Recording,
) -> rusqlite::Result<TrialId> {
    let id = insert_trial(transaction, run, &recording.trial)?;
    window::insert(transaction, id, &recording.windows)?;
    histogram::insert(transaction, id, &recording.histograms)?;
    Ok(id)
}

fn insert_trial(
    transaction: &Transaction<'_>,
    run: RunId,
    trial: &Trial,
) -> rusqlite::Result<TrialId> {
    let (figures, failure) = (&trial.figures, trial.failure.as_ref());
    let output = failure.map(|failure| failure.output.as_str());
    transaction
        .prepare_cached(
            "INSERT INTO trial (run_id, ordinal, round, server, workers, load_json, cell, status,
                 failed_step, message, last_output, started, command_line, server_version,
                 measured_seconds, verified_answers, throughput, cpu_ns_per_request,
                 rss_peak_bytes, p50_ns, p99_ns, max_ns, observation_json)
             VALUES (:run, :ordinal, :round, :server, :workers, :load, :cell, :status,
                 :failed_step, :message, :last_output, :started, :command_line, :server_version,
                 :measured_seconds, :verified_answers, :throughput, :cpu_ns_per_request,
                 :rss_peak_bytes, :p50, :p99, :max, :observation)",
        )?
        .execute(named_params! {
            ":run": run.0,
            ":ordinal": trial.ordinal,
            ":round": trial.round,
            ":server": trial.server,
            ":workers": trial.workers,
            ":load": Json(&trial.load),
            ":cell": trial.cell,
            ":status": Word(trial.status),
            ":failed_step": failure.map(|failure| Word(failure.step)),
            ":message": failure.map(|failure| &failure.message),
            ":last_output": output.filter(|output| !output.is_empty()),
            ":started": Moment(trial.started),
            ":command_line": trial.command_line,
            ":server_version": trial.server_version,
            ":measured_seconds": figures.measured_seconds,
            ":verified_answers": figures.verified_answers.map(Whole),
            ":throughput": figures.throughput,
            ":cpu_ns_per_request": figures.cpu_ns_per_request,
            ":rss_peak_bytes": figures.rss_peak_bytes.map(Whole),
            ":p50": figures.p50_ns.map(Whole),
            ":p99": figures.p99_ns.map(Whole),
            ":max": figures.max_ns.map(Whole),
            ":observation": Json(&trial.observation),
        })?;
    Ok(TrialId(transaction.last_insert_rowid()))
}

fn read_trial(row: &Row<'_>) -> rusqlite::Result<StoredTrial> {
    Ok(StoredTrial {
        id: TrialId(row.get("id")?),
        run_id: RunId(row.get("run_id")?),
        trial: Trial {
            ordinal: row.get("ordinal")?,
            round: row.get("round")?,
            server: line(row, "server")?,
            workers: row.get("workers")?,
            load: row.get::<_, Json<_>>("load_json")?.0,
            cell: line(row, "cell")?,
            status: row.get::<_, Word<_>>("status")?.0,
            failure: read_failure(row)?,
            started: row.get::<_, Moment>("started")?.0,
            command_line: lines(row, "command_line")?,
            server_version: optional_line(row, "server_version")?,
            figures: Figures {
                measured_seconds: row.get("measured_seconds")?,
                verified_answers: whole(row, "verified_answers")?,
                throughput: row.get("throughput")?,
                cpu_ns_per_request: row.get("cpu_ns_per_request")?,
                rss_peak_bytes: whole(row, "rss_peak_bytes")?,
                p50_ns: whole(row, "p50_ns")?,
                p99_ns: whole(row, "p99_ns")?,
                max_ns: whole(row, "max_ns")?,
            },
            observation: row.get::<_, Json<_>>("observation_json")?.0,
        },
    })
}

fn read_failure(row: &Row<'_>) -> rusqlite::Result<Option<Failure>> {
    let Some(Word(step)) = row.get("failed_step")? else {
        return Ok(None);
    };
    let text = |column| optional_lines(row, column).map(Option::unwrap_or_default);
    Ok(Some(Failure {
        step,
        message: text("message")?,
        output: text("last_output")?,
    }))
}

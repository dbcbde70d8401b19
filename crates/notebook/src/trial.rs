//! Trials: one fresh start of one server under one load, written with all that was measured.

use std::fmt;

use jiff::Timestamp;
use rusqlite::{ErrorCode, Row, Transaction, TransactionBehavior, named_params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::column::{Json, Moment, Whole, whole, words};
use crate::error::{Doing, NotebookError};
use crate::histogram::{self, Histogram};
use crate::open::Notebook;
use crate::run::RunId;
use crate::window::{self, Window};

/// A trial's number, from 1, never used twice, whatever the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrialId(pub i64);

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

words! {
    /// What became of a trial.
    TrialStatus {
        /// It was measured to its end.
        Ok = "ok",
        /// A step failed; which one, and how, stands beside it.
        Failed = "failed",
        /// It was not tried.
        Skipped = "skipped",
        /// It was stopped by its user.
        Interrupted = "interrupted",
    }
}

/// What is known of a trial, but for its windows and histograms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialFacts {
    /// Its place in the run's plan; unique in the run.
    pub ordinal: u32,
    /// Its round.
    pub round: u32,
    /// The server's name.
    pub server: String,
    /// The server's workers, if it was given a number.
    pub workers: Option<u32>,
    /// The load.
    pub load: Value,
    /// What trials of the same server under the same load have in common.
    pub cell: String,
    /// What became of it.
    pub status: TrialStatus,
    /// The step that failed.
    pub failed_step: Option<String>,
    /// Why it failed.
    pub message: Option<String>,
    /// The end of what the server printed, when it failed.
    pub last_output: Option<String>,
    /// When it began; kept to the microsecond.
    pub started: Timestamp,
    /// The server's command line.
    pub command_line: String,
    /// What the server says its version is.
    pub server_version: Option<String>,
    /// The length of what was measured, in seconds.
    pub measured_seconds: Option<f64>,
    /// Right answers finished in that time.
    pub verified_answers: Option<u64>,
    /// Right answers a second.
    pub throughput: Option<f64>,
    /// CPU time of the server's processes for each right answer, in nanoseconds.
    pub cpu_ns_per_request: Option<f64>,
    /// The most memory the server's processes held, in bytes.
    pub rss_peak_bytes: Option<u64>,
    /// The median response time, in nanoseconds.
    pub p50_ns: Option<u64>,
    /// The 99th percentile of the response time, in nanoseconds.
    pub p99_ns: Option<u64>,
    /// The longest response time, in nanoseconds.
    pub max_ns: Option<u64>,
    /// Everything else: counters, resources, environment, checks.
    pub observation: Value,
}

/// A trial to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTrial {
    /// What is known of it.
    pub facts: TrialFacts,
    /// Its windows, in any order.
    pub windows: Vec<Window>,
    /// Its histograms, at most one of a kind.
    pub histograms: Vec<Histogram>,
}

/// A trial as the notebook has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its number.
    pub id: TrialId,
    /// The run it belongs to.
    pub run_id: RunId,
    /// What is known of it.
    pub facts: TrialFacts,
}

impl Notebook {
    /// Writes a trial with its windows and histograms: all of it, or nothing. When this returns, it
    /// is safe from the end of the process.
    ///
    /// # Errors
    ///
    /// If there is no such run, the run has a trial with that ordinal already, two windows or
    /// histograms say they are the same, or the file cannot be written.
    pub fn add_trial(&mut self, run: RunId, trial: &NewTrial) -> Result<TrialId, NotebookError> {
        let ordinal = trial.facts.ordinal;
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
    pub fn trials(&self, run: RunId) -> Result<Vec<Trial>, NotebookError> {
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
    trial: &NewTrial,
) -> rusqlite::Result<TrialId> {
    let id = insert_trial(transaction, run, &trial.facts)?;
    window::insert(transaction, id, &trial.windows)?;
    histogram::insert(transaction, id, &trial.histograms)?;
    Ok(id)
}

fn insert_trial(
    transaction: &Transaction<'_>,
    run: RunId,
    facts: &TrialFacts,
) -> rusqlite::Result<TrialId> {
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
            ":ordinal": facts.ordinal,
            ":round": facts.round,
            ":server": facts.server,
            ":workers": facts.workers,
            ":load": Json(&facts.load),
            ":cell": facts.cell,
            ":status": facts.status,
            ":failed_step": facts.failed_step,
            ":message": facts.message,
            ":last_output": facts.last_output,
            ":started": Moment(facts.started),
            ":command_line": facts.command_line,
            ":server_version": facts.server_version,
            ":measured_seconds": facts.measured_seconds,
            ":verified_answers": facts.verified_answers.map(Whole),
            ":throughput": facts.throughput,
            ":cpu_ns_per_request": facts.cpu_ns_per_request,
            ":rss_peak_bytes": facts.rss_peak_bytes.map(Whole),
            ":p50": facts.p50_ns.map(Whole),
            ":p99": facts.p99_ns.map(Whole),
            ":max": facts.max_ns.map(Whole),
            ":observation": Json(&facts.observation),
        })?;
    Ok(TrialId(transaction.last_insert_rowid()))
}

fn read_trial(row: &Row<'_>) -> rusqlite::Result<Trial> {
    Ok(Trial {
        id: TrialId(row.get("id")?),
        run_id: RunId(row.get("run_id")?),
        facts: TrialFacts {
            ordinal: row.get("ordinal")?,
            round: row.get("round")?,
            server: row.get("server")?,
            workers: row.get("workers")?,
            load: row.get::<_, Json<Value>>("load_json")?.0,
            cell: row.get("cell")?,
            status: row.get("status")?,
            failed_step: row.get("failed_step")?,
            message: row.get("message")?,
            last_output: row.get("last_output")?,
            started: row.get::<_, Moment>("started")?.0,
            command_line: row.get("command_line")?,
            server_version: row.get("server_version")?,
            measured_seconds: row.get("measured_seconds")?,
            verified_answers: whole(row, "verified_answers")?,
            throughput: row.get("throughput")?,
            cpu_ns_per_request: row.get("cpu_ns_per_request")?,
            rss_peak_bytes: whole(row, "rss_peak_bytes")?,
            p50_ns: whole(row, "p50_ns")?,
            p99_ns: whole(row, "p99_ns")?,
            max_ns: whole(row, "max_ns")?,
            observation: row.get::<_, Json<Value>>("observation_json")?.0,
        },
    })
}

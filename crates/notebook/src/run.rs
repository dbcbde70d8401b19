//! Runs: one execution of an experiment.

use std::fmt;

use jiff::Timestamp;
use prony_record::{RunFacts, RunStatus, Subject};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use serde::{Deserialize, Serialize};

use crate::column::{Json, Moment, Seed, Whole, Word, line, lines, optional_line, optional_lines};
use crate::error::{ErrorContext, NotebookError};
use crate::import::{Origin, read_origin};
use crate::open::Notebook;
use crate::process::ProcessKey;

/// A run's number, from 1, never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub i64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A run as the notebook has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredRun {
    /// Number of the run.
    pub id: RunId,
    /// Facts that were known when the run began.
    pub facts: RunFacts,
    /// Status of the run.
    pub status: RunStatus,
    /// When it ended, however it did; None while it is running or abandoned.
    pub finished: Option<Timestamp>,
    /// Result of the run, in a sentence or two: what was found, or why it failed. None while it is under way, and
    /// where its process ended before it said so.
    pub result: Option<String>,
    /// The process that wrote it.
    pub process: ProcessKey,
    /// Where it comes from, when it was not measured into this notebook.
    pub origin: Option<Origin>,
}

/// A run that is in the notebook and cannot be read: its row was changed by something else than prony, or damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("run {id} cannot be read: {why}")]
pub struct UnreadableRun {
    /// Number of the run.
    pub id: RunId,
    /// Reason why the run cannot be read.
    pub why: String,
}

impl StoredRun {
    /// Is it marked as running although its process is gone?
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.status == RunStatus::Running && !self.process.is_alive()
    }
}

impl Notebook {
    /// Writes down that a run begins, in this process.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or `/proc` cannot be read.
    pub fn begin_run(&self, facts: &RunFacts) -> Result<RunId, NotebookError> {
        let process = ProcessKey::current().map_err(NotebookError::Process)?;
        insert(&self.connection, facts, &process)
            .doing(|| format!("writing the run {:?}", facts.name))
    }

    /// Writes down how a run ended. Also for one that is abandoned.
    ///
    /// # Errors
    ///
    /// If there is no such run, or it has ended already.
    pub fn finish_run(
        &self,
        id: RunId,
        status: RunStatus,
        finished: Timestamp,
    ) -> Result<(), NotebookError> {
        let changed = self
            .connection
            .execute(
                "UPDATE run SET status = ?2, finished = ?3 WHERE id = ?1 AND status = 'running'",
                params![id.0, Word(status), Moment(finished)],
            )
            .doing(|| format!("finishing run {id}"))?;
        if changed == 1 {
            return Ok(());
        }
        Err(NotebookError::Ended {
            id,
            status: self.run(id)?.status,
        })
    }

    /// Writes down what a run is about, when more of that is known than at its beginning.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn set_subject(&self, id: RunId, subject: &Subject) -> Result<(), NotebookError> {
        self.connection
            .execute(
                "UPDATE run SET experiment_json = ?2 WHERE id = ?1",
                params![id.0, Json(subject)],
            )
            .map(drop)
            .doing(|| format!("writing what run {id} is about"))
    }

    /// Writes down what came of a run, in a sentence or two.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn set_result(&self, id: RunId, result: &str) -> Result<(), NotebookError> {
        self.connection
            .execute(
                "UPDATE run SET result = ?2 WHERE id = ?1",
                params![id.0, result],
            )
            .map(drop)
            .doing(|| format!("writing the result of run {id}"))
    }

    /// The latest runs, the latest first. One that cannot be read does not hide the others.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn runs(
        &self,
        limit: usize,
    ) -> Result<Vec<Result<StoredRun, UnreadableRun>>, NotebookError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let read = |row: &Row<'_>| {
            let id = RunId(row.get("id")?);
            Ok(read_run(row).map_err(|error| UnreadableRun {
                id,
                why: error.to_string(),
            }))
        };
        self.connection
            .prepare_cached("SELECT * FROM run ORDER BY id DESC LIMIT ?1")
            .and_then(|mut statement| statement.query_map([limit], read)?.collect())
            .doing(|| "reading runs".to_owned())
    }

    /// The run with that number.
    ///
    /// # Errors
    ///
    /// If there is none, or the notebook cannot be read.
    pub fn run(&self, id: RunId) -> Result<StoredRun, NotebookError> {
        self.connection
            .query_row("SELECT * FROM run WHERE id = ?1", [id.0], read_run)
            .optional()
            .doing(|| format!("reading run {id}"))?
            .ok_or(NotebookError::NoSuchRun(id))
    }

    /// The latest run of the experiment of that name, whatever became of it.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn latest_run(&self, name: &str) -> Result<Option<StoredRun>, NotebookError> {
        Ok(self
            .select_runs("WHERE name = ?1 ORDER BY id DESC LIMIT 1", &[&name])?
            .pop())
    }

    /// All runs of that name, the latest first.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn runs_of(&self, name: &str) -> Result<Vec<StoredRun>, NotebookError> {
        self.select_runs("WHERE name = ?1 ORDER BY id DESC", &[&name])
    }

    fn select_runs(
        &self,
        which: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<StoredRun>, NotebookError> {
        self.connection
            .prepare_cached(&format!("SELECT * FROM run {which}"))
            .and_then(|mut statement| statement.query_map(values, read_run)?.collect())
            .doing(|| "reading runs".to_owned())
    }
}

pub(crate) fn insert(
    connection: &Connection,
    facts: &RunFacts,
    process: &ProcessKey,
) -> rusqlite::Result<RunId> {
    connection.execute(
        "INSERT INTO run (name, title, started, status, seed, experiment_json, host_json,
                     prony_version, prony_commit, command_line, pid, boot_id, pid_start_ticks)
                 VALUES (:name, :title, :started, :status, :seed, :experiment, :host,
                     :version, :commit, :command_line, :pid, :boot_id, :start_ticks)",
        named_params! {
            ":name": facts.name,
            ":title": facts.title,
            ":started": Moment(facts.started),
            ":status": Word(RunStatus::Running),
            ":seed": Seed(facts.seed),
            ":experiment": Json(&facts.experiment),
            ":host": Json(&facts.host),
            ":version": facts.prony_version,
            ":commit": facts.prony_commit,
            ":command_line": facts.command_line,
            ":pid": process.pid,
            ":boot_id": process.boot_id,
            ":start_ticks": Whole(process.start_ticks),
        },
    )?;
    Ok(RunId(connection.last_insert_rowid()))
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<StoredRun> {
    Ok(StoredRun {
        id: RunId(row.get("id")?),
        facts: RunFacts {
            name: line(row, "name")?,
            title: line(row, "title")?,
            started: row.get::<_, Moment>("started")?.0,
            seed: row.get::<_, Seed>("seed")?.0,
            experiment: row.get::<_, Json<_>>("experiment_json")?.0,
            host: row.get::<_, Json<_>>("host_json")?.0,
            prony_version: line(row, "prony_version")?,
            prony_commit: optional_line(row, "prony_commit")?,
            command_line: lines(row, "command_line")?,
        },
        status: row.get::<_, Word<_>>("status")?.0,
        finished: row
            .get::<_, Option<Moment>>("finished")?
            .map(|moment| moment.0),
        result: optional_lines(row, "result")?,
        process: ProcessKey {
            pid: row.get("pid")?,
            boot_id: row.get("boot_id")?,
            start_ticks: row.get::<_, Whole>("pid_start_ticks")?.0,
        },
        origin: read_origin(row)?,
    })
}

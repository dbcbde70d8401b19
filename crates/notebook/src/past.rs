//! Results of the same server under the same load, in all runs.

use std::collections::HashMap;

use jiff::Timestamp;
use prony_record::{Host, Subject};
use rusqlite::Row;

use crate::column::{Json, Moment, line, optional_line, whole};
use crate::error::{ErrorContext, NotebookError};
use crate::open::Notebook;
use crate::run::RunId;
use crate::trial::TrialId;

/// Figures of a trial that yielded some.
#[derive(Debug, Clone, PartialEq)]
pub struct PastTrial {
    /// Number of the trial.
    pub id: TrialId,
    /// Run of the trial.
    pub run: RunId,
    /// The server's name.
    pub server: String,
    /// The server's workers, if it was given a number.
    pub workers: Option<u32>,
    /// Version that the server reports, or the commit that it was built from.
    pub version: Option<String>,
    /// Label of the load, which trials of the same server under the same load have in common.
    pub cell: String,
    /// Right answers a second.
    pub throughput: f64,
    /// CPU time of the server's processes per request that was served, in nanoseconds.
    pub cpu_ns_per_request: Option<f64>,
    /// The 99th percentile of the response time, in nanoseconds.
    pub p99_ns: Option<u64>,
}

/// Facts of a run by which it is decided which runs may be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRun {
    /// Number of the run.
    pub id: RunId,
    /// The experiment's name.
    pub name: String,
    /// When it began.
    pub started: Timestamp,
    /// Subject of the run.
    pub experiment: Subject,
    /// The host it ran on.
    pub host: Host,
    /// prony's version.
    pub prony_version: String,
}

impl Notebook {
    /// All trials that yielded figures, of all runs, in the order in which they were written; or those
    /// alone whose server, workers and cell are those of one trial.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn past_trials(&self, like: Option<TrialId>) -> Result<Vec<PastTrial>, NotebookError> {
        let sql = "SELECT id, run_id, server, workers, server_version, cell, throughput, cpu_ns_per_request, p99_ns
             FROM trial
             WHERE throughput IS NOT NULL AND status IN ('ok', 'interrupted')
                 AND (?1 IS NULL OR (server, coalesce(workers, 1), cell) =
                     (SELECT server, coalesce(workers, 1), cell FROM trial WHERE id = ?1))
             ORDER BY id";
        let read = || -> rusqlite::Result<_> {
            self.connection
                .prepare_cached(sql)?
                .query_map([like.map(|id| id.0)], read_trial)?
                .collect()
        };
        read().doing(|| "reading the trials of all runs".to_owned())
    }

    /// All runs, by their numbers.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn past_runs(&self) -> Result<HashMap<RunId, PastRun>, NotebookError> {
        let sql = "SELECT id, name, started, experiment_json, host_json, prony_version FROM run";
        let read = || -> rusqlite::Result<_> {
            self.connection
                .prepare_cached(sql)?
                .query_map([], |row| {
                    let run = read_run(row)?;
                    Ok((run.id, run))
                })?
                .collect()
        };
        read().doing(|| "reading all runs".to_owned())
    }
}

fn read_trial(row: &Row<'_>) -> rusqlite::Result<PastTrial> {
    Ok(PastTrial {
        id: TrialId(row.get("id")?),
        run: RunId(row.get("run_id")?),
        server: line(row, "server")?,
        workers: row.get("workers")?,
        version: optional_line(row, "server_version")?,
        cell: line(row, "cell")?,
        throughput: row.get("throughput")?,
        cpu_ns_per_request: row.get("cpu_ns_per_request")?,
        p99_ns: whole(row, "p99_ns")?,
    })
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<PastRun> {
    Ok(PastRun {
        id: RunId(row.get("id")?),
        name: line(row, "name")?,
        started: row.get::<_, Moment>("started")?.0,
        experiment: row.get::<_, Json<_>>("experiment_json")?.0,
        host: row.get::<_, Json<_>>("host_json")?.0,
        prony_version: line(row, "prony_version")?,
    })
}

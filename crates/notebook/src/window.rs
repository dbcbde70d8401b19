//! Windows: a second, or whatever the experiment says, inside a trial.

use rusqlite::{Row, Transaction, named_params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::column::{Json, Whole, whole, words};
use crate::error::{Doing, NotebookError};
use crate::open::Notebook;
use crate::trial::TrialId;

words! {
    /// The part of a trial that a window belongs to.
    Phase {
        /// Before the load was steady: kept, not counted.
        Warmup = "warmup",
        /// Counted.
        Measure = "measure",
    }
}

/// One window of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its place in the trial, from 0; unique in the trial.
    pub index: u32,
    /// Its start since the load's start, in nanoseconds.
    pub start_ns: u64,
    /// Its length, in nanoseconds.
    pub length_ns: u64,
    /// Before or during the measurement.
    pub phase: Phase,
    /// Right answers finished in it.
    pub verified_answers: u64,
    /// Wrong answers.
    pub wrong_answers: u64,
    /// Connections that failed, in any way but a time-out.
    pub errors: u64,
    /// Requests that took too long.
    pub timeouts: u64,
    /// The median response time, in nanoseconds; None without an answer.
    pub p50_ns: Option<u64>,
    /// The 99th percentile of the response time, in nanoseconds.
    pub p99_ns: Option<u64>,
    /// CPU time of the server's processes, in nanoseconds.
    pub server_cpu_ns: Option<u64>,
    /// CPU time of the load's threads, in nanoseconds.
    pub generator_cpu_ns: Option<u64>,
    /// Memory of the server's processes at its end, in bytes.
    pub rss_bytes: Option<u64>,
    /// Everything else; null if there is nothing.
    pub more: Value,
}

impl Notebook {
    /// A trial's windows, in order.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn windows(&self, trial: TrialId) -> Result<Vec<Window>, NotebookError> {
        let sql = "SELECT * FROM window WHERE trial_id = ?1 ORDER BY \"index\"";
        self.select(sql, trial.0, read)
            .doing(|| format!("reading the windows of trial {trial}"))
    }
}

pub(crate) fn insert(
    transaction: &Transaction<'_>,
    trial: TrialId,
    windows: &[Window],
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO window (trial_id, \"index\", start_ns, length_ns, phase, verified_answers,
             wrong_answers, errors, timeouts, p50_ns, p99_ns, server_cpu_ns, generator_cpu_ns,
             rss_bytes, more_json)
         VALUES (:trial, :index, :start, :length, :phase, :verified, :wrong, :errors, :timeouts,
             :p50, :p99, :server_cpu, :generator_cpu, :rss, :more)",
    )?;
    for window in windows {
        insert.execute(named_params! {
            ":trial": trial.0,
            ":index": window.index,
            ":start": Whole(window.start_ns),
            ":length": Whole(window.length_ns),
            ":phase": window.phase,
            ":verified": Whole(window.verified_answers),
            ":wrong": Whole(window.wrong_answers),
            ":errors": Whole(window.errors),
            ":timeouts": Whole(window.timeouts),
            ":p50": window.p50_ns.map(Whole),
            ":p99": window.p99_ns.map(Whole),
            ":server_cpu": window.server_cpu_ns.map(Whole),
            ":generator_cpu": window.generator_cpu_ns.map(Whole),
            ":rss": window.rss_bytes.map(Whole),
            ":more": Json(&window.more),
        })?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Window> {
    let number = |column| row.get::<_, Whole>(column).map(|whole| whole.0);
    Ok(Window {
        index: row.get("index")?,
        start_ns: number("start_ns")?,
        length_ns: number("length_ns")?,
        phase: row.get("phase")?,
        verified_answers: number("verified_answers")?,
        wrong_answers: number("wrong_answers")?,
        errors: number("errors")?,
        timeouts: number("timeouts")?,
        p50_ns: whole(row, "p50_ns")?,
        p99_ns: whole(row, "p99_ns")?,
        server_cpu_ns: whole(row, "server_cpu_ns")?,
        generator_cpu_ns: whole(row, "generator_cpu_ns")?,
        rss_bytes: whole(row, "rss_bytes")?,
        more: row.get::<_, Json<Value>>("more_json")?.0,
    })
}

//! Windows: equal pieces of a trial's time.

use prony_record::Window;
use rusqlite::{Row, Transaction, named_params};

use crate::column::{Whole, Word, whole};
use crate::error::{ErrorContext, NotebookError};
use crate::open::Notebook;
use crate::trial::TrialId;

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
             rss_bytes)
         VALUES (:trial, :index, :start, :length, :phase, :verified, :wrong, :errors, :timeouts,
             :p50, :p99, :server_cpu, :generator_cpu, :rss)",
    )?;
    for window in windows {
        insert.execute(named_params! {
            ":trial": trial.0,
            ":index": window.index,
            ":start": Whole(window.start_ns),
            ":length": Whole(window.length_ns),
            ":phase": Word(window.phase),
            ":verified": Whole(window.verified_answers),
            ":wrong": Whole(window.wrong_answers),
            ":errors": Whole(window.errors),
            ":timeouts": Whole(window.timeouts),
            ":p50": window.p50_ns.map(Whole),
            ":p99": window.p99_ns.map(Whole),
            ":server_cpu": window.server_cpu_ns.map(Whole),
            ":generator_cpu": window.generator_cpu_ns.map(Whole),
            ":rss": window.rss_bytes.map(Whole),
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
        phase: row.get::<_, Word<_>>("phase")?.0,
        verified_answers: number("verified_answers")?,
        wrong_answers: number("wrong_answers")?,
        errors: number("errors")?,
        timeouts: number("timeouts")?,
        p50_ns: whole(row, "p50_ns")?,
        p99_ns: whole(row, "p99_ns")?,
        server_cpu_ns: whole(row, "server_cpu_ns")?,
        generator_cpu_ns: whole(row, "generator_cpu_ns")?,
        rss_bytes: whole(row, "rss_bytes")?,
        outstanding: 0,
        events: 0,
    })
}

//! Histograms: distributions of durations, as their owner has encoded them.

use rusqlite::{Row, Transaction, named_params};

use crate::column::{Whole, words};
use crate::error::{Doing, NotebookError};
use crate::open::Notebook;
use crate::trial::TrialId;

words! {
    /// What a histogram's durations are.
    HistogramKind {
        /// From when a request was due until it was answered.
        Response = "response",
        /// From when it was sent until it was answered.
        Service = "service",
        /// From when it was due until it was sent.
        SendDelay = "send-delay",
        /// Connecting.
        Connect = "connect",
        /// How late the generator itself was: from when a request was due and its connection free
        /// until it was sent.
        Late = "late",
    }
}

/// A distribution of durations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// What its durations are; unique in the trial.
    pub kind: HistogramKind,
    /// How many there are.
    pub count: u64,
    /// The histogram, as its owner has encoded it.
    pub data: Vec<u8>,
}

impl Notebook {
    /// A trial's histograms.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn histograms(&self, trial: TrialId) -> Result<Vec<Histogram>, NotebookError> {
        let sql = "SELECT * FROM histogram WHERE trial_id = ?1 ORDER BY rowid";
        self.select(sql, trial.0, read)
            .doing(|| format!("reading the histograms of trial {trial}"))
    }
}

pub(crate) fn insert(
    transaction: &Transaction<'_>,
    trial: TrialId,
    histograms: &[Histogram],
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO histogram (trial_id, kind, count, data) VALUES (:trial, :kind, :count, :data)",
    )?;
    for histogram in histograms {
        insert.execute(named_params! {
            ":trial": trial.0,
            ":kind": histogram.kind,
            ":count": Whole(histogram.count),
            ":data": histogram.data,
        })?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Histogram> {
    Ok(Histogram {
        kind: row.get("kind")?,
        count: row.get::<_, Whole>("count")?.0,
        data: row.get("data")?,
    })
}

//! Distributions of times: one row for each kind.

use prony_record::Distributions;
use prony_record::times::{EffectiveSamples, Encoded, Kind, encode};
use rusqlite::types::FromSqlError;
use rusqlite::{Row, Transaction, named_params};

use crate::column::{Json, Whole, Word};
use crate::error::{ErrorContext, NotebookError};
use crate::open::Notebook;
use crate::trial::TrialId;

impl Notebook {
    /// A trial's distributions; empty for a trial that has none.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn distributions(&self, trial: TrialId) -> Result<Distributions, NotebookError> {
        let encoded = self.encoded(trial)?;
        encoded
            .try_into()
            .map_err(|error| rusqlite::Error::from(FromSqlError::other(error)))
            .doing(|| format!("reading the histograms of trial {trial}"))
    }

    /// The same as they are kept.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn encoded(&self, trial: TrialId) -> Result<Encoded, NotebookError> {
        let rows = self
            .select("SELECT * FROM histogram WHERE trial_id = ?1", trial.0, read)
            .doing(|| format!("reading the histograms of trial {trial}"))?;
        let mut all = Encoded::default();
        for (kind, data, effective) in rows {
            all.times.insert(kind, data);
            all.effective = effective.unwrap_or(all.effective);
        }
        Ok(all)
    }
}

pub(crate) fn insert(
    transaction: &Transaction<'_>,
    trial: TrialId,
    all: &Distributions,
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO histogram (trial_id, kind, count, data, effective_json)
         VALUES (:trial, :kind, :count, :data, :effective)",
    )?;
    for (kind, times) in all.filled() {
        // They say what the response times are worth, and nothing of the other distributions.
        let effective = (kind == Kind::Response).then_some(Json(&all.effective));
        insert.execute(named_params! {
            ":trial": trial.0,
            ":kind": Word(kind),
            ":count": Whole(times.len()),
            ":data": encode(times),
            ":effective": effective,
        })?;
    }
    Ok(())
}

type Stored = (Kind, Vec<u8>, Option<EffectiveSamples>);

fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let effective: Option<Json<EffectiveSamples>> = row.get("effective_json")?;
    Ok((
        row.get::<_, Word<Kind>>("kind")?.0,
        row.get("data")?,
        effective.map(|json| json.0),
    ))
}

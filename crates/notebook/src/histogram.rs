//! Distributions of times: one row for each kind.

use prony_record::Distributions;
use prony_record::times::{EffectiveSamples, Kind, decode, encode};
use rusqlite::types::FromSqlError;
use rusqlite::{Row, Transaction, named_params};

use crate::column::{Json, Whole, Word};
use crate::error::{Doing, NotebookError};
use crate::open::Notebook;
use crate::trial::TrialId;

impl Notebook {
    /// A trial's distributions; empty for a trial that has none.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn distributions(&self, trial: TrialId) -> Result<Distributions, NotebookError> {
        let mut all = Distributions::default();
        let rows = self
            .select(
                "SELECT * FROM histogram WHERE trial_id = ?1",
                trial.0,
                |row| read(row),
            )
            .doing(|| format!("reading the histograms of trial {trial}"))?;
        for (kind, times, effective) in rows {
            *all.of_mut(kind) = times;
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

type Stored = (Kind, prony_record::Times, Option<EffectiveSamples>);

fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let data: Vec<u8> = row.get("data")?;
    let times = decode(&data).map_err(FromSqlError::other)?;
    let effective: Option<Json<EffectiveSamples>> = row.get("effective_json")?;
    Ok((
        row.get::<_, Word<Kind>>("kind")?.0,
        times,
        effective.map(|json| json.0),
    ))
}

//! The anatomy of a request, of runs that were asked why: one row for each run.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use prony_record::anatomy::Dissections;
use prony_record::inert;
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::{ErrorContext, NotebookError};
use crate::open::Notebook;
use crate::run::RunId;

/// More than this, in bytes of JSON, is not read: prony writes some hundred times less.
const MOST: u64 = 256 << 20;

impl Notebook {
    /// Keeps what the rounds that say why have shown, in the place of what was there.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn set_anatomy(&self, run: RunId, seen: &Dissections) -> Result<(), NotebookError> {
        insert(&self.connection, run, seen).doing(|| format!("writing the anatomy of run {run}"))
    }

    /// Returns the anatomy of a request that the `why` rounds of a run measured; `None` for a run without such rounds.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn anatomy(&self, run: RunId) -> Result<Option<Dissections>, NotebookError> {
        let query = "SELECT data FROM anatomy WHERE run_id = ?1";
        let read = |row: &rusqlite::Row<'_>| row.get::<_, Vec<u8>>(0);
        (self.connection.query_row(query, [run.0], read).optional())
            .and_then(|data| data.map(|data| decoded(&data)).transpose())
            .doing(|| format!("reading the anatomy of run {run}"))
    }
}

pub(crate) fn insert(
    connection: &Connection,
    run: RunId,
    seen: &Dissections,
) -> rusqlite::Result<()> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::ToSqlConversionFailure(error)
    };
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let text = serde_json::to_vec(seen).map_err(|error| failed(error.into()))?;
    let written = gzip.write_all(&text).and_then(|()| gzip.finish());
    connection
        .execute(
            "INSERT OR REPLACE INTO anatomy (run_id, data) VALUES (?1, ?2)",
            params![run.0, written.map_err(|error| failed(error.into()))?],
        )
        .map(drop)
}

fn decoded(data: &[u8]) -> rusqlite::Result<Dissections> {
    let mut text = String::new();
    GzDecoder::new(data)
        .take(MOST)
        .read_to_string(&mut text)
        .map_err(FromSqlError::other)?;
    Ok(inert::json(&text).map_err(FromSqlError::other)?)
}

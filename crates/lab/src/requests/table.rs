//! CSV files that values come from: read once, and only the columns that are used.

use super::Folder;
use super::template::ValueEncoding;
use crate::source::did_you_mean;
use prony_engine::protocol::mix::{Column, ValueTable};
use std::path::Path;

/// A file with the columns that are used so far.
struct TableFile {
    file: String,
    names: Vec<String>,
    rows: Vec<csv::StringRecord>,
    /// Number of each column in the file, and how its values are written.
    used: Vec<(usize, ValueEncoding)>,
    table: ValueTable,
}

/// All files that are used.
#[derive(Default)]
pub(super) struct Tables(Vec<TableFile>);

/// Description of a mistake, and of what may help.
pub(super) type Wrong = (String, Option<String>);

impl Tables {
    /// The places of a table and of a column in it.
    pub(super) fn column(
        &mut self,
        folder: Folder<'_>,
        file: &str,
        column: &str,
        once: bool,
        encoding: ValueEncoding,
    ) -> Result<(usize, usize), Wrong> {
        let at = match self.0.iter().position(|known| known.file == file) {
            Some(at) => at,
            None => {
                self.0.push(open(folder, file)?);
                self.0.len() - 1
            }
        };
        let known = &mut self.0[at];
        known.table.once |= once;
        let Some(nth) = known.names.iter().position(|name| name == column) else {
            let what = format!(
                "{file} has no column {column:?}: it has {}",
                known.names.join(", ")
            );
            let names = known.names.iter().map(String::as_str);
            return Err((what, did_you_mean(column, names)));
        };
        if let Some(place) = known.used.iter().position(|&used| used == (nth, encoding)) {
            return Ok((at, place));
        }
        let mut values = Column::default();
        for row in &known.rows {
            let value = row.get(nth).unwrap_or_default();
            let written = encoding.write(value).ok_or_else(|| {
                let line = row.position().map_or(0, csv::Position::line);
                let what = format!(
                    "line {line} of {file} has a line end or another control character in {column:?}, \
                     which cannot stand in a header"
                );
                (what, None)
            })?;
            values.push(written.as_bytes());
        }
        known.table.columns.push(values);
        known.used.push((nth, encoding));
        Ok((at, known.used.len() - 1))
    }

    pub(super) fn finish(self) -> Vec<ValueTable> {
        self.0.into_iter().map(|known| known.table).collect()
    }
}

fn open(folder: Folder<'_>, file: &str) -> Result<TableFile, Wrong> {
    let wrong = |error: csv::Error| (format!("cannot read {file}: {error}"), None);
    let bytes = folder
        .read(Path::new(file))
        .map_err(|error| (error, None))?;
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let names = reader.headers().map_err(wrong)?;
    let names = names.iter().map(|name| name.trim().to_owned()).collect();
    let rows = reader.records().collect::<Result<Vec<_>, _>>();
    let rows = rows.map_err(wrong)?;
    if rows.is_empty() {
        let what = format!("{file} has no rows: the first line has the names of the columns");
        return Err((what, None));
    }
    Ok(TableFile {
        file: file.to_owned(),
        names,
        rows,
        used: Vec::new(),
        table: ValueTable {
            name: file.to_owned(),
            columns: Vec::new(),
            once: false,
        },
    })
}

//! Figures that others have published, put in by name.

use jiff::Timestamp;
use prony_record::published::Published;
use rusqlite::{OptionalExtension, Row, named_params};

use crate::column::{Json, Moment, line, lines};
use crate::error::{ErrorContext, NotebookError};
use crate::open::Notebook;

/// A table of published figures as the notebook has it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredFigures {
    /// The name by which experiments find it.
    pub name: String,
    /// When it was put in; kept to the microsecond.
    pub imported: Timestamp,
    /// The command line that put it in.
    pub command_line: String,
    /// The table, whole.
    pub table: Published,
}

impl Notebook {
    /// Keeps a table under its name, in place of one that had that name; tells whether one had.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn keep_published(&mut self, published: &StoredFigures) -> Result<bool, NotebookError> {
        let doing = || format!("keeping the figures {:?}", published.name);
        let transaction = self.connection.transaction().doing(doing)?;
        let replaced = transaction
            .execute("DELETE FROM published WHERE name = ?1", [&published.name])
            .doing(doing)?;
        transaction
            .execute(
                "INSERT INTO published (name, imported, command_line, table_json)
                 VALUES (:name, :imported, :command_line, :table)",
                named_params! {
                    ":name": published.name,
                    ":imported": Moment(published.imported),
                    ":command_line": published.command_line,
                    ":table": Json(&published.table),
                },
            )
            .doing(doing)?;
        transaction.commit().doing(doing)?;
        Ok(replaced > 0)
    }

    /// The table of that name.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn published(&self, name: &str) -> Result<Option<StoredFigures>, NotebookError> {
        self.connection
            .query_row("SELECT * FROM published WHERE name = ?1", [name], read)
            .optional()
            .doing(|| format!("reading the figures {name:?}"))
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredFigures> {
    Ok(StoredFigures {
        name: line(row, "name")?,
        imported: row.get::<_, Moment>("imported")?.0,
        command_line: lines(row, "command_line")?,
        table: row.get::<_, Json<_>>("table_json")?.0,
    })
}

//! Errors of a notebook.

use std::io;
use std::path::PathBuf;

use crate::run::RunId;
use prony_record::RunStatus;

/// Why the notebook could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotebookError {
    /// Neither PRONY_NOTEBOOK nor XDG_DATA_HOME nor HOME says where the notebook is.
    #[error("no place for the notebook: none of PRONY_NOTEBOOK, XDG_DATA_HOME and HOME is set")]
    NoPlace,
    /// The notebook's folder cannot be made.
    #[error(
        "cannot create the notebook's folder {}: {source}; set PRONY_NOTEBOOK to a file elsewhere",
        path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Error that the system returned.
        source: io::Error,
    },
    /// The file cannot be opened or read.
    #[error(
        "cannot open the notebook {}: {source}; is it, and is its folder, readable and writable? \
         PRONY_NOTEBOOK names another file",
        path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Error that SQLite returned.
        source: rusqlite::Error,
    },
    /// The file is something else.
    #[error(
        "{} is not a notebook: {found}; move it away, or set PRONY_NOTEBOOK to another file",
        path.display()
    )]
    NotANotebook {
        /// The file.
        path: PathBuf,
        /// Description of the file that was found instead.
        found: &'static str,
    },
    /// A newer prony has written the file.
    #[error(
        "the notebook {} has format {found}, this prony knows up to {known}: update prony, or set \
         PRONY_NOTEBOOK to another file",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format it has.
        found: usize,
        /// The newest format known here.
        known: usize,
    },
    /// An older prony has written the file, and it cannot be brought up to date.
    #[error(
        "the notebook {} has the older format {found} and cannot be written, so it cannot be brought up to \
         date: copy it to where it can",
        path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// The format it has.
        found: usize,
    },
    /// Reading or writing failed.
    #[error("{doing} failed: {source}")]
    Sql {
        /// Operation that was tried.
        doing: String,
        /// Error that SQLite returned.
        source: rusqlite::Error,
    },
    /// There is no such run.
    #[error("the notebook has no run {0}: `prony runs` lists those it has")]
    NoSuchRun(RunId),
    /// A run that has ended cannot be finished again.
    #[error("run {id} is {status} already")]
    Ended {
        /// The run.
        id: RunId,
        /// How it ended.
        status: RunStatus,
    },
    /// The identity of this process cannot be read from `/proc`.
    #[error("cannot identify this process from /proc: {0}")]
    Process(#[source] io::Error),
}

/// Says what was tried when SQLite refuses.
pub(crate) trait ErrorContext<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, NotebookError>;
}

impl<T> ErrorContext<T> for rusqlite::Result<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, NotebookError> {
        self.map_err(|source| NotebookError::Sql {
            doing: what(),
            source,
        })
    }
}

//! The notebook's file: where it is, and opening it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::NotebookError;
use crate::migrate::{self, OpenRefusal};

/// How long to wait for another process's transaction. A trial is written in milliseconds; ten
/// seconds are left for a slow disk.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// An open notebook. Dropping it closes the file; nothing needs to be saved.
#[derive(Debug)]
pub struct Notebook {
    pub(crate) connection: Connection,
    path: PathBuf,
}

impl Notebook {
    /// Opens the notebook at `path`; makes it, and the folders above it, where there is none;
    /// brings one that an older prony has written up to date.
    ///
    /// # Errors
    ///
    /// If the folder or the file cannot be made, opened or written; if the file is not a notebook;
    /// if a newer prony has written it.
    pub fn open(path: &Path) -> Result<Self, NotebookError> {
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            fs::create_dir_all(folder).map_err(|source| NotebookError::Folder {
                path: folder.to_owned(),
                source,
            })?;
        }
        Connection::open(path)
            .map_err(OpenRefusal::from)
            .and_then(prepare)
            .map(|connection| Self {
                connection,
                path: path.to_owned(),
            })
            .map_err(|refusal| explain(path, refusal))
    }

    /// Opens the notebook at `path` for reading: like [`open`](Self::open), but one that cannot be written, on a
    /// medium that is read-only, is read as it is.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); and if it cannot be written and has the format of an older prony.
    pub fn open_to_read(path: &Path) -> Result<Self, NotebookError> {
        match Self::open(path) {
            Err(NotebookError::Open { source, .. })
                if path.is_file() && refuses_writes(&source) =>
            {
                Self::open_as_it_is(path)
            }
            other => other,
        }
    }

    fn open_as_it_is(path: &Path) -> Result<Self, NotebookError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let opened = |options: &str| {
            let mut escaped = String::new();
            for byte in path.as_os_str().as_encoded_bytes() {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                        escaped.push(char::from(*byte));
                    }
                    byte => escaped += &format!("%{byte:02X}"),
                }
            }
            let connection =
                Connection::open_with_flags(format!("file:{escaped}?{options}"), flags)?;
            let found = migrate::version(&connection, migrate::SCRIPTS.len())?;
            Ok::<_, OpenRefusal>((connection, found))
        };
        // With its write-ahead log, if that can be read; else without, since no process can be writing the file.
        let (connection, found) = opened("mode=ro")
            .or_else(|_| opened("immutable=1"))
            .map_err(|refusal| explain(path, refusal))?;
        let path = path.to_owned();
        match found == migrate::SCRIPTS.len() {
            true => Ok(Self { connection, path }),
            false => Err(NotebookError::Older { path, found }),
        }
    }

    /// A notebook in memory in the place of this one, which cannot be written any more. It has the same path.
    ///
    /// # Errors
    ///
    /// If SQLite has no memory.
    pub fn in_memory_instead(&self) -> Result<Self, NotebookError> {
        let memory = Self::in_memory()?;
        Ok(Self {
            path: self.path.clone(),
            ..memory
        })
    }

    /// Is it in memory, and gone when it is dropped?
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        // SQLite's name for a database without a file.
        self.connection.path().is_none_or(str::is_empty)
    }

    /// A notebook that is gone when it is dropped, for tests and for runs not to be kept.
    ///
    /// # Errors
    ///
    /// If SQLite has no memory.
    pub fn in_memory() -> Result<Self, NotebookError> {
        let path = PathBuf::from(":memory:");
        match Connection::open_in_memory()
            .map_err(OpenRefusal::from)
            .and_then(prepare)
        {
            Ok(connection) => Ok(Self { connection, path }),
            Err(refusal) => Err(explain(&path, refusal)),
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Is this what SQLite says of a file that it cannot write, or a folder in which it cannot make one?
fn refuses_writes(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
    )
}

fn prepare(mut connection: Connection) -> Result<Connection, OpenRefusal> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    migrate::migrate(&mut connection, migrate::SCRIPTS)?;
    write_ahead(&connection)?;
    // With a write-ahead log, this loses nothing when a process dies, and the last transactions at
    // most when the power goes. Waiting for the disk after each trial would disturb the next one.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

/// Switches to a write-ahead log, so that readers and a writer do not wait for each other.
///
/// The switch needs the file for itself and, unlike everything else, does not wait for others by
/// itself: https://sqlite.org/c3ref/busy_handler.html.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let patience = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < patience =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

fn explain(path: &Path, refusal: OpenRefusal) -> NotebookError {
    let path = path.to_owned();
    match refusal {
        OpenRefusal::Foreign => NotebookError::NotANotebook {
            path,
            found: "another program's SQLite file",
        },
        OpenRefusal::Newer { found } => NotebookError::Newer {
            path,
            found,
            known: migrate::SCRIPTS.len(),
        },
        OpenRefusal::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            NotebookError::NotANotebook {
                path,
                found: "not an SQLite file",
            }
        }
        OpenRefusal::Sql(source) => NotebookError::Open { path, source },
    }
}

/// Where the notebook is unless a path is given: `$PRONY_NOTEBOOK`, else
/// `$XDG_DATA_HOME/prony/notebook.db`, else `~/.local/share/prony/notebook.db`.
///
/// # Errors
///
/// If none of `PRONY_NOTEBOOK`, `XDG_DATA_HOME` and `HOME` is set.
pub fn default_path() -> Result<PathBuf, NotebookError> {
    path_from(|variable| env::var_os(variable).map(PathBuf::from)).ok_or(NotebookError::NoPlace)
}

fn path_from(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|path| !path.as_os_str().is_empty());
    set("PRONY_NOTEBOOK").or_else(|| {
        // The XDG Base Directory Specification has relative paths ignored.
        let data = set("XDG_DATA_HOME").filter(|path| path.is_absolute());
        let data = data.or_else(|| set("HOME").map(|home| home.join(".local/share")));
        data.map(|data| data.join("prony/notebook.db"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_path_follows_the_environment() {
        let path = |set: &[(&str, &str)]| {
            path_from(|name| {
                set.iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| PathBuf::from(value))
            })
        };
        let home = ("HOME", "/home/ada");
        let expected = |path: &str| Some(PathBuf::from(path));
        assert_eq!(
            path(&[home]),
            expected("/home/ada/.local/share/prony/notebook.db")
        );
        assert_eq!(
            path(&[home, ("XDG_DATA_HOME", "/d")]),
            expected("/d/prony/notebook.db")
        );
        assert_eq!(
            path(&[home, ("XDG_DATA_HOME", "relative")]),
            expected("/home/ada/.local/share/prony/notebook.db")
        );
        assert_eq!(
            path(&[home, ("XDG_DATA_HOME", "/d"), ("PRONY_NOTEBOOK", "here.db")]),
            expected("here.db")
        );
        assert_eq!(
            path(&[home, ("PRONY_NOTEBOOK", "")]),
            expected("/home/ada/.local/share/prony/notebook.db")
        );
        assert_eq!(path(&[]), None);
    }
}

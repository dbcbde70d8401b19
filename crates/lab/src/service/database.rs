//! Questions that a verifier and the watch ask a database.

use std::fmt::Debug;

/// Work that a database has done for the server since it was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Executed statements; those that begin or end transactions are not counted.
    pub statements: u64,
    /// Rows that statements returned or changed.
    pub rows: u64,
    /// Rows that were inserted, updated or deleted.
    pub rows_written: u64,
    /// Transactions that were rolled back.
    pub rolled_back: u64,
}

/// A database beside a server. What is asked here is not counted as the server's.
pub trait Database: Debug + Send + Sync {
    /// Executes SQL in the server's database and returns its rows, each as text.
    ///
    /// # Errors
    /// What the database says.
    fn query(&self, sql: &str) -> Result<Vec<Vec<String>>, String>;

    /// Work that it has done for the server so far.
    ///
    /// # Errors
    /// When it does not count, or cannot be asked.
    fn counts(&self) -> Result<Counts, String>;
}

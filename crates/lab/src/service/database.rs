//! A database, as a verification sees it.

use super::postgres::Login;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::net::SocketAddr;
use std::ops::Sub;

/// Questions of a verifier to a database.
pub trait Database: Debug + Send + Sync {
    /// Executes one statement in the application's database, and gives its rows as text fields.
    ///
    /// # Errors
    /// When the statement fails, in words.
    fn query(&self, sql: &str) -> Result<Vec<Vec<String>>, String>;

    /// Work of the application's database so far; two calls with a load between them give what the load caused. A call
    /// does not count itself.
    ///
    /// # Errors
    /// When the statistics cannot be read, in words.
    fn counts(&self) -> Result<Counts, String>;

    /// Ends what connections it has open; the next question opens them again.
    fn close(&self) {}
}

/// Where a PostgreSQL can be asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DatabaseAt {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// Role and database of the server.
    pub(super) login: Login,
    /// Password of its roles.
    pub(super) password: String,
    /// Statements are counted.
    pub(super) counts: bool,
}

/// Work of a database since some moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// When they were read, on a clock of the database's machine, in nanoseconds.
    pub at_ns: u64,
    /// Statements that were executed, without those that begin and end transactions.
    pub statements: u64,
    /// Rows that statements have returned or changed.
    pub rows: u64,
}

impl Sub for Counts {
    type Output = Self;

    /// The work between two moments; 0 for a count that was reset in between.
    fn sub(self, earlier: Self) -> Self {
        Self {
            at_ns: self.at_ns.saturating_sub(earlier.at_ns),
            statements: self.statements.saturating_sub(earlier.statements),
            rows: self.rows.saturating_sub(earlier.rows),
        }
    }
}

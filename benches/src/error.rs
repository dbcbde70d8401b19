//! Errors of the benchmarks, with messages for the person at the terminal.

use std::fmt::Display;
use std::io;

/// Why a benchmark could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{doing}: {source}")]
    Io {
        /// Operation that was tried.
        doing: String,
        /// Error that the kernel returned.
        source: io::Error,
    },
    /// The engine gave up.
    #[error("prony's engine: {0}")]
    Engine(#[from] prony_engine::Error),
    /// A reference server gave up.
    #[error("prony's reference server: {0}")]
    Reference(#[from] prony_reference::Error),
    /// Another process did not do as it should.
    #[error("{name}: {problem}")]
    Process {
        /// The program.
        name: String,
        /// Description of the failure.
        problem: String,
    },
    /// A measurement that cannot be used.
    #[error("{0}")]
    Unusable(String),
}

/// The usual result here.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// For `map_err`: says what was tried.
    pub fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Io {
            doing: doing.into(),
            source,
        }
    }

    /// Returns an [`Error::Process`]: `name` is the program, `problem` its failure.
    pub fn process(name: impl Into<String>, problem: impl Display) -> Self {
        Self::Process {
            name: name.into(),
            problem: problem.to_string(),
        }
    }
}

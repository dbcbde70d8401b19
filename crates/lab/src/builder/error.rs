//! Why a server cannot be built.

use prony_record::{Failure, Step};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Why a server cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Programs are missing.
    #[error("needs {}, which is not on the PATH{}", programs.join(" and "), mend(apt))]
    Programs {
        /// Names of the programs.
        programs: Vec<String>,
        /// The Debian packages that have them.
        apt: Vec<String>,
    },
    /// Libraries of its toolchain are missing: its version cannot be told.
    #[error("its toolchain is not complete: {}{}", last_line(output), mend(apt))]
    Toolchain {
        /// The end of what the command printed that tells its version.
        output: String,
        /// The Debian packages of its toolchain.
        apt: Vec<String>,
    },
    /// Dependencies from a registry are not installed yet.
    #[error("needs {} from {from}; `prony servers setup {server}` installs it", packages.join(" "))]
    Dependencies {
        /// The server's name.
        server: String,
        /// The registry.
        from: String,
        /// The packages.
        packages: Vec<String>,
    },
    /// The container engine does not work.
    #[error("{0}")]
    Engine(String),
    /// A command failed.
    #[error("`{command}` failed ({status})")]
    Command {
        /// The command.
        command: String,
        /// How it ended.
        status: String,
        /// The end of what it printed.
        output: String,
    },
    /// The server cannot be built on another machine.
    #[error("{0}")]
    Elsewhere(String, Missing),
    /// The cache cannot be written, or the sources not be read.
    #[error("{what} {}: {source}", path.display())]
    File {
        /// Action that failed, such as `reading`.
        what: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Is a server not set up on a machine, rather than at fault?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing(pub bool);

impl BuildError {
    /// The server is not set up on this machine, which is no fault of the server.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Self::Programs { .. }
                | Self::Toolchain { .. }
                | Self::Dependencies { .. }
                | Self::Elsewhere(_, Missing(true))
        )
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let failure = Self::new(Step::Build, error.to_string());
        match error {
            BuildError::Command { output, .. } => failure.with_output(output),
            _ => failure,
        }
    }
}

fn mend(apt: &[String]) -> String {
    match apt {
        [] => String::new(),
        packages => format!("; on Debian: apt-get install {}", packages.join(" ")),
    }
}

fn last_line(text: &str) -> &str {
    text.lines().next_back().unwrap_or("its version is unknown")
}

pub(super) fn file(what: &'static str, path: &Path, source: io::Error) -> BuildError {
    BuildError::File {
        what,
        path: path.to_owned(),
        source,
    }
}

//! The `prony` command, for benchmarks of what users type.

use crate::error::{Error, Result};
use std::path::PathBuf;

/// It lies beside this program after `cargo build --release`.
///
/// # Errors
/// When it does not, and how to build it.
pub fn prony() -> Result<PathBuf> {
    let here = std::env::current_exe().map_err(Error::io("cannot find this program"))?;
    let prony = here.with_file_name("prony");
    if prony.is_file() {
        return Ok(prony);
    }
    let message = format!(
        "{} is not there: `cargo build --release` builds it",
        prony.display()
    );
    Err(Error::Unusable(message))
}

//! The command, which lies beside this program after `cargo build --release`.

use crate::error::{Error, Result};
use prony_record::CheckId;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

/// Once is enough.
static WARNED: Once = Once::new();

/// Where it is.
///
/// # Errors
/// When it was not built.
pub fn program() -> Result<PathBuf> {
    let here = std::env::current_exe().map_err(Error::io("cannot find this program"))?;
    let prony = here.with_file_name("prony");
    if prony.is_file() {
        if older(&prony, &here) {
            WARNED.call_once(|| {
                eprintln!(
                    "WARNING: {} is older than this program, and may be of an earlier version: `cargo build --release` builds both",
                    prony.display()
                );
            });
        }
        return Ok(prony);
    }
    let message = format!(
        "{} is not there: `cargo build --release` builds it",
        prony.display()
    );
    Err(Error::Unusable(message))
}

/// Was a file written before another?
fn older(file: &Path, other: &Path) -> bool {
    let written = |path: &Path| path.metadata().and_then(|it| it.modified()).ok();
    written(file) < written(other)
}

/// A figure with its 95% interval.
#[derive(Debug, Clone, Deserialize)]
pub struct Figure {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// A check that was raised.
#[derive(Debug, Clone, Deserialize)]
pub struct Check {
    pub name: CheckId,
}

/// The result of a capacity search, in requests per second.
#[derive(Debug, Clone, Deserialize)]
pub struct Capacity {
    pub capacity: Option<f64>,
    pub known: Known,
}

/// Confidence interval of the capacity, or the rates that bound it.
#[derive(Debug, Clone, Deserialize)]
pub struct Known {
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Why it is not known better.
    pub because: Vec<String>,
}

/// Runs `command`, which must have `--json`, and parses its standard output.
///
/// # Errors
/// When the command cannot be started, or prints something else; the error then has its standard error.
pub fn json<T: DeserializeOwned>(command: &mut Command) -> Result<T> {
    let output = command.output().map_err(Error::io("cannot start prony"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        let text = String::from_utf8_lossy(&output.stderr);
        Error::process("prony", format!("{error}: {}", text.trim()))
    })
}

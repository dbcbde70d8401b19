//! The git repository that the user stands in.

use std::process::Command;

/// Runs git and returns its standard output, trimmed.
///
/// Standard error of git when it fails, or why git cannot be run.
pub fn git(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .args(arguments)
        .output()
        .map_err(|error| format!("git cannot be run: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    }
}

/// Are there changes to its files that are not committed?
pub fn is_dirty() -> Result<bool, String> {
    git(&["status", "--porcelain", "--untracked-files=no"]).map(|changed| !changed.is_empty())
}

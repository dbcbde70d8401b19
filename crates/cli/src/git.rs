//! The git repository that the user stands in.

use std::process::Command;

/// What git prints, or why it did not.
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

//! The texts that a verb is to read: files, and standard input.

use miette::{IntoDiagnostic, Result, WrapErr, miette};
use std::collections::HashSet;
use std::io::Read;
use std::path::PathBuf;

/// What `-` is called.
const STANDARD_INPUT: &str = "standard input";

/// Reads each file, with its name; what is no UTF-8 in it is replaced.
pub fn read(files: &[PathBuf]) -> Result<Vec<(String, String)>> {
    let mut seen = HashSet::new();
    let mut texts = Vec::new();
    for file in files {
        let name = match file.to_str() {
            Some("-") => STANDARD_INPUT.to_owned(),
            _ => file.display().to_string(),
        };
        // A file that is given twice would be a copy of itself.
        if !seen.insert(name.clone()) {
            return Err(miette!("{name} is given twice"));
        }
        let bytes = if name == STANDARD_INPUT {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            std::fs::read(file)
        };
        let bytes = bytes
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot read {name}"))?;
        texts.push((name, String::from_utf8_lossy(&bytes).into_owned()));
    }
    Ok(texts)
}

//! Shell commands of a manifest, and what they print.

use super::BuildError;
use prony_record::inert;
use std::path::Path;
use std::process::{Command, Stdio};

/// How much of a command's output is shown when it fails, in bytes.
const SHOWN: usize = 4_000;

/// Runs a shell command in `folder`; gives what it printed.
pub(super) fn shell(line: &str, folder: &Path) -> Result<String, BuildError> {
    let failed = |status: String, output: String| BuildError::Command {
        command: line.to_owned(),
        status,
        output,
    };
    let result = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{line}")])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output();
    match result {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.success() {
                Ok(text)
            } else {
                Err(failed(output.status.to_string(), tail(&text, SHOWN)))
            }
        }
        Err(error) => Err(failed(error.to_string(), String::new())),
    }
}

pub(super) fn first_line(text: &str) -> String {
    inert::line(text.lines().next().unwrap_or("").trim()).into_owned()
}

/// The end of a text, at most `limit` bytes, from the beginning of a line where possible.
pub(crate) fn tail(text: &str, limit: usize) -> String {
    let text = text.trim_end();
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut start = text.len() - limit;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let cut = &text[start..];
    cut.split_once('\n')
        .map_or(cut, |(_, whole_lines)| whole_lines)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn a_tail_keeps_whole_lines() {
        assert_eq!(tail("short\n", 100), "short");
        assert_eq!(tail("first\nsecond\nthird", 9), "third");
        assert_eq!(tail("ééééé", 3), "é");
    }
}

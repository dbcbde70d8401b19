//! Shell commands of the user: before a server starts, after it has ended, to build it.

use crate::builder::tail;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Bytes of a failed command's output that are shown: its last ones.
const SHOWN: usize = 10_000;

/// A command, and where it runs.
#[derive(Debug, Clone, Default)]
pub struct Hook {
    /// Command line that `sh -c` runs.
    pub line: String,
    /// Where it runs.
    pub folder: PathBuf,
    /// Variables besides prony's own.
    pub env: BTreeMap<String, String>,
}

impl Hook {
    /// Runs it and waits for its end.
    ///
    /// # Errors
    /// When it cannot be started, or fails, with the end of its output.
    pub fn run(&self) -> Result<(), String> {
        let output = Command::new("sh")
            .args(["-c", &self.line])
            .current_dir(&self.folder)
            .envs(&self.env)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("`{}`: {error}", self.line))?;
        if output.status.success() {
            return Ok(());
        }
        let printed = [output.stdout, output.stderr].concat();
        let printed = tail(&String::from_utf8_lossy(&printed), SHOWN);
        let failed = format!("`{}` failed ({})", self.line, output.status);
        match printed.trim() {
            "" => Err(failed),
            printed => Err(format!("{failed}\n{printed}")),
        }
    }
}

/// A command that runs when this is dropped.
#[derive(Debug)]
pub(crate) struct AtEnd(pub(crate) Hook);

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Err(error) = self.0.run() {
            // Whatever was measured is not worth less for it.
            eprintln!("warning: clean-up: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(line: &str) -> Hook {
        Hook {
            line: line.into(),
            folder: std::env::temp_dir(),
            env: BTreeMap::from([("PORT".into(), "12345".into())]),
        }
    }

    #[test]
    fn it_has_the_variables_and_tells_why_it_failed() {
        assert_eq!(hook("test \"$PORT\" = 12345").run(), Ok(()));
        let told = hook("echo no table; exit 3").run().unwrap_err();
        assert!(
            told.contains("exit status: 3") && told.ends_with("no table"),
            "{told}"
        );
        assert!(
            hook("exit 4")
                .run()
                .unwrap_err()
                .ends_with("(exit status: 4)")
        );
    }

    #[test]
    fn what_is_to_run_at_the_end_runs_then() {
        let folder = tempfile::tempdir().unwrap();
        let mut hook = hook("touch done");
        hook.folder = folder.path().to_owned();
        let at_end = AtEnd(hook);
        assert!(!folder.path().join("done").exists());
        drop(at_end);
        assert!(folder.path().join("done").exists());
    }
}

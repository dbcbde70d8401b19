//! The names of what a Java virtual machine has compiled. Since Java 17 it writes them as a [map](crate::generated) when it is
//! asked through `jcmd`.

use crate::generated::map_of;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a virtual machine may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
const TURN: Duration = Duration::from_millis(5);

/// A map that was asked for, and is removed when it has been read.
pub(crate) struct Written(PathBuf);

impl Drop for Written {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Asks a process for its map, if it is a Java virtual machine and has written none by itself.
///
/// # Errors
/// Why there is none, in words.
pub(crate) fn ask(pid: u32) -> Result<Option<Written>, String> {
    let Ok(program) = fs::read_link(format!("/proc/{pid}/exe")) else {
        return Ok(None);
    };
    let path = map_of(pid);
    if program.file_name().is_none_or(|name| name != "java") || path.exists() {
        return Ok(None);
    }
    let beside = program.with_file_name("jcmd");
    let jcmd = match beside.exists() {
        true => beside.as_path(),
        false => Path::new("jcmd"),
    };
    let said = run(jcmd, pid).map_err(|error| {
        format!("compiled Java code has no names: jcmd cannot be run ({error}); it is part of a JDK, and a JRE has none")
    })?;
    match path.exists() {
        true => Ok(Some(Written(path))),
        false => Err(format!(
            "compiled Java code has no names: `jcmd PID Compiler.perfmap`, which Java 17 and later know, has written no map: {said}"
        )),
    }
}

/// Runs `jcmd` and returns its last line that is not empty, or in words why there is none.
fn run(jcmd: &Path, pid: u32) -> std::io::Result<String> {
    let mut child = Command::new(jcmd)
        .args([&pid.to_string(), "Compiler.perfmap"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let asked = Instant::now();
    while child.try_wait()?.is_none() {
        if asked.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(format!("no answer within {} s", PATIENCE.as_secs()));
        }
        std::thread::sleep(TURN);
    }
    // A few lines, which a pipe holds.
    let said = String::from_utf8_lossy(&child.wait_with_output()?.stdout).into_owned();
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Ok(last.unwrap_or("nothing was said").trim().to_owned())
}

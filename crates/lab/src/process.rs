//! A running server: started through the [supervisor](crate::supervisor), watched, and stopped.

use crate::builder::tail;
use crate::control_group::{Folders, Group};
use crate::leftovers;
use crate::placement;
use crate::supervisor::wait_for;
use prony_record::ServerLimits;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// How much of a server's output is shown when something is wrong with it.
const SHOWN: u64 = 2_000;
/// The longest that the supervisor may take to stop a server. It needs two seconds and a little, longer on
/// a busy machine; only one that hangs gets here, and what it was to stop may outlive it.
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// A server to start.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables besides prony's own.
    pub env: BTreeMap<String, String>,
    /// The server's CPUs.
    pub cpus: Vec<usize>,
    /// Limits of all its processes together.
    pub limits: ServerLimits,
    /// Where it runs.
    pub folder: PathBuf,
    /// Where its output goes: its first 64 KiB and its last 1 MiB are kept.
    pub log: PathBuf,
}

/// A server that was started. Dropping it stops it.
#[derive(Debug)]
pub struct Process {
    supervisor: Child,
    reports: BufReader<ChildStdout>,
    log: PathBuf,
    exit: Option<String>,
    /// None: it has no limits. After `supervisor`: removed when that has ended, if it is still there.
    group: Option<Group>,
}

impl Process {
    /// Starts a server. `prony` is this program, which is also the supervisor.
    ///
    /// # Errors
    /// When its program cannot be run, or the supervisor cannot, or it cannot be limited.
    pub fn start(prony: &Path, launch: &Launch) -> io::Result<Self> {
        let group =
            Group::new(&launch.limits).map_err(|error| io::Error::other(error.to_string()))?;
        let folders = serde_json::to_string(&group.as_ref().map(Group::folders))?;
        let mut supervisor = Command::new(prony)
            .arg("supervisor")
            .arg(placement::list(&launch.cpus))
            .arg(folders)
            .args(&launch.command)
            .envs(&launch.env)
            .current_dir(&launch.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(crate::server_log::create(&launch.log)?)
            .spawn()?;
        let stdout = supervisor
            .stdout
            .take()
            .expect("its standard output was asked for");
        let mut this = Self {
            supervisor,
            reports: BufReader::new(stdout),
            log: launch.log.clone(),
            exit: None,
            group,
        };
        let line = this.line()?;
        match line.split_once(' ') {
            Some(("pid", _)) => Ok(this),
            Some(("failed", why)) => Err(io::Error::other(why.to_owned())),
            _ => Err(io::Error::other(format!(
                "the supervisor did not start: {}",
                this.output()
            ))),
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.reports.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// The process above the server: everything below it belongs to the server.
    pub fn root(&self) -> libc::pid_t {
        self.supervisor.id() as libc::pid_t
    }

    /// Control group of the server; None: it has no limits.
    pub fn group(&self) -> Option<&Folders> {
        self.group.as_ref().map(Group::folders)
    }

    /// How the server ended by itself, if it has, in words that follow its name: `ended with status 1`.
    pub fn exited(&mut self) -> Option<&str> {
        if self.exit.is_none() {
            let fd = self.reports.get_ref().as_raw_fd();
            if wait_for(&[fd], Some(Duration::ZERO)).is_ok_and(|ready| ready != 0) {
                let line = self.line().unwrap_or_default();
                self.exit = Some(
                    line.strip_prefix("exit ")
                        .unwrap_or("ended when its supervisor was killed")
                        .to_owned(),
                );
            }
        }
        self.exit.as_deref()
    }

    /// The end of what it printed.
    pub fn output(&self) -> String {
        last_output(&self.log)
    }

    /// Stops the server and everything that it started, and waits until it is gone.
    pub fn stop(mut self) {
        self.stop_now();
    }

    fn stop_now(&mut self) {
        // The end of its standard input tells the supervisor to stop the server.
        drop(self.supervisor.stdin.take());
        let fd = self.reports.get_ref().as_raw_fd();
        if self.exit.is_none() && wait_for(&[fd], Some(STOP_LIMIT)).is_ok_and(|ready| ready != 0) {
            self.exit = Some(self.line().unwrap_or_default());
        }
        if self.exit.is_none() {
            let _ = self.supervisor.kill();
        }
        if !self.supervisor.wait().is_ok_and(|status| status.success()) {
            leftovers::end_processes();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop_now();
    }
}

fn last_output(log: &Path) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(2 * SHOWN)))?;
        let mut bytes = Vec::new();
        file.take(2 * SHOWN).read_to_end(&mut bytes)?;
        Ok(tail(&String::from_utf8_lossy(&bytes), SHOWN as usize))
    };
    read().unwrap_or_default()
}

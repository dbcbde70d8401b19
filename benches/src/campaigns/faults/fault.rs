//! Faults other than signals.

use super::scene::{Scene, Verb};
use crate::error::{Error, Result};
use rusqlite::Connection;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The signals, by name. A process that is stopped goes on after a moment.
pub const SIGNALS: [(i32, &str); 5] = [
    (libc::SIGKILL, "KILL"),
    (libc::SIGTERM, "TERM"),
    (libc::SIGINT, "INT"),
    (libc::SIGHUP, "HUP"),
    (libc::SIGSTOP, "STOP, CONT"),
];

/// Makes clocks jump: Debian's `faketime`.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/// Kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    DiskFull,
    ReadOnly,
    Locked,
    LaterVersion,
    Damaged,
    TwoRuns,
    ClockBack,
    ClockForth,
    FewDescriptors,
    LittleMemory,
    OutputClosed,
    OutputFull,
    NoHome,
    FolderGone,
}

/// All of them.
pub const ALL: [Fault; 14] = [
    Fault::DiskFull,
    Fault::ReadOnly,
    Fault::Locked,
    Fault::LaterVersion,
    Fault::Damaged,
    Fault::TwoRuns,
    Fault::ClockBack,
    Fault::ClockForth,
    Fault::FewDescriptors,
    Fault::LittleMemory,
    Fault::OutputClosed,
    Fault::OutputFull,
    Fault::NoHome,
    Fault::FolderGone,
];

/// How the command has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// With success, as without the fault.
    Well,
    /// The same, but with these words on standard error.
    WellSaying(&'static str),
    /// With an error that says what is wrong, in these words.
    Saying(&'static str),
    /// Well, or with an error in whatever words.
    Either,
}

impl Fault {
    pub fn name(self) -> &'static str {
        match self {
            Self::DiskFull => "the notebook's disk is full",
            Self::ReadOnly => "the notebook's disk is read-only",
            Self::Locked => "the notebook is locked",
            Self::LaterVersion => "the notebook is of a later version",
            Self::Damaged => "the notebook has damaged pages",
            Self::TwoRuns => "two runs at once",
            Self::ClockBack => "the clock jumps back by an hour",
            Self::ClockForth => "the clock jumps ahead by an hour",
            Self::FewDescriptors => "few descriptors",
            Self::LittleMemory => "little memory",
            Self::OutputClosed => "standard output is closed",
            Self::OutputFull => "standard output is full",
            Self::NoHome => "no HOME",
            Self::FolderGone => "the folder is deleted",
        }
    }

    /// Why it cannot be made here, if it cannot.
    pub fn impossible(self) -> Option<&'static str> {
        // SAFETY: a plain system call without arguments.
        let root = unsafe { libc::geteuid() } == 0;
        match self {
            Self::DiskFull | Self::ReadOnly if !root => Some("only root can mount"),
            Self::ClockBack | Self::ClockForth if !Path::new(FAKETIME).exists() => {
                Some("it needs Debian's package faketime")
            }
            _ => None,
        }
    }

    fn end(self) -> End {
        match self {
            Self::TwoRuns | Self::ClockBack | Self::ClockForth | Self::NoHome => End::Well,
            Self::Locked | Self::DiskFull => End::WellSaying("the notebook cannot be written"),
            // Before anything is measured.
            Self::ReadOnly => End::Saying("is its folder, readable and writable?"),
            Self::LaterVersion => End::Saying("update prony"),
            Self::OutputFull => End::Saying("standard output"),
            Self::Damaged
            | Self::FewDescriptors
            | Self::LittleMemory
            | Self::OutputClosed
            | Self::FolderGone => End::Either,
        }
    }

    /// Is the notebook one that can be looked at afterwards?
    fn leaves_the_notebook(self) -> bool {
        !matches!(self, Self::LaterVersion | Self::Damaged | Self::FolderGone)
    }

    /// Makes it happen to `verb`, `moment` after its start where that can be chosen; gives what is not as it has
    /// to be.
    pub fn make(self, program: &Path, verb: Verb, moment: Duration) -> Result<Vec<String>> {
        let scene = Scene::new(program)?;
        let held = self.before(&scene)?;
        let mut started = scene.start(verb, |command, scene| self.around(command, scene))?;
        let second = (self == Self::TwoRuns).then(|| {
            let mut command = scene.command(&["run", "it.toml", "--quiet"]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).status()
        });
        std::thread::sleep(moment);
        self.meanwhile(&scene)?;
        let mut wrong = Vec::new();
        match scene.end(&mut started) {
            None => wrong.push("it did not end".into()),
            Some(status) => {
                let complaint = scene.complaint();
                match self.end() {
                    End::Well | End::WellSaying(_) if !status.success() => {
                        wrong.push(format!("it failed ({status}): {complaint}"));
                    }
                    End::WellSaying(words) if !complaint.contains(words) => {
                        wrong.push(format!("it did not say `{words}`: {complaint}"));
                    }
                    End::Saying(words) if status.success() || !complaint.contains(words) => {
                        wrong.push(format!("it did not say `{words}` ({status}): {complaint}"));
                    }
                    _ if !status.success() && complaint.trim().is_empty() => {
                        wrong.push(format!("it failed without a word: {status}"));
                    }
                    _ => {}
                }
            }
        }
        if let Some(Ok(status)) = second.filter(|it| !matches!(it, Ok(status) if status.success()))
        {
            wrong.push(format!("the other run failed: {status}"));
        }
        drop(held);
        wrong.extend(scene.wrong(&started, self.leaves_the_notebook()));
        scene.sweep();
        if self.leaves_the_notebook() {
            wrong.extend(scene.wrong_afterwards());
            scene.sweep();
        }
        Ok(wrong)
    }

    /// Prepares the notebook before the command starts. The connection that it returns, if any, must be held until the
    /// command has ended.
    fn before(self, scene: &Scene) -> Result<Option<Connection>> {
        let path = scene.path("notebook.db");
        let notebook = || Connection::open(&path).map_err(unusable);
        match self {
            Self::Locked => {
                let notebook = notebook()?;
                notebook
                    .execute_batch("BEGIN IMMEDIATE")
                    .map_err(unusable)?;
                return Ok(Some(notebook));
            }
            Self::LaterVersion => {
                let notebook = notebook()?;
                let later = notebook.pragma_update(None, "user_version", 1_000_000);
                later.map_err(unusable)?;
            }
            Self::Damaged => {
                drop(notebook()?);
                let damaged = Error::io("cannot damage the notebook");
                let write = || {
                    let mut file = OpenOptions::new().write(true).open(&path)?;
                    let length = file.metadata()?.len();
                    file.seek(SeekFrom::Start(length / 4))?;
                    file.write_all(&vec![0xa5; (length / 2) as usize])
                };
                write().map_err(damaged)?;
            }
            _ => {}
        }
        Ok(None)
    }

    /// The command in the circumstances that it is to meet from its start on.
    fn around(self, mut command: Command, scene: &Scene) -> Command {
        match self {
            Self::DiskFull => mounted(&command, scene, "mount -t tmpfs -o size=160k none disk"),
            Self::ReadOnly => mounted(
                &command,
                scene,
                "mount -t tmpfs none disk && cp notebook.db disk && mount -o remount,ro disk",
            ),
            Self::ClockBack | Self::ClockForth => {
                // Only the clock on the wall: no other one can jump.
                let _ = fs::write(scene.path("clock"), "+0\n");
                command
                    .env("LD_PRELOAD", FAKETIME)
                    .env("FAKETIME_TIMESTAMP_FILE", scene.path("clock"))
                    .env("FAKETIME_NO_CACHE", "1")
                    .env("DONT_FAKE_MONOTONIC", "1");
                command
            }
            Self::FewDescriptors => limited(command, libc::RLIMIT_NOFILE, 24),
            Self::LittleMemory => limited(command, libc::RLIMIT_AS, 120 << 20),
            Self::OutputClosed => {
                // A pipe that nothing reads.
                if let Ok((reader, writer)) = std::io::pipe() {
                    drop(reader);
                    command.stdout(writer);
                }
                command
            }
            Self::OutputFull => {
                if let Ok(full) = OpenOptions::new().write(true).open("/dev/full") {
                    command.stdout::<File>(full);
                }
                command
            }
            Self::NoHome => {
                command
                    .env_remove("HOME")
                    .env_remove("PRONY_CACHE")
                    .env("XDG_CACHE_HOME", scene.path("cache"));
                command
            }
            _ => command,
        }
    }

    /// Makes the faults that happen while the command runs: clocks that jump, a folder that goes away.
    fn meanwhile(self, scene: &Scene) -> Result<()> {
        let jump = |by: &str| {
            fs::write(scene.path("clock"), by).map_err(Error::io("cannot change the clock"))
        };
        match self {
            Self::ClockBack => jump("-1h\n"),
            Self::ClockForth => jump("+1h\n"),
            Self::FolderGone => {
                // What is written there meanwhile may keep it from going whole.
                let _ = fs::remove_dir_all(scene.path(""));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn unusable(error: rusqlite::Error) -> Error {
    Error::Unusable(format!("the notebook cannot be prepared: {error}"))
}

/// The command with its notebook on a disk of its own, which is mounted where only it can see it.
fn mounted(command: &Command, scene: &Scene, mount: &str) -> Command {
    let _ = fs::create_dir_all(scene.path("disk"));
    let mut wrapped = Command::new("unshare");
    wrapped.args(["--mount", "sh", "-c"]);
    // The disk is gone with the namespace, and what was saved on it instead of in the notebook is wanted.
    let keep = "cp disk/prony-*.json . 2>/dev/null";
    wrapped.arg(format!(
        "{mount} || exit; \"$0\" \"$@\"; status=$?; {keep}; exit $status"
    ));
    wrapped.arg(command.get_program()).args(command.get_args());
    scene.furnish(&mut wrapped);
    wrapped.env("PRONY_NOTEBOOK", scene.path("disk/notebook.db"));
    let said = |name: &str| OpenOptions::new().append(true).open(scene.said(name));
    if let (Ok(stdout), Ok(stderr)) = (said("stdout"), said("stderr")) {
        wrapped.stdout(stdout).stderr(stderr);
    }
    wrapped
}

/// The command with at most so much of something.
fn limited(mut command: Command, what: libc::__rlimit_resource_t, most: u64) -> Command {
    let limit = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    let set = move || {
        // SAFETY: one valid structure; the call is async-signal-safe.
        match unsafe { libc::setrlimit(what, &raw const limit) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: `set` makes one async-signal-safe call and allocates nothing.
    unsafe { command.pre_exec(set) };
    command
}

//! Processes and folders that a killed prony has left behind. Its [supervisor](crate::supervisor) ends the server then.
//! But the supervisor may have been killed too, and only what it started directly goes with it. Every process below a
//! supervisor carries the supervisor's number in its environment. A process that has lost its supervisor is found by
//! this number and ended: at the end of the trial, or when prony starts again. Temporary folders are found in the same
//! way, by locks, which end with their holders.

use crate::pidfd;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The variable that every process below a supervisor has.
pub(crate) const MARK: &str = "PRONY_SUPERVISOR";
/// Temporary folders are called this and some random letters.
const PREFIX: &str = "prony-";
/// A folder's lock is the file beside it that is called as the folder is, and this. It is made before the folder and removed
/// after it, so that there is no folder without it. The folder itself would not do as its own lock: over NFS, folders are
/// locked on one machine only.
const LOCK: &str = ".in-use";
/// A process may make new ones while it is ended, but not without end.
const TRIES: u32 = 100;

/// The variable and its value for what this supervisor starts. Numbers of processes mean something in one namespace
/// only, so that is in it.
pub(crate) fn mark() -> (&'static str, String) {
    (MARK, format!("{}:{}", namespace(), std::process::id()))
}

fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().into_owned()
}

/// The number of the namespace of process numbers.
pub(crate) fn namespace_number() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |it| it.ino())
}

/// Ends every process whose supervisor is gone, and tells how many there were.
pub fn end_processes() -> usize {
    let own = namespace();
    let mut ended = 0;
    for _ in 0..TRIES {
        let lost: Vec<libc::pid_t> = all_processes().filter(|&pid| is_lost(pid, &own)).collect();
        if lost.is_empty() {
            break;
        }
        for pid in lost {
            ended += usize::from(end(pid, &own));
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    ended
}

fn all_processes() -> impl Iterator<Item = libc::pid_t> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Does a process carry the number of a supervisor of this namespace that is gone? One that has ended has no
/// environment, and one of another user cannot be asked.
fn is_lost(pid: libc::pid_t, namespace: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let value = environment.split(|&byte| byte == 0).find_map(|variable| {
        let text = std::str::from_utf8(variable).ok()?;
        text.strip_prefix(MARK)?.strip_prefix('=')
    });
    let supervisor = value.and_then(|value| {
        let (own, number) = value.rsplit_once(':')?;
        number.parse().ok().filter(|_| own == namespace)
    });
    supervisor.is_some_and(|supervisor| !is_supervisor(supervisor)) && !is_above(pid)
}

/// Should the number belong to another process by now, that is no supervisor, or one that has a server of its own: then
/// what is lost stays, and nothing else is ended.
fn is_supervisor(pid: libc::pid_t) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|&byte| byte == 0).nth(1) == Some(b"supervisor")
}

/// Is it this process, or one above it? A server may start prony too.
fn is_above(pid: libc::pid_t) -> bool {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    let above = std::iter::successors(Some(std::process::id()), |&pid| parent(pid));
    above
        .take_while(|&pid| pid != 0)
        .any(|it| it as libc::pid_t == pid)
}

/// Ends a process, if it is still the one that was looked at.
fn end(pid: libc::pid_t, namespace: &str) -> bool {
    let Ok(process) = pidfd::open(pid) else {
        return false;
    };
    // Its number may have got a new owner since; from here on the descriptor stays with what is looked at now.
    is_lost(pid, namespace) && pidfd::send(&process, libc::SIGKILL).is_ok()
}

/// A temporary folder. It goes when this is dropped, or, should prony be killed, when prony starts the next time.
#[derive(Debug)]
pub struct Scratch {
    folder: RemovedFolder,
    /// Dropped after the folder: its file is removed, and then unlocked.
    _lock: NamedTempFile,
}

/// Removed when it is dropped.
#[derive(Debug)]
struct RemovedFolder(PathBuf);

impl Drop for RemovedFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Scratch {
    /// A new one among the system's temporary files; those of pronys that have ended are removed first.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> io::Result<Self> {
        Self::below(&std::env::temp_dir())
    }

    fn below(above: &Path) -> io::Result<Self> {
        remove_folders(above);
        let lock = loop {
            let mut file = tempfile::Builder::new();
            let file = file.prefix(PREFIX).suffix(LOCK).tempfile_in(above)?;
            if is_locked_now(&file)? {
                break file;
            }
        };
        let folder = folder_of(lock.path());
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self {
            folder: RemovedFolder(folder),
            _lock: lock,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder.0
    }
}

/// Locks a new file; false when another prony, which found it before it was locked, has removed it or is about to.
fn is_locked_now(file: &NamedTempFile) -> io::Result<bool> {
    match file.as_file().try_lock() {
        Ok(()) => file.path().try_exists(),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn folder_of(lock: &Path) -> PathBuf {
    lock.with_extension("")
}

/// Removes this user's temporary folders whose lock no process holds.
fn remove_folders(above: &Path) {
    // SAFETY: a plain system call.
    let user = unsafe { libc::geteuid() };
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    let locks = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with(PREFIX) && name.ends_with(LOCK)
    });
    for path in locks.map(|entry| entry.path()) {
        if !fs::symlink_metadata(&path).is_ok_and(|it| it.uid() == user && it.is_file()) {
            continue;
        }
        // Over NFS only a file that is open for writing can be locked for one process alone.
        let Ok(lock) = File::options().write(true).open(&path) else {
            continue;
        };
        if lock.try_lock().is_err() {
            continue;
        }
        let removed = fs::remove_dir_all(folder_of(&path));
        // With its lock, a folder that is still there is found again.
        if removed.map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true) {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn what_has_lost_its_supervisor_is_ended_and_nothing_else() {
        let sleeper = |mark: Option<String>| {
            let mut command = Command::new("sleep");
            command.arg("1000").stdin(Stdio::null()).env_remove(MARK);
            command.envs(mark.map(|mark| (MARK, mark)));
            command.spawn().unwrap()
        };
        // No process has the number of one that is gone: this one was just reaped.
        let mut gone = sleeper(None);
        let number = gone.id();
        gone.kill().unwrap();
        gone.wait().unwrap();
        let own = namespace();
        let mut lost = sleeper(Some(format!("{own}:{number}")));
        let mut others = [
            sleeper(None),
            sleeper(Some(format!("pid:[1]:{number}"))),
            sleeper(Some("nonsense".into())),
        ];
        // A process has its environment only after exec.
        let has_mark = |pid: u32| is_lost(pid as libc::pid_t, &own);
        while !has_mark(lost.id()) && lost.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        end_processes();
        assert!(!lost.wait().unwrap().success());
        for other in &mut others {
            assert!(other.try_wait().unwrap().is_none());
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }

    #[test]
    fn folders_that_nobody_uses_are_removed() {
        let above = tempfile::tempdir().unwrap();
        let path = |name: &str| above.path().join(name);
        let folder = |name: &str| {
            fs::create_dir(path(name)).unwrap();
            fs::write(path(name).join("x"), "").unwrap();
        };
        // Killed while the folder was used; before it was made, or after it was removed; somebody else's.
        for name in ["prony-left", "prony-other", "elsewhere"] {
            folder(name);
        }
        for name in ["prony-left.in-use", "prony-early.in-use", "other.in-use"] {
            fs::write(path(name), "").unwrap();
        }
        let link = |name| std::os::unix::fs::symlink(path("elsewhere"), path(name)).unwrap();
        link("prony-link.in-use");
        let first = Scratch::below(above.path()).unwrap();
        let second = Scratch::below(above.path()).unwrap();
        for gone in ["prony-left", "prony-left.in-use", "prony-early.in-use"] {
            assert!(!path(gone).exists(), "{gone}");
        }
        for kept in [
            "prony-other/x",
            "other.in-use",
            "elsewhere/x",
            "prony-link.in-use",
        ] {
            assert!(path(kept).exists(), "{kept}");
        }
        assert!(first.path().exists() && second.path().exists());
        let mode = fs::metadata(first.path()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        let (lock, path) = (first._lock.path().to_owned(), first.path().to_owned());
        assert!(lock.exists());
        drop(first);
        assert!(!path.exists() && !lock.exists());
    }

    #[test]
    fn nobody_removes_what_another_has_just_made() {
        let above = tempfile::tempdir().unwrap();
        let make = || {
            for _ in 0..100 {
                let scratch = Scratch::below(above.path()).unwrap();
                fs::write(scratch.path().join("x"), "").unwrap();
                remove_folders(above.path());
                assert!(scratch.path().join("x").exists());
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(make);
            }
        });
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_lock_that_another_holds_or_has_removed_is_none() {
        let above = tempfile::tempdir().unwrap();
        let new = || NamedTempFile::new_in(above.path()).unwrap();
        let (held, removed, free) = (new(), new(), new());
        let other = File::open(held.path()).unwrap();
        other.lock().unwrap();
        fs::remove_file(removed.path()).unwrap();
        assert!(!is_locked_now(&held).unwrap());
        assert!(!is_locked_now(&removed).unwrap());
        assert!(is_locked_now(&free).unwrap());
    }
}

//! What a prony that was killed has left behind. Its [supervisor](crate::supervisor) ends the server then; but the supervisor may
//! have been killed too, and only what it started directly goes with it. Every process below a supervisor carries the
//! supervisor's number in its environment, so what has lost it is found and ended: at the end of the trial, or when
//! prony starts the next time. Temporary folders are found in the same way, by a lock that ends with its holder.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The variable that every process below a supervisor has.
pub(crate) const MARK: &str = "PRONY_SUPERVISOR";
/// What temporary folders are called at first.
const PREFIX: &str = "prony-";
/// The file in a temporary folder that its prony holds locked while it uses the folder.
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
    // SAFETY: plain system calls; the descriptor is owned from its opening on.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if fd < 0 {
            return false;
        }
        let fd = OwnedFd::from_raw_fd(fd as libc::c_int);
        // Its number may have got a new owner since; from here on the descriptor stays with what is looked at now.
        if !is_lost(pid, namespace) {
            return false;
        }
        let nothing = std::ptr::null::<libc::siginfo_t>();
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            fd.as_raw_fd(),
            libc::SIGKILL,
            nothing,
            0,
        ) == 0
    }
}

/// A temporary folder. It goes when this is dropped, or, should prony be killed, when prony starts the next time.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    _lock: File,
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
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(above)?;
        // Locked before it has its name: another prony removes what it finds unlocked.
        let unnamed = folder.path().join(".new");
        let lock = File::create(&unnamed)?;
        lock.lock()?;
        fs::rename(unnamed, folder.path().join(LOCK))?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes this user's temporary folders whose lock no process holds.
fn remove_folders(above: &Path) {
    // SAFETY: a plain system call.
    let user = unsafe { libc::geteuid() };
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for path in named.map(|entry| entry.path()) {
        let own = |path: &PathBuf| {
            fs::symlink_metadata(path).is_ok_and(|it| it.uid() == user && !it.is_symlink())
        };
        let lock = path.join(LOCK);
        // One that is being made has no lock yet: it is left.
        if !own(&path) || !own(&lock) {
            continue;
        }
        if File::open(&lock).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(&path);
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
        let made = |name: &str, lock: bool| {
            let path = above.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("x"), "").unwrap();
            if lock {
                fs::write(path.join(LOCK), "").unwrap();
            }
            path
        };
        let (left, new, other) = (
            made("prony-left", true),
            made("prony-new", false),
            made("other", true),
        );
        let first = Scratch::below(above.path()).unwrap();
        let second = Scratch::below(above.path()).unwrap();
        assert!(!left.exists() && new.exists() && other.exists());
        assert!(first.path().exists() && second.path().exists());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}

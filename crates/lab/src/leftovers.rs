//! What a prony that was killed has left behind. Its [supervisor](crate::supervisor) ends the server then; but the supervisor may
//! have been killed too, and only what it started directly goes with it. Every process below a supervisor carries the
//! supervisor's number in its environment, so what has lost it is found and ended: at the end of the trial, or when
//! prony starts the next time. Temporary folders are found in the same way, by their locks, which end with their holders.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tempfile::TempDir;

/// The variable that every process below a supervisor has.
pub(crate) const MARK: &str = "PRONY_SUPERVISOR";
/// What the names of temporary folders begin with. Whatever has such a name and is not locked is removed, so nobody else
/// should think of it.
const PREFIX: &str = "prony-tmp-";
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
    /// The folder itself, locked. It ends after `folder`, so what is killed while it removes the folder is found too.
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
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(above)?;
            // Until it is locked, another prony takes it for one whose prony was killed, and may remove it.
            if let Some(lock) = lock(folder.path())? {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Locks a new folder; nothing when another prony has removed it, or is about to.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let gone = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Ok(None),
        _ => Err(error),
    };
    let open = match File::open(folder) {
        Ok(open) => open,
        Err(error) => return gone(error),
    };
    match open.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    match fs::metadata(folder) {
        Ok(_) => Ok(Some(open)),
        Err(error) => gone(error),
    }
}

/// Removes this user's temporary folders whose lock no process holds.
fn remove_folders(above: &Path) {
    // SAFETY: a plain system call.
    let user = unsafe { libc::geteuid() };
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for path in named.map(|entry| entry.path()) {
        // A link is no folder here, wherever it leads.
        let own = fs::symlink_metadata(&path).is_ok_and(|it| it.uid() == user && it.is_dir());
        if !own {
            continue;
        }
        let Ok(folder) = File::open(&path) else {
            continue;
        };
        if folder.try_lock().is_ok() {
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
        let made = |name: &str| {
            let path = above.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("x"), "").unwrap();
            path
        };
        let (left, other) = (made("prony-tmp-left"), made("prony-other"));
        let (empty, elsewhere) = (
            above.path().join("prony-tmp-empty"),
            above.path().join("elsewhere"),
        );
        fs::create_dir(&empty).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        let link = above.path().join("prony-tmp-link");
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        let first = Scratch::below(above.path()).unwrap();
        let second = Scratch::below(above.path()).unwrap();
        assert!(!left.exists() && !empty.exists());
        assert!(other.exists() && elsewhere.exists() && link.exists());
        assert!(first.path().exists() && second.path().exists());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
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
    fn a_folder_that_is_gone_or_locked_is_no_new_one() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("it");
        assert!(lock(&path).unwrap().is_none());
        fs::create_dir(&path).unwrap();
        let held = lock(&path).unwrap();
        assert!(held.is_some());
        assert!(lock(&path).unwrap().is_none());
    }
}

//! Other processes: pinned, bounded in time, and never left behind.

use crate::error::{Error, Result};
use crate::place;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A process that was started here and is killed when this is dropped. It also dies with the thread
/// that started it (`PR_SET_PDEATHSIG`), so start it on the main thread: then nothing outlives this
/// program, whatever way it ends.
#[derive(Debug)]
pub struct Child {
    name: String,
    pid: libc::pid_t,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: Option<JoinHandle<String>>,
    reaped: bool,
}

/// How a process ended, what it said and what it used.
#[derive(Debug)]
pub struct Ended {
    /// Exit code or signal of the process.
    pub status: ExitStatus,
    /// Remaining standard output: everything that was not read before the end.
    pub stdout: String,
    /// Standard error of the process; empty where it went elsewhere.
    pub stderr: String,
    /// CPU time of its whole life, in nanoseconds, user and system together, with that of the
    /// children that it has waited for.
    pub cpu_ns: u64,
}

impl Child {
    /// Starts `command` on `cpu`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: Command, cpu: usize) -> Result<Self> {
        Self::start_saying(command, cpu, Stdio::piped())
    }

    /// The same with its standard error elsewhere.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_saying(mut command: Command, cpu: usize, stderr: Stdio) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let name = name.rsplit('/').next().unwrap_or_default().to_owned();
        let parent = std::process::id();
        let prepare = move || {
            place::pin(cpu)?;
            // SAFETY: plain system calls without pointers.
            let (result, now) = unsafe {
                let result = libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                (result, libc::getppid())
            };
            if result < 0 {
                return Err(io::Error::last_os_error());
            }
            // The parent may have died before the child could ask to die with it.
            if u32::try_from(now) == Ok(parent) {
                Ok(())
            } else {
                Err(io::Error::from_raw_os_error(libc::ESRCH))
            }
        };
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr);
        // SAFETY: `prepare` makes only async-signal-safe calls and allocates nothing.
        unsafe { command.pre_exec(prepare) };
        let mut child = command
            .spawn()
            .map_err(Error::io(format!("cannot start {name}")))?;
        Ok(Self {
            name,
            pid: child.id() as libc::pid_t,
            stdout: child.stdout.take().map(BufReader::new),
            stderr: child.stderr.take().map(read_aside),
            reaped: false,
        })
    }

    /// Process id of the child.
    pub fn id(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Returns the next line of the child's standard output, without white space at its end.
    ///
    /// # Errors
    /// When the child ends without another line; the error has its standard error.
    pub fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if let Some(stdout) = &mut self.stdout {
            let read = stdout.read_line(&mut line);
            read.map_err(Error::io(format!("cannot read from {}", self.name)))?;
        }
        if line.is_empty() {
            let ended = self.end(Duration::from_secs(1))?;
            return Err(self.complaint(&ended, "ended at once"));
        }
        Ok(line.trim_end().to_owned())
    }

    /// Asks it to end, as Ctrl-C would.
    pub fn terminate(&self) {
        self.signal(libc::SIGTERM);
    }

    /// Waits for its end, no longer than `limit`.
    ///
    /// # Errors
    /// When it takes longer, and is then killed.
    pub fn end(&mut self, limit: Duration) -> Result<Ended> {
        // Read in a thread: a process whose output is not read may block for ever.
        let stdout = self.stdout.take().map(read_aside);
        if !self.ends_within(limit)? {
            self.signal(libc::SIGKILL);
            self.reap()?;
            let problem = format!("had not ended after {limit:.0?} and was killed");
            return Err(Error::process(&self.name, problem));
        }
        let (status, cpu_ns) = self.reap()?;
        let text = |aside: Option<JoinHandle<String>>| {
            aside.and_then(|it| it.join().ok()).unwrap_or_default()
        };
        Ok(Ended {
            status,
            stdout: text(stdout),
            stderr: text(self.stderr.take()),
            cpu_ns,
        })
    }

    /// The error that this process, which ended, amounts to.
    pub fn complaint(&self, ended: &Ended, problem: &str) -> Error {
        let said = match (ended.stderr.trim(), ended.stdout.trim()) {
            ("", "") => "it said nothing",
            ("", stdout) => stdout,
            (stderr, _) => stderr,
        };
        Error::process(&self.name, format!("{problem} ({}): {said}", ended.status))
    }

    fn ends_within(&self, limit: Duration) -> Result<bool> {
        // SAFETY: a plain system call without pointers, on a process not reaped yet.
        let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, self.pid, 0) };
        if raw < 0 {
            return Err(Error::io("pidfd_open")(io::Error::last_os_error()));
        }
        // SAFETY: just opened, so this is its only owner.
        let fd = unsafe { OwnedFd::from_raw_fd(raw as libc::c_int) };
        let mut poll = libc::pollfd {
            fd: fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let limit = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one valid pollfd, and its number is given.
        Ok(unsafe { libc::poll(&raw mut poll, 1, limit) } > 0)
    }

    fn reap(&mut self) -> Result<(ExitStatus, u64)> {
        let mut status = 0;
        // SAFETY: an all-zero rusage is valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are valid for writes; the process is ours and not reaped yet.
        let pid = unsafe { libc::wait4(self.pid, &raw mut status, 0, &raw mut usage) };
        if pid < 0 {
            return Err(Error::io("wait4")(io::Error::last_os_error()));
        }
        self.reaped = true;
        Ok((ExitStatus::from_raw(status), cpu_ns(&usage)))
    }

    fn signal(&self, signal: libc::c_int) {
        if !self.reaped {
            // SAFETY: a plain system call; the process is ours and not reaped, so its id is its own.
            unsafe { libc::kill(self.pid, signal) };
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal(libc::SIGKILL);
            // There is no caller left to report an error to.
            let _ = self.reap();
        }
    }
}

/// User and system time together.
pub fn cpu_ns(usage: &libc::rusage) -> u64 {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

fn read_aside<R: Read + Send + 'static>(mut from: R) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is still worth showing.
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

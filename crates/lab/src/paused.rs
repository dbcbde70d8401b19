//! Servers that are stopped while they rest, so that they use no CPU time.

use crate::pidfd;
use crate::tree::{Root, descendants};
use std::io;
use std::os::fd::OwnedFd;

/// A server may make new processes while it is stopped, but not without end.
const TRIES: u32 = 100;

/// The processes of a server, stopped (SIGSTOP). Dropping it lets them go on (SIGCONT).
#[derive(Debug, Default)]
pub(crate) struct Paused(Vec<(libc::pid_t, OwnedFd)>);

impl Paused {
    /// Stops a server that runs below this supervisor. None, and the server goes on, if it does not run there (only
    /// what its supervisor can end is stopped, should prony be killed meanwhile), or one of its processes may not be
    /// stopped.
    pub(crate) fn new(server: Root, supervisor: libc::pid_t) -> Option<Self> {
        if server.pid != supervisor && !descendants(supervisor).contains(&server.pid) {
            return None;
        }
        let mut paused = Self::default();
        for _ in 0..TRIES {
            let going = paused.going(server);
            if going.is_empty() {
                return Some(paused);
            }
            for pid in going {
                match stop(pid) {
                    Ok(process) => paused.0.push((pid, process)),
                    Err(error) if has_ended(&error) => {}
                    Err(_) => return None,
                }
            }
        }
        None
    }

    /// Processes of the server that have not been stopped yet, parents before their children.
    fn going(&self, server: Root) -> Vec<libc::pid_t> {
        let mut all = server.processes();
        all.retain(|pid| !self.0.iter().any(|(stopped, _)| stopped == pid));
        all
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        // Children first: a parent that watches them finds them at work.
        for (_, process) in self.0.iter().rev() {
            // One that was killed meanwhile cannot go on.
            let _ = pidfd::send(process, libc::SIGCONT);
        }
    }
}

fn stop(pid: libc::pid_t) -> io::Result<OwnedFd> {
    let process = pidfd::open(pid)?;
    pidfd::send(&process, libc::SIGSTOP).map(|()| process)
}

fn has_ended(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Stat, cpu_time};
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    /// A shell whose child keeps a CPU busy, and forks all the time. It ends with its standard input.
    struct Busy(Child);

    impl Busy {
        fn start() -> Self {
            let script = "(while :; do (:) & wait; done) & read line; kill $!";
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::piped());
            let busy = Self(command.spawn().unwrap());
            while busy.used() < 50_000_000 {
                std::thread::sleep(Duration::from_millis(2));
            }
            busy
        }

        fn root(&self) -> Root {
            Root::itself(self.0.id() as libc::pid_t)
        }

        /// CPU time of all its processes that are there.
        fn used(&self) -> u64 {
            self.root()
                .processes()
                .into_iter()
                .filter_map(cpu_time)
                .sum()
        }

        /// The states of its processes, as letters of proc(5).
        fn states(&self) -> String {
            let all = self.root().processes().into_iter();
            all.filter_map(|pid| Some(char::from(Stat::of(pid)?.state)))
                .collect()
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            drop(self.0.stdin.take());
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_stopped_server_uses_no_cpu_time_until_it_goes_on() {
        let busy = Busy::start();
        let own = std::process::id() as libc::pid_t;
        let paused = Paused::new(busy.root(), own).unwrap();
        // A thread on another CPU takes the signal a moment later.
        while busy.states().contains(['R', 'S', 'D']) {
            std::thread::yield_now();
        }
        let (states, before) = (busy.states(), busy.used());
        assert!(states.starts_with("TT"), "{states}");
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!((busy.used(), busy.states()), (before, states));
        drop(paused);
        while busy.used() < before + 20_000_000 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn only_what_is_below_the_supervisor_is_stopped() {
        let (busy, other) = (Busy::start(), Busy::start());
        assert!(Paused::new(busy.root(), other.root().pid).is_none());
        assert!(!busy.states().contains('T'), "{}", busy.states());
    }
}

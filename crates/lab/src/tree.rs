//! A process and everything below it, as `/proc` shows them.

use std::fs;

/// All processes below `pid`, without itself.
pub(crate) fn descendants(pid: libc::pid_t) -> Vec<libc::pid_t> {
    let mut found = Vec::new();
    let mut todo = vec![pid];
    while let Some(pid) = todo.pop() {
        for child in children(pid) {
            found.push(child);
            todo.push(child);
        }
    }
    found
}

fn children(pid: libc::pid_t) -> Vec<libc::pid_t> {
    // Children belong to the thread that forked them.
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|line| {
            line.split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Has it ended without having been reaped yet?
pub(crate) fn is_zombie(pid: libc::pid_t) -> bool {
    // The state follows the name, which is in parentheses and may itself have any character.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        stat.rsplit_once(')')
            .is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
    })
}

/// CPU time that a whole process has used, its ended threads included, in nanoseconds; `None`
/// when it is gone.
pub(crate) fn cpu_time(pid: libc::pid_t) -> Option<u64> {
    // The kernel's own number for "the scheduler's account of process `pid`" (see
    // clock_getcpuclockid(3)): nanoseconds, where /proc/PID/stat has ticks of 10 ms.
    let clock = (!pid << 3) | 2;
    let mut ts = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `ts` is valid for the call; an unknown process gives an error.
    if unsafe { libc::clock_gettime(clock, &raw mut ts) } < 0 {
        return None;
    }
    // Not negative, unless a library that was loaded first changes what clocks say.
    let seconds = u64::try_from(ts.tv_sec).ok()?;
    seconds
        .checked_mul(1_000_000_000)?
        .checked_add(u64::try_from(ts.tv_nsec).ok()?)
}

/// CPU time in a process's own code and in the kernel, in clock ticks (of 10 ms on most systems).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    pub user: u64,
    pub kernel: u64,
}

impl Ticks {
    pub fn since(self, before: Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            kernel: self.kernel.saturating_sub(before.kernel),
        }
    }

    /// Divides `cpu` between user and kernel in proportion to the ticks. Ticks are coarse, and read a little
    /// later than the time itself, so only their proportion is used. Without a tick both are 0: not known.
    pub fn divide(self, cpu: u64) -> (u64, u64) {
        let all = u128::from(self.user + self.kernel);
        if all == 0 {
            return (0, 0);
        }
        let user = (u128::from(cpu) * u128::from(self.user) / all) as u64;
        (user, cpu - user)
    }
}

/// CPU ticks of a whole process, from `/proc/PID/stat`; `None` when it is gone.
pub(crate) fn ticks(pid: libc::pid_t) -> Option<Ticks> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name in parentheses come the state (field 3) and all others; user time is field 14.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(Ticks {
        user: next()?,
        kernel: next()?,
    })
}

/// How often the process's present threads have gone to sleep by themselves.
pub(crate) fn wakeups(pid: libc::pid_t) -> u64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return 0;
    };
    let slept = |text: String| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line?.trim().parse::<u64>().ok()
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok())
        .filter_map(slept)
        .sum()
}

/// Memory (in bytes) and threads of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Status {
    pub rss: u64,
    pub rss_peak: u64,
    pub threads: u64,
}

/// Reads `/proc/PID/status`; `None` when it is gone.
pub(crate) fn status(pid: libc::pid_t) -> Option<Status> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    Some(Status {
        rss: field("VmRSS").unwrap_or(0) * 1024,
        rss_peak: field("VmHWM").unwrap_or(0) * 1024,
        threads: field("Threads").unwrap_or(0),
    })
}

/// How often the process's present threads have been put on a CPU: its context switches.
pub(crate) fn switches(pid: libc::pid_t) -> u64 {
    schedstat(pid, 2)
}

/// How long the process's present threads have waited for a CPU, in nanoseconds.
pub(crate) fn waited(pid: libc::pid_t) -> u64 {
    schedstat(pid, 1)
}

/// Sums a field of `/proc/PID/task/*/schedstat`: time on a CPU, time waiting for one, times put on one.
fn schedstat(pid: libc::pid_t, field: usize) -> u64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return 0;
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok())
        .filter_map(|line| {
            line.split_ascii_whitespace()
                .nth(field)?
                .parse::<u64>()
                .ok()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn ticks_divide_a_time_completely() {
        let ticks = |user, kernel| Ticks { user, kernel };
        assert_eq!(ticks(10, 5).since(ticks(9, 3)).divide(150), (50, 100));
        assert_eq!(ticks(0, 7).divide(99), (0, 99));
        let (user, kernel) = ticks(u64::MAX / 2, 1).divide(u64::MAX);
        assert_eq!(user + kernel, u64::MAX);
        assert_eq!(ticks(3, 3).since(ticks(3, 4)).divide(99), (0, 0));
    }

    #[test]
    fn grandchildren_are_found_and_accounted_for() {
        let mut child = Command::new("sh")
            .args(["-c", "sh -c 'while :; do :; done' & wait"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let pid = child.id() as libc::pid_t;
        let mut below = Vec::new();
        for _ in 0..200 {
            below = descendants(pid);
            if below
                .first()
                .and_then(|&pid| cpu_time(pid))
                .is_some_and(|cpu| cpu > 5_000_000)
            {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(below.len(), 1);
        assert!(cpu_time(below[0]).unwrap() > 5_000_000);
        let seen = status(below[0]).unwrap();
        assert!(
            seen.rss > 0 && seen.rss_peak >= seen.rss && seen.threads == 1,
            "{seen:?}"
        );
        for pid in [below[0], pid] {
            // SAFETY: a plain system call on processes that this test started.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        child.wait().unwrap();
        assert_eq!(cpu_time(pid), None);
        assert!(!is_zombie(pid));
    }
}

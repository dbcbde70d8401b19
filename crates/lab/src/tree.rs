//! A process and everything below it, as `/proc` shows them.

use crate::placement::allowed_cpus_of;
use std::collections::BTreeSet;
use std::fs;

/// The process that all processes of a server come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    /// Everything below this process belongs to the server.
    pub pid: libc::pid_t,
    /// The process itself belongs to the server too; a supervisor does not.
    pub belongs: bool,
}

impl Root {
    /// A supervisor, above the server.
    #[must_use]
    pub const fn above(pid: libc::pid_t) -> Self {
        Self {
            pid,
            belongs: false,
        }
    }

    /// The server's own first process.
    #[must_use]
    pub const fn itself(pid: libc::pid_t) -> Self {
        Self { pid, belongs: true }
    }

    /// The server's processes now.
    pub(crate) fn processes(self) -> Vec<libc::pid_t> {
        let below = descendants(self.pid).into_iter();
        self.belongs
            .then_some(self.pid)
            .into_iter()
            .chain(below)
            .collect()
    }

    /// The CPUs that any of its threads may use now, in order.
    #[must_use]
    pub fn cpus(self) -> Vec<usize> {
        let threads = self.processes().into_iter().flat_map(threads);
        let all: BTreeSet<usize> = threads.flat_map(allowed_cpus_of).collect();
        all.into_iter().collect()
    }
}

/// A process that another program has started, and no other that gets its number later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attached {
    /// Number of the process.
    pub pid: libc::pid_t,
    /// When it began, in clock ticks since the machine did.
    begun: u64,
}

impl Attached {
    /// The process with this number; None when there is none, or when it has ended.
    #[must_use]
    pub fn to(pid: libc::pid_t) -> Option<Self> {
        let stat = Stat::of(pid).filter(|stat| !stat.ending())?;
        Some(Self {
            pid,
            begun: stat.begun,
        })
    }

    /// Is it still there, and not ending? A process that is killed closes its sockets before it is
    /// gone from procfs: a load whose connection it has just closed must not find it alive.
    #[must_use]
    pub fn lives(self) -> bool {
        Stat::of(self.pid).is_some_and(|stat| stat.begun == self.begun && !stat.ending())
    }
}

/// Fields of `/proc/PID/stat` for a process or a thread, as numbered in proc(5).
pub(crate) struct Stat {
    /// Field 3: a letter.
    pub state: u8,
    /// Field 9: the kernel's `PF_` flags.
    flags: u32,
    /// Field 22: when it began, in clock ticks since the machine did.
    begun: u64,
}

impl Stat {
    pub fn of(pid: libc::pid_t) -> Option<Self> {
        Self::read(&format!("/proc/{pid}/stat"))
    }

    fn of_thread(pid: libc::pid_t, thread: libc::pid_t) -> Option<Self> {
        Self::read(&format!("/proc/{pid}/task/{thread}/stat"))
    }

    fn read(path: &str) -> Option<Self> {
        let stat = fs::read_to_string(path).ok()?;
        // The name, field 2, stands in parentheses and may hold any others.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        Some(Self {
            state: *fields.next()?.as_bytes().first()?,
            flags: fields.nth(5)?.parse().ok()?,
            begun: fields.nth(12)?.parse().ok()?,
        })
    }

    /// Whether the first thread has ended, or is on its way. The kernel sets `PF_EXITING` of linux/sched.h before it
    /// closes files, and keeps it for what is left for the parent to collect.
    fn ending(&self) -> bool {
        const PF_EXITING: u32 = 0x4;
        self.flags & PF_EXITING != 0 || matches!(self.state, b'Z' | b'X')
    }
}

/// The threads of a process.
fn threads(pid: libc::pid_t) -> Vec<libc::pid_t> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let id = |thread: fs::DirEntry| thread.file_name().to_str()?.parse().ok();
    threads
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(id)
        .collect()
}

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
    Stat::of(pid).is_some_and(|stat| stat.state == b'Z')
}

/// Does any of its threads wait for a disk? In this state nothing interrupts it.
pub(crate) fn waits_for_disk(pid: libc::pid_t) -> bool {
    let mut threads = threads(pid).into_iter();
    threads.any(|thread| Stat::of_thread(pid, thread).is_some_and(|stat| stat.state == b'D'))
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

/// CPU time of children that a process has collected after their end, and of theirs, in nanoseconds. The kernel shows it
/// in clock ticks, but adds it up exactly.
pub(crate) fn collected(pid: libc::pid_t) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Fields 16 and 17 of proc(5); the first after the name is field 3.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<u64>().ok();
    let ticks = next()? + next()?;
    // SAFETY: a plain call of the C library.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
    Some(ticks * (1_000_000_000 / per_second.max(1)))
}

/// Bytes that a process, and the children that it has collected, had written to disks; `None` when that may not be read.
pub(crate) fn written(pid: libc::pid_t) -> Option<u64> {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let field = io
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes:"))?;
    field.trim().parse().ok()
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
pub(crate) struct ProcessStatus {
    pub rss: u64,
    pub rss_peak: u64,
    pub threads: u64,
}

/// Reads `/proc/PID/status`; `None` when it is gone.
pub(crate) fn status(pid: libc::pid_t) -> Option<ProcessStatus> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    Some(ProcessStatus {
        rss: field("VmRSS").unwrap_or(0) * 1024,
        rss_peak: field("VmHWM").unwrap_or(0) * 1024,
        threads: field("Threads").unwrap_or(0),
    })
}

/// Resident memory of a process now, in bytes, in which a page that several processes share counts by its part; where the
/// kernel does not say that, it counts whole. `None` when the process is gone.
pub(crate) fn memory(pid: libc::pid_t) -> Option<u64> {
    let shared = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
    let line = shared.as_deref().unwrap_or("").lines();
    let proportional = line.filter_map(|line| line.strip_prefix("Pss:")).next();
    let kibibytes =
        proportional.and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok());
    kibibytes
        .map(|kibibytes| kibibytes * 1024)
        .or_else(|| status(pid).map(|status| status.rss))
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
    fn a_process_is_known_until_it_ends() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as libc::pid_t;
        let attached = Attached::to(pid).unwrap();
        assert!(attached.lives());
        assert_eq!(Root::itself(pid).processes(), [pid]);
        assert!(Root::above(pid).processes().is_empty());
        assert_eq!(Root::itself(pid).cpus(), crate::placement::allowed_cpus());
        child.kill().unwrap();
        // Before it has been waited for, it is a zombie.
        while attached.lives() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(Attached::to(pid), None);
        let other = Attached {
            begun: 1,
            ..Attached::to(std::process::id() as libc::pid_t).unwrap()
        };
        assert!(!other.lives(), "another process with its number");
    }

    #[test]
    fn who_sees_a_killed_process_close_its_files_sees_that_it_ends() {
        for _ in 0..100 {
            let mut child = Command::new("sleep")
                .arg("60")
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let attached = Attached::to(child.id() as libc::pid_t).unwrap();
            child.kill().unwrap();
            let mut output = String::new();
            let mut pipe = child.stdout.take().unwrap();
            std::io::Read::read_to_string(&mut pipe, &mut output).unwrap();
            assert!(!attached.lives());
            child.wait().unwrap();
        }
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

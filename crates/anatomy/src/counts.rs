//! Counts that the kernel keeps anyway, and that need no privilege: procfs.

use std::collections::BTreeMap;
use std::fs;

/// The name of the number of threads that have been put on a CPU.
pub const THREADS: &str = "threads that worked";

/// Counts of a process tree since it began, and of TCP on this host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessCounts {
    /// Times a thread has gone to sleep by itself.
    pub voluntary_switches: u64,
    /// Times a thread was put off its CPU for another.
    pub involuntary_switches: u64,
    /// Page faults served from memory.
    pub minor_faults: u64,
    /// Page faults that had to read from a disk.
    pub major_faults: u64,
    /// Memory, in bytes; this one goes up and down.
    pub memory: u64,
    /// Threads, by number: how often each has been put on a CPU.
    pub threads: BTreeMap<u32, u64>,
    /// TCP, of all processes of this host.
    pub tcp: TcpCounts,
}

/// Counts of TCP on this host, over all connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Segments sent; over loopback these are those of both ends.
    pub segments: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Acknowledgements sent late, because nothing else was to be sent (some 40 ms).
    pub delayed_acks: u64,
}

impl ProcessCounts {
    /// Counts of these processes, now.
    pub(crate) fn of(pids: impl Iterator<Item = u32>) -> Self {
        let mut counts = Self {
            tcp: TcpCounts::now(),
            ..Self::default()
        };
        for pid in pids {
            counts.add_process(pid);
        }
        counts
    }

    fn add_process(&mut self, pid: u32) {
        let faults = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if let Some((minor, major)) = self::faults(&faults) {
            self.minor_faults += minor;
            self.major_faults += major;
        }
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        self.memory += field(&status, "VmRSS").unwrap_or(0) * 1024;
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
            return;
        };
        for thread in threads.flatten() {
            let Ok(tid) = thread.file_name().to_string_lossy().parse() else {
                continue;
            };
            let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            let voluntary = field(&status, "voluntary_ctxt_switches").unwrap_or(0);
            let involuntary = field(&status, "nonvoluntary_ctxt_switches").unwrap_or(0);
            self.voluntary_switches += voluntary;
            self.involuntary_switches += involuntary;
            self.threads.insert(tid, voluntary + involuntary);
        }
    }

    /// Differences from `before`, by name. Memory, in bytes, may be negative; threads are those that have run.
    #[must_use]
    pub fn since(&self, before: &Self) -> BTreeMap<&'static str, f64> {
        let more = |now: u64, then: u64| now.saturating_sub(then) as f64;
        let ran = |tid: &u32, now: u64| before.threads.get(tid).is_none_or(|then| now > *then);
        let worked = self.threads.iter().filter(|(tid, now)| ran(tid, **now));
        BTreeMap::from([
            (
                "voluntary switches",
                more(self.voluntary_switches, before.voluntary_switches),
            ),
            (
                "involuntary switches",
                more(self.involuntary_switches, before.involuntary_switches),
            ),
            (
                "minor page faults",
                more(self.minor_faults, before.minor_faults),
            ),
            (
                "major page faults",
                more(self.major_faults, before.major_faults),
            ),
            ("memory grown", self.memory as f64 - before.memory as f64),
            (THREADS, worked.count() as f64),
            (
                "TCP segments (host)",
                more(self.tcp.segments, before.tcp.segments),
            ),
            (
                "TCP retransmissions (host)",
                more(self.tcp.retransmitted, before.tcp.retransmitted),
            ),
            (
                "delayed TCP acknowledgements (host)",
                more(self.tcp.delayed_acks, before.tcp.delayed_acks),
            ),
        ])
    }
}

impl TcpCounts {
    fn now() -> Self {
        let snmp = fs::read_to_string("/proc/net/snmp").unwrap_or_default();
        let netstat = fs::read_to_string("/proc/net/netstat").unwrap_or_default();
        Self {
            segments: column(&snmp, "Tcp:", "OutSegs").unwrap_or(0),
            retransmitted: column(&snmp, "Tcp:", "RetransSegs").unwrap_or(0),
            delayed_acks: column(&netstat, "TcpExt:", "DelayedACKs").unwrap_or(0),
        }
    }
}

/// Minor and major faults of `/proc/PID/stat`: the tenth and twelfth field; the second may contain spaces.
fn faults(stat: &str) -> Option<(u64, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(7);
    let minor = fields.next()?.parse().ok()?;
    let major = fields.nth(1)?.parse().ok()?;
    Some((minor, major))
}

/// A field of `/proc/PID/status`.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// A value of a file that has lines of names, each followed by a line of values.
fn column(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let at = lines
        .next()?
        .split_ascii_whitespace()
        .position(|it| it == name)?;
    lines.next()?.split_ascii_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_names_and_places() {
        let stat = "12 (a b) c) S 1 2 3 4 5 6 700 8 9 10 11";
        assert_eq!(faults(stat), Some((700, 9)));
        let status =
            "nonvoluntary_ctxt_switches:\t3\nvoluntary_ctxt_switches:\t41\nVmRSS:\t 12 kB\n";
        assert_eq!(field(status, "voluntary_ctxt_switches"), Some(41));
        assert_eq!(field(status, "VmRSS"), Some(12));
        let snmp = "Ip: A\nIp: 1\nTcp: In OutSegs\nTcp: 5 77\n";
        assert_eq!(column(snmp, "Tcp:", "OutSegs"), Some(77));
        assert_eq!(column(snmp, "Tcp:", "Nothing"), None);
    }

    #[test]
    fn what_was_added_is_a_difference() {
        let before = ProcessCounts {
            voluntary_switches: 5,
            memory: 4_096,
            threads: BTreeMap::from([(1, 3), (2, 3)]),
            ..ProcessCounts::default()
        };
        let now = ProcessCounts {
            voluntary_switches: 9,
            memory: 0,
            threads: BTreeMap::from([(1, 4), (2, 3), (3, 1)]),
            ..ProcessCounts::default()
        };
        let added = now.since(&before);
        assert_eq!(added["voluntary switches"], 4.0);
        assert_eq!(added["memory grown"], -4_096.0);
        assert_eq!(added["threads that worked"], 2.0);
    }
}

//! How quiet the machine was: what else used the CPUs that a benchmark ran on.

use crate::child::cpu_ns;
use crate::place::Rig;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Beyond this share of others the figures are those of a busy machine.
const LOUD: f64 = 0.05;
/// How long it is looked at before a benchmark.
const LOOK: Duration = Duration::from_millis(500);
/// `/proc/stat` counts in hundredths of a second on every architecture that matters (`USER_HZ`).
const TICK_NS: u64 = 10_000_000;

/// Time of some CPUs according to `/proc/stat`, in ticks since the machine started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    /// User, nice and system.
    work: u64,
    /// Interrupts, soft and hard.
    interrupts: u64,
    steal: u64,
}

/// The sum over `cpus`.
fn ticks(stat: &str, cpus: &[usize]) -> Ticks {
    let mut sum = Ticks::default();
    for cpu in cpus {
        let label = format!("cpu{cpu} ");
        let Some(rest) = stat.lines().find_map(|line| line.strip_prefix(&label)) else {
            continue;
        };
        // user nice system idle iowait irq softirq steal …
        let fields: Vec<u64> = rest
            .split_whitespace()
            .map_while(|field| field.parse().ok())
            .collect();
        let field = |index: usize| fields.get(index).copied().unwrap_or(0);
        sum.work += field(0) + field(1) + field(2);
        sum.interrupts += field(5) + field(6);
        sum.steal += field(7);
    }
    sum
}

/// A point from which the machine is watched.
#[derive(Debug)]
pub struct Watch {
    cpus: Vec<usize>,
    begin: Instant,
    ticks: Ticks,
    own_ns: u64,
}

/// Activity of the machine's other processes during a watch.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Quiet {
    /// How long it was watched.
    pub seconds: f64,
    /// The part of the CPUs' busy time that was not this program's or its children's, 0 to 1.
    pub others_of_busy: f64,
    /// The same as a part of all the CPUs' time.
    pub others_of_time: f64,
    /// Time that the hypervisor gave to other guests, as a part of all the CPUs' time.
    pub steal: f64,
    /// Load averages over 1, 5 and 15 minutes.
    pub load: [f64; 3],
}

impl Watch {
    /// Begins to watch. Children that are running are not counted as this program's until they
    /// have ended, so there should be none.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn begin(rig: Rig) -> io::Result<Self> {
        let cpus = rig.cpus();
        let stat = fs::read_to_string("/proc/stat")?;
        Ok(Self {
            ticks: ticks(&stat, &cpus),
            cpus,
            begin: Instant::now(),
            own_ns: own_ns()?,
        })
    }

    /// Returns the activity since the watch began. All children must have ended.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn end(&self) -> io::Result<Quiet> {
        let stat = fs::read_to_string("/proc/stat")?;
        let now = ticks(&stat, &self.cpus);
        let own = own_ns()?.saturating_sub(self.own_ns);
        let ticks = Ticks {
            work: now.work.saturating_sub(self.ticks.work),
            // If the kernel accounts for interrupts separately, a process's time contains none of
            // them, and they cannot be attributed to a process.
            interrupts: if interrupts_apart() {
                0
            } else {
                now.interrupts.saturating_sub(self.ticks.interrupts)
            },
            steal: now.steal.saturating_sub(self.ticks.steal),
        };
        let load = fs::read_to_string("/proc/loadavg")?;
        let elapsed = self.begin.elapsed();
        Ok(judge(ticks, own, elapsed, self.cpus.len(), loads(&load)))
    }
}

fn judge(ticks: Ticks, own_ns: u64, elapsed: Duration, cpus: usize, load: [f64; 3]) -> Quiet {
    let time = elapsed.as_nanos() as f64 * cpus as f64;
    let busy = ((ticks.work + ticks.interrupts) * TICK_NS) as f64;
    // Ticks are samples: over a short time they may be fewer than what was really used.
    let others = (busy - own_ns as f64).max(0.0);
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    Quiet {
        seconds: elapsed.as_secs_f64(),
        others_of_busy: share(others, busy),
        others_of_time: share(others, time).min(1.0),
        steal: share((ticks.steal * TICK_NS) as f64, time),
        load,
    }
}

/// How quiet the machine is now, while this program does nothing.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn now(rig: Rig) -> io::Result<Quiet> {
    let watch = Watch::begin(rig)?;
    thread::sleep(LOOK);
    watch.end()
}

impl Quiet {
    /// Is the machine too busy? Before a benchmark, all busy time belongs to other processes, so their
    /// share of the whole time counts, and not their share of the busy time.
    pub fn is_loud(&self, during: bool) -> bool {
        let others = if during {
            self.others_of_busy
        } else {
            self.others_of_time
        };
        others > LOUD || self.steal > LOUD
    }

    /// One line about the time before a benchmark, or during it.
    pub fn line(&self, during: bool) -> String {
        let others = if during {
            format!("{:.1}% of its busy time", self.others_of_busy * 100.0)
        } else {
            format!("{:.1}% of its time", self.others_of_time * 100.0)
        };
        let advice = if self.is_loud(during) {
            "\nWARNING: the machine is not quiet; do not trust these figures, end what else runs and measure again"
        } else {
            ""
        };
        format!("{others} went to others, {self}{advice}")
    }
}

impl fmt::Display for Quiet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, five, fifteen] = self.load;
        write!(
            f,
            "{:.1}% stolen by the hypervisor, load average {one:.2} {five:.2} {fifteen:.2}",
            self.steal * 100.0
        )
    }
}

/// CPU time of this process and of the children that have ended.
fn own_ns() -> io::Result<u64> {
    let mut sum = 0;
    for who in [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN] {
        // SAFETY: an all-zero rusage is valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the struct is valid for writes.
        if unsafe { libc::getrusage(who, &raw mut usage) } < 0 {
            return Err(io::Error::last_os_error());
        }
        sum += cpu_ns(&usage);
    }
    Ok(sum)
}

/// Was the kernel built to keep interrupts out of the time of the processes that they interrupt? On
/// loopback they are most of the cost of receiving, so it matters. `false` if this is unknown.
fn interrupts_apart() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let config = fs::read_to_string(format!("/boot/config-{}", release.trim()));
    config.is_ok_and(|text| {
        text.lines()
            .any(|line| line == "CONFIG_IRQ_TIME_ACCOUNTING=y")
    })
}

fn loads(text: &str) -> [f64; 3] {
    let mut fields = text
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0.0));
    std::array::from_fn(|_| fields.next().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "\
cpu  196078 0 53121 420023 4516 0 23615 207 0 0
cpu0 89892 1 26189 218882 907 2 11833 98 0 0
cpu1 106186 0 26932 201140 3609 0 11781 108 0 0
cpu10 5 5 5 5 5 5 5 5 0 0
intr 1 2 3
";

    #[test]
    fn the_cpus_that_are_used_are_counted() {
        assert_eq!(
            ticks(STAT, &[0]),
            Ticks {
                work: 89_892 + 1 + 26_189,
                interrupts: 2 + 11_833,
                steal: 98
            }
        );
        assert_eq!(ticks(STAT, &[0, 1]).steal, 206);
        assert_eq!(ticks(STAT, &[7]), Ticks::default());
    }

    #[test]
    fn what_is_not_ours_is_others() {
        let ticks = Ticks {
            work: 150,
            interrupts: 50,
            steal: 4,
        };
        let quiet = judge(ticks, 1_900_000_000, Duration::from_secs(2), 2, [0.0; 3]);
        assert!((quiet.others_of_busy - 0.05).abs() < 1e-9);
        assert!((quiet.others_of_time - 0.025).abs() < 1e-9);
        assert!((quiet.steal - 0.01).abs() < 1e-9);
        assert!(!quiet.is_loud(false));
        let idle = judge(Ticks::default(), 5, Duration::from_secs(1), 2, [0.0; 3]);
        assert_eq!((idle.others_of_busy, idle.is_loud(true)), (0.0, false));
    }

    #[test]
    fn load_averages_are_read() {
        assert_eq!(loads("0.43 1.33 2.80 1/84 5977\n"), [0.43, 1.33, 2.80]);
        assert_eq!(loads(""), [0.0; 3]);
    }
}

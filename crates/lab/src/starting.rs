//! How long a server that is starting is waited for: for as long as it gets on, which on a busy machine
//! takes longer than on a quiet one.

use crate::interrupt::Interrupt;
use crate::process::Process;
use crate::tree;
use prony_record::{Failure, Step};
use std::time::{Duration, Instant};

/// A server that is on a CPU, or waits for one, for less than this part of the time is idle, unless it waits for a disk. A
/// runtime's housekeeping takes a hundredth or so.
const IDLE: u32 = 10;
/// The longest wait in all, as a multiple of the limit on idleness: for a server that keeps a CPU busy
/// and never answers.
const CEILING: u32 = 10;

/// How often to look at what it does: looking itself costs CPU.
const LOOK: Duration = Duration::from_millis(50);

/// Activity of a server's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Activity {
    /// How long its processes have been on a CPU, or have waited for one, since they began.
    pub on_cpu: Duration,
    /// One of its threads waits for a disk at this moment.
    pub on_disk: bool,
}

/// Course of the wait for a server so far.
#[derive(Debug)]
pub(crate) struct Starting {
    limit: Duration,
    idle: Duration,
    at: Duration,
    on_cpu: Duration,
}

impl Starting {
    /// A server that may be idle for `limit` before it answers.
    pub(crate) const fn new(limit: Duration) -> Self {
        Self {
            limit,
            idle: Duration::ZERO,
            at: Duration::ZERO,
            on_cpu: Duration::ZERO,
        }
    }

    /// Notes what the server does `at` this time since its start: what [`activity`] tells.
    /// Says why it is not waited for any longer, if so.
    pub(crate) fn look(
        &mut self,
        at: Duration,
        activity: impl FnOnce() -> Activity,
    ) -> Option<String> {
        if at < self.at + LOOK {
            return None;
        }
        let Activity { on_cpu, on_disk } = activity();
        // Processes that have ended are not counted any longer, which makes it less; but something happened.
        if self.on_cpu.abs_diff(on_cpu) * IDLE < at - self.at && !on_disk {
            self.idle += at - self.at;
        }
        (self.at, self.on_cpu) = (at, on_cpu);
        let ceiling = self.limit * CEILING;
        if self.idle >= self.limit {
            let (idle, at) = (self.idle.as_secs_f64(), at.as_secs_f64());
            Some(format!(
                "no answer, and idle for {idle:.1} of the {at:.1} s since its start"
            ))
        } else if at >= ceiling {
            let ceiling = ceiling.as_secs_f64();
            Some(format!(
                "no answer within {ceiling:.1} s of its start, though it was not idle"
            ))
        } else {
            None
        }
    }

    /// How long to pause before the next try: a hundredth of the time so far, so that it adds little to
    /// when the server is found to be ready, and tries cost a slow server little.
    pub(crate) fn pause(&self) -> Duration {
        (self.at / 100).max(Duration::from_millis(2))
    }

    /// How long the next try may take: at first less than a server needs that is not ready in earnest;
    /// later longer, for a machine may be so slow that each answer takes that long.
    pub(crate) fn patience(&self) -> Duration {
        (self.at / 4).clamp(Duration::from_millis(500), Duration::from_secs(5))
    }
}

/// Waits until `probe`, which is given how long it may take, succeeds.
///
/// # Errors
/// When the process ends or has been idle for `limit`, or the user interrupts it.
pub(crate) fn wait_for(
    process: &mut Process,
    probe: &dyn Fn(Duration) -> Result<(), String>,
    limit: Duration,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let (begun, mut starting) = (Instant::now(), Starting::new(limit));
    loop {
        if let Some(exit) = process.exited() {
            let message = format!("it {exit} before it answered");
            return Err(Failure::new(Step::Ready, message).with_output(process.output()));
        }
        let Err(error) = probe(starting.patience()) else {
            return Ok(());
        };
        if interrupt.fired() {
            return Err(Failure::new(Step::Ready, "interrupted"));
        }
        if let Some(why) = starting.look(begun.elapsed(), || activity(process.root())) {
            let message = format!("{why}: {error}");
            return Err(Failure::new(Step::Ready, message).with_output(process.output()));
        }
        std::thread::sleep(starting.pause());
    }
}

/// Activity of the processes below `root`.
pub(crate) fn activity(root: libc::pid_t) -> Activity {
    let below = tree::descendants(root);
    let nanos = below
        .iter()
        .map(|&pid| tree::cpu_time(pid).unwrap_or(0) + tree::waited(pid));
    Activity {
        on_cpu: Duration::from_nanos(nanos.sum()),
        on_disk: below.iter().any(|&pid| tree::waits_for_disk(pid)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    const LIMIT: Duration = Duration::from_millis(1_000);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn on_cpu(on_cpu: u64) -> Activity {
        Activity {
            on_cpu: ms(on_cpu),
            on_disk: false,
        }
    }

    /// Looks every 50 ms at a server that is on a CPU for `each(at)` of them; when, and why, it is given up.
    fn given_up(each: impl Fn(u64) -> u64) -> (u64, String) {
        let mut starting = Starting::new(LIMIT);
        let mut used = 0;
        for at in (50..=20_000).step_by(50) {
            used += each(at);
            if let Some(why) = starting.look(ms(at), || on_cpu(used)) {
                return (at, why);
            }
        }
        panic!("waited for longer than the ceiling");
    }

    #[test]
    fn an_idle_server_is_given_up_at_its_limit() {
        let (at, why) = given_up(|_| 0);
        assert_eq!(at, 1_000);
        assert_eq!(
            why,
            "no answer, and idle for 1.0 of the 1.0 s since its start"
        );
    }

    #[test]
    fn activity_does_not_count() {
        let (at, why) = given_up(|at| if at <= 5_000 { 6 } else { 0 });
        assert_eq!(at, 6_000);
        assert!(why.contains("idle for 1.0 of the 6.0 s"), "{why}");
    }

    #[test]
    fn a_server_that_is_never_idle_is_given_up_at_the_ceiling() {
        let (at, why) = given_up(|_| 50);
        assert_eq!(at, 10_000);
        assert!(why.contains("within 10.0 s"), "{why}");
    }

    #[test]
    fn the_end_of_a_process_is_activity() {
        let mut starting = Starting::new(LIMIT);
        assert_eq!(starting.look(ms(900), || on_cpu(500)), None);
        assert_eq!(starting.look(ms(1_800), || on_cpu(100)), None);
        assert_eq!(starting.idle, Duration::ZERO);
    }

    #[test]
    fn a_wait_for_a_disk_is_activity() {
        let mut starting = Starting::new(LIMIT);
        let activity = |on_disk| Activity {
            on_cpu: ms(0),
            on_disk,
        };
        assert_eq!(starting.look(ms(900), || activity(true)), None);
        assert_eq!(starting.look(ms(1_800), || activity(false)), None);
        assert_eq!(starting.idle, ms(900));
        assert!(starting.look(ms(10_000), || activity(true)).is_some());
    }

    #[test]
    fn tries_become_rarer_and_more_patient() {
        let mut starting = Starting::new(LIMIT);
        assert_eq!((starting.pause(), starting.patience()), (ms(2), ms(500)));
        starting.look(ms(8_000), || on_cpu(8_000));
        assert_eq!((starting.pause(), starting.patience()), (ms(80), ms(2_000)));
    }

    #[test]
    fn what_runs_below_a_process_is_active_and_what_sleeps_is_not() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::piped());
            command.spawn().unwrap()
        };
        // Each ends with its standard input.
        let mut busy = shell("(while :; do :; done) & read line; kill $!");
        let mut calm = shell("(sleep 100) & read line; kill $!");
        let used = |child: &std::process::Child| activity(child.id() as libc::pid_t).on_cpu;
        while used(&busy) < ms(200) {
            std::thread::sleep(ms(5));
        }
        assert!(used(&calm) < ms(100), "{:?}", used(&calm));
        for child in [&mut busy, &mut calm] {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}

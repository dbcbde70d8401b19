//! The engine's one clock: `CLOCK_MONOTONIC`, in nanoseconds.
//!
//! Every time in the engine is a [`Nanos`] on this clock, so values from different threads (and
//! from the clockwork, which reads the same clock in another process) can be subtracted.

use std::sync::OnceLock;
use std::time::Duration;

/// A point on, or a span of, `CLOCK_MONOTONIC`, in nanoseconds.
pub type Nanos = u64;

/// Nanoseconds in a second.
pub const SECOND: Nanos = 1_000_000_000;

/// The time now.
#[inline]
pub fn now() -> Nanos {
    read(libc::CLOCK_MONOTONIC)
}

/// The time of day, which is set and slewed: for what the kernel stamps with it.
#[inline]
pub(crate) fn real() -> Nanos {
    read(libc::CLOCK_REALTIME)
}

/// How long a reading of this clock takes, in nanoseconds: measured once, the shortest of a few tries.
pub fn cost() -> f64 {
    const READINGS: u32 = 100;
    const TRIES: u32 = 10;
    static COST: OnceLock<f64> = OnceLock::new();
    *COST.get_or_init(|| {
        let tries = (0..TRIES).map(|_| {
            let begun = now();
            let last = (0..READINGS).fold(begun, |_, _| now());
            (last - begun) as f64 / f64::from(READINGS)
        });
        tries.fold(f64::INFINITY, f64::min)
    })
}

/// CPU time that the calling thread has used since it began, user and system together.
#[inline]
pub fn thread_cpu() -> Nanos {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time that this process has used since it began: user, system.
pub fn process_cpu() -> (Duration, Duration) {
    // SAFETY: a zeroed rusage is a valid one; it is writable for the length of the call, which
    // cannot fail for the calling process.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let time = |of: libc::timeval| Duration::new(of.tv_sec as u64, of.tv_usec as u32 * 1_000);
    (time(usage.ru_utime), time(usage.ru_stime))
}

/// Time that the calling thread has spent ready to run while another thread had its CPU, since it
/// began; zero where the kernel does not say (`CONFIG_SCHED_INFO`).
pub fn thread_kept_waiting() -> Nanos {
    // Time on the CPU, time waiting for it, and how often (Linux, Documentation/scheduler/sched-stats).
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let field = text.split_ascii_whitespace().nth(1);
    field.and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// A duration in whole nanoseconds; saturates after 584 years.
pub fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[inline]
fn read(clock: libc::clockid_t) -> Nanos {
    let mut ts = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `ts` is a valid, writable timespec for the length of the call; these clocks exist on
    // every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut ts) };
    ts.tv_sec as u64 * SECOND + ts.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        let mut last = now();
        for _ in 0..10_000 {
            let next = now();
            assert!(next >= last);
            last = next;
        }
    }

    #[test]
    fn a_reading_takes_time() {
        let cost = cost();
        assert!(cost > 0.1 && cost < 1e6, "{cost} ns");
        assert_eq!(
            super::cost().to_bits(),
            cost.to_bits(),
            "it is measured once"
        );
    }

    #[test]
    fn a_spinning_thread_uses_cpu_time() {
        let (cpu, wall) = (thread_cpu(), now());
        while thread_cpu() - cpu < 1_000_000 {}
        assert!(
            now() - wall >= 900_000,
            "a thread cannot use more CPU time than passed"
        );
    }
}

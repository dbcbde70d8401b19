//! The speed of the server's CPUs, right after a measurement, when they still run as the load has left them.

use crate::placement::bind;
use prony_anatomy::speed::fixed_work;
use prony_engine::Nanos;
use prony_engine::clock::thread_cpu;
use std::sync::atomic::{AtomicU64, Ordering};

/// Repetitions on each CPU.
const REPETITIONS: u32 = 9;
/// CPUs that are tried, so that a server with a hundred of them is not kept waiting.
const MOST_CPUS: usize = 8;
/// CPU time that the first call spends on looking for the fastest, so that a governor has time to raise the frequency.
const WARM: Nanos = 30_000_000;

/// The fastest time so far, in all of this program's measurements; 0: none yet.
static FASTEST: AtomicU64 = AtomicU64::new(0);

/// How much longer fixed work takes now than at its fastest, on the fastest of these CPUs: 1 at full speed. A server that uses
/// one of them leaves the others slow. None when none of them may be used.
///
/// Binds the calling thread to the last of them.
pub(crate) fn slowdown(cpus: &[usize]) -> Option<f64> {
    let usable = cpus.iter().filter(|&&cpu| bind(&[cpu]).is_ok());
    let now = usable
        .take(MOST_CPUS)
        .map(|_| fixed_work(REPETITIONS, thread_cpu))
        .min()?;
    if FASTEST.load(Ordering::Relaxed) == 0 {
        let begun = thread_cpu();
        while thread_cpu() - begun < WARM {
            keep(fixed_work(1, thread_cpu));
        }
    }
    Some(now as f64 / keep(now) as f64)
}

/// Remembers the fastest, and returns it.
fn keep(time: Nanos) -> Nanos {
    let keep = |old: u64| Some(if old == 0 { time } else { old.min(time) });
    let _ = FASTEST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, keep);
    FASTEST.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::allowed_cpus;

    #[test]
    fn work_takes_time_and_is_never_faster_than_the_fastest() {
        let cpus = allowed_cpus();
        for _ in 0..3 {
            let slowdown = std::thread::spawn({
                let cpus = cpus.clone();
                move || slowdown(&cpus)
            });
            let slowdown = slowdown.join().unwrap().unwrap();
            assert!(slowdown >= 1.0 && slowdown.is_finite(), "{slowdown}");
        }
        assert!(FASTEST.load(Ordering::Relaxed) > 1_000, "some time");
    }

    #[test]
    fn cpus_that_are_not_there_say_nothing() {
        let none = std::thread::spawn(|| (slowdown(&[]), slowdown(&[1_000]))).join();
        assert_eq!(none.unwrap(), (None, None));
    }
}

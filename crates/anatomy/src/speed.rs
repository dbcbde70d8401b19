//! How fast a CPU runs: the CPU time that a fixed piece of work takes on it.
//!
//! A CPU whose frequency follows the load does the same work in more time when it has little to do, so CPU time per
//! request depends on more than the server's code. Most virtual machines hide the frequency; fixed work shows it
//! everywhere.

use std::hint::black_box;

/// Multiplications, each of which needs the one before: some 50 µs that neither memory nor the other thread of the core
/// changes.
const STEPS: u64 = 50_000;

/// The CPU time of the calling thread for the work, in nanoseconds: the shortest of several repetitions, at least 1.
/// Interrupts and the hypervisor only make one slower.
#[must_use]
pub fn fixed_work(repetitions: u32) -> u64 {
    let times = (0..repetitions).map(|_| {
        let begun = thread_cpu();
        black_box(work(black_box(begun)));
        thread_cpu() - begun
    });
    times.min().unwrap_or(0).max(1)
}

/// A chain that no compiler shortens, since it is not linear: xor-shift, and Knuth's multiplier for 64 bits.
fn work(seed: u64) -> u64 {
    (0..STEPS).fold(seed | 1, |x, _| {
        (x ^ (x >> 29)).wrapping_mul(6_364_136_223_846_793_005)
    })
}

/// CPU time of the calling thread, in nanoseconds.
#[must_use]
pub fn thread_cpu() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the struct is writable for the length of the call; every Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time() {
        let once = fixed_work(1);
        assert!(
            once > 10_000,
            "{once} ns for fifty thousand multiplications"
        );
        assert!(fixed_work(5) > 10_000);
        assert_eq!(fixed_work(0), 1);
    }
}

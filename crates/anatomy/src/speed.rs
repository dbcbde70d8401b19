//! How fast a CPU runs: the CPU time that a fixed piece of work takes on it.
//!
//! A CPU whose frequency follows the load does the same work in more time when it has little to do, so CPU time per
//! request depends on more than the server's code. Most virtual machines hide the frequency; fixed work shows it
//! everywhere.

use std::hint::black_box;

/// Multiplications, each of which needs the one before: some 50 µs that neither memory nor the other thread of the core
/// changes.
const STEPS: u64 = 50_000;

/// The time of the work by this clock of the calling thread's CPU time, in nanoseconds: the shortest of several
/// repetitions, at least 1. Interrupts and the hypervisor only make one slower.
#[must_use]
pub fn fixed_work(repetitions: u32, thread_cpu: impl Fn() -> u64) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_shortest_repetition_counts() {
        let ticks = [0, 90, 100, 130, 200, 270].map(Cell::new);
        let next = Cell::new(0);
        let clock = || ticks[next.replace(next.get() + 1)].get();
        assert_eq!(fixed_work(3, clock), 30);
        assert_eq!(fixed_work(0, || 5), 1);
    }
}

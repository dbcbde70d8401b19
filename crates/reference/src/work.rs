//! Extra work per request, to make a server slower by a known amount.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Long enough that reading the clock is nothing beside it, short enough to run undisturbed.
const SAMPLE: Duration = Duration::from_micros(500);
/// The fastest of these counts: whatever disturbs a sample only makes it slower.
const SAMPLES: u32 = 20;

/// A fixed amount of CPU work.
///
/// The amount is counted in steps rather than in elapsed time: a server that loses its CPU half-way
/// still has the rest to do, as it would with real work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    steps: u64,
}

impl Work {
    /// Work of as many steps as this CPU, undisturbed, does in `duration`. Takes some 10 ms unless `duration` is
    /// zero.
    pub(crate) fn lasting(duration: Duration) -> Self {
        if duration.is_zero() {
            return Self { steps: 0 };
        }
        let mut steps = 1_000;
        while time(steps) < SAMPLE {
            steps *= 2;
        }
        let fastest = (0..SAMPLES).map(|_| time(steps)).min().unwrap_or(SAMPLE);
        let wanted = duration.as_secs_f64() / fastest.as_secs_f64() * steps as f64;
        Self {
            steps: wanted.round() as u64,
        }
    }

    /// Does the work once for each of `requests`.
    pub(crate) fn perform(self, requests: u32) {
        if self.steps > 0 {
            spin(self.steps * u64::from(requests));
        }
    }
}

fn time(steps: u64) -> Duration {
    let start = Instant::now();
    spin(steps);
    start.elapsed()
}

/// A chain in which every step needs the one before: no CPU can do it in parallel, and the shift
/// between the multiplications keeps the compiler from doing two steps in one. It stays in registers: a
/// value that went through memory at each step would be slower for its first thirty steps or so after
/// every system call, until the CPU has learned again to forward it, and short work would cost more than
/// was measured for it.
fn spin(steps: u64) {
    let mut state = black_box(steps);
    for _ in 0..steps {
        state = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    black_box(state);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_work_and_more_is_more() {
        assert_eq!(Work::lasting(Duration::ZERO).steps, 0);
        let short = Work::lasting(Duration::from_micros(10)).steps;
        let long = Work::lasting(Duration::from_millis(10)).steps;
        assert!(0 < short && short < long);
    }
}

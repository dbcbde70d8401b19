//! The sides that are up and not loaded: they rest while another one is.

use crate::trial::Up;
use prony_engine::clock;
use std::time::Instant;

/// A side's rest, while others are loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rest {
    /// CPU time of its processes, in nanoseconds.
    pub cpu_ns: u64,
    /// The length of the rest, in nanoseconds.
    pub length_ns: u64,
}

impl Rest {
    /// Adds another rest.
    pub fn add(&mut self, other: Self) {
        self.cpu_ns += other.cpu_ns;
        self.length_ns += other.length_ns;
    }

    /// CPUs that it used on average; none if it never rested, or nothing is known of its processes.
    #[must_use]
    pub fn cpus(self) -> Option<f64> {
        (self.length_ns > 0).then(|| self.cpu_ns as f64 / self.length_ns as f64)
    }

    /// Between two readings of its CPU time. Of processes that have ended meanwhile nothing is known any more.
    fn between(before: Option<u64>, after: Option<u64>, length_ns: u64) -> Self {
        let used = after
            .zip(before)
            .and_then(|(after, before)| after.checked_sub(before));
        used.map_or_else(Self::default, |cpu_ns| Self { cpu_ns, length_ns })
    }
}

/// Does something with one of the servers that are up, by its place, while the others rest: stopped, if `pause` says so
/// and they can be. Gives how each of them has rested.
pub fn alone<'a, R>(
    up: &mut [Up<'a>],
    which: usize,
    pause: bool,
    work: impl FnOnce(&mut Up<'a>) -> R,
) -> (R, Vec<Rest>) {
    let each_other = |up: &mut [Up<'a>], change: fn(&mut Up<'a>)| {
        let others = up.iter_mut().enumerate();
        others
            .filter(|(at, _)| pause && *at != which)
            .for_each(|(_, other)| change(other));
    };
    each_other(up, Up::pause);
    let before: Vec<Option<u64>> = up.iter().map(Up::cpu_time).collect();
    let began = Instant::now();
    let done = work(&mut up[which]);
    let length_ns = clock::nanos(began.elapsed());
    let both = up.iter().zip(before);
    let mut rests: Vec<Rest> = both
        .map(|(one, before)| Rest::between(before, one.cpu_time(), length_ns))
        .collect();
    rests[which] = Rest::default();
    each_other(up, Up::resume);
    (done, rests)
}

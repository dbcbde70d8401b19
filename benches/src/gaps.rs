//! What a thread that only wants to run loses of its time. A hypervisor that gives a CPU to others
//! does not always say so in the steal time: a loop that reads the clock sees it all the same.

use crate::place::{self, Rig};
use serde::Serialize;
use std::fmt;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// How long it is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Between two readings of the clock there are some 30 ns; this much is an interrupt with its
/// work, and more than that is another process.
const GAP: Duration = Duration::from_micros(20);

/// Gaps on the worst of the CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Gaps {
    /// The part of the time that was lost, 0 to 1.
    pub lost: f64,
    /// The longest, in µs.
    pub longest_us: f64,
}

/// Looks at all of the rig's CPUs at once.
///
/// # Errors
/// When this process may not use one of them.
pub fn look(rig: Rig) -> io::Result<Gaps> {
    thread::scope(|scope| {
        let spin = |cpu| {
            move || {
                place::pin(cpu)?;
                Ok(spin())
            }
        };
        let all: Vec<_> = rig
            .cpus()
            .into_iter()
            .map(|cpu| scope.spawn(spin(cpu)))
            .collect();
        all.into_iter().try_fold(Gaps::default(), |worst, thread| {
            let seen: io::Result<Gaps> = thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
            seen.map(|seen| worst.or_worse(seen))
        })
    })
}

fn spin() -> Gaps {
    let begin = Instant::now();
    let (mut last, mut lost, mut longest) = (begin, Duration::ZERO, Duration::ZERO);
    while last.duration_since(begin) < LOOK {
        let now = Instant::now();
        let gap = now.duration_since(last);
        if gap > GAP {
            lost += gap;
            longest = longest.max(gap);
        }
        last = now;
    }
    Gaps {
        lost: lost.as_secs_f64() / last.duration_since(begin).as_secs_f64(),
        longest_us: longest.as_secs_f64() * 1e6,
    }
}

impl Gaps {
    fn or_worse(self, other: Self) -> Self {
        Self {
            lost: self.lost.max(other.lost),
            longest_us: self.longest_us.max(other.longest_us),
        }
    }
}

impl fmt::Display for Gaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a thread that only spins lost {:.2} % of its time, at most {:.0} µs at once",
            self.lost * 100.0,
            self.longest_us
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_the_cpus_counts() {
        let gaps = |lost, longest_us| Gaps { lost, longest_us };
        assert_eq!(gaps(0.1, 5.0).or_worse(gaps(0.05, 9.0)), gaps(0.1, 9.0));
        let seen = look(Rig::here().unwrap()).unwrap();
        assert!((0.0..=1.0).contains(&seen.lost), "{seen}");
    }
}

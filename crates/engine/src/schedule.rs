//! When is a request due? Pure: no socket, no clock.
//!
//! A closed loop has no times of its own: a request is due as soon as its connection is free. An
//! open loop has a rate, and every request has a due time that nothing the server does can move.

use crate::clock::{Nanos, SECOND};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A request that falls due at a time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When, in nanoseconds since the load began.
    pub due: Nanos,
    /// On which of the worker's own connections (0-based).
    pub connection: u32,
}

/// The part of an experiment's connections that one worker drives: the connections `i` of all
/// `total` with `i mod workers == worker`.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// This worker, 0-based.
    pub worker: u32,
    /// How many workers there are.
    pub workers: u32,
    /// All workers' connections together.
    pub total: u32,
}

impl Share {
    /// How many connections this worker has.
    pub fn connections(&self) -> u32 {
        (self.total + self.workers - 1 - self.worker) / self.workers
    }

    /// The index among all connections of this worker's connection `local`.
    pub fn global(&self, local: u32) -> u32 {
        local * self.workers + self.worker
    }
}

/// Due times for one worker, in order.
pub trait Schedule {
    /// True when requests are due whenever a connection is free, and [`peek`](Self::peek) is
    /// always `None`.
    const CLOSED: bool;

    /// The next request with a due time.
    fn peek(&self) -> Option<Arrival>;

    /// Moves on to the one after it.
    fn advance(&mut self);
}

/// Closed loop: the next request is due when the connection is free.
#[derive(Debug, Clone, Copy)]
pub struct Closed;

impl Schedule for Closed {
    const CLOSED: bool = true;

    #[inline]
    fn peek(&self) -> Option<Arrival> {
        None
    }

    #[inline]
    fn advance(&mut self) {}
}

/// Constant rate, staggered over the connections: request `k` of connection `i` of `n` is due
/// `(k + i/n) / λ_i` after the start, with `λ_i = λ/n`: that is `(k·n + i) / λ`.
///
/// Computed from the count each time rather than summed up, so it cannot drift: after an hour the
/// error of the floating point product is below one microsecond.
#[derive(Debug, Clone)]
pub struct Constant {
    interval: f64,
    share: Share,
    round: u64,
    connection: u32,
}

impl Constant {
    /// `rate` requests per second over all workers.
    pub fn new(rate: f64, share: Share) -> Self {
        Self {
            interval: SECOND as f64 / rate,
            share,
            round: 0,
            connection: 0,
        }
    }
}

impl Schedule for Constant {
    const CLOSED: bool = false;

    #[inline]
    fn peek(&self) -> Option<Arrival> {
        let nth = self.round * u64::from(self.share.total)
            + u64::from(self.share.global(self.connection));
        let due = (nth as f64 * self.interval) as Nanos;
        Some(Arrival {
            due,
            connection: self.connection,
        })
    }

    #[inline]
    fn advance(&mut self) {
        self.connection += 1;
        if self.connection == self.share.connections() {
            self.connection = 0;
            self.round += 1;
        }
    }
}

/// Poisson arrivals: independent exponential gaps.
///
/// One process of the worker's whole rate, each arrival given to a uniformly drawn connection, is
/// the same process as independent ones per connection (superposition and thinning), and needs no
/// priority queue.
#[derive(Debug, Clone)]
pub struct Poisson {
    rng: Xoshiro256PlusPlus,
    mean_gap: f64,
    connections: u32,
    elapsed: f64,
    next: Arrival,
}

impl Poisson {
    /// `rate` requests per second over all workers; the same `seed` gives the same due times.
    pub fn new(rate: f64, share: Share, seed: u64) -> Self {
        let own = rate * f64::from(share.connections()) / f64::from(share.total);
        let mut this = Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(
                seed ^ u64::from(share.worker).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            ),
            mean_gap: SECOND as f64 / own,
            connections: share.connections(),
            elapsed: 0.0,
            next: Arrival {
                due: 0,
                connection: 0,
            },
        };
        this.advance();
        this
    }
}

impl Schedule for Poisson {
    const CLOSED: bool = false;

    #[inline]
    fn peek(&self) -> Option<Arrival> {
        Some(self.next)
    }

    #[inline]
    fn advance(&mut self) {
        let uniform: f64 = self.rng.random();
        // 1 − u lies in (0, 1], so the logarithm is finite.
        self.elapsed -= (1.0 - uniform).ln() * self.mean_gap;
        self.next = Arrival {
            due: self.elapsed as Nanos,
            connection: self.rng.random_range(0..self.connections),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn take(mut schedule: impl Schedule, n: usize) -> Vec<Arrival> {
        (0..n)
            .map(|_| {
                let arrival = schedule.peek().expect("an open loop never ends");
                schedule.advance();
                arrival
            })
            .collect()
    }

    proptest! {
        #[test]
        fn shares_cover_every_connection_once(total in 1u32..5_000, workers in 1u32..17) {
            prop_assume!(workers <= total);
            let mut seen = vec![0; total as usize];
            for worker in 0..workers {
                let share = Share { worker, workers, total };
                for local in 0..share.connections() {
                    seen[share.global(local) as usize] += 1;
                }
            }
            prop_assert!(seen.iter().all(|&n| n == 1));
        }

        #[test]
        fn constant_workers_together_are_one_even_schedule(
            total in 1u32..200, workers in 1u32..9, rate in 1.0f64..1e6,
        ) {
            prop_assume!(workers <= total);
            let mut due: Vec<Nanos> = (0..workers)
                .flat_map(|worker| {
                    let share = Share { worker, workers, total };
                    take(Constant::new(rate, share), 3 * share.connections() as usize)
                })
                .map(|arrival| arrival.due)
                .collect();
            due.sort_unstable();
            for (nth, &due) in due.iter().enumerate() {
                let exact = nth as f64 * 1e9 / rate;
                prop_assert!((due as f64 - exact).abs() <= 1.0 + exact * 1e-12, "{nth}: {due} {exact}");
            }
        }

        #[test]
        fn due_times_never_go_back(rate in 1.0f64..1e7, seed: u64) {
            let share = Share { worker: 0, workers: 1, total: 13 };
            for arrivals in [take(Constant::new(rate, share), 500), take(Poisson::new(rate, share, seed), 500)] {
                prop_assert!(arrivals.windows(2).all(|pair| pair[0].due <= pair[1].due));
                prop_assert!(arrivals.iter().all(|arrival| arrival.connection < 13));
            }
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let share = Share {
            worker: 0,
            workers: 1,
            total: 10,
        };
        let due: Vec<f64> = take(Poisson::new(1e6, share, 1), 200_000)
            .iter()
            .map(|a| a.due as f64)
            .collect();
        let gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1_000.0 - 1.0).abs() < 0.01, "mean gap {mean}");
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.01,
            "coefficient of variation"
        );
    }

    #[test]
    fn poisson_repeats_with_its_seed_and_differs_between_workers() {
        let share = |worker| Share {
            worker,
            workers: 2,
            total: 10,
        };
        let draw = |worker, seed| take(Poisson::new(1e5, share(worker), seed), 50);
        assert_eq!(draw(0, 1), draw(0, 1));
        assert_ne!(draw(0, 1), draw(0, 2));
        assert_ne!(draw(0, 1), draw(1, 1));
    }
}

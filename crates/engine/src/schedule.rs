//! When is a request due? Pure: no socket, no clock.
//!
//! A closed loop has no times of its own: a request is due as soon as its connection is free. An
//! open loop has a rate, and every request has a due time that nothing the server does can move.

mod open;
mod population;
mod stages;
mod times;

use crate::clock::{Nanos, SECOND};
use prony_record::Stage;
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
    /// Number of the worker, 0-based.
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

    /// Is the `nth` of all workers' evenly spaced requests (0-based) due on one of its connections?
    pub fn has(&self, nth: u64) -> bool {
        nth % u64::from(self.total) % u64::from(self.workers) == u64::from(self.worker)
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

    /// Moves on to the first that is due at `until` or later, and says what it has passed over. Takes no
    /// longer for many than for a few.
    fn skip(&mut self, until: Nanos) -> Skipped;
}

pub use open::Open;
pub use population::Population;
pub use stages::Stages;
pub use times::Times;

/// Requests that a schedule has passed over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// When the first was due, in nanoseconds since the load began.
    pub first: Nanos,
    /// When the last was.
    pub last: Nanos,
}

/// Ages of skipped requests are told in steps this fine: within a thousandth, as histograms have them.
const FINENESS: u64 = 1_000;

impl Skipped {
    /// No more than the first `n`.
    pub fn limit(&mut self, n: u64) {
        if n < self.count {
            let share = n.saturating_sub(1) as f64 / self.count.saturating_sub(1).max(1) as f64;
            self.last = self.first + ((self.last - self.first) as f64 * share) as Nanos;
            self.count = n;
        }
    }

    /// The same on a clock that shows `start` when the load begins.
    #[must_use]
    pub fn after(self, start: Nanos) -> Self {
        Self {
            first: self.first.saturating_add(start),
            last: self.last.saturating_add(start),
            ..self
        }
    }

    /// How old they are at `now`, as if they were evenly spaced: ages with the number of those that are
    /// about as old, the oldest first.
    pub fn ages(&self, now: Nanos, mut tell: impl FnMut(Nanos, u64)) {
        let spacing = (self.last - self.first) as f64 / self.count.saturating_sub(1).max(1) as f64;
        let mut told = 0;
        while told < self.count {
            let due = self.first + (told as f64 * spacing) as Nanos;
            let age = now.saturating_sub(due);
            let many = (age / FINENESS) as f64 / spacing;
            let n = (many as u64).clamp(1, self.count - told);
            tell(age, n);
            told += n;
        }
    }
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

    fn skip(&mut self, _until: Nanos) -> Skipped {
        Skipped::default()
    }
}

/// When each of all workers' requests is due, in closed form: computed from its number each time rather
/// than summed up, so it cannot drift.
pub trait Pace: Clone {
    /// When the `nth` is due (0-based), in nanoseconds since the load began; with a fraction, when so much is due. Never
    /// before what is before it.
    fn due_of(&self, nth: f64) -> Nanos;

    /// About how many are due before `until`.
    fn count_before(&self, until: Nanos) -> f64;
}

/// The same rate throughout. After an hour the error of the floating point product is below one
/// microsecond.
#[derive(Debug, Clone)]
pub struct Steady {
    interval: f64,
}

impl Pace for Steady {
    #[inline]
    fn due_of(&self, nth: f64) -> Nanos {
        (nth * self.interval) as Nanos
    }

    #[inline]
    fn count_before(&self, until: Nanos) -> f64 {
        until as f64 / self.interval
    }
}

/// Evenly spaced requests, staggered over the connections. At a constant rate request `k` of connection
/// `i` of `n` is due `(k + i/n) / λ_i` after the start, with `λ_i = λ/n`: that is `(k·n + i) / λ`. At any
/// [`Pace`] it is the request number `k·n + i` of all.
#[derive(Debug, Clone)]
pub struct Even<P> {
    pace: P,
    share: Share,
    round: u64,
    connection: u32,
}

/// A constant rate.
pub type Constant = Even<Steady>;

/// Times that were recorded.
pub type Replayed = Even<Times>;

/// A rate that changes.
pub type Staged = Even<Stages>;

impl Steady {
    /// Requests per second over all workers.
    fn at(rate: f64) -> Self {
        Self {
            interval: SECOND as f64 / rate,
        }
    }
}

impl Constant {
    /// `rate` requests per second over all workers.
    pub fn new(rate: f64, share: Share) -> Self {
        Self::at(Steady::at(rate), share)
    }
}

impl Staged {
    /// Schedule at the rate of `stages`, which are those of all workers' requests together; at least one stage.
    pub fn new(stages: &[Stage], share: Share) -> Self {
        Self::at(Stages::new(stages), share)
    }
}

impl Replayed {
    /// Schedule with the due times `due` of all workers' requests, in nanoseconds since the load began, in order.
    pub fn new(due: &[Nanos], share: Share) -> Self {
        Self::at(Times::new(due), share)
    }
}

impl<P: Pace> Even<P> {
    fn at(pace: P, share: Share) -> Self {
        Self {
            pace,
            share,
            round: 0,
            connection: 0,
        }
    }

    /// When the next request is due.
    #[inline]
    fn due(&self) -> Nanos {
        let nth = self.round * u64::from(self.share.total)
            + u64::from(self.share.global(self.connection));
        self.due_of(nth)
    }

    /// When the `nth` of all workers' requests is due.
    #[inline]
    fn due_of(&self, nth: u64) -> Nanos {
        self.pace.due_of(nth as f64)
    }

    /// The first of all workers' requests that is due at `until` or later.
    fn nth_at(&self, until: Nanos) -> u64 {
        let mut nth = self.pace.count_before(until).ceil() as u64;
        // What the quotient is rounded by is less than a step.
        while nth > 0 && self.due_of(nth - 1) >= until {
            nth -= 1;
        }
        while self.due_of(nth) < until {
            nth += 1;
        }
        nth
    }

    /// Moves on to the first of its own requests that is none of the first `nth` of all workers; not back.
    fn seek(&mut self, nth: u64) {
        let Share {
            worker,
            workers,
            total,
        } = self.share;
        let (mut round, rest) = (nth / u64::from(total), (nth % u64::from(total)) as u32);
        let mut connection = rest.saturating_sub(worker).div_ceil(workers);
        if connection >= self.share.connections() {
            (round, connection) = (round + 1, 0);
        }
        if (round, connection) > (self.round, self.connection) {
            (self.round, self.connection) = (round, connection);
        }
    }
}

impl<P: Pace> Schedule for Even<P> {
    const CLOSED: bool = false;

    #[inline]
    fn peek(&self) -> Option<Arrival> {
        Some(Arrival {
            due: self.due(),
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

    fn skip(&mut self, until: Nanos) -> Skipped {
        let own = u64::from(self.share.connections());
        let place = |it: &Self| it.round * own + u64::from(it.connection);
        let (from, first) = (place(self), self.due());
        self.seek(self.nth_at(until));
        let count = place(self).saturating_sub(from);
        if count == 0 {
            return Skipped::default();
        }
        let last = place(self) - 1;
        let before = Self {
            round: last / own,
            connection: (last % own) as u32,
            ..self.clone()
        };
        Skipped {
            count,
            first,
            last: before.due(),
        }
    }
}

/// Limit up to which skipped arrivals are drawn one by one. Beyond it, only the number of the others is drawn.
const ONE_BY_ONE: u64 = 1 << 20;

/// Poisson arrivals: independent exponential gaps, at any [`Pace`].
///
/// One process of the worker's whole share, each arrival given to a uniformly drawn connection, is
/// the same process as independent ones per connection (superposition and thinning), and needs no
/// priority queue. Where the rate changes, a process of rate 1 is drawn and each of its arrivals is due when as much is due
/// at that pace: the inverse of the mean function (Çinlar 1975).
#[derive(Debug, Clone)]
pub struct Random<P> {
    pace: P,
    rng: Xoshiro256PlusPlus,
    /// How much is due of all workers for each arrival of this one, on average.
    spread: f64,
    connections: u32,
    /// Time of the process of rate 1.
    elapsed: f64,
    next: Arrival,
}

/// Poisson arrivals at a constant rate.
pub type Poisson = Random<Steady>;

/// Poisson arrivals at a rate that changes.
pub type StagedPoisson = Random<Stages>;

impl Poisson {
    /// `rate` requests per second over all workers; the same `seed` gives the same due times.
    pub fn new(rate: f64, share: Share, seed: u64) -> Self {
        Self::at(Steady::at(rate), share, seed)
    }
}

impl StagedPoisson {
    /// Schedule at the rate of `stages`, which are those of all workers' requests together; at least one stage. The
    /// same `seed` gives the same due times.
    pub fn new(stages: &[Stage], share: Share, seed: u64) -> Self {
        Self::at(Stages::new(stages), share, seed)
    }
}

impl<P: Pace> Random<P> {
    fn at(pace: P, share: Share, seed: u64) -> Self {
        let mut this = Self {
            pace,
            rng: Xoshiro256PlusPlus::seed_from_u64(
                seed ^ u64::from(share.worker).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            ),
            spread: f64::from(share.total) / f64::from(share.connections()),
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

impl<P: Pace> Schedule for Random<P> {
    const CLOSED: bool = false;

    #[inline]
    fn peek(&self) -> Option<Arrival> {
        Some(self.next)
    }

    #[inline]
    fn advance(&mut self) {
        let uniform: f64 = self.rng.random();
        // 1 − u lies in (0, 1], so the logarithm is finite.
        self.elapsed -= (1.0 - uniform).ln();
        self.next = Arrival {
            due: self.pace.due_of(self.elapsed * self.spread),
            connection: self.rng.random_range(0..self.connections),
        };
    }

    fn skip(&mut self, until: Nanos) -> Skipped {
        if self.next.due >= until {
            return Skipped::default();
        }
        let mut skipped = Skipped {
            first: self.next.due,
            ..Skipped::default()
        };
        while self.next.due < until && skipped.count < ONE_BY_ONE {
            skipped.last = self.next.due;
            skipped.count += 1;
            self.advance();
        }
        if self.next.due < until {
            // Of a Poisson process the number of arrivals in an interval is a Poisson variate, and of so
            // many that is a normal one (Box and Muller 1958).
            let before = |time| self.pace.count_before(time) / self.spread;
            let mean = before(until) - before(self.next.due);
            let (u, v): (f64, f64) = (self.rng.random(), self.rng.random());
            let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
            skipped.count += 1 + (mean + mean.sqrt() * normal).round().max(0.0) as u64;
            skipped.last = until - 1;
            self.elapsed = self.pace.count_before(until) / self.spread;
            self.advance();
        }
        skipped
    }
}

#[cfg(test)]
mod tests;

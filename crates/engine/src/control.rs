//! Steering a load while it runs.

use crate::clock::{self, Nanos};
#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

// With its path, since the workspace `models` includes this file by path.
#[cfg(all(test, loom))]
#[path = "control/models.rs"]
mod models;

/// How long before something is to happen it must be said: the length of a turn of a worker's loop,
/// with much to spare.
const NOTICE: Nanos = 1_000_000;

/// Says when a running load is measured and when it ends. Shared between the steering thread and the
/// workers, which look at it once per turn of their loop.
///
/// A load begins unmeasured. [`measure`](Self::measure) says from when to when it is measured, in
/// nanoseconds since the load's start; after that it ends by itself.
#[derive(Debug)]
pub struct Control {
    /// On the engine's clock; `Nanos::MAX` until the load begins.
    start: AtomicU64,
    /// Since the start; `Nanos::MAX` while it is not known.
    from: AtomicU64,
    until: AtomicU64,
    /// When a stop ended the measurement, since the start; `Nanos::MAX` unless one did. A time of its own:
    /// a measurement that is announced at that very moment does not undo it.
    ended: AtomicU64,
    stop: AtomicBool,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            start: AtomicU64::new(Nanos::MAX),
            from: AtomicU64::new(Nanos::MAX),
            until: AtomicU64::new(Nanos::MAX),
            ended: AtomicU64::new(Nanos::MAX),
            stop: AtomicBool::new(false),
        }
    }
}

impl Control {
    /// A load that is measured as soon as it begins, for `length` nanoseconds (`Nanos::MAX`:
    /// until its number of requests is reached, or until it is stopped).
    pub fn at_once(length: Nanos) -> Self {
        let this = Self::default();
        this.from.store(0, Ordering::Relaxed);
        this.until.store(length, Ordering::Relaxed);
        this
    }

    /// Measures from `from` until `until`, in nanoseconds since the load's start. To be said once,
    /// before the load or while it runs. When `from` is too close for every worker to hear of it, both
    /// are put off by the same time; gives what it has become.
    pub fn measure(&self, from: Nanos, until: Nanos) -> (Nanos, Nanos) {
        let late = self.started().map_or(0, |start| {
            (clock::now() + NOTICE).saturating_sub(start.saturating_add(from))
        });
        let (from, until) = (from + late, until.saturating_add(late));
        self.until.store(until, Ordering::Relaxed);
        self.from.store(from, Ordering::Release);
        (from, until)
    }

    /// Ends the load now; what was measured so far is kept.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Has [`stop`](Self::stop) been called?
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// When the load began, on the engine's clock, once it has.
    pub fn started(&self) -> Option<Nanos> {
        Some(self.start.load(Ordering::Acquire)).filter(|&start| start != Nanos::MAX)
    }

    /// How long the load has lasted, once it has begun.
    pub fn elapsed(&self) -> Option<Nanos> {
        let start = self.started()?;
        Some(clock::now().saturating_sub(start))
    }

    /// Lets the workers begin a moment from now; gives when, on the engine's clock.
    pub(crate) fn begin(&self) -> Nanos {
        // Late enough that every worker sees it before it has come.
        let start = clock::now() + 2 * NOTICE;
        self.begin_at(start);
        start
    }

    /// Lets the workers begin at `start`, on the engine's clock. To be said once; when that time is over,
    /// they begin at once and are that late with everything.
    pub fn begin_at(&self, start: Nanos) {
        self.start.store(start, Ordering::Release);
    }

    /// Nothing after `at`, since the load's start, is measured any more.
    pub(crate) fn end(&self, at: Nanos) {
        self.ended.fetch_min(at, Ordering::AcqRel);
    }

    /// From when and until when to measure, since the load's start.
    #[inline]
    pub(crate) fn measured(&self) -> (Nanos, Nanos) {
        let from = self.from.load(Ordering::Acquire);
        let until = self.until.load(Ordering::Relaxed);
        let ended = self.ended.load(Ordering::Acquire);
        (from.min(ended), until.min(ended))
    }

    /// The same on the engine's clock, of a load that began at `start`.
    #[inline]
    pub(crate) fn measured_after(&self, start: Nanos) -> (Nanos, Nanos) {
        let (from, until) = self.measured();
        (start.saturating_add(from), start.saturating_add(until))
    }
}

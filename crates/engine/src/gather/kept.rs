//! Data kept of each window until the load ends. A load of hours has thousands of windows.

use crate::clock::Nanos;
use crate::recorder::Slice;
use prony_record::Window;
use std::num::NonZeroU64;

/// A window without what the generator does not know, which is what the server used, and without its part of the
/// load, which is known at the end.
#[derive(Debug)]
pub(super) struct KeptWindow {
    index: u32,
    /// When it began, on the engine's clock.
    start: Nanos,
    length: Nanos,
    ok: u64,
    wrong: u64,
    errors: u64,
    timeouts: u64,
    p50: Option<NonZeroU64>,
    p99: Option<NonZeroU64>,
    work: Nanos,
    outstanding: u32,
    events: u32,
}

impl KeptWindow {
    pub(super) fn of(slice: &Slice) -> Self {
        // The least value of the histogram is 1 ns.
        let at = |q| match slice.response.is_empty() {
            true => None,
            false => NonZeroU64::new(slice.response.value_at_quantile(q).max(1)),
        };
        Self {
            index: slice.index,
            start: slice.start,
            length: slice.length,
            ok: slice.outcomes.ok,
            wrong: slice.outcomes.wrong_answer,
            errors: slice.outcomes.socket_errors(),
            timeouts: slice.outcomes.timeout,
            p50: at(0.5),
            p99: at(0.99),
            work: slice.work,
            outstanding: slice.outstanding.try_into().unwrap_or(u32::MAX),
            events: slice.events.try_into().unwrap_or(u32::MAX),
        }
    }

    /// Requests that were due and had not ended at its end, which was at this time of the engine's clock.
    pub(super) fn outstanding(&self) -> (Nanos, u64) {
        (
            self.start.saturating_add(self.length),
            self.outstanding.into(),
        )
    }

    /// The window in a load that began at `start`, on the engine's clock, and was measured during `span`, since then.
    pub(super) fn window(&self, start: Nanos, span: (Nanos, Nanos)) -> Window {
        let begun = self.start.saturating_sub(start);
        let window = Window {
            verified_answers: self.ok,
            wrong_answers: self.wrong,
            errors: self.errors,
            timeouts: self.timeouts,
            p50_ns: self.p50.map(NonZeroU64::get),
            p99_ns: self.p99.map(NonZeroU64::get),
            generator_cpu_ns: Some(self.work),
            outstanding: self.outstanding.into(),
            events: self.events.into(),
            ..Window::empty(self.index, begun, self.length)
        };
        window.placed(begun, span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_a_long_load_takes_a_hundred_bytes() {
        assert!(size_of::<KeptWindow>() <= 88, "{}", size_of::<KeptWindow>());
    }
}

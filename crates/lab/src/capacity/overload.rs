//! Behaviour of a server beyond its capacity, and the time until it recovers.

use super::{CapacityError, CapacitySearch};
use crate::event::Event;
use crate::trial::MeasuredTrial;
use prony_record::service::{LatencyLimit, Limits, Overload};
use prony_record::{Nanos, Percentiles, Phase, SECOND, Timed, Times, Window};
use prony_verdict::capacity::{beyond, round};

/// Name, in the notebook, of loads beyond the capacity. These and the loads that follow them show nothing about the
/// capacity.
pub const OVERLOAD: &str = "overload";
/// See [`OVERLOAD`].
pub const RECOVERY: &str = "recovery";
/// Name of loads that a server kept before an overload, when they are tried again after it.
pub const AFTER: &str = "after-overload";
/// The part of the capacity that follows an overload.
const REST: f64 = 0.5;

impl CapacitySearch<'_, '_> {
    /// Loads it beyond a rate, up to a share of it, each time followed by a load that it can keep.
    pub(super) fn beyond(&mut self, low: f64, most: f64) -> Result<Vec<Overload>, CapacityError> {
        let length = self.capacity.trial();
        let mut all = Vec::new();
        for share in beyond(most) {
            let rate = round(low * share);
            let Some((over, _)) = self.measure((0, rate), length, Some(OVERLOAD))? else {
                break;
            };
            let rest = self.measure((0, round(low * REST)), length, Some(RECOVERY))?;
            let Some((rest, _)) = rest else { break };
            let seen = overload(&self.capacity.limits, (rate, share), &over, &rest);
            (self.observer)(Event::Overloaded(&seen));
            all.push(seen);
        }
        Ok(all)
    }
}

fn overload(
    limits: &Limits,
    (rate, of_capacity): (f64, f64),
    over: &MeasuredTrial,
    rest: &MeasuredTrial,
) -> Overload {
    let outcomes = &over.seen.outcomes;
    let finished = outcomes.finished().max(1) as f64;
    let response = &over.seen.times.response;
    let (longest, of) = limits.longest_ms();
    let in_time = |times: &Times| times.count_between(0, (longest * 1e6) as u64);
    let within = match of {
        // A stream is in time if all of its events are.
        Timed::Gap => in_time(&over.seen.times.longest_gap),
        of => in_time(&over.seen.times.timed(of)),
    };
    let seconds = over.seen.seconds().max(f64::MIN_POSITIVE);
    Overload {
        rate,
        of_capacity,
        // A time-out has a response time too.
        goodput: within.min(outcomes.ok) as f64 / seconds,
        throughput: over.seen.throughput(),
        errors: outcomes.socket_errors() as f64 / finished,
        timeouts: outcomes.timeout as f64 / finished,
        rejected: outcomes.wrong_answer as f64 / finished,
        latency: Percentiles::of(response, outcomes.untimed())
            .with_intervals(response, &over.seen.times.effective),
        recovery_seconds: recovered(limits, &rest.seen.windows).map(|ns| ns as f64 / SECOND as f64),
        recovery_watched_seconds: rest.seen.seconds(),
    }
}

/// The end of the first window that keeps the limits, since the load's start.
fn recovered(limits: &Limits, windows: &[Window]) -> Option<Nanos> {
    let measured = windows.iter().filter(|it| it.phase == Phase::Measure);
    let began = measured.clone().map(|it| it.start_ns).next()?;
    let mut keeping = measured.filter(|window| keeps(limits, window));
    keeping.next().map(|window| window.end_ns() - began)
}

/// A window knows its median and its p99: a limit of the median or below is held against the first, and
/// every other against the second. It knows response times only.
fn keeps(limits: &Limits, window: &Window) -> bool {
    let failed = window.wrong_answers + window.errors + window.timeouts;
    let all = window.verified_answers + failed;
    let within = |limit: &LatencyLimit| {
        let seen = match limit.percentile {
            p if p <= 50.0 => window.p50_ns,
            _ => window.p99_ns,
        };
        seen.is_some_and(|ns| ns as f64 <= limit.within_ms * 1e6)
    };
    let mut known = limits.latency.iter().filter(|limit| limit.of.is_response());
    all > 0 && failed as f64 <= limits.errors * all as f64 && known.all(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(index: u32, p50_ms: u64, p99_ms: u64) -> Window {
        Window {
            phase: Phase::Measure,
            verified_answers: 100,
            p50_ns: Some(p50_ms * 1_000_000),
            p99_ns: Some(p99_ms * 1_000_000),
            ..Window::empty(index, u64::from(index) * SECOND / 10, SECOND / 10)
        }
    }

    fn limits() -> Limits {
        let limit = LatencyLimit::new;
        Limits {
            latency: vec![limit(99.0, 10.0), limit(50.0, 2.0)],
            errors: 0.01,
            good: None,
        }
    }

    #[test]
    fn recovery_is_the_end_of_the_first_window_within_all_limits() {
        let slow = [window(0, 50, 90), window(1, 1, 12), window(2, 3, 5)];
        assert_eq!(recovered(&limits(), &slow), None);
        let mut windows = slow.to_vec();
        windows.push(window(3, 1, 9));
        assert_eq!(recovered(&limits(), &windows), Some(SECOND / 10 * 4));
        windows[3].timeouts = 5;
        assert_eq!(recovered(&limits(), &windows), None, "errors count too");
    }

    #[test]
    fn a_window_without_an_answer_keeps_nothing() {
        let empty = Window {
            phase: Phase::Measure,
            ..Window::empty(0, 0, SECOND)
        };
        assert_eq!(recovered(&limits(), &[empty]), None);
    }

    #[test]
    fn the_warm_up_is_no_recovery() {
        let mut windows = vec![window(0, 1, 1), window(1, 1, 1)];
        windows[0].phase = Phase::Warmup;
        assert_eq!(recovered(&limits(), &windows), Some(SECOND / 10));
    }
}

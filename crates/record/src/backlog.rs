//! Whether the requests of an open loop piled up.

use crate::load::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Growth below this share of the rate is no growth: more than what the ends of windows add by chance.
const TOLERANCE: f64 = 0.02;
/// Arrivals and answers vary: the backlog is a random walk whose standard deviation after n requests is at most about
/// √n. So many of them are allowed on top.
const DEVIATIONS: f64 = 3.0;
/// The two halves' means must lie this many of their own standard deviations apart. For a straight line it is 3.5; for a
/// backlog that goes up and down within each half it is less than 1.
const APART: f64 = 2.0;
/// Samples in each half from which their spread is known.
const ENOUGH: usize = 2;

/// Requests of an open loop that were due and had not ended.
///
/// A server that keeps its rate has rate × response time of them (Little's law), however slow it is; behind one that
/// does not keep it they grow for as long as the load lasts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Backlog {
    /// Measurements that were long enough to judge: four windows after the first service time, which is less than half of it.
    pub judged: u32,
    /// Judged measurements in which the backlog grew.
    pub grew: u32,
    /// Requests at the end, of several measurements of the last one.
    pub at_end: u64,
    /// How fast it grew, in requests per second: over several measurements the mean. 0 where it shrank.
    pub growth: f64,
}

/// Requests that were due and had not ended, at a time since the measurement began, in seconds.
pub type Outstanding = (f64, u64);

impl Backlog {
    /// Backlog of a measurement of this many seconds. `samples` are in order; `service` is the median service time in
    /// seconds, None where it is not known. Under a load without a rate nothing is judged.
    #[must_use]
    pub fn of(load: &Load, seconds: f64, samples: &[Outstanding], service: Option<f64>) -> Self {
        let at_end = samples.last().map_or(0, |&(_, n)| n);
        let Some(rate) = load.rate_over(seconds) else {
            return Self::default();
        };
        let due = rate * seconds;
        let in_flight = f64::from(load.max_connections()) * f64::from(load.pipeline);
        // What no connection can carry waits for one: however slow answers are, that is too much.
        let waiting = at_end as f64 - in_flight;
        let crowded = waiting > due * TOLERANCE + DEVIATIONS * due.sqrt();
        let found = |growth, grew| Self {
            judged: 1,
            grew: u32::from(grew),
            at_end,
            growth,
        };
        let pace = waiting.max(0.0) / seconds.max(f64::MIN_POSITIVE);
        if load.changes().is_some() {
            // More are in flight at a higher rate, which is no growth.
            return found(pace, crowded);
        }
        // At first they grow to what is always in flight.
        let service = service.unwrap_or(0.0);
        let from = samples.partition_point(|&(at, _)| at < service);
        let settled = samples.get(from..).filter(|_| service < seconds / 2.0);
        match settled.and_then(|samples| growth(rate, samples)) {
            Some((growth, grew)) => found(growth, grew || crowded),
            None if crowded => found(pace, true),
            None => Self {
                at_end,
                ..Self::default()
            },
        }
    }

    /// Was the rate missed? In more than half of the measurements: once may be another program's doing.
    #[must_use]
    pub fn missed(&self) -> bool {
        2 * self.grew > self.judged
    }

    /// Adds another measurement of the same load.
    pub fn merge(&mut self, other: &Self) {
        let judged = self.judged + other.judged;
        if judged > 0 {
            let sum = self.growth * f64::from(self.judged) + other.growth * f64::from(other.judged);
            self.growth = sum / f64::from(judged);
        }
        self.judged = judged;
        self.grew += other.grew;
        self.at_end = other.at_end;
    }
}

/// How fast they grew, per second, and whether that is more than chance; none from too few samples.
fn growth(rate: f64, samples: &[Outstanding]) -> Option<(f64, bool)> {
    let half = samples.len() / 2;
    let (first, second) = (samples.get(..half)?, samples.get(samples.len() - half..)?);
    if half < ENOUGH {
        return None;
    }
    let mean = |of: &dyn Fn(&Outstanding) -> f64, all: &[Outstanding]| {
        all.iter().map(of).sum::<f64>() / all.len() as f64
    };
    let time = mean(&|it| it.0, second) - mean(&|it| it.0, first);
    let number = |it: &Outstanding| it.1 as f64;
    let (low, high) = (mean(&number, first), mean(&number, second));
    let squares = |all: &[Outstanding], mean: f64| {
        all.iter()
            .map(|it| (number(it) - mean).powi(2))
            .sum::<f64>()
    };
    let freedom = (2 * (half - 1)) as f64;
    let spread = ((squares(first, low) + squares(second, high)) / freedom).sqrt();
    let (more, due) = (high - low, rate * time);
    let grew = more > due * TOLERANCE + DEVIATIONS * due.sqrt() && more > APART * spread;
    Some((more.max(0.0) / time.max(f64::MIN_POSITIVE), grew))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Span, Stage};
    use std::time::Duration;

    fn at(rate: f64) -> Load {
        Load {
            rate: Some(rate),
            ..Load::default()
        }
    }

    /// Ten samples of a measurement of so many seconds.
    fn samples(seconds: f64, of: impl Fn(f64) -> f64) -> Vec<Outstanding> {
        let time = |n: u32| seconds * f64::from(n) / 10.0;
        (1..=10).map(|n| (time(n), of(time(n)) as u64)).collect()
    }

    /// With as many connections as are in flight.
    fn missed(rate: f64, seconds: f64, service: f64, of: impl Fn(f64) -> f64) -> bool {
        let load = Load {
            connections: (rate * service).ceil().max(64.0) as u32,
            ..at(rate)
        };
        Backlog::of(&load, seconds, &samples(seconds, of), Some(service)).missed()
    }

    #[test]
    fn latency_alone_misses_no_rate() {
        for response in [0.001, 0.05, 0.2, 1.0, 2.0] {
            for rate in [20.0, 1_000.0, 20_000.0] {
                for seconds in [0.5, 2.0, 10.0] {
                    // From cold: they grow to rate × response time, and stay there.
                    let level = |t: f64| rate * t.min(response);
                    assert!(
                        !missed(rate, seconds, response, level),
                        "{response} {rate} {seconds}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_server_that_is_too_slow_misses_it() {
        for (share, rate, seconds) in [(0.5, 200.0, 2.0), (0.8, 1_000.0, 2.0), (0.9, 20_000.0, 1.0)]
        {
            let grows = |t: f64| rate * (1.0 - share) * t;
            assert!(missed(rate, seconds, 0.01, grows), "{share} {rate}");
            // Where answers take longer than the measurement, slow ones and too many look the same.
            assert!(!missed(rate, seconds, 5.0, grows), "{share} {rate}");
        }
        let few = Backlog::of(&at(1_000.0), 2.0, &[(1.0, 1_000), (2.0, 2_000)], Some(6.4));
        assert!(few.missed(), "64 connections, and far more waits");
        // One that answers nothing at all.
        assert!(missed(100.0, 2.0, 0.0, |t| 100.0 * t));
    }

    #[test]
    fn a_stall_that_is_worked_off_misses_nothing() {
        let stalled = |t: f64| {
            if (0.4..0.7).contains(&t) {
                4_000.0 * (t - 0.4)
            } else {
                2.0
            }
        };
        assert!(!missed(4_000.0, 2.0, 0.001, stalled));
    }

    #[test]
    fn too_short_to_judge_is_not_missed() {
        let short = Backlog::of(&at(100.0), 0.3, &[(0.1, 5), (0.2, 10), (0.3, 20)], None);
        assert_eq!((short.judged, short.missed()), (0, false));
        assert_eq!(short.at_end, 20);
        assert_eq!(
            Backlog::of(&Load::default(), 1.0, &[(1.0, 64)], None),
            Backlog::default()
        );
    }

    #[test]
    fn a_rate_that_changes_is_missed_when_more_waits_than_connections_carry() {
        let load = Load {
            rate: Some(500.0),
            stages: vec![Stage {
                from: 0.0,
                to: 1_000.0,
                duration: Span(Duration::from_secs(10)),
            }],
            ..Load::default()
        };
        let backlog = |n| Backlog::of(&load, 10.0, &[(10.0, n)], None);
        assert!(!backlog(60).missed());
        assert!(backlog(2_000).missed());
    }

    #[test]
    fn most_of_several_measurements_decide() {
        let one = |grew| Backlog {
            judged: 1,
            grew,
            at_end: 3,
            growth: f64::from(grew) * 10.0,
        };
        let mut all = one(1);
        all.merge(&one(0));
        assert!(!all.missed());
        assert_eq!(all.growth, 5.0);
        all.merge(&one(1));
        assert!(all.missed());
    }
}

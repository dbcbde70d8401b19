//! The throughput of one run from its windows.

use crate::series::known;
use crate::{Estimate, Interval, StatsError, Unit, finite};

/// Count of one window of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Count {
    /// Verified answers finished inside the window.
    pub answers: u64,
    /// The window's length in seconds, above zero.
    pub seconds: f64,
}

/// The rate of one run in answers a second: all answers over all the time, with the interval that the
/// windows' rates give as a series whose values depend on each other, and what they are worth as
/// independent ones (see [`series`](crate::series)); fewer than [`MIN_VALUES`](crate::series::MIN_VALUES)
/// windows have no interval. The windows should be equally long.
///
/// The interval says how well this run's rate is known. It does not say how another start of the
/// same server would do: that takes several runs.
///
/// # Errors
///
/// If there are no windows, or a window's length is not above zero.
pub fn throughput(windows: &[Count]) -> Result<Estimate, StatsError> {
    if let Some((at, window)) = windows.iter().enumerate().find(|(_, w)| w.seconds <= 0.0) {
        return Err(StatsError::NotPositive {
            at,
            value: window.seconds,
        });
    }
    let rates: Vec<f64> = windows
        .iter()
        .map(|w| w.answers as f64 / w.seconds)
        .collect();
    finite(&rates, "a throughput")?;
    let answers: u64 = windows.iter().map(|w| w.answers).sum();
    let seconds: f64 = windows.iter().map(|w| w.seconds).sum();
    let value = answers as f64 / seconds;
    let known = known(&rates);
    // A rate cannot be below zero, however wide the interval.
    let interval =
        known.and_then(|known| Interval::new((value - known.half).max(0.0), value + known.half));
    let n = known.map_or(rates.len() as f64, |known| known.n);
    Estimate::new(value, interval, n as u64, Unit::PerSecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(counts: &[u64]) -> Vec<Count> {
        counts
            .iter()
            .map(|&answers| Count {
                answers,
                seconds: 0.5,
            })
            .collect()
    }

    #[test]
    fn all_answers_over_all_the_time() {
        let rate = throughput(&windows(&[100, 110, 90, 104])).expect("windows");
        assert_eq!(
            (rate.value(), rate.n(), rate.interval()),
            (202.0, 4, None),
            "four windows are too few for an interval"
        );
    }

    #[test]
    fn dependent_windows_give_a_wider_interval() {
        let mixed: Vec<u64> = (0..64)
            .map(|i| if i % 2 == 0 { 100 } else { 200 })
            .collect();
        let mut halves = mixed.clone();
        halves.sort_unstable();
        let mixed = throughput(&windows(&mixed)).expect("windows");
        let halves = throughput(&windows(&halves)).expect("windows");
        assert_eq!(mixed.value(), halves.value());
        assert!(halves.n() < mixed.n());
        assert!(halves.high() > mixed.high());
    }

    #[test]
    fn a_rate_is_never_below_zero() {
        let once = [0, 0, 0, 0, 1000, 0, 0, 0, 0, 0];
        assert_eq!(
            throughput(&windows(&once)).expect("windows").low(),
            Some(0.0)
        );
        assert_eq!(
            throughput(&windows(&[0, 0, 0])).expect("windows").value(),
            0.0
        );
    }

    #[test]
    fn one_window_has_no_interval_and_none_no_rate() {
        assert_eq!(
            throughput(&windows(&[7])).expect("a window").interval(),
            None
        );
        assert!(throughput(&[]).is_err());
        assert!(
            throughput(&[Count {
                answers: 1,
                seconds: 0.0
            }])
            .is_err()
        );
        assert!(
            throughput(&[Count {
                answers: 1,
                seconds: f64::NAN
            }])
            .is_err()
        );
    }
}

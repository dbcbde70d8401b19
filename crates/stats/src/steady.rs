//! Is a load steady yet? A simple rule, asked after every window of a warm-up.
//!
//! The last [`WINDOWS`] windows must lie close together and show no trend. That sees a server that
//! is still getting faster or slower, and one that jumps about.
//!
//! What it cannot see: a change slower than [`TREND`] over those windows; a change that comes later
//! (a JIT's last tier, a heap that fills up); a period longer than the windows; a host that is
//! steady and slow. So it decides when measuring may begin, never whether what was measured was
//! steady: that is judged afterwards, with all windows at hand.

use crate::mean::t_quantile;
use crate::summary::{average, median};

/// How many windows, the latest ones, must agree. Fewer cannot show a trend (a line through five
/// points leaves three degrees of freedom); more would double the warm-up of servers that are
/// steady from the start.
pub const WINDOWS: usize = 5;

/// How far a window's rate may lie from the median of them, as a share. Five windows with a
/// coefficient of variation of 2 % stay within it in nine cases of ten, with 1 % practically
/// always; a jump of more is worth waiting for. A starting point, to be corrected by measurement.
pub const RATE_BAND: f64 = 0.05;

/// The same for a window's median response time, the coarser figure: in a closed loop it moves at
/// least as much as the rate does, and in the steps of its histogram. A starting point as well.
pub const P50_BAND: f64 = 0.10;

/// The change over the windows, along a fitted line and as a share of their mean, from which a
/// trend counts, if it is also larger than chance explains. Smaller ones matter little to a
/// measurement many times as long, and cannot be distinguished from noise with five windows.
pub const TREND: f64 = 0.02;

/// What the latest windows say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steadiness {
    /// Steady: measuring may begin.
    Steady,
    /// Not enough windows yet.
    TooFew {
        /// How many there are; [`WINDOWS`] are needed.
        have: usize,
    },
    /// One window is too far from the median of them.
    Scattered {
        /// How far, as a share of the median.
        by: f64,
    },
    /// They rise or fall.
    Trend {
        /// The change over the windows, as a share of their mean; negative where they fall.
        change: f64,
    },
    /// Nothing was answered in the middle one of the windows, or worse.
    Silent,
}

impl Steadiness {
    /// May measuring begin?
    #[must_use]
    pub fn is_steady(self) -> bool {
        self == Self::Steady
    }
}

/// Judges the latest windows of a warm-up: `rates` in any unit, one for each window, in order; and,
/// if known, each window's median response time. Rates are judged first, then response times.
#[must_use]
pub fn steadiness(rates: &[f64], p50s: Option<&[f64]>) -> Steadiness {
    match judge(rates, RATE_BAND) {
        Steadiness::Steady => p50s.map_or(Steadiness::Steady, |p50s| judge(p50s, P50_BAND)),
        unsteady => unsteady,
    }
}

fn judge(values: &[f64], band: f64) -> Steadiness {
    let Some(start) = values.len().checked_sub(WINDOWS) else {
        return Steadiness::TooFew { have: values.len() };
    };
    let latest = &values[start..];
    let Some(middle) = median(latest).filter(|&middle| middle > 0.0) else {
        return Steadiness::Silent;
    };
    // A value that is not a number is at no distance that would do.
    let distance = |value: &f64| Some((value / middle - 1.0).abs()).filter(|by| !by.is_nan());
    let by = latest
        .iter()
        .map(|value| distance(value).unwrap_or(f64::INFINITY))
        .fold(0.0, f64::max);
    if by > band {
        return Steadiness::Scattered { by };
    }
    match trend(latest) {
        Some(change) if change.abs() > TREND => Steadiness::Trend { change },
        _ => Steadiness::Steady,
    }
}

/// The change from the first value to the last along the least-squares line, as a share of the
/// mean; None if chance explains it (t test of the slope, at [`CONFIDENCE`](crate::CONFIDENCE)).
fn trend(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let (mean, middle) = (average(values)?, (n - 1.0) / 2.0);
    let offset = |i: usize| i as f64 - middle;
    let sxx: f64 = (0..values.len()).map(|i| offset(i).powi(2)).sum();
    let sxy: f64 = values
        .iter()
        .enumerate()
        .map(|(i, y)| offset(i) * (y - mean))
        .sum();
    let slope = sxy / sxx;
    let rest: f64 = values
        .iter()
        .enumerate()
        .map(|(i, y)| (y - mean - slope * offset(i)).powi(2))
        .sum();
    let error = (rest / (n - 2.0) / sxx).sqrt();
    (slope.abs() > t_quantile(n - 2.0)? * error).then_some(slope * (n - 1.0) / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_is_steady_once_there_are_enough_windows() {
        let flat = [100.0, 101.0, 99.0, 100.5, 100.0];
        assert_eq!(steadiness(&flat[..4], None), Steadiness::TooFew { have: 4 });
        assert!(steadiness(&flat, None).is_steady());
    }

    #[test]
    fn only_the_latest_windows_count() {
        let warmed = [1.0, 20.0, 60.0, 100.0, 101.0, 99.0, 100.5, 100.0];
        assert!(steadiness(&warmed, None).is_steady());
        assert!(!steadiness(&warmed[..7], None).is_steady());
    }

    #[test]
    fn a_slow_ramp_is_a_trend_and_a_jump_is_scatter() {
        let ramp = [100.0, 101.1, 101.9, 103.0, 104.1];
        assert!(matches!(steadiness(&ramp, None), Steadiness::Trend { change } if change > 0.03));
        let falling = [104.1, 103.0, 101.9, 101.1, 100.0];
        assert!(
            matches!(steadiness(&falling, None), Steadiness::Trend { change } if change < -0.03)
        );
        let jump = [100.0, 100.0, 130.0, 100.0, 100.0];
        assert_eq!(
            steadiness(&jump, None),
            Steadiness::Scattered { by: 1.3 - 1.0 }
        );
    }

    #[test]
    fn response_times_are_judged_as_well() {
        let rates = [100.0; 5];
        assert!(steadiness(&rates, Some(&[1.0, 1.02, 0.99, 1.0, 1.01])).is_steady());
        assert!(!steadiness(&rates, Some(&[1.0, 1.0, 1.0, 1.0, 1.5])).is_steady());
        assert!(!steadiness(&rates, Some(&[])).is_steady());
    }

    #[test]
    fn silence_and_nonsense_are_not_steady() {
        assert_eq!(steadiness(&[0.0; 6], None), Steadiness::Silent);
        assert!(!steadiness(&[f64::NAN; 6], None).is_steady());
        assert!(!steadiness(&[1.0, 1.0, f64::NAN, 1.0, 1.0], None).is_steady());
        assert!(!steadiness(&[1.0, 1.0, f64::INFINITY, 1.0, 1.0], None).is_steady());
    }
}

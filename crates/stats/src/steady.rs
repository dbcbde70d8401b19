//! Is a load steady yet? A simple rule, asked after every window of a warm-up.
//!
//! The latest windows, [`WINDOWS`] of them or half of all if that is more, must show no trend, and so little scatter
//! that a trend would show. That sees a server that is still getting faster or slower, and waits for more windows where
//! they jump about.
//!
//! What it cannot see: a change slower than [`TREND`] over those windows; a change that comes later
//! (a JIT's last tier, a heap that fills up); a period longer than the windows; a host that is
//! steady and slow. So it decides when measuring may begin, never whether what was measured was
//! steady: that is judged afterwards, with all windows at hand.

use crate::mean::t_quantile;
use crate::summary::{average, median};

/// How many windows, the latest ones, must agree at least. Fewer cannot show a trend (a line through five
/// points leaves three degrees of freedom); more would double the warm-up of servers that are
/// steady from the start.
pub const WINDOWS: usize = 5;

/// The change over the windows, along a fitted line and as a share of their mean, from which a
/// trend counts, if it is also larger than chance explains. Smaller ones matter little to a
/// measurement many times as long, and cannot be distinguished from noise with five windows.
pub const TREND: f64 = 0.02;

/// How well that change must be known: half of its 95% interval, as a share of the mean. Five windows with a coefficient
/// of variation of 2% know it so well in nine cases of ten, ten with 5%. What scatters more takes more windows.
pub const KNOWN: f64 = 0.125;

/// Judgement of the latest windows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steadiness {
    /// Steady: measuring may begin.
    Steady,
    /// Not enough windows yet.
    TooFew {
        /// How many there are; [`WINDOWS`] are needed.
        have: usize,
    },
    /// The windows scatter so much that a trend would not show.
    Scattered {
        /// Half of the 95% interval of their change, as a share of their mean.
        by: f64,
    },
    /// The windows rise or fall.
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

/// Judges the latest windows of a warm-up: `rates` in any unit, one for each window, in order.
#[must_use]
pub fn steadiness(rates: &[f64]) -> Steadiness {
    if rates.len() < WINDOWS {
        return Steadiness::TooFew { have: rates.len() };
    }
    let latest = &rates[rates.len() - WINDOWS.max(rates.len() / 2)..];
    if median(latest).is_none_or(|middle| middle <= 0.0) {
        return Steadiness::Silent;
    }
    let Some((change, half)) = change(latest).filter(|(change, half)| (change * half).is_finite())
    else {
        return Steadiness::Scattered { by: f64::INFINITY };
    };
    if change.abs() > TREND.max(half) {
        Steadiness::Trend { change }
    } else if half > KNOWN {
        Steadiness::Scattered { by: half }
    } else {
        Steadiness::Steady
    }
}

/// The change from the first value to the last along the least-squares line, as a share of the
/// mean, with half of its interval at [`CONFIDENCE`](crate::CONFIDENCE).
fn change(values: &[f64]) -> Option<(f64, f64)> {
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
    let share = (n - 1.0) / mean;
    Some((slope * share, t_quantile(n - 2.0)? * error * share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_is_steady_once_there_are_enough_windows() {
        let flat = [100.0, 101.0, 99.0, 100.5, 100.0];
        assert_eq!(steadiness(&flat[..4]), Steadiness::TooFew { have: 4 });
        assert!(steadiness(&flat).is_steady());
    }

    #[test]
    fn only_the_latest_windows_count() {
        let warmed = [1.0, 20.0, 60.0, 100.0, 101.0, 99.0, 100.5, 100.0];
        assert!(steadiness(&warmed).is_steady());
        assert!(!steadiness(&warmed[..7]).is_steady());
    }

    #[test]
    fn a_slow_ramp_is_a_trend_and_a_jump_is_scatter() {
        let ramp = [100.0, 101.1, 101.9, 103.0, 104.1];
        assert!(matches!(steadiness(&ramp), Steadiness::Trend { change } if change > 0.03));
        let falling = [104.1, 103.0, 101.9, 101.1, 100.0];
        assert!(matches!(steadiness(&falling), Steadiness::Trend { change } if change < -0.03));
        let jump = [100.0, 100.0, 130.0, 100.0, 100.0];
        assert!(matches!(steadiness(&jump), Steadiness::Scattered { by } if by > 0.3));
    }

    #[test]
    fn what_scatters_takes_more_windows() {
        let noise = [0.9, -1.1, 0.3, -0.6, 1.2, -0.7, 0.2, 1.0, -1.2, 0.4];
        let windows = |n: usize| -> Vec<f64> {
            let noise = noise.iter().cycle().take(n);
            noise.map(|noise| 100.0 + 8.0 * noise).collect()
        };
        assert!(matches!(
            steadiness(&windows(5)),
            Steadiness::Scattered { .. }
        ));
        assert!(steadiness(&windows(40)).is_steady());
    }

    #[test]
    fn silence_and_nonsense_are_not_steady() {
        assert_eq!(steadiness(&[0.0; 6]), Steadiness::Silent);
        assert!(!steadiness(&[f64::NAN; 6]).is_steady());
        assert!(!steadiness(&[1.0, 1.0, f64::NAN, 1.0, 1.0]).is_steady());
        assert!(!steadiness(&[1.0, 1.0, f64::INFINITY, 1.0, 1.0]).is_steady());
    }
}

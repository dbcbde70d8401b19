//! Axes: from values to places, and where ticks belong.
//!
//! The ranges and their key points are plotters'; the two axes that it does not have, a logarithmic
//! one with ticks at 1, 2 and 5 and HdrHistogram's axis of percentiles, are ranges in its sense.

mod time;

use plotters::coord::ranged1d::{BoldPoints, KeyPointHint, NoDefaultFormatting, Ranged};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;
pub use time::{Time, date_tick};

/// plotters places things on whole units: these are hundredths of a pixel.
const FINE: f64 = 100.0;

/// An axis.
pub enum Scale {
    /// Equal steps are equal lengths.
    Linear(RangedCoordf64),
    /// Equal ratios are equal lengths; every value is above zero.
    Log(Log),
    /// [`Point::nines`](crate::curve::Point::nines): p90, p99, p99.9 at equal distances.
    Nines(Nines),
    /// Times of day, in seconds since 1970.
    Time(Time),
}

impl Scale {
    /// A linear axis that holds all values, with some room; from zero where that costs less than
    /// half of it. Of no values, from 0 to 1.
    pub fn linear(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = bounds(values).unwrap_or((0.0, 1.0));
        let range = if low >= 0.0 && low <= 0.5 * high {
            0.0..high * 1.04
        } else {
            let room = ((high - low) * 0.08).max(high.abs() * 1e-3).max(1e-9);
            (low - room)..(high + room)
        };
        Self::Linear(RangedCoordf64::from(if range.is_empty() {
            0.0..1.0
        } else {
            range
        }))
    }

    /// A linear axis from zero.
    pub fn from_zero(values: impl IntoIterator<Item = f64>) -> Self {
        let high = bounds(values).map_or(1.0, |(_, high)| high);
        let high = if high > 0.0 { high } else { 1.0 };
        Self::Linear(RangedCoordf64::from(0.0..high * 1.04))
    }

    /// A logarithmic axis that holds all values above zero. Of none, from 1 to 10.
    pub fn log(values: impl IntoIterator<Item = f64>) -> Self {
        let values = values.into_iter().filter(|value| *value > 0.0);
        let (low, high) = bounds(values).unwrap_or((1.0, 10.0));
        // Some room, and never less than a factor of two: a flat line is not to look wild.
        let room = (high / low).powf(0.04).max(1.05);
        let (low, high) = (low / room, high * room);
        let widen = (2.0 / (high / low)).max(1.0).sqrt();
        Self::Log(Log(low / widen..high * widen))
    }

    /// HdrHistogram's axis, from p0 to the largest of these places.
    pub fn nines(values: impl IntoIterator<Item = f64>) -> Self {
        let high = bounds(values).map_or(1.0, |(_, high)| high);
        Self::Nines(Nines(0.0..high.max(1.0)))
    }

    /// An axis of times of day, in seconds since 1970, with some room. Of none, a day of 1970.
    pub fn time(values: impl IntoIterator<Item = f64>) -> Self {
        let (first, last) = bounds(values).unwrap_or((0.0, 86_400.0));
        // At least an hour: runs of one minute are not to look a year apart.
        let room = ((last - first) * 0.04).max(1_800.0);
        Self::Time(Time(first - room..last + room))
    }

    /// Where a value lies between `from` and `to`, to a hundredth.
    pub fn place(&self, value: f64, from: f64, to: f64) -> f64 {
        let limit = ((from * FINE).round() as i32, (to * FINE).round() as i32);
        f64::from(match self {
            Self::Linear(range) => range.map(&value, limit),
            Self::Log(range) => range.map(&value, limit),
            Self::Nines(range) => range.map(&value, limit),
            Self::Time(range) => range.map(&value, limit),
        }) / FINE
    }

    /// Values at which ticks belong, about `n` at the most.
    pub fn ticks(&self, n: usize) -> Vec<f64> {
        match self {
            Self::Linear(range) => range.key_points(BoldPoints(n)),
            Self::Log(range) => range.key_points(BoldPoints(n)),
            Self::Nines(range) => range.key_points(BoldPoints(n)),
            Self::Time(range) => range.key_points(BoldPoints(n)),
        }
    }

    /// The values at its ends.
    pub fn range(&self) -> Range<f64> {
        match self {
            Self::Linear(range) => range.range(),
            Self::Log(range) => range.range(),
            Self::Nines(range) => range.range(),
            Self::Time(range) => range.range(),
        }
    }

    /// Does a linear axis leave zero out? A reader who compares lengths has to be told.
    pub fn leaves_zero_out(&self) -> bool {
        matches!(self, Self::Linear(range) if range.range().start > 0.0)
    }
}

fn bounds(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .into_iter()
        .filter(|value| value.is_finite())
        .fold(None, |bounds, value| match bounds {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        })
}

fn between(share: f64, limit: (i32, i32)) -> i32 {
    let length = f64::from(limit.1) - f64::from(limit.0);
    limit.0 + (length * share).round() as i32
}

/// A logarithmic range.
pub struct Log(Range<f64>);

impl Ranged for Log {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let ln = |value: f64| value.max(f64::MIN_POSITIVE).ln();
        let (start, end) = (ln(self.0.start), ln(self.0.end));
        between((ln(*value) - start) / (end - start), limit)
    }

    /// 1, 2 and 5 of every decade, or 1 alone where that is too much, or every few decades.
    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let first = self.0.start.log10().floor() as i32;
        let last = self.0.end.log10().ceil() as i32;
        let most = hint.max_num_points().max(2);
        let all = |digits: &[f64], step: usize| -> Vec<f64> {
            (first..=last)
                .step_by(step)
                .flat_map(|decade| digits.iter().map(move |digit| digit * 10_f64.powi(decade)))
                .filter(|value| self.0.contains(value))
                .collect()
        };
        let fine = all(&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], 1);
        if fine.len() < 3 {
            // So short a piece of it looks linear.
            let linear = RangedCoordf64::from(self.0.clone());
            return linear.key_points(BoldPoints(most.min(6)));
        }
        if fine.len() <= most {
            return fine;
        }
        let some = all(&[1.0, 2.0, 5.0], 1);
        if some.len() <= most {
            return some;
        }
        (1..)
            .map(|step| all(&[1.0], step))
            .find(|points| points.len() <= most)
            .unwrap_or_default()
    }

    fn range(&self) -> Range<f64> {
        self.0.clone()
    }
}

/// A range of percentiles by the nines in them.
pub struct Nines(Range<f64>);

impl Ranged for Nines {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        between((value - self.0.start) / (self.0.end - self.0.start), limit)
    }

    /// The median, and every further nine.
    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        let nines = (0..=self.0.end.floor() as u32).map(f64::from);
        let mut all: Vec<f64> = nines.collect();
        all.insert(1, 2_f64.log10());
        all
    }

    fn range(&self) -> Range<f64> {
        self.0.clone()
    }
}

/// The name of a place on HdrHistogram's axis: `p99.9`.
pub fn percentile_name(nines: f64) -> String {
    let percent = 100.0 * (1.0 - 10_f64.powf(-nines));
    let digits = (nines.ceil() as usize).saturating_sub(2);
    format!("p{percent:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_where_they_belong() {
        let linear = Scale::from_zero([50.0, 100.0]);
        assert_eq!(linear.range(), 0.0..104.0);
        assert!((linear.place(52.0, 0.0, 200.0) - 100.0).abs() < 0.02);
        let log = Scale::log([10.0, 1_000.0]);
        let (a, b, c) = (
            log.place(10.0, 0.0, 100.0),
            log.place(100.0, 0.0, 100.0),
            log.place(1_000.0, 0.0, 100.0),
        );
        assert!(((b - a) - (c - b)).abs() < 0.03, "{a} {b} {c}");
        let nines = Scale::nines([3.0]);
        assert_eq!(nines.place(1.5, 0.0, 100.0), 50.0);
        // Downwards, as on a vertical axis.
        assert_eq!(nines.place(3.0, 100.0, 0.0), 0.0);
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(
            Scale::log([1e3, 1e5]).ticks(8),
            [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5]
        );
        assert_eq!(Scale::log([1.0, 1e9]).ticks(5).len(), 5);
        let close = Scale::log([100.0, 101.0]);
        assert!(close.ticks(6).len() >= 2, "{:?}", close.ticks(6));
        for tick in Scale::from_zero([87.0]).ticks(6) {
            assert_eq!(tick % 10.0, 0.0);
        }
        let names: Vec<String> = Scale::nines([3.2])
            .ticks(9)
            .into_iter()
            .map(percentile_name)
            .collect();
        assert_eq!(names, ["p0", "p50", "p90", "p99", "p99.9"]);
    }

    #[test]
    fn close_values_are_not_squeezed_against_zero_and_that_is_said() {
        let close = Scale::linear([98.0, 102.0]);
        assert!(close.leaves_zero_out() && close.range().start > 90.0);
        assert!(!Scale::linear([10.0, 102.0]).leaves_zero_out());
        for odd in [
            Scale::linear([]),
            Scale::linear([0.0]),
            Scale::linear([5.0, 5.0]),
            Scale::log([0.0]),
        ] {
            let range = odd.range();
            assert!(range.start < range.end, "{range:?}");
        }
    }
}

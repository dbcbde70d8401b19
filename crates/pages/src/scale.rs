//! Axes: from values to places, and where ticks belong.

use std::ops::Range;

/// An axis: what its lengths mean, and the values at its ends.
pub struct Scale {
    kind: ScaleKind,
    range: Range<f64>,
}

enum ScaleKind {
    /// Equal steps are equal lengths.
    Linear,
    /// Equal ratios are equal lengths; every value is above zero.
    Log,
    /// [`Point::nines`](crate::curve::CurvePoint::nines): p90, p99, p99.9 at equal distances.
    Nines,
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
        let range = if range.is_empty() { 0.0..1.0 } else { range };
        Self::new(ScaleKind::Linear, range)
    }

    /// A linear axis from zero.
    pub fn from_zero(values: impl IntoIterator<Item = f64>) -> Self {
        let high = bounds(values).map_or(1.0, |(_, high)| high);
        let high = if high > 0.0 { high } else { 1.0 };
        Self::new(ScaleKind::Linear, 0.0..high * 1.04)
    }

    /// A logarithmic axis that holds all values above zero. Of none, from 1 to 10.
    pub fn log(values: impl IntoIterator<Item = f64>) -> Self {
        let values = values.into_iter().filter(|value| *value > 0.0);
        let (low, high) = bounds(values).unwrap_or((1.0, 10.0));
        // Some room, and never less than a factor of two: a flat line is not to look wild.
        let room = (high / low).powf(0.04).max(1.05);
        let (low, high) = (low / room, high * room);
        let widen = (2.0 / (high / low)).max(1.0).sqrt();
        Self::new(ScaleKind::Log, low / widen..high * widen)
    }

    /// HdrHistogram's axis, from p0 to the largest of these places.
    pub fn nines(values: impl IntoIterator<Item = f64>) -> Self {
        let high = bounds(values).map_or(1.0, |(_, high)| high);
        Self::new(ScaleKind::Nines, 0.0..high.max(1.0))
    }

    fn new(kind: ScaleKind, range: Range<f64>) -> Self {
        Self { kind, range }
    }

    /// Where a value lies, in pixels: `from` is the axis' lower end, `to` its upper one. A value
    /// beyond an end lies beyond it too, an infinite one at it.
    pub fn place(&self, value: f64, from: f64, to: f64) -> f64 {
        let length = |value: f64| match self.kind {
            ScaleKind::Log => value.max(f64::MIN_POSITIVE).ln(),
            ScaleKind::Linear | ScaleKind::Nines => value,
        };
        let (start, end) = (length(self.range.start), length(self.range.end));
        let share = (length(value) - start) / (end - start);
        let share = if share.is_infinite() {
            share.clamp(0.0, 1.0)
        } else {
            share
        };
        from + (to - from) * share
    }

    /// Values at which ticks belong, in ascending order: at most `n` (which is at least 2), but of a
    /// percentile axis all.
    pub fn ticks(&self, n: usize) -> Vec<f64> {
        match self.kind {
            ScaleKind::Linear => linear_ticks(&self.range, n),
            ScaleKind::Log => log_ticks(&self.range, n),
            ScaleKind::Nines => nines_ticks(&self.range),
        }
    }

    /// The values at its ends.
    pub fn range(&self) -> Range<f64> {
        self.range.clone()
    }

    /// Does a linear axis leave zero out? A reader who compares lengths has to be told.
    pub fn leaves_zero_out(&self) -> bool {
        matches!(self.kind, ScaleKind::Linear) && self.range.start > 0.0
    }
}

/// Values beyond this, which no measurement has, are left outside: ticks are found by powers of ten, which end.
const FARTHEST: f64 = 1e24;

/// The least and the largest value.
fn bounds(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .into_iter()
        .filter(|value| value.abs() <= FARTHEST)
        .fold(None, |bounds, value| match bounds {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        })
}

/// The multiples of the smallest step of 1, 2 or 5 times a power of ten that has at most `most`.
fn linear_ticks(range: &Range<f64>, most: usize) -> Vec<f64> {
    let finest = ((range.end - range.start) / most as f64).log10().floor() as i32;
    let mut steps = (finest..).flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| (digit, decade)));
    let few = |(digit, decade): (f64, i32)| {
        // Powers with a positive exponent are exact: 3 / 10 is 0.3, 3 * 0.1 is not.
        let power = 10_f64.powi(decade.abs());
        let (up, down) = if decade < 0 {
            (power, 1.0)
        } else {
            (1.0, power)
        };
        let first = (range.start * up / down / digit).ceil() as i64;
        let last = (range.end * up / down / digit).floor() as i64;
        let multiples = (first..=last).map(|nth| nth as f64 * digit * down / up);
        (last - first < most as i64).then(|| multiples.collect())
    };
    steps.find_map(few).unwrap_or_default()
}

/// 1, 2 and 5 of every decade, or 1 alone where that is too much, or every few decades.
fn log_ticks(range: &Range<f64>, most: usize) -> Vec<f64> {
    let first = range.start.log10().floor() as i32;
    let last = range.end.log10().ceil() as i32;
    let all = |digits: &[f64], step: usize| -> Vec<f64> {
        (first..=last)
            .step_by(step)
            .flat_map(|decade| digits.iter().map(move |digit| digit * 10_f64.powi(decade)))
            .filter(|value| range.contains(value))
            .collect()
    };
    let fine = all(&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], 1);
    if fine.len() < 3 {
        // So short a piece of it looks linear.
        return linear_ticks(range, most.min(6));
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

/// The median, and every further nine.
fn nines_ticks(range: &Range<f64>) -> Vec<f64> {
    let mut all: Vec<f64> = (0..=range.end.floor() as u32).map(f64::from).collect();
    all.insert(1, 2_f64.log10());
    all
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
        assert!((linear.place(52.0, 0.0, 200.0) - 100.0).abs() < 1e-9);
        assert_eq!(linear.place(f64::INFINITY, 0.0, 200.0), 200.0);
        let log = Scale::log([10.0, 1_000.0]);
        let (a, b, c) = (
            log.place(10.0, 0.0, 100.0),
            log.place(100.0, 0.0, 100.0),
            log.place(1_000.0, 0.0, 100.0),
        );
        assert!(((b - a) - (c - b)).abs() < 1e-9, "{a} {b} {c}");
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
        assert_eq!(
            Scale::from_zero([87.0]).ticks(6),
            [0.0, 20.0, 40.0, 60.0, 80.0]
        );
        assert_eq!(
            Scale::from_zero([0.6]).ticks(7),
            [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
        );
        assert_eq!(
            Scale::from_zero([2.2e7]).ticks(7),
            [0.0, 5e6, 1e7, 1.5e7, 2e7]
        );
        assert_eq!(
            Scale::linear([-1.0, 1.0]).ticks(5),
            [-1.0, -0.5, 0.0, 0.5, 1.0]
        );
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

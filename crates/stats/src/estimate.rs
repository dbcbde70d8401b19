//! A value that always carries its interval and its n.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::StatsError;

/// Unit of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Unit {
    /// Verified answers a second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Nanoseconds of CPU time for each verified answer.
    CpuNanosecondsPerRequest,
    /// Bytes.
    Bytes,
    /// How many times one value is the other; 1 is equal.
    Ratio,
    /// A share of a whole, from 0 to 1.
    Fraction,
    /// A number of things.
    Count,
}

impl Unit {
    /// The symbol written after a value; empty for a fraction and a count.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::PerSecond => "req/s",
            Self::Seconds => "s",
            Self::Nanoseconds => "ns",
            Self::CpuNanosecondsPerRequest => "ns CPU/req",
            Self::Bytes => "B",
            Self::Ratio => "×",
            Self::Fraction | Self::Count => "",
        }
    }
}

/// A confidence interval at [`CONFIDENCE`](crate::CONFIDENCE): finite, and `low` ≤ `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    /// The interval from `low` to `high`; None if they are not finite or not in order.
    #[must_use]
    pub fn new(low: f64, high: f64) -> Option<Self> {
        (low.is_finite() && high.is_finite() && low <= high).then_some(Self { low, high })
    }

    /// The lower end.
    #[must_use]
    pub const fn low(&self) -> f64 {
        self.low
    }

    /// The upper end.
    #[must_use]
    pub const fn high(&self) -> f64 {
        self.high
    }

    /// Is `value` inside, the ends included?
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// A value, its interval, the number of independent observations behind it, and its unit.
///
/// The value is finite and lies inside its interval. There is no interval where n < 2, or where
/// the samples are too few for one (see [`percentile`](crate::percentile)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "Plain", try_from = "Plain")]
pub struct Estimate {
    value: f64,
    interval: Option<Interval>,
    n: u64,
    unit: Unit,
}

impl Estimate {
    /// An estimate from `n` independent observations. An interval is dropped if `n` < 2: one
    /// observation says nothing about how much the next one differs.
    ///
    /// # Errors
    ///
    /// If the value is not finite or lies outside its interval.
    pub fn new(
        value: f64,
        interval: Option<Interval>,
        n: u64,
        unit: Unit,
    ) -> Result<Self, StatsError> {
        if !value.is_finite() {
            return Err(StatsError::NotFinite { at: 0, value });
        }
        match interval {
            Some(Interval { low, high }) if !(low..=high).contains(&value) => {
                Err(StatsError::OutsideInterval { value, low, high })
            }
            _ => Ok(Self {
                value,
                interval: interval.filter(|_| n >= 2),
                n,
                unit,
            }),
        }
    }

    /// The value itself.
    #[must_use]
    pub const fn value(&self) -> f64 {
        self.value
    }

    /// The interval, if the observations allow one.
    #[must_use]
    pub const fn interval(&self) -> Option<Interval> {
        self.interval
    }

    /// The interval's lower end.
    #[must_use]
    pub fn low(&self) -> Option<f64> {
        self.interval.map(|interval| interval.low)
    }

    /// The interval's upper end.
    #[must_use]
    pub fn high(&self) -> Option<f64> {
        self.interval.map(|interval| interval.high)
    }

    /// How many independent observations are behind the value; rounded down where samples that
    /// depend on each other were counted as fewer.
    #[must_use]
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// Unit of the value.
    #[must_use]
    pub const fn unit(&self) -> Unit {
        self.unit
    }

    /// Half the interval's width as a share of the value: "± 2%" is 0.02. None without an
    /// interval, or around zero.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        let Interval { low, high } = self.interval?;
        (self.value != 0.0).then(|| (high - low) / 2.0 / self.value.abs())
    }
}

impl fmt::Display for Estimate {
    /// With as many decimals as the formatter's precision says; without one, as many as leave
    /// at least four significant digits. For people: reports choose their own form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or_else(|| decimals(self.value));
        write!(f, "{:.decimals$}", self.value)?;
        if !self.unit.symbol().is_empty() {
            write!(f, " {}", self.unit.symbol())?;
        }
        if let Some(Interval { low, high }) = self.interval {
            write!(f, " [{low:.decimals$}, {high:.decimals$}]")?;
        }
        write!(f, " (n = {})", self.n)
    }
}

/// Decimals that leave four significant digits, at most 6.
fn decimals(value: f64) -> usize {
    let magnitude = value.abs();
    (0..6)
        .find(|&d| magnitude * 10_f64.powi(d as i32) >= 1_000.0)
        .unwrap_or(6)
}

/// How an estimate is written down: flat, as a reader of JSON expects it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Plain {
    /// The value.
    value: f64,
    /// The lower end of the 95% interval; null where there is none.
    low: Option<f64>,
    /// The upper end of the 95% interval; null where there is none.
    high: Option<f64>,
    /// The number of independent observations.
    n: u64,
    /// Unit of the value.
    unit: Unit,
}

impl From<Estimate> for Plain {
    fn from(estimate: Estimate) -> Self {
        Self {
            value: estimate.value,
            low: estimate.low(),
            high: estimate.high(),
            n: estimate.n,
            unit: estimate.unit,
        }
    }
}

impl TryFrom<Plain> for Estimate {
    type Error = StatsError;

    fn try_from(plain: Plain) -> Result<Self, StatsError> {
        let outside = |low, high| StatsError::OutsideInterval {
            value: plain.value,
            low,
            high,
        };
        let interval = match (plain.low, plain.high) {
            (None, None) => None,
            (Some(low), Some(high)) => {
                Some(Interval::new(low, high).ok_or_else(|| outside(low, high))?)
            }
            (low, high) => {
                return Err(outside(low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN)));
            }
        };
        Self::new(plain.value, interval, plain.n, plain.unit)
    }
}

impl JsonSchema for Estimate {
    fn schema_name() -> Cow<'static, str> {
        "Estimate".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Plain::json_schema(generator);
        schema.insert(
            "description".to_owned(),
            "A value with its 95% interval and the number of independent observations".into(),
        );
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64, n: u64) -> Result<Estimate, StatsError> {
        Estimate::new(value, Interval::new(low, high), n, Unit::PerSecond)
    }

    #[test]
    fn a_value_outside_its_interval_is_refused() {
        assert!(estimate(3.0, 1.0, 2.0, 5).is_err());
        assert!(estimate(f64::NAN, 1.0, 2.0, 5).is_err());
        assert!(estimate(1.5, 1.0, 2.0, 5).is_ok());
        assert_eq!(Interval::new(2.0, 1.0), None);
        assert_eq!(Interval::new(1.0, f64::INFINITY), None);
    }

    #[test]
    fn one_observation_has_no_interval() {
        assert_eq!(estimate(1.5, 1.0, 2.0, 1).expect("valid").interval(), None);
    }

    #[test]
    fn json_keeps_everything_and_takes_nothing_wrong() {
        let whole = estimate(1.5, 1.0, 2.0, 5).expect("valid");
        let json = serde_json::to_string(&whole).expect("JSON");
        assert_eq!(
            json,
            r#"{"value":1.5,"low":1.0,"high":2.0,"n":5,"unit":"per-second"}"#
        );
        assert_eq!(
            serde_json::from_str::<Estimate>(&json).expect("an estimate"),
            whole
        );
        for wrong in [
            r#"{"value":3.0,"low":1.0,"high":2.0,"n":5,"unit":"per-second"}"#,
            r#"{"value":1.0,"low":1.0,"high":null,"n":5,"unit":"per-second"}"#,
            r#"{"value":1.0,"low":2.0,"high":1.0,"n":5,"unit":"per-second"}"#,
            r#"{"value":1.0,"unit":"per-second"}"#,
        ] {
            assert!(serde_json::from_str::<Estimate>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_schema_names_every_field() {
        let schema = serde_json::to_value(schemars::schema_for!(Estimate)).expect("JSON");
        for field in ["value", "low", "high", "n", "unit"] {
            assert!(
                schema["properties"].get(field).is_some(),
                "{field} in {schema}"
            );
        }
    }

    #[test]
    fn display_keeps_four_significant_digits() {
        let show = |value| {
            Estimate::new(value, None, 1, Unit::Seconds)
                .expect("finite")
                .to_string()
        };
        assert_eq!(show(123_456.7), "123457 s (n = 1)");
        assert_eq!(show(1.23456), "1.235 s (n = 1)");
        assert_eq!(show(0.0), "0.000000 s (n = 1)");
    }
}

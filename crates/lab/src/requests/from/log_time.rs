//! Times as logs have them.

use jiff::Timestamp;
use jiff::fmt::strtime;
use serde_json::{Number, Value};

/// A time of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::requests) struct LogTime {
    /// Nanoseconds since 1970.
    pub(in crate::requests) nanos: i64,
    /// A time in whole seconds, which says nothing about where in its second it was.
    pub(in crate::requests) whole: bool,
}

/// Formats with a zone: of Apache and nginx, and of Caddy's `iso8601`.
const ZONED: [&str; 2] = ["%d/%b/%Y:%H:%M:%S%.f %z", "%Y-%m-%dT%H:%M:%S%.f%z"];

/// Formats without one, taken as UTC: only distances matter.
const LOCAL: [&str; 3] = [
    "%Y/%m/%d %H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
];

impl LogTime {
    /// A time that is written as text: a number of seconds, RFC 3339, or as web servers write it.
    pub(in crate::requests) fn of_text(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(number) = text.parse::<f64>() {
            return Self::of_f64(number, !text.contains('.'));
        }
        let zoned = || {
            let mut all = ZONED.iter();
            all.find_map(|format| strtime::parse(format, text).ok()?.to_timestamp().ok())
        };
        let local = || {
            let mut all = LOCAL.iter();
            let time = all.find_map(|it| strtime::parse(it, text).ok()?.to_datetime().ok())?;
            Some(time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
        };
        let time = text
            .parse::<Timestamp>()
            .ok()
            .or_else(zoned)
            .or_else(local)?;
        Some(Self {
            nanos: i64::try_from(time.as_nanosecond()).ok()?,
            whole: !text.contains(['.', ',']),
        })
    }

    /// A number, or a text.
    pub(in crate::requests) fn of_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::of_text(text),
            Value::Number(number) => Self::of_f64(number.as_f64()?, !Number::is_f64(number)),
            _ => None,
        }
    }

    /// A number of seconds, milliseconds, microseconds or nanoseconds, by its size.
    fn of_f64(number: f64, is_integer: bool) -> Option<Self> {
        let unit = match number {
            1.0..1e11 => 1e9,
            1e11..1e14 => 1e6,
            1e14..1e17 => 1e3,
            1e17..9.2e18 => 1.0,
            _ => return None,
        };
        // Whole seconds and their fraction separately: together they have more digits than the number.
        let second = (number * unit / 1e9).floor();
        let fraction = number - second / unit * 1e9;
        Some(Self {
            nanos: (second as i64) * 1_000_000_000 + (fraction * unit).round() as i64,
            whole: is_integer && unit == 1e9,
        })
    }

    /// The time a number of seconds earlier; one in whole seconds stays, as that would be no more exact.
    pub(in crate::requests) fn before(self, seconds: f64) -> Self {
        match self.whole {
            true => self,
            false => Self {
                nanos: self.nanos.saturating_sub((seconds * 1e9) as i64),
                ..self
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_logs() {
        let at = 1_646_861_401_i64 * 1_000_000_000;
        for (text, after, whole) in [
            ("1646861401", 0, true),
            ("1646861401.524", 524_000_000, false),
            ("1646861401.000", 0, false),
            ("1646861401524", 524_000_000, false),
            ("1646861401524102", 524_102_000, false),
            ("2022-03-09T21:30:01Z", 0, true),
            ("2022-03-09T21:30:01.5241024Z", 524_102_400, false),
            ("2022-03-09T22:30:01.524+01:00", 524_000_000, false),
            ("2022-03-09T21:30:01.524+0000", 524_000_000, false),
            ("2022/03/09 21:30:01.524", 524_000_000, false),
            ("2022-03-09 21:30:01", 0, true),
            ("09/Mar/2022:22:30:01 +0100", 0, true),
            ("09/Mar/2022:21:30:01.25 +0000", 250_000_000, false),
        ] {
            let time = LogTime::of_text(text).unwrap_or_else(|| panic!("{text}"));
            assert!((time.nanos - at - after).abs() < 1_000, "{text}: {time:?}");
            assert_eq!(time.whole, whole, "{text}");
        }
        let caddy = serde_json::json!(1_646_861_401.524_102_4);
        let caddy = LogTime::of_json(&caddy).unwrap();
        assert!((caddy.nanos - at - 524_102_400).abs() < 1_000, "{caddy:?}");
        assert_eq!(caddy.before(0.5).nanos, caddy.nanos - 500_000_000);
        for text in [
            "",
            "now",
            "-1",
            "nan",
            "inf",
            "1e300",
            "99/Foo/2000:00:00:00 +0000",
        ] {
            assert_eq!(LogTime::of_text(text), None, "{text}");
        }
    }
}

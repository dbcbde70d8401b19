//! Values that people write as text with a unit: durations.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A duration as it is written in files and on the command line: `250ms`, `10s`, `1.5m`, `1m30s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Duration);

/// Units and their length in seconds, longest name first where one ends in another.
const UNITS: [(&str, f64); 7] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a duration: expected a number with a unit, such as \"500ms\", \"10s\" or \"1m30s\""
)]
pub struct NotASpan(String);

impl Span {
    /// No time at all.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }
}

impl FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Self, NotASpan> {
        let wrong = || NotASpan(text.to_owned());
        // Several parts, `1m30s`: the text up to the first unit, and the rest.
        let unit = text.find(char::is_alphabetic).unwrap_or(text.len());
        let rest = text[unit..].find(|c: char| c.is_ascii_digit());
        if let Some(rest) = rest {
            let (first, rest) = text.split_at(unit + rest);
            let parts = first
                .parse::<Self>()
                .and_then(|first| Ok((first, rest.parse::<Self>()?)));
            let (first, rest) = parts.map_err(|_| wrong())?;
            // From the largest unit down, each less than the one before it; the last has a unit too.
            let in_order = rest.0 < first.0 && text.ends_with(char::is_alphabetic);
            let sum = first.0.checked_add(rest.0).filter(|_| in_order);
            return sum.map(Self).ok_or_else(wrong);
        }
        let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
        let unit = &text[digits.len()..];
        // A bare number is taken for seconds on the command lines of wrk and ab: so here.
        let scale = match unit {
            "" => 1.0,
            unit => {
                UNITS
                    .iter()
                    .find(|(name, _)| *name == unit)
                    .ok_or_else(wrong)?
                    .1
            }
        };
        let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let number: f64 = digits.parse().map_err(|_| wrong())?;
        if !plain {
            return Err(wrong());
        }
        Duration::try_from_secs_f64(number * scale)
            .map(Self)
            .map_err(|_| wrong())
    }
}

impl fmt::Display for Span {
    /// In the largest unit that gives a number from 1 on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        let (unit, scale) = match seconds {
            0.0 => ("s", 1.0),
            s if s < 1e-6 => ("ns", 1e-9),
            s if s < 1e-3 => ("us", 1e-6),
            s if s < 1.0 => ("ms", 1e-3),
            s if s < 120.0 => ("s", 1.0),
            _ => ("m", 60.0),
        };
        let number = format!("{:.3}", seconds / scale);
        write!(
            f,
            "{}{unit}",
            number.trim_end_matches('0').trim_end_matches('.')
        )
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // On a command line a bare number is seconds, as in wrk and ab; a file says what it means.
        let bare = text.ends_with(|c: char| !c.is_alphabetic());
        match text.parse() {
            Ok(_) if bare => Err(serde::de::Error::custom(format!(
                "{text:?} has no unit: \"{text}s\" is seconds, \"{text}ms\" milliseconds"
            ))),
            parsed => parsed.map_err(serde::de::Error::custom),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "a duration: a number with a unit",
            "pattern": "^[0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h)$",
            "examples": ["500ms", "10s", "2m"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_people_write_them() {
        for (text, nanos) in [
            ("10s", 10_000_000_000),
            ("1.5m", 90_000_000_000),
            ("250ms", 250_000_000),
            ("40us", 40_000),
            ("3", 3_000_000_000),
            ("7ns", 7),
            ("1m30s", 90_000_000_000),
            ("1h1m1.5s", 3_661_500_000_000),
        ] {
            assert_eq!(text.parse::<Span>().unwrap().0.as_nanos(), nanos, "{text}");
        }
        for text in [
            "",
            "s",
            "10 s",
            "-1s",
            "1e3s",
            "10parsecs",
            "inf",
            "1.2.3s",
            "30s1m",
            "1m30",
            "1m-3s",
            "1s2s3",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn in_a_file_a_duration_has_a_unit() {
        let read = |text: &str| serde_json::from_value::<Span>(text.into());
        assert_eq!(read("200ms").unwrap(), Span(Duration::from_millis(200)));
        let error = read("200").unwrap_err().to_string();
        assert!(error.contains("\"200ms\" milliseconds"), "{error}");
    }

    #[test]
    fn shown_durations_read_back() {
        for nanos in [
            0,
            7,
            40_000,
            250_000_000,
            1_500_000_000,
            90_000_000_000,
            3_600_000_000_000,
        ] {
            let span = Span(Duration::from_nanos(nanos));
            assert_eq!(span.to_string().parse::<Span>(), Ok(span), "{span}");
        }
    }
}

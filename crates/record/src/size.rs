//! Numbers of bytes that people write as text with a unit.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Units and their length in bytes, from the smallest on.
pub const UNITS: [(&str, f64); 7] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

/// A number of bytes as it is written in files and on the command line: `256MiB`, `1.5GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

/// A text that is no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a size: expected a number with a unit, such as \"256MiB\", \"1.5GiB\" or \"500MB\""
)]
pub struct NotASize(String);

impl FromStr for Size {
    type Err = NotASize;

    fn from_str(text: &str) -> Result<Self, NotASize> {
        let wrong = || NotASize(text.to_owned());
        let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
        let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let number: f64 = digits.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
        let unit = &text[digits.len()..];
        let (_, scale) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(wrong)?;
        let bytes = number * scale;
        (bytes < 1e18)
            .then_some(Self(bytes.round() as u64))
            .ok_or_else(wrong)
    }
}

impl fmt::Display for Size {
    /// In the largest binary unit that gives a number from 1 on, with as few decimals as are needed: `256 MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        let binary = [UNITS[6], UNITS[5], UNITS[4]];
        let (unit, scale) = (binary.into_iter())
            .find(|(_, scale)| bytes >= *scale)
            .unwrap_or(UNITS[0]);
        let number = format!("{:.2}", bytes / scale);
        let number = number.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{number} {unit}")
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Size {
    /// In the largest unit of which it is a multiple, so that it is the same when it is read again.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut largest = [6, 3, 5, 2, 4, 1].into_iter().map(|at| UNITS[at]);
        let whole = largest.find(|(_, scale)| self.0 > 0 && self.0.is_multiple_of(*scale as u64));
        let (unit, scale) = whole.unwrap_or(UNITS[0]);
        serializer.collect_str(&format_args!("{}{unit}", self.0 / scale as u64))
    }
}

impl JsonSchema for Size {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "a number of bytes, with a unit",
            "pattern": "^[0-9]+(\\.[0-9]+)?(B|kB|MB|GB|KiB|MiB|GiB)$",
            "examples": ["256MiB", "1.5GiB", "500MB"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes, shown) in [
            ("256MiB", 256 << 20, "256 MiB"),
            ("1.5GiB", 3 << 29, "1.5 GiB"),
            ("500MB", 500_000_000, "476.84 MiB"),
            ("64kB", 64_000, "62.5 KiB"),
            ("12B", 12, "12 B"),
        ] {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, shown));
            let json = serde_json::to_string(&size).unwrap();
            assert_eq!(serde_json::from_str::<Size>(&json).unwrap(), size);
            assert!(
                text.contains('.') || json == format!("\"{text}\""),
                "{json}"
            );
        }
        for text in [
            "", "256", "MiB", "-1MiB", "1e3MiB", "256 MiB", "256mib", "infGiB",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}

//! Durations as people write them: `250us`, `1.5ms`, `2s`.

use std::fmt;
use std::time::Duration;

use crate::ParseError;

/// Nanoseconds per unit, the longer name of a unit's ending before the shorter (`ms` before `s`).
const UNITS: [(&str, u64); 5] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];

/// Reads a decimal number and a unit (`ns`, `us` or `µs`, `ms`, `s`), exact to the nanosecond.
pub(crate) fn parse(text: &str) -> Result<Duration, ParseError> {
    exact(text).map(Duration::from_nanos).ok_or_else(|| {
        ParseError::new(
            "duration",
            text,
            "a number and ns, us, ms or s, such as 1.5ms",
        )
    })
}

fn exact(text: &str) -> Option<u64> {
    let (number, unit) = UNITS
        .iter()
        .find_map(|&(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let mut nanos = digits(whole)?.checked_mul(unit)?;
    digits(fraction)?;
    let mut place = unit;
    for digit in fraction.trim_end_matches('0').bytes() {
        if place % 10 != 0 {
            return None; // finer than a nanosecond
        }
        place /= 10;
        nanos = nanos.checked_add(u64::from(digit - b'0') * place)?;
    }
    Some(nanos)
}

fn digits(text: &str) -> Option<u64> {
    // `u64::from_str` alone would take a plus sign.
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(())?;
    text.parse().ok()
}

/// Shows a duration in the largest unit in which it is a whole number; [`parse`] reads it back.
pub(crate) struct Show(pub(crate) Duration);

impl fmt::Display for Show {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let (unit, name) = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")]
            .into_iter()
            .find(|(unit, _)| nanos.is_multiple_of(*unit))
            .unwrap_or((1, "ns"));
        write!(f, "{}{name}", nanos / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_people_write() {
        for (text, nanos) in [
            ("0s", 0),
            ("7ns", 7),
            ("250us", 250_000),
            ("250µs", 250_000),
            ("1.5ms", 1_500_000),
            ("0.000000001s", 1),
            ("1.50s", 1_500_000_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
        for text in [
            "",
            "1",
            "ms",
            ".5ms",
            "1.ms",
            "+1ms",
            "-1ms",
            "1.5ns",
            "1 ms",
            "1e3s",
            "1m",
            "99999999999999s",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn shown_is_read_back(nanos: u64) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(parse(&Show(duration).to_string()), Ok(duration));
        }
    }
}

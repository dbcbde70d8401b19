//! Numbers as people and programs print them.

use std::ops::RangeInclusive;

/// A number as it was printed. It stands for every number that would be printed like it, which
/// is what decides whether two printed numbers contradict each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    /// The number itself.
    pub value: f64,
    /// Half a unit of its last digit: 0.005 for 1.23.
    pub half: f64,
}

/// The bytes of `667.01MB` or `3.39 GB`, as wrk and rewrk print them: in powers of 1024.
pub(crate) fn bytes(text: &str) -> Option<Printed> {
    let (n, unit) = leading(text)?;
    let factor = match unit.trim() {
        "B" => 1.0,
        "KB" => 1024.0,
        "MB" => 1024.0 * 1024.0,
        "GB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(n.times(factor))
}

impl Printed {
    /// A number of which every digit is known.
    pub fn exact(value: f64) -> Self {
        Self { value, half: 0.0 }
    }

    /// The least number that is printed like this.
    pub fn low(self) -> f64 {
        self.value - self.half
    }

    /// The greatest number that is printed like this.
    pub fn high(self) -> f64 {
        self.value + self.half
    }

    /// Every quotient that two numbers printed like these can have; both are positive. What may be
    /// 0 divides to infinity: ab prints 0.4 ms as `0.000 seconds`.
    pub(crate) fn per(self, divisor: Self) -> RangeInclusive<f64> {
        let least = self.low().max(0.0) / divisor.high();
        let greatest = self.high() / divisor.low().max(0.0);
        least..=greatest
    }

    /// In another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            half: self.half * factor,
        }
    }
}

/// The number at the beginning of a text, and what stands behind it. Thousands may be set apart
/// by commas or underscores.
pub(crate) fn leading(text: &str) -> Option<(Printed, &str)> {
    let bytes = text.as_bytes();
    let mut digits = String::new();
    let mut decimals = None;
    let mut at = 0;
    if bytes.first() == Some(&b'-') {
        digits.push('-');
        at = 1;
    }
    let start = at;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' => {
                digits.push(char::from(byte));
                decimals = decimals.map(|n: u32| n + 1);
            }
            // 21,248, 21_248, and 21'248 in Switzerland.
            b',' | b'_' | b'\'' if decimals.is_none() && group_follows(bytes, at, start) => {}
            b'.' if decimals.is_none() && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                digits.push('.');
                decimals = Some(0);
            }
            _ => break,
        }
        at += 1;
    }
    if at == start {
        return None;
    }
    let value: f64 = digits.parse().ok()?;
    let half = 0.5 * 10_f64.powi(-i32::try_from(decimals.unwrap_or(0)).ok()?);
    value
        .is_finite()
        .then_some((Printed { value, half }, &text[at..]))
}

/// Do exactly three digits follow, and one to three stand before?
fn group_follows(bytes: &[u8], at: usize, start: usize) -> bool {
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let before = bytes[start..at]
        .iter()
        .rev()
        .take(4)
        .take_while(|b| b.is_ascii_digit())
        .count();
    (1..=3).contains(&before) && digit(at + 1) && digit(at + 2) && digit(at + 3) && !digit(at + 4)
}

/// A whole text as a count: `12`, `1,234`, `2.39k`, `1.2M`.
pub(crate) fn count(text: &str) -> Option<Printed> {
    let (number, rest) = leading(text.trim())?;
    let factor = match rest.trim() {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    Some(number.times(factor))
}

/// A whole text as a whole number.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let (number, rest) = leading(text.trim())?;
    (rest.is_empty() && number.value >= 0.0 && number.value.fract() == 0.0)
        .then_some(number.value as u64)
}

/// A whole text as a share: `97.55%` is 97.55.
pub(crate) fn percent(text: &str) -> Option<f64> {
    let (number, rest) = leading(text.trim())?;
    (rest == "%").then_some(number.value)
}

/// The seconds of a unit of time.
fn unit(name: &str) -> Option<f64> {
    Some(match name {
        "ns" => 1e-9,
        "us" | "µs" | "μs" | "usec" | "usecs" | "microsec" | "Âµs" | "µsec" => 1e-6,
        "ms" | "msec" | "millisec" | "milliseconds" | "millis" | "мс" | "毫秒" | "ミリ秒"
        | "밀리초" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" | "secondes" | "seconde" | "segundos"
        | "sekunden" | "секунд" | "сек" | "с" | "秒" | "초" | "detik" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" | "minuten" | "minutos" | "минута"
        | "минуты" | "минут" | "мин" | "分钟" | "分" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        _ => return None,
    })
}

/// A whole text as a time, in seconds: `11.14ms`, `0.0175 secs`, `1m30s`.
pub(crate) fn seconds(text: &str) -> Option<Printed> {
    let mut rest = text.trim();
    let mut sum: Option<Printed> = None;
    while !rest.is_empty() {
        let (number, behind) = leading(rest)?;
        let behind = behind.trim_start();
        // A µ that an encoding has lost on the way.
        if let Some(rest_of_it) = ["?s", "\u{fffd}s", "\u{fffd}\u{fffd}s", "┬╡s"]
            .iter()
            .find_map(|lost| behind.strip_prefix(lost))
        {
            let part = number.times(1e-6);
            sum = Some(Printed {
                value: sum.map_or(0.0, |sum| sum.value) + part.value,
                half: part.half,
            });
            rest = rest_of_it.trim_start();
            continue;
        }
        let end = behind
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(behind.len());
        let part = number.times(unit(&behind[..end])?);
        // The last part is the finest.
        sum = Some(Printed {
            value: sum.map_or(0.0, |sum| sum.value) + part.value,
            half: part.half,
        });
        rest = behind[end..].trim_start();
    }
    sum
}

/// Like [`seconds`], but a number without a unit is in seconds.
pub(crate) fn seconds_or_bare(text: &str) -> Option<Printed> {
    seconds(text).or_else(|| {
        leading(text.trim()).and_then(|(number, rest)| rest.is_empty().then_some(number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_of_printed_numbers() {
        let coarse = Printed {
            value: 0.002,
            half: 0.000_5,
        };
        let possible = Printed::exact(200.0).per(coarse);
        assert_eq!(
            (possible.start().round(), possible.end().round()),
            (80_000.0, 133_333.0)
        );
        let perhaps_nothing = Printed {
            value: 0.0,
            ..coarse
        };
        let possible = Printed::exact(200.0).per(perhaps_nothing);
        assert_eq!(
            (*possible.start(), *possible.end()),
            (400_000.0, f64::INFINITY)
        );
    }

    #[test]
    fn numbers_know_their_last_digit() {
        let (number, rest) = leading("12.50ms").unwrap();
        assert_eq!(
            (number.value, number.half, rest),
            (12.5, 0.5 * 10_f64.powi(-2), "ms")
        );
        assert_eq!(
            leading("1,234,567 x").unwrap(),
            (
                Printed {
                    value: 1_234_567.0,
                    half: 0.5
                },
                " x"
            )
        );
        assert_eq!(leading("1,23").unwrap().1, ",23");
        assert_eq!(leading("12.").unwrap().1, ".");
        assert_eq!(leading("x"), None);
        assert_eq!(leading("-"), None);
        assert_eq!(leading("").map(|_| ()), None);
    }

    #[test]
    fn counts_and_shares() {
        assert!((count("2.39k").unwrap().value - 2390.0).abs() < 1e-9);
        assert_eq!(count("12").unwrap().value, 12.0);
        assert_eq!(count("12ms"), None);
        assert_eq!(whole("20000"), Some(20_000));
        assert_eq!(whole("2.5"), None);
        assert_eq!(percent("97.55%"), Some(97.55));
        assert_eq!(percent("99.79%0."), None);
    }

    #[test]
    fn times() {
        let s = |text| seconds(text).map(|p| p.value);
        assert_eq!(s("1.00m"), Some(60.0));
        assert_eq!(s("1m30s"), Some(90.0));
        assert_eq!(s("0.0175 secs"), Some(0.0175));
        assert!((s("426.00us").unwrap() - 426e-6).abs() < 1e-12);
        assert!((s("663.96µs").unwrap() - 663.96e-6).abs() < 1e-12);
        assert_eq!(s("618.36?s"), s("618.36us"));
        assert_eq!(s("12"), None);
        assert_eq!(s("12 parsecs"), None);
        assert_eq!(seconds_or_bare("12").unwrap().value, 12.0);
        assert_eq!(seconds_or_bare("").map(|_| ()), None);
    }
}

//! Numbers as people read them: three significant digits and a unit.

use prony_record::{Finding, Severity};
pub use prony_verdict::sentence::percent;

/// Three significant digits.
fn significant(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A value with the largest unit that leaves it at 1 or more.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // 999.7 rounds to 1000: the next unit says it better.
    let fits = |(scale, _): &&(f64, &str)| value.abs() * 1.0005 >= *scale;
    match units.iter().find(fits).or(units.last()) {
        Some((scale, unit)) => format!("{} {unit}", significant(value / scale)),
        None => significant(value),
    }
}

/// A time in nanoseconds: `12.3 µs`.
pub fn time(nanoseconds: f64) -> String {
    if nanoseconds == 0.0 {
        return "0".into();
    }
    scaled(
        nanoseconds,
        &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")],
    )
}

/// A time that may not be known.
pub fn time_or_dash(nanoseconds: Option<u64>) -> String {
    nanoseconds.map_or_else(|| "–".into(), |n| time(n as f64))
}

/// A time with half the width of its interval, where that is known: `501 µs ±12%`.
pub fn time_within(nanoseconds: Option<u64>, interval: Option<(u64, u64)>) -> String {
    let text = time_or_dash(nanoseconds);
    match (nanoseconds, interval) {
        (Some(value), Some((low, high))) if value > 0 => {
            format!(
                "{text} {}",
                within((high - low) as f64 / 2.0 / value as f64)
            )
        }
        _ => text,
    }
}

/// A relative half-width: `±3.2%`, from 10% on without decimals, and from 1,000% on as more than that.
pub fn within(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 9.95 => format!("±{percent:.1}%"),
        percent if percent < 999.5 => format!("±{percent:.0}%"),
        _ => "±>999%".to_owned(),
    }
}

/// Findings as text, one line each, after an empty line.
pub fn findings(findings: &[Finding]) -> String {
    let line = |it: &Finding| finding_line(it.severity, it.name.word(), &it.text);
    let lines: Vec<String> = findings.iter().map(line).collect();
    finding_lines(&lines)
}

/// A finding as a line; `about` is the check's name, or that with the servers that it concerns.
pub(crate) fn finding_line(severity: Severity, about: &str, text: &str) -> String {
    format!("{severity}: {about}: {text}\n")
}

/// Lines of findings, after an empty line.
pub(crate) fn finding_lines(lines: &[String]) -> String {
    match lines {
        [] => String::new(),
        lines => format!("\n{}", lines.concat()),
    }
}

/// A rate: `64.2k req/s`.
pub fn rate(per_second: f64) -> String {
    format!("{} req/s", per(per_second))
}

/// A rate without its unit, for a column that names it: `64.2k`.
pub fn per(second: f64) -> String {
    let text = scaled(second, &[(1e6, "M"), (1e3, "k"), (1.0, "")]);
    text.replace(' ', "")
}

/// A number of bytes; a dash for none, which is not known.
#[must_use]
pub fn bytes_or_dash(bytes: u64) -> String {
    match bytes {
        0 => "–".to_owned(),
        bytes => self::bytes(bytes as f64),
    }
}

/// A number of bytes: `3.42 MiB`.
pub fn bytes(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    let units = [
        (KIB.powi(3), "GiB"),
        (KIB.powi(2), "MiB"),
        (KIB, "KiB"),
        (1.0, "B"),
    ];
    scaled(bytes, &units)
}

/// A ratio as a change: `-17.5%`, `+187%`.
#[must_use]
pub fn change(ratio: f64) -> String {
    let sign = if ratio > 1.0 { "+" } else { "" };
    format!("{sign}{}", percent(ratio - 1.0))
}

/// A ratio: `1.042×`.
pub fn ratio(ratio: f64) -> String {
    format!("{ratio:.3}×")
}

/// A count with separators: `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(time(999.7), "1.00 µs");
        assert_eq!(time(12_345.0), "12.3 µs");
        assert_eq!(time(1_500_000_000.0), "1.50 s");
        assert_eq!(time(0.0), "0");
        assert_eq!(time(0.4), "0.40 ns");
        assert_eq!(rate(64_213.0), "64.2k req/s");
        assert_eq!(rate(999_900.0), "1.00M req/s");
        assert_eq!(rate(12.0), "12.0 req/s");
        assert_eq!(bytes(3_584.0 * 1024.0), "3.50 MiB");
        assert_eq!(ratio(1.0), "1.000×");
        assert_eq!(time_or_dash(None), "–");
        assert_eq!(
            time_within(Some(2_000), Some((1_900, 2_100))),
            "2.00 µs ±5.0%"
        );
        assert_eq!(
            time_within(Some(2_000), Some((1_000, 5_000))),
            "2.00 µs ±100%"
        );
        assert_eq!(time_within(Some(2_000), None), "2.00 µs");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
    }
}

//! Numbers as h2load reads and prints them.

use std::time::Duration;

/// A whole number and an optional unit: `h`, `m`, `s` or `ms`; seconds without one.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    Some(match unit {
        "h" => Duration::from_secs(number.checked_mul(3_600)?),
        "m" => Duration::from_secs(number.checked_mul(60)?),
        "" | "s" => Duration::from_secs(number),
        "ms" => Duration::from_millis(number),
        _ => return None,
    })
}

/// A whole number and an optional unit: `K`, `M` or `G`, powers of 1024.
pub(super) fn size(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let bits = match unit {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        _ => return None,
    };
    number.checked_mul(1 << bits)
}

fn split(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    Some((number.parse().ok()?, unit))
}

/// How long a period is, in the largest unit that has no fraction: `90s`, `2m`, `1500ms`.
pub(super) fn whole(span: Duration) -> String {
    let millis = span.as_millis();
    match millis {
        0 => "0s".into(),
        _ if millis.is_multiple_of(3_600_000) => format!("{}h", millis / 3_600_000),
        _ if millis.is_multiple_of(60_000) => format!("{}m", millis / 60_000),
        _ if millis.is_multiple_of(1_000) => format!("{}s", millis / 1_000),
        _ => format!("{millis}ms"),
    }
}

/// A time in microseconds: whole ones below a millisecond, otherwise two decimals of `ms` or `s`.
pub(super) fn time(micros: f64) -> String {
    if micros >= 1e6 {
        format!("{}s", decimals(micros / 1e6))
    } else if micros >= 1e3 {
        format!("{}ms", decimals(micros / 1e3))
    } else {
        format!("{}us", micros as u64)
    }
}

/// Two decimals, rounded half up.
pub(super) fn decimals(number: f64) -> String {
    let hundredths = (number * 100.0).round() as u64;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// A number of bytes, with two decimals from 1024 on: `47`, `16.40K`.
pub(super) fn bytes(number: u64) -> String {
    for (bits, unit) in [(30, 'G'), (20, 'M'), (10, 'K')] {
        if number >= 1 << bits {
            let scaled = number as f64 / (1_u64 << bits) as f64;
            return format!("{}{unit}", decimals(scaled));
        }
    }
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of these was seen in an output of the original.
    #[test]
    fn numbers_look_as_the_originals() {
        for (micros, shown) in [
            (0.0, "0us"),
            (366.9, "366us"),
            (2_300.0, "2.30ms"),
            (23_890.0, "23.89ms"),
            (1_010_000.0, "1.01s"),
        ] {
            assert_eq!(time(micros), shown);
        }
        for (number, shown) in [
            (0, "0"),
            (845, "845"),
            (393_111, "383.90K"),
            (123_379_340, "117.66M"),
        ] {
            assert_eq!(bytes(number), shown);
        }
        assert_eq!(decimals(457.166), "457.17");
    }

    #[test]
    fn spans_and_sizes_have_units() {
        for (text, millis) in [
            ("5", Some(5_000)),
            ("5s", Some(5_000)),
            ("500ms", Some(500)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("1x", None),
            ("", None),
            ("s", None),
            ("-1", None),
            ("1.5s", None),
        ] {
            assert_eq!(duration(text), millis.map(Duration::from_millis), "{text}");
        }
        for (text, bytes) in [
            ("16K", Some(16_384)),
            ("1G", Some(1 << 30)),
            ("7", Some(7)),
            ("7x", None),
            ("99999999999G", None),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }

    /// Printed times equal the original times, to the precision that they show.
    #[test]
    fn printed_times_keep_two_decimals() {
        for power in 0..40_u32 {
            let micros = 1.37_f64.powi(power as i32) * 3.0;
            let shown = time(micros);
            let unit = shown.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            let scale = match unit {
                "s" => 1e6,
                "ms" => 1e3,
                _ => 1.0,
            };
            let number: f64 = shown.trim_end_matches(unit).parse().unwrap();
            let step = if scale == 1.0 { 1.0 } else { scale / 100.0 };
            assert!((number * scale - micros).abs() <= step, "{micros} {shown}");
        }
        assert_eq!(whole(Duration::from_millis(1_500)), "1500ms");
        assert_eq!(whole(Duration::from_secs(120)), "2m");
    }
}

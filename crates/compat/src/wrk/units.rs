//! Numbers with units, as wrk reads and prints them.

/// Units of one kind, smallest first: each is `scale` times the one before it.
struct Units {
    scale: f64,
    base: &'static str,
    names: &'static [&'static str],
}

const MICROSECONDS: Units = Units {
    scale: 1e3,
    base: "us",
    names: &["ms", "s"],
};
const SECONDS: Units = Units {
    scale: 60.0,
    base: "s",
    names: &["m", "h"],
};
const BINARY: Units = Units {
    scale: 1024.0,
    base: "",
    names: &["K", "M", "G", "T", "P"],
};
const METRIC: Units = Units {
    scale: 1e3,
    base: "",
    names: &["k", "M", "G", "T", "P"],
};

impl Units {
    /// The next unit is taken from 85 % of it on, and the greatest is never reached.
    fn format(&self, number: f64, digits: usize) -> String {
        let (mut amount, mut unit) = (number, self.base);
        for name in &self.names[..self.names.len() - 1] {
            if amount < 0.85 * self.scale {
                break;
            }
            amount /= self.scale;
            unit = name;
        }
        format!("{amount:.digits$}{unit}")
    }

    /// A whole number, and one of the units in either case. What follows two letters of unit is
    /// overlooked.
    fn scan(&self, text: &str) -> Option<u64> {
        let text = text.trim_start();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let base: u64 = text[..digits].parse().ok()?;
        let unit: String = text[digits..]
            .trim_start()
            .chars()
            .take_while(|c| !c.is_whitespace())
            .take(2)
            .collect();
        if unit.is_empty() || unit.eq_ignore_ascii_case(self.base) {
            return Some(base);
        }
        let at = self
            .names
            .iter()
            .position(|name| unit.eq_ignore_ascii_case(name))?;
        let scale = (self.scale as u64).checked_pow(at as u32 + 1)?;
        base.checked_mul(scale)
    }
}

/// A count, such as `10`, `2k` or `1M`.
pub(super) fn scan_metric(text: &str) -> Option<u64> {
    METRIC.scan(text)
}

/// A time in seconds, such as `30`, `30s`, `2m` or `1h`.
pub(super) fn scan_time(text: &str) -> Option<u64> {
    SECONDS.scan(text)
}

/// A number of bytes, without the `B`.
pub(super) fn binary(bytes: f64) -> String {
    BINARY.format(bytes, 2)
}

/// A count.
pub(super) fn metric(count: f64) -> String {
    METRIC.format(count, 2)
}

/// A time that is given in microseconds.
pub(super) fn time_us(micros: f64) -> String {
    if micros >= 1e6 {
        SECONDS.format(micros / 1e6, 2)
    } else {
        MICROSECONDS.format(micros, 2)
    }
}

/// A time in whole seconds, minutes.
pub(super) fn time_s(seconds: u64) -> String {
    SECONDS.format(seconds as f64, 0)
}

/// Right-aligned so that numbers stand below each other whether their unit has two letters, one or
/// none; cut when it is too long for the column.
pub(super) fn column(text: &str, width: usize) -> String {
    let letters = text
        .bytes()
        .rev()
        .take(2)
        .filter(u8::is_ascii_alphabetic)
        .count();
    let room = width - (2 - letters);
    let cut = &text[..text.len().min(room)];
    format!("{cut:>room$}{:1$}", "", 2 - letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_times_with_units() {
        assert_eq!(scan_metric("10"), Some(10));
        assert_eq!(scan_metric("2k"), Some(2_000));
        assert_eq!(scan_metric("2K"), Some(2_000));
        assert_eq!(scan_metric("1M"), Some(1_000_000));
        assert_eq!(scan_metric("1G"), Some(1_000_000_000));
        assert_eq!(scan_time("30"), Some(30));
        assert_eq!(scan_time("30s"), Some(30));
        assert_eq!(scan_time(" 2m"), Some(120));
        assert_eq!(scan_time("2M"), Some(120));
        assert_eq!(scan_time("1h"), Some(3_600));
        for text in ["", "x", "500ms", "1d", "-1", "2kk", "99999999999999999999"] {
            assert_eq!(scan_time(text), None, "{text}");
        }
        assert_eq!(scan_metric("5s"), None);
        assert_eq!(scan_metric("99999999999P"), None);
    }

    #[test]
    fn the_next_unit_begins_at_85_percent() {
        assert_eq!(time_us(0.0), "0.00us");
        assert_eq!(time_us(849.99), "849.99us");
        assert_eq!(time_us(850.0), "0.85ms");
        assert_eq!(time_us(999_999.0), "1000.00ms");
        assert_eq!(time_us(1e6), "1.00s");
        assert_eq!(time_us(51e6), "0.85m");
        assert_eq!(time_us(7.2e9), "120.00m");
        assert_eq!(metric(849.0), "849.00");
        assert_eq!(metric(850.0), "0.85k");
        assert_eq!(metric(1.2e6), "1.20M");
        assert_eq!(binary(870.0), "870.00");
        assert_eq!(binary(1024.0 * 1024.0), "1.00M");
        assert_eq!(time_s(10), "10s");
        assert_eq!(time_s(60), "1m");
        assert_eq!(time_s(90), "2m");
        assert_eq!(time_s(7_200), "120m");
    }

    #[test]
    fn columns_align_numbers_not_units() {
        assert_eq!(column("62.15us", 8), " 62.15us");
        assert_eq!(column("1.07s", 8), "  1.07s ");
        assert_eq!(column("140.00", 8), "140.00  ");
        assert_eq!(column("81.66k", 8), " 81.66k ");
        assert_eq!(column("123456.00", 8), "123456  ");
        assert_eq!(column("0", 8), "     0  ");
    }
}

//! Words and numbers in charts.

/// About how wide a character of a chart's text is, in pixels: what is measured here is not drawn by
/// us, so there is some room in it.
const CHARACTER: f64 = 7.5;

/// About how wide a text is.
pub fn width(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

/// A text of at most this many characters.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{start}…")
}

/// A coordinate: a tenth of a pixel is fine enough, and short.
pub fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// A number of a tick: no more digits than it has.
pub fn plain(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    format!("{rounded}")
}

/// A rate at a tick: `200 k`.
pub fn rate_tick(value: f64) -> String {
    let (value, unit) = match value.abs() {
        v if v >= 1e6 => (value / 1e6, " M"),
        v if v >= 1e3 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    format!("{}{unit}", plain(value))
}

/// A time at a tick, from nanoseconds: `5 ms`.
pub fn time_tick(nanoseconds: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    let unit = units
        .iter()
        .find(|(scale, _)| nanoseconds >= 0.9999 * scale);
    let (scale, unit) = unit.unwrap_or(&units[3]);
    format!("{} {unit}", plain(nanoseconds / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short() {
        assert_eq!(rate_tick(200_000.0), "200 k");
        assert_eq!(rate_tick(1_500_000.0), "1.5 M");
        assert_eq!(rate_tick(0.0), "0");
        assert_eq!(time_tick(5e6), "5 ms");
        assert_eq!(time_tick(200.0 * 1e3), "200 µs");
        assert_eq!(px(3.04), "3");
        assert_eq!(px(3.06), "3.1");
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(shortened("abcd", 4), "abcd");
    }
}

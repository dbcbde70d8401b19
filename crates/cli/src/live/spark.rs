//! Sparklines: a value per column, as a bar from zero.

/// Bars by eighths; a value of zero, or none, is a gap.
const UNICODE: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 9] = [' ', '_', '.', '.', '-', '-', '=', '=', '#'];

/// The last `width` values. The highest of them has a whole bar: bars begin at zero, so that noise does
/// not look like a change.
pub fn line(values: impl DoubleEndedIterator<Item = f64>, width: usize, unicode: bool) -> String {
    let mut shown: Vec<f64> = values.rev().take(width).collect();
    shown.reverse();
    let highest = shown.iter().copied().fold(0.0, f64::max);
    let bars = if unicode { UNICODE } else { ASCII };
    let bar = |value: f64| match value > 0.0 {
        true => bars[((value / highest * 8.0).ceil() as usize).clamp(1, 8)],
        false => bars[0],
    };
    shown.into_iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_begin_at_zero() {
        let of = |values: &[f64], unicode| line(values.iter().copied(), 80, unicode);
        assert_eq!(of(&[0.0, 1.0, 4.0, 8.0], true), " ▁▄█");
        assert_eq!(of(&[0.0, 1.0, 4.0, 8.0], false), " _-#");
        assert_eq!(of(&[99.0, 100.0, 98.0], true), "███");
        assert_eq!(of(&[f64::NAN, 0.0], true), "  ");
        assert_eq!(of(&[], true), "");
    }

    #[test]
    fn the_last_ones_are_shown() {
        let values = [8.0, 2.0, 4.0];
        assert_eq!(line(values.into_iter(), 2, true), "▄█");
    }
}

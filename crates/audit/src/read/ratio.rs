//! Ratios that a line gives as a division: `A / B = 0.96`.

use crate::model::Ratio;
use crate::text::lines::without_markup;
use crate::text::number::leading;

/// A name in a ratio is no longer than this, in bytes.
const NAME: usize = 60;

/// The ratio in a line of this number.
pub(super) fn read(line: &str, number: usize) -> Option<Ratio> {
    // Most lines divide nothing.
    (line.contains(" / ") && line.contains(['=', '≈'])).then_some(())?;
    let plain = without_markup(line);
    let (names, value) = plain.rsplit_once(['=', '≈'])?;
    let (over, under) = names.split_once(" / ")?;
    let (value, rest) = leading(value.trim())?;
    let rest = rest.trim_start_matches(['x', '×', '.']).trim();
    let name = |name: &str| {
        let name = name.trim();
        let good = !name.is_empty() && name.len() <= NAME && name.contains(char::is_alphabetic);
        good.then(|| name.to_owned())
    };
    (rest.is_empty() && value.value > 0.0).then_some(())?;
    Some(Ratio {
        line: number,
        over: name(over)?,
        under: name(under)?,
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_division_and_nothing_else() {
        let ratio = |line: &str| {
            let ratio = read(line, 7)?;
            Some((ratio.over, ratio.under, ratio.value.value))
        };
        let expected = Some(("A b".to_owned(), "C".to_owned(), 0.96));
        assert_eq!(ratio("**A b** / C = 0.96x"), expected);
        for line in ["A / B = 2 of 3", "A/B = 0.96", "5 / 6 = 0.83", "A / B"] {
            assert_eq!(ratio(line), None, "{line}");
        }
    }
}

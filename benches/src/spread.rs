//! Summaries of one value over several rounds.

use serde::Serialize;
use std::cmp::Ordering;

/// The middle and the ends of some values. With a handful of rounds these say more honestly than a
/// mean and its error what was seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The value in the middle; of an even number of values, the mean of the two there.
    pub median: f64,
    /// The least value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// How many values there are.
    pub n: usize,
}

impl Spread {
    /// `None` without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let middle = values.len() / 2;
        let median = if values.len().is_multiple_of(2) {
            f64::midpoint(values[middle - 1], values[middle])
        } else {
            values[middle]
        };
        Some(Self {
            median,
            min,
            max,
            n: values.len(),
        })
    }

    /// `median (min–max)`, with `decimals` decimals.
    pub fn show(&self, decimals: usize) -> String {
        let number = |value| number(value, decimals);
        match self.n {
            1 => number(self.median),
            _ => format!(
                "{} ({}–{})",
                number(self.median),
                number(self.min),
                number(self.max)
            ),
        }
    }
}

/// A spread as it stands in a table; a dash where there is nothing.
pub fn show(spread: Option<Spread>, decimals: usize) -> String {
    spread.map_or_else(|| "–".into(), |spread| spread.show(decimals))
}

/// A number with its thousands apart: `1,234.5`.
pub fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let (sign, digits) = whole
        .strip_prefix('-')
        .map_or(("", whole), |digits| ("-", digits));
    let mut out = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// Ratios within rounds: `ours[i] / theirs[i]` where round `i` has both. What changes from round
/// to round (the machine's mood) is in both and cancels.
pub fn paired(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Option<Spread> {
    let ratios = ours.iter().zip(theirs);
    Spread::of(ratios.filter_map(|(ours, theirs)| Some((*ours)? / (*theirs)?)))
}

/// Round by round, the better of two: the one that `prefers` says is `Greater`.
pub fn better(
    one: &[Option<f64>],
    other: &[Option<f64>],
    prefers: impl Fn(&f64, &f64) -> Ordering,
) -> Vec<Option<f64>> {
    let pairs = one.iter().zip(other);
    pairs
        .map(|(one, other)| match (*one, *other) {
            (Some(one), Some(other)) if prefers(&one, &other) == Ordering::Less => Some(other),
            (Some(one), _) => Some(one),
            (None, other) => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middle_and_ends() {
        let spread = Spread::of([3.0, 1.0, 2.0]).unwrap();
        assert_eq!((spread.median, spread.min, spread.max), (2.0, 1.0, 3.0));
        assert_eq!(Spread::of([4.0, 1.0]).unwrap().median, 2.5);
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn numbers_read_well() {
        for (value, decimals, text) in [
            (0.0, 0, "0"),
            (999.0, 0, "999"),
            (1_000.0, 0, "1,000"),
            (1_234_567.891, 2, "1,234,567.89"),
            (-1_234.0, 0, "-1,234"),
            (-123.4, 1, "-123.4"),
        ] {
            assert_eq!(number(value, decimals), text);
        }
        let spread = Spread::of([1_500.0, 1_000.0, 2_000.0]);
        assert_eq!(show(spread, 0), "1,500 (1,000–2,000)");
        assert_eq!(show(Spread::of([1.25]), 2), "1.25");
        assert_eq!(show(None, 2), "–");
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        // A machine that is twice as fast in the second round changes no ratio.
        let ours = [Some(90.0), Some(180.0), None, Some(50.0)];
        let theirs = [Some(100.0), Some(200.0), Some(100.0), None];
        let spread = paired(&ours, &theirs).unwrap();
        assert_eq!((spread.median, spread.min, spread.n), (0.9, 0.9, 2));
        assert_eq!(paired(&ours[..1], &[None]), None);
    }

    #[test]
    fn the_better_one_is_chosen_round_by_round() {
        let one = [Some(1.0), Some(4.0), None, None];
        let other = [Some(2.0), Some(3.0), Some(5.0), None];
        let most = better(&one, &other, f64::total_cmp);
        assert_eq!(most, [Some(2.0), Some(4.0), Some(5.0), None]);
        let least = better(&one, &other, |a, b| b.total_cmp(a));
        assert_eq!(least, [Some(1.0), Some(3.0), Some(5.0), None]);
    }
}

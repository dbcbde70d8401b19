//! Starts of two kinds.
//!
//! A process that gets a lucky layout of memory, or a compiler that goes wrong once in a while, makes a server that is another
//! one in some of its starts. A mean over both kinds describes neither, and "no difference" would hide the rarer kind.

use super::{Preferred, preferred};
use crate::duel::column;
use crate::sentence::change_in;
use prony_record::verdict::{Bands, Comparison, Quantity, Values};
use prony_stats::two_modes::two_modes;

/// The rarer of two kinds of starts of a side.
#[derive(Debug, Clone, PartialEq)]
struct Odd {
    /// The place of the side among all.
    side: usize,
    quantity: Quantity,
    /// Starts of the rarer kind.
    starts: usize,
    /// All starts of the side that were compared.
    of: usize,
    /// The quantity in starts of the rarer kind, divided by that in the others.
    ratio: f64,
}

/// The rarer kind of starts, of this side or the first, if there are two kinds that differ by more than `band`.
fn odd(quantity: Quantity, rounds: &[Vec<Values>], side: usize, band: f64) -> Option<Odd> {
    let (first, this) = (column(rounds, 0, quantity), column(rounds, side, quantity));
    let both: Vec<(f64, f64)> = first
        .into_iter()
        .zip(this)
        .filter_map(|(first, this)| Some((first?.ln(), this?.ln())))
        .collect();
    // The host is in both values of a round, and not in their ratio.
    let ratios: Vec<f64> = both.iter().map(|(first, this)| this - first).collect();
    let modes = two_modes(&ratios)?;
    if modes.high - modes.low <= band.ln_1p() {
        return None;
    }
    let of = ratios.len();
    let rarer_is_above = of - modes.below < modes.below;
    let is_rarer = |ratio: f64| (ratio >= modes.from) == rarer_is_above;
    // Whose values moved: by the means of its logarithms in the rarer rounds and in the others.
    let moved = |pick: fn(&(f64, f64)) -> f64| {
        let mean = |rarer: bool| {
            let of_kind: Vec<f64> = both
                .iter()
                .filter(|(first, this)| is_rarer(this - first) == rarer)
                .map(pick)
                .collect();
            of_kind.iter().sum::<f64>() / of_kind.len() as f64
        };
        mean(true) - mean(false)
    };
    let (first, this) = (moved(|pair| pair.0), moved(|pair| pair.1));
    let apart = match rarer_is_above {
        true => modes.high - modes.low,
        false => modes.low - modes.high,
    };
    let (side, by) = match this.abs() >= first.abs() {
        true => (side, apart),
        false => (0, -apart),
    };
    Some(Odd {
        side,
        quantity,
        starts: modes.below.min(of - modes.below),
        of,
        ratio: by.exp(),
    })
}

impl Odd {
    /// `in 3 of 20 starts new had 29.4% fewer requests/s than in the others`
    fn words(&self, names: &[String]) -> String {
        format!(
            "in {} of {} starts {} had {} than in the others",
            self.starts,
            self.of,
            names[self.side],
            change_in(self.quantity, self.ratio)
        )
    }
}

/// Why this must not be called the same, in words.
pub(super) fn explain(
    one: &Comparison,
    names: &[String],
    rounds: &[Vec<Values>],
    side: usize,
) -> Option<String> {
    (preferred(one)? == Preferred::Neither)
        .then(|| odd(one.quantity, rounds, side, one.band))?
        .map(|odd| odd.words(names))
}

/// A sentence for each side whose starts are of two kinds, about the first quantity that shows it.
pub(crate) fn sentences(names: &[String], rounds: &[Vec<Values>], bands: &Bands) -> Vec<String> {
    let mut all: Vec<Odd> = Vec::new();
    for side in 1..names.len() {
        let seen = |quantity| odd(quantity, rounds, side, bands.of(quantity));
        let found = Quantity::ALL.into_iter().find_map(seen);
        // The first side may be found once with every other.
        let known = |odd: &Odd| all.iter().any(|other| other.side == odd.side);
        all.extend(found.filter(|odd| !known(odd)));
    }
    let sentence = |odd: &Odd| {
        let words = odd.words(names);
        format!("I{}.", &words[1..])
    };
    all.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::found;
    use prony_record::verdict::Verdict;

    fn names() -> Vec<String> {
        vec!["old".into(), "new".into()]
    }

    /// Rounds on a host whose speed varies by 20%; in every fifth one of the sides reaches only this part of the rest.
    fn rounds(n: usize, side: usize, part: f64) -> Vec<Vec<Values>> {
        let noise = |i: usize| 1.0 + 0.01 * [0.3, -0.8, 0.5, -0.1, 0.9, -0.6, 0.2][i % 7];
        (0..n)
            .map(|i| {
                let host = 1.0 + 0.1 * [1.0, -1.0, 0.2][i % 3];
                let at = |of: usize| {
                    let odd = of == side && i % 5 == 4;
                    Values {
                        throughput: Some(
                            1e4 * host * noise(i + 3 * of) * if odd { part } else { 1.0 },
                        ),
                        ..Values::default()
                    }
                };
                vec![at(0), at(1)]
            })
            .collect()
    }

    #[test]
    fn starts_of_two_kinds_are_told_with_the_side_that_has_them() {
        let bands = Bands::all(0.01);
        let told = sentences(&names(), &rounds(20, 1, 0.7), &bands);
        assert_eq!(told.len(), 1);
        assert!(
            told[0].starts_with("In 4 of 20 starts new had 30")
                && told[0].ends_with("% fewer requests/s than in the others."),
            "{told:?}"
        );
        let told = sentences(&names(), &rounds(20, 0, 1.5), &bands);
        let (begins, ends) = (
            "In 4 of 20 starts old had ",
            "% more requests/s than in the others.",
        );
        assert!(
            told[0].starts_with(begins) && told[0].ends_with(ends),
            "{told:?}"
        );
        assert_eq!(
            sentences(&names(), &rounds(20, 1, 1.0), &bands),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_is_within_the_margin_is_no_other_kind() {
        let bands = Bands::all(0.5);
        assert!(sentences(&names(), &rounds(20, 1, 0.7), &bands).is_empty());
    }

    #[test]
    fn starts_of_two_kinds_are_not_the_same() {
        let same = found(Quantity::Throughput, 1.0, Verdict::Same);
        let why = explain(&same, &names(), &rounds(20, 1, 0.7), 1);
        assert!(why.unwrap().starts_with("in 4 of 20 starts new had"));
        let faster = found(Quantity::Throughput, 1.2, Verdict::Faster);
        assert_eq!(explain(&faster, &names(), &rounds(20, 1, 0.7), 1), None);
    }
}

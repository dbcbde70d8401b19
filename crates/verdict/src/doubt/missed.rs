//! Rounds in which a side did not keep the common rate.
//!
//! They are not compared, since what they show was measured in overload: but that a side misses a rate that the other
//! keeps is a difference by itself, and the rounds that are left are its better ones.

use super::{Preferred, preferred};
use prony_record::verdict::{Comparison, Quantity, Values};

/// One round more may be another program's doing.
const BY_ACCIDENT: usize = 1;
/// The probability of a difference by chance, two-sided, below which it is told.
const ALPHA: f64 = 0.05;

/// Rounds that the first side, and this one, missed; and all at the last rate: a higher one, which was lowered because
/// it was missed, has a note of its own.
fn count(rounds: &[Vec<Values>], side: usize) -> (usize, usize, usize) {
    let rate = rounds.iter().rev().find_map(|round| round[0].rate);
    let at_it = |round: &&Vec<Values>| rate.is_some() && round[0].rate == rate;
    let rounds: Vec<&Vec<Values>> = rounds.iter().filter(at_it).collect();
    let of = |at: usize| rounds.iter().filter(|round| round[at].missed).count();
    (of(0), of(side), rounds.len())
}

/// Why missed rounds may make, or hide, this difference, in words.
pub(super) fn explain(one: &Comparison, rounds: &[Vec<Values>], side: usize) -> Option<String> {
    if one.quantity == Quantity::Throughput {
        return None;
    }
    let (first, this, all) = count(rounds, side);
    let flattered = match preferred(one)? {
        Preferred::First => first > this + BY_ACCIDENT,
        Preferred::This => this > first + BY_ACCIDENT,
        Preferred::Neither => this.abs_diff(first) > BY_ACCIDENT,
    };
    flattered.then(|| {
        format!(
            "{} did not keep the rate in {this} of {all} rounds and the other in {first}; only the rest is compared",
            one.side
        )
    })
}

/// A verdict of its own, where one side misses the rate in more rounds than the other, beyond chance.
pub(crate) fn sentence(names: &[String], rounds: &[Vec<Values>], side: usize) -> Option<String> {
    let (first, this, all) = count(rounds, side);
    let (worse, more, fewer) = match this > first {
        true => (&names[side], this, first),
        false => (&names[0], first, this),
    };
    let other = match this > first {
        true => &names[0],
        false => &names[side],
    };
    (by_chance(more, fewer, all) < ALPHA).then(|| {
        let fewer = match fewer {
            0 => "none".to_owned(),
            _ => fewer.to_string(),
        };
        format!(
            "{worse} did not keep the common rate in {more} of {all} rounds, {other} in {fewer}"
        )
    })
}

/// The two-sided probability that so many of `n` rounds on one side, or more, fall against so few on the other: Fisher's
/// exact test, its tail doubled.
fn by_chance(more: usize, fewer: usize, n: usize) -> f64 {
    let both = more + fewer;
    // P(x of the `both` rounds are on one side) = C(n, x)·C(n, both − x) ÷ C(2n, both).
    let ln_choose = |n: usize, k: usize| {
        (1..=k)
            .map(|i| ((n - k + i) as f64 / i as f64).ln())
            .sum::<f64>()
    };
    let tail: f64 = (more..=both.min(n))
        .map(|x| (ln_choose(n, x) + ln_choose(n, both - x) - ln_choose(2 * n, both)).exp())
        .sum();
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::found;
    use prony_record::verdict::Verdict;

    fn rounds(first: usize, this: usize, n: usize) -> Vec<Vec<Values>> {
        let at = |missed| Values {
            rate: Some(100.0),
            missed,
            ..Values::default()
        };
        (0..n).map(|i| vec![at(i < first), at(i < this)]).collect()
    }

    fn names() -> Vec<String> {
        vec!["old".into(), "new".into()]
    }

    #[test]
    fn chance_is_fishers() {
        // R: fisher.test(matrix(c(9, 21, 0, 30), 2))$p.value = 0.001943; c(5, 5, 1, 9): 0.1409.
        assert!((by_chance(9, 0, 30) - 0.001_943).abs() < 1e-5);
        assert!((by_chance(5, 1, 10) - 0.140_9).abs() < 1e-3);
        assert!((by_chance(3, 3, 10) - 1.0).abs() < 1e-9);
        assert!((by_chance(0, 0, 10) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_side_that_misses_the_rate_more_often_is_told() {
        assert_eq!(
            sentence(&names(), &rounds(0, 9, 30), 1).unwrap(),
            "new did not keep the common rate in 9 of 30 rounds, old in none"
        );
        assert!(
            sentence(&names(), &rounds(9, 1, 30), 1)
                .unwrap()
                .starts_with("old did not")
        );
        assert_eq!(sentence(&names(), &rounds(3, 4, 30), 1), None);
        assert_eq!(sentence(&names(), &rounds(0, 0, 30), 1), None);
    }

    #[test]
    fn a_rate_that_was_lowered_is_forgotten() {
        let mut all = rounds(0, 9, 9);
        for round in &mut all {
            round
                .iter_mut()
                .for_each(|values| values.rate = Some(200.0));
        }
        all.extend(rounds(0, 0, 20));
        assert_eq!(sentence(&names(), &all, 1), None);
        let one = found(Quantity::P99, 0.9, Verdict::Faster);
        assert_eq!(explain(&one, &all, 1), None);
    }

    #[test]
    fn better_rounds_alone_are_no_tie_and_no_gain() {
        let doubted = |verdict, ratio, first, this| {
            let one = found(Quantity::P99, ratio, verdict);
            explain(&one, &rounds(first, this, 30), 1).is_some()
        };
        assert!(doubted(Verdict::Same, 1.0, 0, 9) && doubted(Verdict::Same, 1.0, 9, 0));
        assert!(!doubted(Verdict::Same, 1.0, 0, 1) && !doubted(Verdict::Same, 1.0, 4, 4));
        assert!(doubted(Verdict::Faster, 0.9, 0, 9) && !doubted(Verdict::Faster, 0.9, 9, 0));
        assert!(doubted(Verdict::Slower, 1.1, 9, 0) && !doubted(Verdict::Slower, 1.1, 0, 9));
    }
}

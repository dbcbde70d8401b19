//! Differences that a duel can still find in the time it has, judged by how much its rounds spread so far.

use crate::duel::column;
use prony_record::verdict::{Quantity, Terms, Values};
use prony_stats::ratio::log_ratios;
use prony_stats::sequential::Plan;
use prony_stats::trimmed::trimmed_mean;

/// Rounds before anything is concluded from their spread: from fewer it is known to a factor of two.
pub const ENOUGH: u32 = 4;
/// Rounds before a quantity is given up.
const BEFORE_GIVING_UP: u32 = 8;
/// Throughput is no longer measured when differences below this share cannot be found in it.
const COARSE: f64 = 0.05;
/// And when something else can be found this many times better.
const FINER: f64 = 2.0;

/// Expected result of a comparison at the end of the duel.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlook {
    /// The side's place among the sides; it is compared with the first.
    pub side: usize,
    /// Quantity that is compared.
    pub quantity: Quantity,
    /// The smallest difference, as a share, that is found in four duels of five: the minimum detectable
    /// effect.
    pub detectable: f64,
    /// The difference so far, as the logarithm of the ratio.
    difference: f64,
    /// Half of the interval's expected width, as a logarithm.
    half: f64,
    /// Rounds that it has values of.
    rounds: u32,
    /// Rounds that were made.
    made: u32,
}

/// Expected result of a comparison of two series of values, as far as both have them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Prospect {
    /// See [`Outlook::detectable`].
    pub detectable: f64,
    difference: f64,
    half: f64,
    rounds: u32,
}

/// Expected result after `end` rounds, by the rounds so far; None from less than two rounds with both values.
pub(crate) fn prospect(
    ours: &[Option<f64>],
    theirs: &[Option<f64>],
    plan: &Plan,
    end: u32,
) -> Option<Prospect> {
    let critical = plan.about_critical_at(end)?;
    let logs = log_ratios(ours, theirs).ok()?;
    let mean = trimmed_mean(&logs)?;
    // The spread of one round, as rounds to come are expected to have it.
    let spread = mean.error * (logs.len() as f64).sqrt();
    let error = spread / f64::from(end).sqrt();
    Some(Prospect {
        detectable: (plan.detectable_at(end)? * error).exp_m1(),
        difference: mean.center,
        half: critical * error,
        rounds: logs.len() as u32,
    })
}

/// The outlook of every comparison when the duel ends after `end` rounds. Comparisons with less than two
/// rounds have none.
#[must_use]
pub fn outlook(
    quantities: &[Quantity],
    rounds: &[Vec<Values>],
    plan: &Plan,
    end: u32,
) -> Vec<Outlook> {
    let sides = rounds.first().map_or(0, Vec::len);
    let of = |side: usize, quantity: Quantity| {
        let ours = column(rounds, side, quantity);
        let found = prospect(&ours, &column(rounds, 0, quantity), plan, end)?;
        Some(Outlook {
            side,
            quantity,
            detectable: found.detectable,
            difference: found.difference,
            half: found.half,
            rounds: found.rounds,
            made: rounds.len() as u32,
        })
    };
    (1..sides)
        .flat_map(|side| quantities.iter().map(move |&quantity| (side, quantity)))
        .filter_map(|(side, quantity)| of(side, quantity))
        .collect()
}

impl Outlook {
    /// Is it to be expected that there is still no verdict at the end?
    fn hopeless(&self, band: f64) -> bool {
        let difference = self.difference.abs();
        let different = difference > self.half;
        let same = difference + self.half <= band.ln_1p();
        self.made >= BEFORE_GIVING_UP && !different && !same
    }
}

/// Should the duel go on without its part as fast as answers come? When only differences can be found
/// there that are much larger than what can be found at the common rate, the time is better spent on
/// the latter. A difference that is so large that it will be found is still measured.
#[must_use]
pub fn throughput_is_too_coarse(terms: &Terms, all: &[Outlook]) -> bool {
    if terms.exact || terms.precision.is_some() {
        return false;
    }
    let of = |quantity: Quantity| all.iter().filter(move |one| one.quantity == quantity);
    let finest = of(Quantity::Cpu)
        .map(|cpu| cpu.detectable)
        .fold(f64::INFINITY, f64::min);
    let mut throughput = of(Quantity::Throughput).peekable();
    throughput.peek().is_some()
        && throughput.all(|one| {
            one.rounds >= ENOUGH
                && one.detectable > COARSE.max(FINER * finest)
                && one.difference.abs() < one.half
        })
}

/// Is everything settled that can be settled in the time there is? `settled` says of a side and a
/// quantity whether it is.
#[must_use]
pub fn nothing_left_to_find(
    terms: &Terms,
    all: &[Outlook],
    settled: impl Fn(usize, Quantity) -> bool,
) -> bool {
    let over = |one: &Outlook| {
        settled(one.side, one.quantity) || one.hopeless(terms.bands.of(one.quantity))
    };
    !terms.exact
        && terms.precision.is_none()
        && all.iter().all(over)
        && all.iter().any(|one| settled(one.side, one.quantity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duel::plan;
    use crate::made_up::terms;

    /// Rounds of equal sides but for `cpu`; throughput spreads by `coarse`, CPU time by half a percent.
    fn rounds(n: u32, coarse: f64, throughput: f64, cpu: f64) -> Vec<Vec<Values>> {
        let noise = |i: u32| [0.4, -1.1, 0.9, -0.5, 1.2, -0.9][i as usize % 6];
        (0..n)
            .map(|i| {
                let at = |throughput: f64, cpu: f64| Values {
                    throughput: Some(1e4 * throughput),
                    cpu: Some(3e3 * cpu),
                    ..Values::default()
                };
                vec![
                    at(1.0, 1.0),
                    at(
                        throughput * (1.0 + coarse * noise(i)),
                        cpu * (1.0 + 0.005 * noise(i)),
                    ),
                ]
            })
            .collect()
    }

    fn of(rounds: &[Vec<Values>], end: u32) -> Vec<Outlook> {
        let plan = plan(&terms(), 2).unwrap();
        outlook(&terms().quantities, rounds, &plan, end)
    }

    #[test]
    fn more_rounds_find_smaller_differences() {
        let rounds = rounds(4, 0.1, 1.0, 1.0);
        let effect = |end| of(&rounds, end)[0].detectable;
        assert!(effect(40) < effect(10) && effect(10) < effect(4));
        // A spread of some 10% and 40 rounds: about 10% · (2.7 + 0.8)/√40.
        assert!((0.04..0.08).contains(&effect(40)), "{}", effect(40));
    }

    #[test]
    fn throughput_is_left_out_where_it_is_coarse_and_no_large_difference_shows() {
        let coarse = |rounds: &[Vec<Values>]| throughput_is_too_coarse(&terms(), &of(rounds, 10));
        assert!(coarse(&rounds(4, 0.1, 1.0, 1.0)));
        assert!(
            !coarse(&rounds(4, 0.005, 1.0, 1.0)),
            "it is as fine as CPU time"
        );
        assert!(!coarse(&rounds(4, 0.1, 2.0, 1.0)), "twice as fast is found");
        assert!(!coarse(&rounds(3, 0.1, 1.0, 1.0)), "too early");
        let exact = Terms {
            exact: true,
            ..terms()
        };
        let all = of(&rounds(4, 0.1, 1.0, 1.0), 10);
        assert!(!throughput_is_too_coarse(&exact, &all));
    }

    #[test]
    fn it_ends_when_the_rest_is_hopeless() {
        let all = of(&rounds(8, 0.1, 1.0, 1.05), 40);
        let cpu = |_, quantity| quantity == Quantity::Cpu;
        assert!(nothing_left_to_find(&terms(), &all, cpu));
        let none = |_, _| false;
        assert!(
            !nothing_left_to_find(&terms(), &all, none),
            "nothing is known"
        );
        let soon = of(&rounds(7, 0.1, 1.0, 1.05), 40);
        assert!(!nothing_left_to_find(&terms(), &soon, cpu), "too early");
    }

    #[test]
    fn what_was_not_measured_has_no_outlook() {
        let all = of(&rounds(1, 0.1, 1.0, 1.0), 10);
        assert_eq!(all, []);
    }
}

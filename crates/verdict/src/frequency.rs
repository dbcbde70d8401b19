//! CPU time where the CPU's speed differs between the sides.
//!
//! A governor that follows the load gives the cheaper side a slower CPU, so that both take as long for a request, whatever
//! their code costs. CPU time divided by how much longer fixed work took is the time at full speed. That is exact for work
//! that waits for nothing but the core.

use crate::sentence::{change_in, percent};
use prony_record::verdict::{Quantity, Values};
use prony_stats::ratio::log_ratios;
use prony_stats::sequential::Plan;
use prony_stats::{Unit, mean::mean};

/// How many times as long fixed work took after this side's load as after the first one's, if that differs from 1 by more
/// than half of the margin for CPU time, and by more than chance (95%). `rounds` has for each round the values of all sides.
pub(crate) fn slower(rounds: &[Vec<Values>], side: usize, band: f64) -> Option<f64> {
    let column = |side: usize| -> Vec<Option<f64>> {
        rounds.iter().map(|round| round[side].slowdown).collect()
    };
    let logs = log_ratios(&column(side), &column(0)).ok()?;
    let found = mean(&logs, Unit::Ratio).ok()?;
    let interval = found.interval()?;
    let by_chance = interval.contains(0.0);
    let matters = found.value().abs() > 0.5 * band.ln_1p();
    (matters && !by_chance).then(|| found.value().exp())
}

/// A side's values of a quantity at full speed; those of quantities other than CPU time stay.
pub(crate) fn at_full_speed(
    rounds: &[Vec<Values>],
    side: usize,
    quantity: Quantity,
) -> Vec<Option<f64>> {
    let is_time = matches!(
        quantity,
        Quantity::Cpu | Quantity::User | Quantity::Kernel | Quantity::ServiceCpu
    );
    let one = |values: &Values| {
        let value = values.of(quantity)?;
        match is_time {
            true => values.slowdown.map(|slowdown| value / slowdown),
            false => Some(value),
        }
    };
    rounds.iter().map(|round| one(&round[side])).collect()
}

/// Says that CPU time was corrected, and what it is without that.
pub(crate) fn sentence(
    names: &[String],
    rounds: &[Vec<Values>],
    side: usize,
    (plan, band): (&Plan, f64),
) -> Option<String> {
    let slower = slower(rounds, side, band)?;
    let of = |side| crate::duel::column(rounds, side, Quantity::Cpu);
    let measured = plan.ratio(&of(side), &of(0)).ok()?;
    let (who, other) = match slower > 1.0 {
        true => (side, 0),
        false => (0, side),
    };
    Some(format!(
        "The CPU's speed differed: fixed work took {} longer after {}'s load than after {}'s. CPU per request is compared \
         as at full speed; as measured, {} has {}.",
        percent(slower.max(slower.recip()) - 1.0),
        names[who],
        names[other],
        names[side],
        change_in(Quantity::Cpu, measured.value()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duel::compare;
    use crate::made_up::terms;
    use prony_record::verdict::Verdict;

    /// Rounds in which both sides' CPU time was measured with the CPU so much slower than at full speed.
    fn rounds(cpu: [f64; 2], slowdown: [f64; 2]) -> Vec<Vec<Values>> {
        let one = |i: usize, side: usize| {
            let noise = 1.0 + 0.002 * [0.5, -1.0, 0.8, -0.3, 0.1][(i + side) % 5];
            Values {
                cpu: Some(cpu[side] * noise),
                slowdown: Some(slowdown[side] * noise),
                rate: Some(9_000.0),
                ..Values::default()
            }
        };
        (0..12).map(|i| vec![one(i, 0), one(i, 1)]).collect()
    }

    fn said(rounds: &[Vec<Values>]) -> (Verdict, f64, Option<String>) {
        let names = ["old".to_owned(), "new".to_owned()];
        let (terms, plan) = (terms(), Plan::up_to(20).unwrap());
        let all = compare(&names, &terms.quantities, rounds, &plan, &terms.bands).unwrap();
        let cpu = all.iter().find(|it| it.quantity == Quantity::Cpu).unwrap();
        let sentence = sentence(&names, rounds, 1, (&plan, terms.band));
        (cpu.verdict, cpu.ratio.value(), sentence)
    }

    #[test]
    fn a_cheaper_side_that_gets_a_slower_cpu_is_still_cheaper() {
        // A governor that keeps both at the same utilisation: 20% less work at 20% less speed.
        let (verdict, ratio, told) = said(&rounds([6_000.0, 6_000.0], [1.0, 1.25]));
        assert_eq!(verdict, Verdict::Cheaper);
        assert!((ratio - 0.8).abs() < 0.01, "{ratio}");
        let told = told.unwrap();
        assert!(
            told.contains("took 25.0% longer after new's load than after old's"),
            "{told}"
        );
    }

    #[test]
    fn equal_speeds_change_nothing() {
        for slowdown in [[1.0, 1.0], [1.3, 1.3], [1.0, 1.003]] {
            let (verdict, ratio, told) = said(&rounds([6_000.0, 7_200.0], slowdown));
            assert_eq!((verdict, told), (Verdict::MoreExpensive, None));
            assert!((ratio - 1.2).abs() < 0.01, "{ratio}");
        }
    }

    #[test]
    fn unknown_speeds_change_nothing() {
        let mut rounds = rounds([6_000.0, 7_200.0], [1.0, 1.25]);
        for round in &mut rounds {
            round[0].slowdown = None;
        }
        let (verdict, _, told) = said(&rounds);
        assert_eq!((verdict, told), (Verdict::MoreExpensive, None));
    }
}

//! A load generator at its limit.
//!
//! A server that could have answered more than the generator asked was at least as fast as measured. Where that is the
//! faster side, the difference is at least the one that was seen; otherwise nothing follows.

use super::{Preferred, preferred, withhold};
use prony_record::verdict::{Cause, Comparison, Quantity, Values};

/// In more than this share of its rounds, the generator's limit is taken for that of the duel: in fewer, other programs
/// may have had its CPUs for a moment.
const OFTEN: f64 = 0.1;

/// Withholds a verdict on throughput, or calls its difference the least one.
pub(super) fn doubt(one: &mut Comparison, rounds: &[Vec<Values>], side: usize) {
    if one.quantity != Quantity::Throughput {
        return;
    }
    let both = |round: &&Vec<Values>| [0, side].iter().all(|&at| round[at].throughput.is_some());
    let rounds: Vec<&Vec<Values>> = rounds.iter().filter(both).collect();
    let count = |at: usize| rounds.iter().filter(|round| round[at].limited).count();
    let often = |at: usize| count(at) as f64 > OFTEN * rounds.len() as f64;
    let (first, this) = (often(0), often(side));
    match preferred(one) {
        _ if !first && !this => {}
        Some(Preferred::First) if !this => one.at_least = true,
        Some(Preferred::This) if !first => one.at_least = true,
        _ => {
            let which = rounds.iter().filter(|it| it[0].limited || it[side].limited);
            let why = format!(
                "the load generator was the limit in {} of {} rounds, and the servers may be faster (give it more \
                 CPUs, or compare CPU per request)",
                which.count(),
                rounds.len()
            );
            withhold(one, Cause::GeneratorLimit, Some(why));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::found;
    use prony_record::verdict::Verdict;

    /// Ten rounds, in so many of which the generator was the limit of either side.
    fn rounds(first: usize, this: usize) -> Vec<Vec<Values>> {
        let at = |limited| Values {
            throughput: Some(1.0),
            limited,
            ..Values::default()
        };
        (0..10).map(|i| vec![at(i < first), at(i < this)]).collect()
    }

    fn after(verdict: Verdict, ratio: f64, limited: (usize, usize)) -> (Verdict, bool) {
        let mut one = found(Quantity::Throughput, ratio, verdict);
        doubt(&mut one, &rounds(limited.0, limited.1), 1);
        (one.verdict, one.at_least)
    }

    #[test]
    fn the_generators_own_speed_is_no_tie() {
        assert_eq!(after(Verdict::Same, 1.0, (0, 0)), (Verdict::Same, false));
        assert_eq!(after(Verdict::Same, 1.0, (1, 1)), (Verdict::Same, false));
        for limited in [(2, 0), (0, 2), (10, 10)] {
            assert_eq!(
                after(Verdict::Same, 1.0, limited),
                (Verdict::Inconclusive, false)
            );
        }
    }

    #[test]
    fn the_limit_of_the_faster_side_makes_the_difference_larger() {
        assert_eq!(
            after(Verdict::Slower, 0.5, (10, 0)),
            (Verdict::Slower, true)
        );
        assert_eq!(
            after(Verdict::Faster, 2.0, (0, 10)),
            (Verdict::Faster, true)
        );
        for (verdict, ratio, limited) in [
            (Verdict::Slower, 0.9, (0, 10)),
            (Verdict::Faster, 1.1, (10, 10)),
        ] {
            let seen = after(verdict, ratio, limited);
            assert_eq!(seen, (Verdict::Inconclusive, false));
        }
    }

    #[test]
    fn more_rounds_would_not_help() {
        let mut open = found(Quantity::Throughput, 1.0, Verdict::Inconclusive);
        doubt(&mut open, &rounds(10, 10), 1);
        assert_eq!(open.withheld.unwrap().cause, Cause::GeneratorLimit);
        let mut cpu = found(Quantity::Cpu, 1.0, Verdict::Same);
        doubt(&mut cpu, &rounds(10, 10), 1);
        assert_eq!(cpu.verdict, Verdict::Same);
    }
}

//! Wake-ups that explain a difference.
//!
//! A server that has more work to do for each request is busy longer, finds more requests waiting when
//! it looks again, and answers them in one wake-up. That saves system calls and switches, so that it may
//! use less CPU time in all, and even respond sooner, although its code does more. What gives it away:
//! it wakes less often per request and does not spend less time in its own code. Code that really does
//! less makes a server wake *more* often.

use prony_record::verdict::{Comparison, Quantity, Values, Verdict};
use prony_stats::compare::Better;

/// Wake-ups that differ by less than this share explain nothing.
const ALIKE: f64 = 0.005;
/// Wake-ups that differ by more than this share are the code's doing, such as one more thread that each
/// request passes through.
const FAR_APART: f64 = 0.25;
/// Largest cost of a wake-up, in nanoseconds of CPU time: going to sleep, being woken, and the system calls that find
/// out what has arrived. On a virtual machine an interrupt is expensive. A larger difference for each wake-up saved is
/// not explained by wake-ups.
const MOST_PER_WAKE_UP: f64 = 10_000.0;
/// Response times whose ratio lies beyond this are not explained by wake-ups.
const SMALL: f64 = 1.25;

/// CPU time and wake-ups per request, of both sides of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PerRequest {
    /// CPU time, in nanoseconds: of the first side, and of this one.
    pub(super) cpu: (f64, f64),
    /// Wake-ups: of the first side, and of this one.
    pub(super) wakeups: (f64, f64),
}

impl PerRequest {
    /// Means of a side and the first, over the rounds that both have; None where there is no such round.
    pub(super) fn of(rounds: &[Vec<Values>], side: usize) -> Option<Self> {
        let both = |quantity: Quantity| {
            let pair = |round: &Vec<Values>| round[0].of(quantity).zip(round[side].of(quantity));
            let pairs: Vec<(f64, f64)> = rounds.iter().filter_map(pair).collect();
            let n = pairs.len() as f64;
            let sum = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
            (n > 0.0).then(|| (sum(|pair| pair.0) / n, sum(|pair| pair.1) / n))
        };
        Some(Self {
            cpu: both(Quantity::Cpu)?,
            wakeups: both(Quantity::Wakeups)?,
        })
    }
}

/// Why wake-ups may make this difference, in words. `own_code`: the verdict on CPU time in the side's own code.
pub(super) fn explain(
    one: &Comparison,
    own_code: Option<Verdict>,
    seen: PerRequest,
) -> Option<String> {
    explained(one, own_code, seen).then(|| {
        let (side, (first, this)) = (&one.side, seen.wakeups);
        format!(
            "{side} woke {this:.3} times per request and the other {first:.3} times: answering more \
             requests per wake-up, and not the code, may make this difference"
        )
    })
}

fn explained(one: &Comparison, own_code: Option<Verdict>, seen: PerRequest) -> bool {
    let ratio = one.ratio.value();
    let better = match (one.quantity.better(), one.verdict) {
        (_, Verdict::Inconclusive | Verdict::Same) | (Better::Higher, _) => return false,
        (Better::Lower, _) => ratio < 1.0,
    };
    // The better side is the one to doubt.
    let (first, this) = seen.wakeups;
    let (of_better, of_other) = if better { (this, first) } else { (first, this) };
    let fewer = 1.0 - of_better / of_other;
    let batches = of_better < 1.0 && (ALIKE..=FAR_APART).contains(&fewer);
    let does_less = match own_code {
        Some(Verdict::Cheaper) => better,
        Some(Verdict::MoreExpensive) => !better,
        _ => false,
    };
    let small = match one.quantity {
        Quantity::Cpu => {
            (seen.cpu.0 - seen.cpu.1).abs() <= (of_other - of_better) * MOST_PER_WAKE_UP
        }
        Quantity::P50
        | Quantity::P99
        | Quantity::FirstByteP50
        | Quantity::FirstByteP99
        | Quantity::FirstEventP50
        | Quantity::FirstEventP99
        | Quantity::GapP50
        | Quantity::GapP99 => (1.0 / SMALL..=SMALL).contains(&ratio),
        // The kernel's part is what wake-ups cost: it is shown as it is.
        Quantity::User
        | Quantity::Kernel
        | Quantity::Wakeups
        | Quantity::ServiceCpu
        | Quantity::Statements
        | Quantity::Events
        | Quantity::Throughput => false,
    };
    batches && !does_less && small
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::found;

    /// The verdict after doubt, with the own code's verdict and wake-ups per request.
    fn after(one: &Comparison, own: Verdict, cpu: (f64, f64), wakeups: (f64, f64)) -> Verdict {
        match explain(one, Some(own), PerRequest { cpu, wakeups }) {
            Some(_) => Verdict::Inconclusive,
            None => one.verdict,
        }
    }

    #[test]
    fn a_cheaper_side_that_batches_more_and_does_not_do_less_is_doubted() {
        let cheaper = || found(Quantity::Cpu, 0.989, Verdict::Cheaper);
        let cpu = (6_000.0, 5_934.0);
        for own in [Verdict::Inconclusive, Verdict::Same, Verdict::MoreExpensive] {
            assert_eq!(
                after(&cheaper(), own, cpu, (0.36, 0.31)),
                Verdict::Inconclusive
            );
        }
        assert_eq!(
            after(&cheaper(), Verdict::Cheaper, cpu, (0.36, 0.31)),
            Verdict::Cheaper
        );
        // It wakes more often, as one that does less would.
        assert_eq!(
            after(&cheaper(), Verdict::Same, cpu, (0.31, 0.36)),
            Verdict::Cheaper
        );
        // One wake-up per request or more: it does not batch.
        assert_eq!(
            after(&cheaper(), Verdict::Same, cpu, (2.0, 1.8)),
            Verdict::Cheaper
        );
        // That many less are no accident.
        assert_eq!(
            after(&cheaper(), Verdict::Same, cpu, (0.9, 0.45)),
            Verdict::Cheaper
        );
    }

    #[test]
    fn more_than_wake_ups_can_cost_is_not_explained_by_them() {
        let cheaper = found(Quantity::Cpu, 0.5, Verdict::Cheaper);
        let cpu = (6_000.0, 3_000.0);
        assert_eq!(
            after(&cheaper, Verdict::Same, cpu, (0.36, 0.31)),
            Verdict::Cheaper
        );
    }

    #[test]
    fn the_same_the_other_way_round() {
        let more_expensive = || found(Quantity::Cpu, 1.011, Verdict::MoreExpensive);
        let cpu = (5_934.0, 6_000.0);
        assert_eq!(
            after(&more_expensive(), Verdict::Cheaper, cpu, (0.31, 0.36)),
            Verdict::Inconclusive
        );
        let own = Verdict::MoreExpensive;
        assert_eq!(after(&more_expensive(), own, cpu, (0.31, 0.36)), own);
    }

    #[test]
    fn small_differences_of_response_times_are_doubted_as_well() {
        let (cpu, wakeups) = ((6_000.0, 5_990.0), (0.36, 0.31));
        let p50 = |ratio| found(Quantity::P50, ratio, Verdict::Faster);
        assert_eq!(
            after(&p50(0.95), Verdict::Same, cpu, wakeups),
            Verdict::Inconclusive
        );
        assert_eq!(
            after(&p50(0.5), Verdict::Same, cpu, wakeups),
            Verdict::Faster
        );
    }
}

//! Rare starts that differ.
//!
//! Of many rounds the ends are trimmed, so that a host that takes CPUs away now and then does not hide what all other
//! rounds agree on. A server that starts badly now and then is trimmed too: where all rounds together do not say "the
//! same", nothing does, and a difference that they reverse is none.

use super::{Preferred, preferred};
use crate::duel::column;
use crate::sentence::change_in;
use prony_record::verdict::{Comparison, Values};
use prony_stats::ratio::log_ratios;
use prony_stats::sequential::Plan;
use prony_stats::summary::average;
use prony_stats::trimmed::FEWEST;

/// Why rare starts forbid this verdict, in words.
pub(super) fn explain(
    one: &Comparison,
    rounds: &[Vec<Values>],
    side: usize,
    plan: &Plan,
) -> Option<String> {
    let preferred = preferred(one)?;
    let logs = log_ratios(
        &column(rounds, side, one.quantity),
        &column(rounds, 0, one.quantity),
    )
    .ok()?;
    // Of fewer nothing is trimmed.
    if logs.len() < FEWEST {
        return None;
    }
    if preferred != Preferred::Neither {
        let of_all = average(&logs)?.exp();
        return ((of_all > 1.0) != (one.ratio.value() > 1.0)).then(|| {
            let with = change_in(one.quantity, of_all);
            format!(
                "some starts differ widely: counting all of them, {} has {with}",
                one.side
            )
        });
    }
    let whole = plan.untrimmed(&logs)?;
    let (low, high) = (whole.low(), whole.high());
    let margin = one.band.ln_1p();
    (low < (-margin).exp() || high > margin.exp()).then(|| {
        format!(
            "some starts differ widely: without trimming the ratio is between {low:.3} and {high:.3}"
        )
    })
}

/// The share of starts, 0 to 1, in which something rarer would not have been seen in so many with 95%: the rule of three
/// (Hanley & Lippman-Hand, *JAMA* 249 (1983)).
pub(crate) fn unseen(starts: u64) -> f64 {
    (3.0 / starts.max(1) as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::found;
    use prony_record::verdict::{Quantity, Verdict};

    /// Fifty rounds of two sides: the second is faster by 2%, and in every tenth start half as fast.
    fn rounds() -> Vec<Vec<Values>> {
        let at = |throughput| Values {
            throughput: Some(throughput),
            ..Values::default()
        };
        (0..50)
            .map(|i| vec![at(100.0), at(if i % 10 == 0 { 50.0 } else { 102.0 })])
            .collect()
    }

    #[test]
    fn a_gain_that_all_starts_together_reverse_is_none() {
        let plan = Plan::up_to(50).unwrap();
        let doubted = |verdict, ratio| {
            explain(
                &found(Quantity::Throughput, ratio, verdict),
                &rounds(),
                1,
                &plan,
            )
        };
        assert_eq!(
            doubted(Verdict::Faster, 1.02).unwrap(),
            "some starts differ widely: counting all of them, new has 5.0% fewer requests/s"
        );
        assert_eq!(doubted(Verdict::Slower, 0.95), None);
        assert!(doubted(Verdict::Same, 1.0).is_some());
    }
}

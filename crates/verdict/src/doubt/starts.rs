//! Rare starts that differ.
//!
//! Of many rounds the ends are trimmed, so that a host that takes CPUs away now and then does not hide what all other
//! rounds agree on. A server that starts badly now and then is trimmed too: where all rounds together do not say "the
//! same", nothing does.

use super::{Preferred, preferred};
use crate::duel::column;
use prony_record::verdict::{Comparison, Values};
use prony_stats::ratio::log_ratios;
use prony_stats::sequential::Plan;
use prony_stats::trimmed::FEWEST;

/// Why rare starts forbid calling this the same, in words.
pub(super) fn explain(
    one: &Comparison,
    rounds: &[Vec<Values>],
    side: usize,
    plan: &Plan,
) -> Option<String> {
    if preferred(one)? != Preferred::Neither {
        return None;
    }
    let logs = log_ratios(
        &column(rounds, side, one.quantity),
        &column(rounds, 0, one.quantity),
    )
    .ok()?;
    // Of fewer nothing is trimmed.
    if logs.len() < FEWEST {
        return None;
    }
    let whole = plan.untrimmed(&logs)?;
    let (low, high) = (whole.low(), whole.high());
    let margin = one.band.ln_1p();
    (low < (-margin).exp() || high > margin.exp()).then(|| {
        format!(
            "some starts differ much: without trimming the ratio is between {low:.3} and {high:.3}"
        )
    })
}

/// The share of starts, 0 to 1, in which something rarer would not have been seen in so many with 95%: the rule of three
/// (Hanley & Lippman-Hand, *JAMA* 249 (1983)).
pub(crate) fn unseen(starts: u64) -> f64 {
    (3.0 / starts.max(1) as f64).min(1.0)
}

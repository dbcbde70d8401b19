//! What trials at rates say about a capacity: between which rates it lies, and why that is not known
//! better.

use super::{BOUNDARY, POINT_TRIES, Tried};
use prony_record::service::{Known, Outcome, Unclear};

/// A capacity is known when its bounds are no further apart than this share.
pub const KNOWN: f64 = 0.10;
/// A rate below the capacity contradicts it when it is at least this part of it: the lowest one whose
/// latency is shown and that has answers enough for its percentiles.
pub const CONTRADICTS: f64 = 0.5;
/// Products of rates are equal up to this.
const ROUNDING: f64 = 1e-9;

/// The capacity; none unless its bounds are close.
#[must_use]
pub fn capacity(known: &Known) -> Option<f64> {
    known.low.filter(|_| known.because.is_empty())
}

/// What trials say, in the order in which they were made. Those that are unclear say nothing against the
/// server.
#[must_use]
pub fn known(trials: &[Tried]) -> Known {
    let all = Trials(trials);
    let rates = all.rates();
    let believed = |rate: &&f64| all.contradiction(**rate).is_none();
    let firm = rates.iter().rev().filter(believed).find(|r| all.firm(**r));
    if let Some(&low) = firm {
        let high = all.high(low);
        if high.is_some_and(|high| high <= low * (1.0 + KNOWN) * (1.0 + ROUNDING)) {
            return Known {
                low: Some(low),
                high,
                because: Vec::new(),
            };
        }
    }
    let consistent = rates
        .iter()
        .rev()
        .filter(believed)
        .find(|r| all.consistent(**r));
    let low = match (firm, consistent) {
        (Some(firm), Some(other)) => Some(firm.max(*other)),
        (firm, other) => firm.or(other).copied(),
    };
    Known {
        low,
        high: all.high(low.unwrap_or(0.0)),
        because: all.reasons(low),
    }
}

struct Trials<'a>(&'a [Tried]);

impl Trials<'_> {
    /// Every rate that was tried, once, ascending.
    fn rates(&self) -> Vec<f64> {
        let mut rates: Vec<f64> = self.0.iter().map(|tried| tried.rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        rates
    }

    /// The outcomes at a rate that say something about the server.
    fn clear(&self, rate: f64) -> impl DoubleEndedIterator<Item = Outcome> {
        self.0
            .iter()
            .filter(move |tried| tried.rate == rate)
            .map(|tried| tried.outcome)
            .filter(|outcome| !matches!(outcome, Outcome::Unclear(_)))
    }

    fn last(&self, rate: f64) -> Option<Outcome> {
        self.clear(rate).next_back()
    }

    /// It was kept so often in a row at last that this is no accident.
    fn firm(&self, rate: f64) -> bool {
        let row = self.clear(rate).rev().take_while(|o| *o == Outcome::Kept);
        row.count() >= BOUNDARY as usize
    }

    /// It was kept at last, and no lower rate was broken at last.
    fn consistent(&self, rate: f64) -> bool {
        let lower = self.rates().into_iter().take_while(|lower| *lower < rate);
        self.last(rate) == Some(Outcome::Kept)
            && lower
                .into_iter()
                .all(|lower| self.last(lower) != Some(Outcome::Broken))
    }

    /// A lower rate that was not kept in as many trials as it gets after this one had been kept.
    fn contradiction(&self, rate: f64) -> Option<f64> {
        let is = |tried: &Tried| tried.rate == rate && tried.outcome == Outcome::Kept;
        let kept_at = self.0.iter().rposition(is)?;
        let later = &self.0[kept_at + 1..];
        let of = |lower: f64| {
            later
                .iter()
                .filter(move |tried| tried.rate == lower)
                .map(|tried| tried.outcome)
                .filter(|outcome| *outcome != Outcome::Unclear(Unclear::TooFewAnswers))
        };
        let near = |lower: &f64| (rate * CONTRADICTS * (1.0 - ROUNDING)..rate).contains(lower);
        self.rates().into_iter().filter(near).find(|&lower| {
            of(lower).count() >= POINT_TRIES as usize && of(lower).all(|o| o != Outcome::Kept)
        })
    }

    fn highest_kept(&self) -> Option<f64> {
        let kept = self.0.iter().filter(|it| it.outcome == Outcome::Kept);
        kept.map(|tried| tried.rate).max_by(f64::total_cmp)
    }

    /// The lowest rate above this one that the server broke, or the highest that it ever kept, if that is
    /// more; none where it broke no rate above that.
    fn high(&self, low: f64) -> Option<f64> {
        let highest = self.highest_kept().unwrap_or(0.0).max(low);
        let broken = |rate: &f64| self.last(*rate) == Some(Outcome::Broken);
        let broken: Vec<f64> = self.rates().into_iter().filter(broken).collect();
        broken.iter().find(|rate| **rate >= highest)?;
        let lowest = broken.into_iter().find(|rate| *rate > low)?;
        Some(lowest.max(highest))
    }

    /// Why the bounds are not close.
    fn reasons(&self, low: Option<f64>) -> Vec<String> {
        let mut reasons = Vec::new();
        let rates = self.rates();
        let contradicted = rates.iter().rev().filter(|rate| self.firm(**rate));
        for &rate in contradicted {
            if let Some(lower) = self.contradiction(rate) {
                reasons.push(format!(
                    "{rate:.0}/s was kept {BOUNDARY} times in a row, and {lower:.0}/s was not kept \
                     after that"
                ));
                break;
            }
        }
        let disagree = |rate: &&f64| {
            low.is_none_or(|low| **rate > low)
                && self.clear(**rate).any(|it| it == Outcome::Kept)
                && self.clear(**rate).any(|it| it == Outcome::Broken)
        };
        if let Some(&rate) = rates.iter().rev().find(disagree) {
            let kept = self.clear(rate).filter(|it| *it == Outcome::Kept).count();
            let all = self.clear(rate).count();
            reasons.push(format!(
                "trials disagree: {rate:.0}/s was kept in {kept} of {all}"
            ));
        }
        for &why in Unclear::ALL {
            let n = self.count(why);
            if why != Unclear::TooFewAnswers && n > 0 {
                let all = self.0.len();
                reasons.push(format!("{} in {n} of {all} trials", why.phrase()));
            }
        }
        // A server that broke its limits at every rate that was tried has no capacity, and that is known.
        if reasons.is_empty() && low.is_some() {
            reasons.push(format!(
                "no rate was both kept {BOUNDARY} times in a row and near one that was not kept"
            ));
        }
        reasons
    }

    fn count(&self, why: Unclear) -> usize {
        let is = |tried: &&Tried| tried.outcome == Outcome::Unclear(why);
        self.0.iter().filter(is).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: Outcome = Outcome::Unclear(Unclear::NoisyHost);

    fn of(trials: &[(f64, Outcome)]) -> Known {
        let all: Vec<Tried> = trials
            .iter()
            .map(|&(rate, outcome)| Tried { rate, outcome })
            .collect();
        known(&all)
    }

    const KEPT: Outcome = Outcome::Kept;
    const BROKEN: Outcome = Outcome::Broken;

    #[test]
    fn bounds_that_are_close_are_a_capacity() {
        let mut trials = vec![(800.0, KEPT), (1_080.0, BROKEN)];
        trials.extend([(1_000.0, KEPT); 3]);
        let found = of(&trials);
        assert_eq!(capacity(&found), Some(1_000.0));
        assert_eq!(found.high, Some(1_080.0));
    }

    #[test]
    fn without_a_broken_rate_near_it_the_capacity_is_not_known() {
        let found = of(&[(1_000.0, KEPT); 3]);
        assert_eq!((found.low, found.high), (Some(1_000.0), None));
        assert_eq!(capacity(&found), None);
        let far = of(&[
            (1_000.0, KEPT),
            (1_000.0, KEPT),
            (1_000.0, KEPT),
            (1_010.0, NOISE),
            (2_000.0, BROKEN),
        ]);
        assert_eq!((far.low, far.high), (Some(1_000.0), Some(2_000.0)));
        assert!(
            far.because[0].contains("other processes") && far.because[0].contains("1 of 5"),
            "{far:?}"
        );
    }

    #[test]
    fn a_rate_that_was_kept_and_broken_is_a_disagreement() {
        let mut trials = vec![(2_000.0, KEPT), (2_000.0, BROKEN), (1_020.0, BROKEN)];
        trials.extend([(1_000.0, KEPT); 3]);
        let found = of(&trials);
        assert_eq!((found.low, found.high), (Some(1_000.0), Some(2_000.0)));
        assert!(
            found.because[0].contains("2000/s was kept in 1 of 2"),
            "{found:?}"
        );
    }

    #[test]
    fn a_lower_rate_that_is_not_kept_afterwards_takes_it_back() {
        let mut trials = vec![(1_010.0, BROKEN)];
        trials.extend([(1_000.0, KEPT); 3]);
        trials.push((500.0, KEPT));
        trials.extend([(800.0, BROKEN), (800.0, NOISE), (800.0, BROKEN)]);
        let found = of(&trials);
        assert_eq!((found.low, found.high), (Some(500.0), Some(1_000.0)));
        assert!(found.because[0].contains("800/s was not kept"), "{found:?}");
        assert_eq!(capacity(&found), None);
    }

    #[test]
    fn a_server_that_keeps_nothing_is_known() {
        let found = of(&[(100.0, BROKEN), (100.0, BROKEN)]);
        assert_eq!((found.low, found.high), (None, Some(100.0)));
        assert!(found.because.is_empty());
        let hidden = of(&[(100.0, NOISE), (100.0, NOISE)]);
        assert_eq!((hidden.low, hidden.high), (None, None));
        assert_eq!(hidden.because.len(), 1);
    }

    #[test]
    fn an_earlier_mishap_at_a_lower_rate_is_forgotten() {
        let mut trials = vec![(240.0, BROKEN), (240.0, BROKEN), (1_050.0, BROKEN)];
        trials.extend([(1_000.0, KEPT); 3]);
        assert_eq!(capacity(&of(&trials)), Some(1_000.0));
    }
}

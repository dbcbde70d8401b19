//! Conclusion about a capacity from trials at rates: the rate up to which a start keeps the limits, and the rates that
//! bound it.

use super::Tried;
use prony_record::service::{CapacityBounds, RateOutcome, Unclear};
use prony_stats::threshold::{self, threshold};

/// Starts that must have bracketed their own capacity before one is claimed of the server.
const FEWEST: u32 = 3;
/// Starts whose standard deviation is less than this share do not differ by much.
const DIFFER: f64 = 0.05;
/// An interval whose ends are further apart than this factor has a reason that is told.
const WIDE: f64 = 1.3;
/// Seconds of a trial of weight 1.
const SECONDS: f64 = 2.0;

/// Rates that bound the capacity of a start, in requests per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bracket {
    /// The highest rate that it kept; none where it kept none.
    pub held: Option<f64>,
    /// The lowest rate above that which it broke; none where it was not found.
    pub failed: Option<f64>,
}

impl Bracket {
    /// Both ends are known.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.held.is_some() && self.failed.is_some()
    }
}

/// Capacity as the trials show it; `trials` are in the order in which they were made. Unclear trials are no evidence
/// against the server.
#[must_use]
pub fn known(trials: &[Tried]) -> CapacityBounds {
    let starts = brackets(trials);
    let closed = starts.iter().filter(|start| start.is_closed()).count() as u32;
    if closed >= FEWEST
        && let Some(found) = threshold(&clear(trials))
    {
        let mut because = Vec::new();
        if found.high > found.low * WIDE {
            because = reasons(trials);
            if found.spread >= DIFFER {
                because.push(format!(
                    "what its starts keep differs by {:.0}%",
                    found.spread * 100.0
                ));
            }
        }
        let (held, failed) = gap(&starts).unwrap_or((found.low, found.high));
        return CapacityBounds {
            estimate: Some(found.value),
            low: Some(found.low.min(held)),
            high: Some(found.high.max(failed)),
            starts: closed,
            because,
        };
    }
    let low = starts
        .iter()
        .filter_map(|start| start.held)
        .reduce(f64::max);
    let broken = trials
        .iter()
        .filter(|it| it.trial.outcome == RateOutcome::Broken);
    let high = broken
        .map(|it| it.rate)
        .filter(|rate| low.is_none_or(|low| *rate > low))
        .reduce(f64::min);
    let mut because = reasons(trials);
    // A server that broke its limits at every rate that was tried has no capacity, and that is known.
    if because.is_empty() && low.is_some() {
        because.push(format!(
            "{closed} of its starts showed both a rate that was kept and one that was not, and {FEWEST} are needed"
        ));
    }
    CapacityBounds {
        estimate: None,
        low,
        high,
        starts: closed,
        because,
    }
}

/// Between which rates nothing was tried, where all starts agree: an interval that ends there has its end from the model
/// alone. None where a start has broken what another has kept.
fn gap(starts: &[Bracket]) -> Option<(f64, f64)> {
    let held = starts.iter().filter_map(|start| start.held);
    let failed = starts.iter().filter_map(|start| start.failed);
    let gap = held.reduce(f64::max).zip(failed.reduce(f64::min));
    gap.filter(|(held, failed)| held < failed)
}

/// Trials that are evidence about the server: all but the unclear ones.
fn clear(trials: &[Tried]) -> Vec<threshold::ThresholdTrial> {
    let clear = trials
        .iter()
        .filter(|it| !matches!(it.trial.outcome, RateOutcome::Unclear(_)));
    clear
        .map(|it| threshold::ThresholdTrial {
            start: it.start,
            at: it.rate,
            excess: it.trial.excess,
            weight: it.trial.seconds / SECONDS,
        })
        .collect()
}

/// Bracket of each start, in their order: the highest rate that it kept, and the lowest above that which it broke.
#[must_use]
pub fn brackets(trials: &[Tried]) -> Vec<Bracket> {
    let starts = trials
        .iter()
        .map(|it| it.start)
        .max()
        .map_or(0, |last| last + 1);
    (0..starts)
        .map(|start| {
            let of = |outcome| {
                let these = trials
                    .iter()
                    .filter(move |it| it.start == start && it.trial.outcome == outcome);
                these.map(|it| it.rate)
            };
            let broken: Vec<f64> = of(RateOutcome::Broken).collect();
            let lowest = broken.iter().copied().reduce(f64::min);
            // What was kept above a rate that was broken later is not what it keeps.
            let below = |rate: &f64| lowest.is_none_or(|lowest| *rate < lowest);
            Bracket {
                held: of(RateOutcome::Kept).filter(below).reduce(f64::max),
                failed: lowest,
            }
        })
        .collect()
}

/// Why trials say nothing against the server that broke its limits.
fn reasons(trials: &[Tried]) -> Vec<String> {
    let count = |why: Unclear| {
        let is = |tried: &&Tried| tried.trial.outcome == RateOutcome::Unclear(why);
        trials.iter().filter(is).count()
    };
    let told = |&why: &Unclear| {
        let n = count(why);
        (n > 0).then(|| format!("{} in {n} of {} trials", why.phrase(), trials.len()))
    };
    Unclear::ALL.iter().filter_map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::RateTrial;

    fn tried(start: u32, rate: f64, outcome: RateOutcome) -> Tried {
        let excess = match outcome {
            RateOutcome::Kept => 0.0,
            _ => 50.0,
        };
        Tried {
            start,
            rate,
            trial: RateTrial {
                outcome,
                excess,
                seconds: 6.0,
            },
        }
    }

    const NOISE: RateOutcome = RateOutcome::Unclear(Unclear::NoisyHost);
    const KEPT: RateOutcome = RateOutcome::Kept;
    const BROKEN: RateOutcome = RateOutcome::Broken;

    fn of(starts: &[&[(f64, RateOutcome)]]) -> CapacityBounds {
        let all = starts.iter().zip(0..).flat_map(|(trials, start)| {
            trials
                .iter()
                .map(move |&(rate, outcome)| tried(start, rate, outcome))
        });
        known(&all.collect::<Vec<_>>())
    }

    #[test]
    fn starts_that_agree_are_a_capacity_with_its_interval() {
        let start: &[(f64, RateOutcome)] = &[(800.0, KEPT), (1_000.0, KEPT), (1_040.0, BROKEN)];
        let found = of(&[start; 4]);
        let estimate = found.estimate.unwrap();
        assert!((1_000.0..1_040.0).contains(&estimate), "{found:?}");
        assert!(
            found.low.unwrap() > 960.0 && found.high.unwrap() < 1_080.0,
            "{found:?}"
        );
        assert_eq!((found.starts, found.because.len()), (4, 0));
    }

    #[test]
    fn an_interval_ends_where_something_was_tried() {
        let start: &[(f64, RateOutcome)] = &[(1_000.0, KEPT), (1_300.0, BROKEN)];
        let found = of(&[start; 5]);
        assert!(
            found.low.unwrap() <= 1_000.0 && found.high.unwrap() >= 1_300.0,
            "{found:?}"
        );
    }

    #[test]
    fn starts_that_differ_widen_the_interval_and_that_is_told() {
        let start = |rate: f64| {
            let kept = [0.88, 0.92, 0.96, 1.0].map(|part| (rate * part, KEPT));
            [&kept[..], &[(rate * 1.04, BROKEN)]].concat()
        };
        let starts = [700.0, 850.0, 1_000.0, 1_150.0, 1_300.0].map(start);
        let starts: Vec<&[(f64, RateOutcome)]> = starts.iter().map(Vec::as_slice).collect();
        let found = of(&starts);
        let (low, high) = (found.low.unwrap(), found.high.unwrap());
        assert!(low < 900.0 && high > 1_050.0, "{found:?}");
        assert!(
            found.because[0].contains("its starts keep differs by"),
            "{found:?}"
        );
    }

    #[test]
    fn few_starts_are_bounds_with_the_reason() {
        let found = of(&[&[(1_000.0, KEPT), (1_500.0, BROKEN)]]);
        assert_eq!(
            (found.estimate, found.low, found.high),
            (None, Some(1_000.0), Some(1_500.0))
        );
        assert!(found.because[0].starts_with("1 of its starts"), "{found:?}");
        let noisy = of(&[&[(1_000.0, KEPT), (1_500.0, NOISE), (3_000.0, NOISE)]]);
        assert_eq!((noisy.low, noisy.high), (Some(1_000.0), None));
        assert!(noisy.because[0].contains("2 of 3 trials"), "{noisy:?}");
    }

    #[test]
    fn a_server_that_keeps_nothing_is_known() {
        let found = of(&[&[(600.0, BROKEN)], &[(100.0, BROKEN)]]);
        assert_eq!((found.low, found.high), (None, Some(100.0)));
        assert!(found.because.is_empty());
    }

    #[test]
    fn what_a_start_keeps_after_it_has_broken_less_does_not_count() {
        let found = brackets(&[
            tried(0, 1_000.0, KEPT),
            tried(0, 800.0, BROKEN),
            tried(0, 500.0, KEPT),
        ]);
        assert_eq!((found[0].held, found[0].failed), (Some(500.0), Some(800.0)));
    }
}

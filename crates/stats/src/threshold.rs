//! Where a threshold lies of which every start shows only a bracket: a value at which something still held, and one at which it
//! did not.
//!
//! The threshold of a start is taken to be normally distributed around the one that is looked for, on a logarithmic scale: its
//! mean m and its standard deviation σ follow from maximum likelihood of the brackets, an interval-censored sample. A start that
//! never held, or never failed, is censored on one side only. P(it holds at x) = Φ((m − ln x)/σ) is the fitted curve, and m
//! the value at which it is one half.
//!
//! The interval of m is that of the profile likelihood. For few starts the usual limit of χ² would make it too short; where
//! brackets are narrow, the likelihood ratio is n·ln(1 + t²/(n − 1)), so with Student's t in that it has the coverage of a t
//! interval over starts. (Interval censoring: Sun, *The Statistical Analysis of Interval-censored Failure Time Data* (2006).)

use crate::mean::t_quantile;
use statrs::distribution::{ContinuousCDF, Normal};

/// The least standard deviation that is tried, as a share: starts of one server agree no better.
const LEAST_SPREAD: f64 = 0.002;
/// The largest: a factor of four.
const MOST_SPREAD: f64 = 1.4;
/// Standard deviations that are tried, evenly spaced on a logarithmic scale.
const SPREADS: u32 = 24;
/// Steps of m, over the range in which it may lie, before its ends are bisected.
const STEPS: u32 = 200;
/// How far beyond all brackets m is looked for: a factor of three.
const BEYOND: f64 = 1.1;
/// Log likelihoods that are this close are equal.
const EQUAL: f64 = 1e-6;

/// What a start has shown; both above zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bracket {
    /// The highest value at which it held; none where it held at none.
    pub held: Option<f64>,
    /// The lowest value above that at which it did not; none where it was not found.
    pub failed: Option<f64>,
}

impl Bracket {
    /// Both ends are known.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.held.is_some() && self.failed.is_some()
    }
}

/// A threshold, as its starts have shown it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// The value at which half of all starts hold.
    pub value: f64,
    /// The lower end of its 95 % interval; none where nothing limits it.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Starts with a closed bracket.
    pub starts: u32,
    /// Standard deviation of starts, as a share of the value.
    pub spread: f64,
}

/// Fits the threshold of these starts; none from less than two closed brackets.
#[must_use]
pub fn threshold(starts: &[Bracket]) -> Option<Threshold> {
    let closed = starts.iter().filter(|start| start.is_closed()).count();
    if closed < 2 {
        return None;
    }
    let logs: Vec<(f64, f64)> = starts
        .iter()
        .map(|start| {
            let low = start.held.map_or(f64::NEG_INFINITY, f64::ln);
            (low, start.failed.map_or(f64::INFINITY, f64::ln))
        })
        .collect();
    let ends = logs.iter().flat_map(|&(low, high)| [low, high]);
    let ends: Vec<f64> = ends.filter(|end| end.is_finite()).collect();
    let from = ends.iter().copied().fold(f64::INFINITY, f64::min) - BEYOND;
    let until = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max) + BEYOND;
    let step = (until - from) / f64::from(STEPS);
    let points: Vec<(f64, f64)> = (0..=STEPS)
        .map(|n| from + f64::from(n) * step)
        // The ends of brackets are where the likelihood bends.
        .chain(ends)
        .map(|m| (m, profile(&logs, m).0))
        .collect();
    let best = points
        .iter()
        .map(|point| point.1)
        .fold(f64::NEG_INFINITY, f64::max);
    let top = points.iter().filter(|point| point.1 >= best - EQUAL);
    let (first, last) = top.fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(first, last), (m, _)| (first.min(*m), last.max(*m)),
    );
    // Where all brackets agree, every value in all of them is as likely.
    let center = f64::midpoint(
        plateau(&logs, best, first, -step),
        plateau(&logs, best, last, step),
    );
    let t = t_quantile(f64::from(closed as u32 - 1))?;
    let n = closed as f64;
    let within = best - n * (t * t / (n - 1.0)).ln_1p() / 2.0;
    let inside = |m: f64| profile(&logs, m).0 >= within;
    let end = |outside: f64| (!inside(outside)).then(|| bisect(center, outside, inside).exp());
    Some(Threshold {
        value: center.exp(),
        low: end(from),
        high: end(until),
        starts: closed as u32,
        spread: profile(&logs, center).1,
    })
}

/// The end of the stretch of the best values that begins at `at`.
fn plateau(logs: &[(f64, f64)], best: f64, at: f64, step: f64) -> f64 {
    bisect(at, at + step, |m| profile(logs, m).0 >= best - EQUAL)
}

/// The last value from `inside` towards `outside` for which it holds.
fn bisect(mut inside: f64, mut outside: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..40 {
        let middle = f64::midpoint(inside, outside);
        if holds(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

/// The highest log likelihood of a mean, and the standard deviation that it has it with.
fn profile(logs: &[(f64, f64)], mean: f64) -> (f64, f64) {
    let ratio = (MOST_SPREAD / LEAST_SPREAD).powf(1.0 / f64::from(SPREADS - 1));
    (0..SPREADS)
        .map(|n| {
            let spread = LEAST_SPREAD * ratio.powi(n as i32);
            (likelihood(logs, mean, spread), spread)
        })
        .fold((f64::NEG_INFINITY, LEAST_SPREAD), |best, one| {
            match one.0 > best.0 {
                true => one,
                false => best,
            }
        })
}

fn likelihood(logs: &[(f64, f64)], mean: f64, spread: f64) -> f64 {
    let normal = Normal::standard();
    let of = |&(low, high): &(f64, f64)| {
        let (low, high) = ((low - mean) / spread, (high - mean) / spread);
        // On the side where the tail is small, so that differences of it are exact.
        let share = match low > 0.0 {
            true => normal.sf(low) - normal.sf(high),
            false => normal.cdf(high) - normal.cdf(low),
        };
        share.max(f64::MIN_POSITIVE).ln()
    };
    logs.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bracket(held: f64, failed: f64) -> Bracket {
        Bracket {
            held: Some(held),
            failed: Some(failed),
        }
    }

    #[test]
    fn starts_that_agree_leave_what_is_in_all_of_them() {
        let found = threshold(&[bracket(1_000.0, 1_050.0); 5]).unwrap();
        assert!((found.value - 1_024.7).abs() < 1.0, "{found:?}");
        let (low, high) = (found.low.unwrap(), found.high.unwrap());
        assert!(
            (980.0..1_010.0).contains(&low) && (1_040.0..1_070.0).contains(&high),
            "{found:?}"
        );
        assert_eq!(found.starts, 5);
        assert!(found.spread < 0.03);
    }

    #[test]
    fn narrow_brackets_give_the_interval_of_student() {
        let values = [1_000.0, 1_040.0, 970.0, 1_010.0, 990.0];
        let narrow: Vec<Bracket> = values
            .iter()
            .map(|v| bracket(v * 0.9995, v * 1.0005))
            .collect();
        let found = threshold(&narrow).unwrap();
        let logs: Vec<f64> = values.iter().map(|value: &f64| value.ln()).collect();
        let mean = logs.iter().sum::<f64>() / 5.0;
        let s = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 4.0).sqrt();
        let half = 2.776 * s / 5.0_f64.sqrt();
        assert!((found.value.ln() - mean).abs() < 0.001, "{found:?}");
        assert!(
            (found.low.unwrap().ln() - (mean - half)).abs() < 0.003,
            "{found:?}"
        );
        assert!(
            (found.high.unwrap().ln() - (mean + half)).abs() < 0.003,
            "{found:?}"
        );
    }

    #[test]
    fn starts_that_failed_at_once_or_never_count_on_one_side() {
        let closed = [bracket(1_000.0, 1_050.0); 3];
        let without = threshold(&closed).unwrap();
        let failed = Bracket {
            held: None,
            failed: Some(900.0),
        };
        let lower = threshold(&[&closed[..], &[failed; 2]].concat()).unwrap();
        assert!(
            lower.low < without.low && lower.value < without.value,
            "{lower:?}"
        );
        let held = Bracket {
            held: Some(1_200.0),
            failed: None,
        };
        let higher = threshold(&[&closed[..], &[held]].concat()).unwrap();
        assert!(higher.high > without.high, "{higher:?}");
    }

    #[test]
    fn one_start_has_no_interval() {
        assert_eq!(threshold(&[bracket(1.0, 2.0)]), None);
        assert_eq!(threshold(&[]), None);
    }
}

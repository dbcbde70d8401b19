//! Up to which value something holds, of which trials at some values show how often it did not.
//!
//! A trial is one stretch of time at one value (a rate) on one start. It shows its *excess*: how many events there were of those
//! that must be rare, as a multiple of what is allowed; at the threshold their mean is 1. The model:
//!
//! - **The mean grows as a power** of the value, (x/c)ᵇ, where c is the start's threshold. In heavy traffic the share of requests
//!   that wait for longer than a limit is exponential in the load (Kingman, *The single server queue in heavy traffic* (1961)),
//!   and over the few percent of load that matter that is a power. Of an excess of [`MOST`] and more only that is used: a
//!   queue that never ends grows for as long as the trial lasts.
//! - **Events come in bursts.** One queue that builds up makes many of them. Bursts are a Poisson process and their sizes
//!   exponential: the Tweedie distribution with variance φ·μ^1.5 (Jørgensen, *The Theory of Dispersion Models* (1997), 4.2), of
//!   which φ is the larger the shorter a trial is. So a short trial without any event says little about the mean, and that is
//!   why the share of trials that hold is not what is fitted: most short trials hold at values where the mean is twice what
//!   is allowed.
//! - **Starts differ**: ln c is normally distributed with the standard deviation τ around the logarithm of the threshold that is
//!   looked for, the one of the start in the middle.
//!
//! With a handful of starts the likelihood's maximum is too sure of itself. So b, φ and τ are integrated out (over a grid; b and
//! φ evenly on a logarithmic scale, τ exponentially with the mean 0.1), ln c being evenly distributed. The value is
//! the median of what remains, and the interval has 95% of it. `crates/verdict` simulates searches of queues whose threshold is
//! known: how often the interval has it.

use statrs::distribution::{ContinuousCDF, Normal};
use std::ops::Range;

/// Excesses from here on are as bad as this one: of p99, a fifth of everything was late.
pub const MOST: f64 = 20.0;
/// Exponents b: from a server whose response times hardly depend on its load to one that breaks within half a percent.
const EXPONENTS: (Range<f64>, u32) = (10.0..640.0, 13);
/// Dispersions φ, of trials of weight 1.
const DISPERSIONS: (Range<f64>, u32) = (0.1..60.0, 12);
/// Standard deviations τ of starts, besides none.
const SPREADS: (Range<f64>, u32) = (0.01..0.4, 7);
/// Starts of one server usually differ by no more than this.
const USUAL_SPREAD: f64 = 0.1;
/// Places on the scale of ln c: so far apart, and so far below and above the values between which it seems to be.
const STEP: f64 = 0.005;
const BELOW: f64 = 0.5;
const ABOVE: f64 = 0.3;
/// Where the normal distribution of starts is taken: at so many standard deviations to either side, in halves.
const HALVES: i32 = 5;

/// Result of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdTrial {
    /// On which start, from 0.
    pub start: u32,
    /// At which value, above 0.
    pub at: f64,
    /// How many events there were, as a multiple of what is allowed; 0 or more.
    pub excess: f64,
    /// How long it was, in some unit of all trials; above 0.
    pub weight: f64,
}

/// A threshold, as trials have shown it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// The value up to which the start in the middle holds.
    pub value: f64,
    /// The lower end of its 95% interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// By how much starts differ: their standard deviation, as a share of the value.
    pub spread: f64,
}

/// Fits the threshold of these trials; none without any.
#[must_use]
pub fn threshold(trials: &[ThresholdTrial]) -> Option<Threshold> {
    let scale = Scale::of(trials)?;
    let starts = trials.iter().map(|trial| trial.start).max()? as usize + 1;
    // One row for each combination of b, φ and τ: the logarithm of its probability at each place.
    let mut sum = Sum::new(scale.places);
    for b in geometric(&EXPONENTS) {
        let roots: Vec<Vec<f64>> = trials
            .iter()
            .map(|trial| scale.places().map(|c| mean(trial, b, c).sqrt()).collect())
            .collect();
        for dispersion in geometric(&DISPERSIONS) {
            let mut by_start = vec![vec![0.0; scale.places]; starts];
            for (trial, roots) in trials.iter().zip(&roots) {
                let likelihood = Likelihood::of(trial, dispersion);
                let row = &mut by_start[trial.start as usize];
                for (sum, root) in row.iter_mut().zip(roots) {
                    *sum += likelihood.at(*root);
                }
            }
            sum.add(&by_start, 0.0);
            let peaks: Vec<Peak> = by_start.iter().map(|row| Peak::of(row)).collect();
            for spread in geometric(&SPREADS) {
                let rows: Vec<Vec<f64>> = peaks.iter().map(|peak| peak.spread(spread)).collect();
                sum.add(&rows, spread);
            }
        }
    }
    Some(sum.threshold(&scale))
}

/// The places of ln c.
struct Scale {
    from: f64,
    places: usize,
}

impl Scale {
    /// Around the highest value that held and the lowest that did not: far away from both the threshold is not.
    fn of(trials: &[ThresholdTrial]) -> Option<Self> {
        let (held, failed): (Vec<&ThresholdTrial>, Vec<&ThresholdTrial>) =
            trials.iter().partition(|trial| trial.excess <= 1.0);
        let values = |of: &[&ThresholdTrial]| of.iter().map(|trial| trial.at).collect::<Vec<f64>>();
        let held = values(&held).into_iter().reduce(f64::max);
        let failed = values(&failed).into_iter().reduce(f64::min);
        let (held, failed) = (held.or(failed)?, failed.or(held)?);
        let from = held.min(failed).ln() - BELOW;
        let until = held.max(failed).ln() + ABOVE;
        Some(Self {
            from,
            places: ((until - from) / STEP).ceil() as usize + 1,
        })
    }

    fn at(&self, place: f64) -> f64 {
        self.from + place * STEP
    }

    fn places(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.places).map(|place| self.at(place as f64))
    }
}

fn geometric((range, n): &(Range<f64>, u32)) -> impl Iterator<Item = f64> {
    let ratio = (range.end / range.start).powf(1.0 / f64::from(n - 1));
    let start = range.start;
    (0..*n).map(move |k| start * ratio.powi(k as i32))
}

/// The mean excess of a trial on a start whose threshold has the logarithm `c`.
fn mean(trial: &ThresholdTrial, b: f64, c: f64) -> f64 {
    (b * (trial.at.ln() - c)).clamp(-20.0, 10.0).exp()
}

/// The likelihood of a trial's excess, as a function of its mean. With variance φ·μ^1.5 there are 2√μ/φ bursts on average, each of
/// φ√μ/2; given n of them, an excess has a gamma distribution, and the sum over n is a Bessel function.
struct Likelihood {
    /// The part that does not depend on the mean; none of an excess that is [`MOST`] or more.
    constant: Option<f64>,
    excess: f64,
    per_weight: f64,
}

impl Likelihood {
    fn of(trial: &ThresholdTrial, dispersion: f64) -> Self {
        let excess = trial.excess.min(MOST);
        let per_weight = trial.weight / dispersion;
        let constant = if excess >= MOST {
            None
        } else if excess > 0.0 {
            let z = 4.0 * per_weight * excess.sqrt();
            Some((2.0 * per_weight / excess.sqrt()).ln() + ln_bessel1(z))
        } else {
            Some(0.0)
        };
        Self {
            constant,
            excess,
            per_weight,
        }
    }

    /// At the square root of a mean.
    fn at(&self, root: f64) -> f64 {
        let bursts = 2.0 * self.per_weight * root;
        let excess = 2.0 * self.per_weight * self.excess / root;
        match self.constant {
            Some(constant) => constant - bursts - excess,
            None => ln_more(bursts, excess),
        }
    }
}

/// The logarithm of the probability that bursts of mean size 1, of which there are `bursts` on average, make more than `excess`
/// together. The bursts up to there are a Poisson process too, so it is that of one Poisson number being larger than another.
fn ln_more(bursts: f64, excess: f64) -> f64 {
    match bursts + excess > 30.0 {
        true => ln_more_of_many(bursts, excess),
        false => ln_more_of_few(bursts, excess),
    }
}

/// The root of a Poisson number is about normal, with the variance 1/4.
fn ln_more_of_many(bursts: f64, excess: f64) -> f64 {
    let apart = std::f64::consts::SQRT_2 * (excess.sqrt() - bursts.sqrt());
    match apart > 6.0 {
        true => -apart * apart / 2.0 - (apart * std::f64::consts::TAU.sqrt()).ln(),
        false => Normal::standard().sf(apart).ln(),
    }
}

/// Σ P(so many up to there) · P(more in all).
fn ln_more_of_few(bursts: f64, excess: f64) -> f64 {
    let (mut these, mut all) = ((-excess).exp(), (-bursts).exp());
    let (mut up_to, mut sum, mut seen) = (all, 0.0, 0.0);
    for n in 1..200 {
        sum += these * (1.0 - up_to).max(0.0);
        seen += these;
        if seen > 1.0 - 1e-9 {
            break;
        }
        these *= excess / f64::from(n);
        all *= bursts / f64::from(n);
        up_to += all;
    }
    sum.max(f64::MIN_POSITIVE).ln()
}

/// ln I₁(z) of z > 0, the modified Bessel function: Abramowitz & Stegun, 9.8.3 and 9.8.4 (error below 3·10⁻⁷).
fn ln_bessel1(z: f64) -> f64 {
    let polynomial =
        |coefficients: &[f64], x: f64| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
    if z < 3.75 {
        const SMALL: [f64; 7] = [
            0.5,
            0.878_905_94,
            0.514_988_69,
            0.150_849_34,
            0.026_587_33,
            0.003_015_32,
            0.000_324_11,
        ];
        return z.ln() + polynomial(&SMALL, (z / 3.75).powi(2)).ln();
    }
    const LARGE: [f64; 9] = [
        0.398_942_28,
        -0.039_880_24,
        -0.003_620_18,
        0.001_638_01,
        -0.010_315_55,
        0.022_829_67,
        -0.028_953_12,
        0.017_876_54,
        -0.004_200_59,
    ];
    z - z.ln() / 2.0 + polynomial(&LARGE, 3.75 / z).ln()
}

/// A row of logarithms as numbers, relative to the highest.
struct Peak {
    top: f64,
    row: Vec<f64>,
}

impl Peak {
    fn of(logs: &[f64]) -> Self {
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self {
            top,
            row: logs.iter().map(|log| (log - top).exp()).collect(),
        }
    }

    /// The logarithms when the start's own threshold scatters by this around each place.
    fn spread(&self, spread: f64) -> Vec<f64> {
        let nodes: Vec<(isize, f64)> = (-HALVES..=HALVES)
            .map(|half| f64::from(half) / 2.0)
            .map(|u| ((u * spread / STEP).round() as isize, (-u * u / 2.0).exp()))
            .collect();
        let all: f64 = nodes.iter().map(|node| node.1).sum();
        let last = self.row.len() as isize - 1;
        (0..=last)
            .map(|place| {
                let at = |shift: isize| self.row[(place + shift).clamp(0, last) as usize];
                let sum: f64 = nodes
                    .iter()
                    .map(|&(shift, weight)| weight * at(shift))
                    .sum();
                self.top + (sum / all).max(f64::MIN_POSITIVE).ln()
            })
            .collect()
    }
}

/// Probabilities of places, summed over all combinations, relative to the highest so far.
struct Sum {
    top: f64,
    places: Vec<f64>,
    spread: f64,
    all: f64,
}

impl Sum {
    fn new(places: usize) -> Self {
        Self {
            top: f64::NEG_INFINITY,
            places: vec![0.0; places],
            spread: 0.0,
            all: 0.0,
        }
    }

    /// A combination with starts that differ by `spread`: the logarithms of each start.
    fn add(&mut self, starts: &[Vec<f64>], spread: f64) {
        let prior = -spread / USUAL_SPREAD;
        let logs: Vec<f64> = (0..self.places.len())
            .map(|place| prior + starts.iter().map(|row| row[place]).sum::<f64>())
            .collect();
        let top = logs.iter().copied().fold(self.top, f64::max);
        let shrink = (self.top - top).exp();
        self.top = top;
        let mut added = 0.0;
        for (sum, log) in self.places.iter_mut().zip(logs) {
            let one = (log - top).exp();
            *sum = *sum * shrink + one;
            added += one;
        }
        self.spread = self.spread * shrink + added * spread;
        self.all = self.all * shrink + added;
    }

    fn threshold(&self, scale: &Scale) -> Threshold {
        let quantile = |share: f64| {
            let mut before = 0.0;
            let mut place = 0.0;
            for one in &self.places {
                if before + one >= share * self.all {
                    // Within the place, which reaches half a step to either side.
                    place += (share * self.all - before) / one.max(f64::MIN_POSITIVE) - 0.5;
                    break;
                }
                before += one;
                place += 1.0;
            }
            scale.at(place).exp()
        };
        Threshold {
            value: quantile(0.5),
            low: quantile(0.025),
            high: quantile(0.975),
            spread: self.spread / self.all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trials of the weight 4 at multiples of 1,000, on one start after the other.
    fn trials(starts: &[&[(f64, f64)]]) -> Vec<ThresholdTrial> {
        let all = starts.iter().zip(0..);
        all.flat_map(|(trials, start)| {
            trials.iter().map(move |&(at, excess)| ThresholdTrial {
                start,
                at: 1_000.0 * at,
                excess,
                weight: 4.0,
            })
        })
        .collect()
    }

    #[test]
    fn a_sharp_limit_is_where_all_starts_agree() {
        let sharp: &[(f64, f64)] = &[(0.92, 0.0), (0.96, 0.0), (1.0, 0.0), (1.04, 20.0)];
        let found = threshold(&trials(&[sharp; 5])).unwrap();
        assert!((1_000.0..1_040.0).contains(&found.value), "{found:?}");
        assert!(found.low > 940.0 && found.high < 1_080.0, "{found:?}");
        assert!(found.spread < 0.02, "{found:?}");
    }

    #[test]
    fn trials_that_hold_do_not_outvote_a_burst() {
        // At 1,000 four of five trials are without an event, and the mean is 1.6 times what is allowed.
        let start = [0.0, 0.0, 8.0, 0.0, 0.0].map(|excess| (1.0, excess));
        let found = threshold(&trials(&[&start])).unwrap();
        assert!(found.value < 1_000.0, "{found:?}");
    }

    #[test]
    fn starts_that_differ_widen_the_interval() {
        let start = |c: f64| {
            let kept = [0.88, 0.92, 0.96, 1.0].map(|part| (c * part, 0.0));
            [&kept[..], &[(c * 1.04, 20.0)]].concat()
        };
        let starts = [0.8, 1.2, 1.0, 0.9, 1.1, 1.05, 0.95].map(start);
        let starts: Vec<&[(f64, f64)]> = starts.iter().map(Vec::as_slice).collect();
        let found = threshold(&trials(&starts)).unwrap();
        let same = threshold(&trials(&[&start(1.0)[..]; 7])).unwrap();
        assert!((found.value / 1_010.0 - 1.0).abs() < 0.1, "{found:?}");
        let wide = |it: &Threshold| it.high / it.low;
        assert!(wide(&found) > wide(&same) * 1.1, "{found:?} {same:?}");
        assert!(
            found.spread > 0.05 && same.spread < 0.02,
            "{found:?} {same:?}"
        );
    }

    #[test]
    fn the_chance_of_more_is_right_by_both_of_its_formulas() {
        // Where they meet.
        for (bursts, excess) in [(20.0, 10.0), (15.0, 15.0), (8.0, 22.0)] {
            let (few, many) = (
                ln_more_of_few(bursts, excess),
                ln_more_of_many(bursts, excess),
            );
            assert!((few - many).abs() < 0.3, "{few} {many}");
        }
        // One burst that is longer than 1 in e cases, at least.
        assert!((ln_more(1e-3, 1.0) - (1e-3_f64 / 1.0_f64.exp()).ln()).abs() < 0.01);
    }

    #[test]
    fn the_bessel_function_is_right_on_both_of_its_branches() {
        // Abramowitz & Stegun, table 9.8.
        for (z, expected) in [
            (1.0, 0.565_159_1_f64),
            (5.0, 24.335_642),
            (10.0, 2_670.988_3),
        ] {
            let found = ln_bessel1(z).exp();
            assert!((found / expected - 1.0).abs() < 1e-5, "{z}: {found}");
        }
    }

    #[test]
    fn without_trials_there_is_none() {
        assert_eq!(threshold(&[]), None);
    }
}

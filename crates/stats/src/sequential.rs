//! Looking at a comparison while it runs, without being wrong more often for it.
//!
//! Computing a 95% interval after every round, and stopping as soon as it excludes 1, finds a
//! difference between equal servers in far more than 5% of all cases (in 26% with 3 to 30 rounds):
//! each look is another chance to be wrong. Here the looks are fixed in advance and share the 5%
//! between them (alpha spending, Lan & DeMets, *Biometrika* 70 (1983)): the intervals of *all* looks
//! together hold the true ratio in 95%. So a comparison may stop at any look, for whatever reason,
//! and the interval it stops with still holds.
//!
//! By the time n of at most N rounds are made, [`Spending::spent`] of n/N is spent. The critical
//! value c of each look follows: P(no look before was beyond its own, |t| > c at this one) is what
//! this look may spend. That is computed for Student's t with this number of rounds, not for the normal
//! distribution, from which t is still far away after three rounds (see `sequential/crossing.rs`).
//!
//! Taken for granted: the logarithms of the rounds' ratios are independent and about normal. Tails
//! that are heavier make it err no more often. From [`trimmed::FEWEST`](crate::trimmed::FEWEST)
//! rounds on they are left out, because on hosts that take CPUs away now and then they would hide what
//! all other rounds agree on. And whether a round is missing must have nothing to do with how it would
//! have come out.

mod crossing;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::compare::{MOST_ROUNDS, detectable};
use crate::mean::{t_quantile, upper_quantile};
use crate::ratio::log_ratios;
use crate::summary::standard_deviation;
use crate::trimmed::{Trimmed, trimmed_mean};
use crate::{CONFIDENCE, Estimate, Interval, StatsError, Unit};
use crossing::Paths;

/// The first look of [`Plan::up_to`]: two rounds have a t whose tails are so heavy that nothing but
/// a difference of hundreds of standard errors could be told.
pub const FIRST_LOOK: u32 = 3;

/// A look that may spend less than this gives no interval: after three rounds it would be a thousand
/// standard errors wide. What it does not spend is left for the looks after it.
const TOO_LITTLE: f64 = 1e-6;

/// How much larger the last critical value is for the looks before it, about.
const LOOKED_BEFORE: f64 = 1.07;

/// How the risk of being wrong is spread over a comparison.
///
/// Measured with 30 rounds and a look after each from the third on (`tests/stats/sequential.rs`): the
/// share of comparisons that find a difference of half a standard deviation of a round, the rounds
/// they take on average, and the rounds after which differences of 2 and of 10 standard deviations
/// are found. Equal servers are called different in 5.0% by each of them.
///
/// | | found | rounds | at 2 s | at 10 s |
/// |---|---|---|---|---|
/// | no look before the end | 75% | 30 | 30 | 30 |
/// | O'Brien-Fleming | 71% | 24 | 10 | 7 |
/// | quadratic | 69% | 23 | 8 | 4 |
/// | even | 63% | 23 | 7 | 3 |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spending {
    /// Next to nothing early, almost all at the end: 4 − 4Φ(2.24/√share), which comes close to
    /// O'Brien & Fleming's limits (Lan & DeMets 1983, for each side).
    OBrienFleming,
    /// 5%·share², the power family with ρ = 2 (Kim & DeMets, *Biometrika* 74 (1987)): large
    /// differences stop early, and little is lost for small ones.
    Quadratic,
    /// 5%·share, ρ = 1 of the same family: each round may err as much as every other. Stops earliest,
    /// and loses most.
    Even,
}

impl Spending {
    /// How much may be spent by the time that `share` of all rounds, above 0 and at most 1, is made:
    /// a probability, at the end 1 − [`CONFIDENCE`].
    #[must_use]
    pub fn spent(self, share: f64) -> f64 {
        let alpha = 1.0 - CONFIDENCE;
        match self {
            Self::OBrienFleming => 4.0 * Normal::standard().sf(Z_OF_A_QUARTER / share.sqrt()),
            Self::Quadratic => alpha * share * share,
            Self::Even => alpha * share,
        }
    }
}

/// The standard normal quantile of 1 − 5%/4.
const Z_OF_A_QUARTER: f64 = 2.241_402_727_604_947;

/// Looks of a comparison, and how wide the interval of each look is.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    spending: Spending,
    most: u32,
    comparisons: u32,
    looks: Vec<Look>,
}

/// One look of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// After how many whole rounds.
    pub rounds: u32,
    /// Critical value c of the interval d̄ ± c·s/√n, in place of Student's quantile of n − 1 degrees of freedom. None
    /// where this look may spend too little to be of use.
    pub critical: Option<f64>,
}

impl Plan {
    /// A look after every round from [`FIRST_LOOK`] to `most`, with quadratic spending: what to use
    /// unless there are reasons for something else.
    ///
    /// # Errors
    ///
    /// As for [`Plan::new`].
    pub fn up_to(most: u32) -> Result<Self, StatsError> {
        let looks: Vec<u32> = (FIRST_LOOK.min(most)..=most).collect();
        Self::new(&looks, Spending::Quadratic)
    }

    /// Looks after these numbers of whole rounds; the last is the most rounds there will be. Takes
    /// some 2 ms for each round.
    ///
    /// # Errors
    ///
    /// If there are no looks, they are not in ascending order, or one is below 2 or above
    /// [`MOST_ROUNDS`].
    pub fn new(looks: &[u32], spending: Spending) -> Result<Self, StatsError> {
        let most = *looks.last().ok_or(StatsError::Empty("a plan"))?;
        if let Some(at) = looks.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(StatsError::Unordered { at: at + 1 });
        }
        for end in [looks[0], most] {
            in_range(end, 2, MOST_ROUNDS)?;
        }
        Ok(Self {
            spending,
            most,
            comparisons: 1,
            looks: critical_values(looks, most, spending, 1),
        })
    }

    /// The plan for each of `comparisons` comparisons that are evaluated together: each may spend its
    /// part of the 5% (Bonferroni), so that the intervals of *all* of them hold in 95%, however
    /// they depend on each other. 0 is taken for 1.
    #[must_use]
    pub fn among(&self, comparisons: u32) -> Self {
        let looks: Vec<u32> = self.looks.iter().map(|look| look.rounds).collect();
        let comparisons = comparisons.max(1);
        Self {
            comparisons,
            looks: critical_values(&looks, self.most, self.spending, comparisons),
            ..*self
        }
    }

    /// The plan of a comparison that had to end after `rounds` whole rounds, fewer than planned: the
    /// looks until then, the last of which now takes all that is left.
    ///
    /// Only for ends that have nothing to do with the results: a limit in time, rounds that failed.
    /// Ending because of the results needs no such plan: the interval of every look holds as it is.
    ///
    /// # Errors
    ///
    /// If `rounds` is below 2 or above the most that were planned.
    pub fn ended_at(&self, rounds: u32) -> Result<Self, StatsError> {
        in_range(rounds, 2, self.most)?;
        let mut looks: Vec<u32> = self.looks.iter().map(|look| look.rounds).collect();
        looks.retain(|&look| look < rounds);
        looks.push(rounds);
        Ok(Self {
            looks: critical_values(&looks, self.most, self.spending, self.comparisons),
            ..*self
        })
    }

    /// About the critical value of the last look when the comparison ends after `rounds` whole rounds: for
    /// planning, in microseconds where [`ended_at`](Self::ended_at) takes milliseconds: within 10% of it for 6 to
    /// 120 rounds with a look after each. None below two rounds.
    #[must_use]
    pub fn about_critical_at(&self, rounds: u32) -> Option<f64> {
        let risk = (1.0 - CONFIDENCE) / f64::from(self.comparisons);
        let single = upper_quantile(f64::from(rounds) - 1.0, risk / 2.0)?;
        Some(single * LOOKED_BEFORE)
    }

    /// The minimum detectable effect after `rounds` whole rounds, in standard errors of their mean (see
    /// [`detectable`]): with the critical value of the last look where that is after as many rounds, otherwise
    /// with [about](Self::about_critical_at) what it would be. None below two rounds.
    #[must_use]
    pub fn detectable_at(&self, rounds: u32) -> Option<f64> {
        let last = self.looks.last().filter(|look| look.rounds == rounds);
        let critical = match last.and_then(|look| look.critical) {
            Some(critical) => critical,
            None => self.about_critical_at(rounds)?,
        };
        Some(detectable(critical, f64::from(rounds) - 1.0))
    }

    /// All looks, in order.
    #[must_use]
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// The ratio of `a` to `b` with the interval of the look that is due after as many whole pairs as
    /// there are: exp(d̄ ± c·s/√n), or of many rounds the same of their [`trimmed_mean`]. Without an
    /// interval if none is due then. Values as for
    /// [`paired_log_ratio`](crate::ratio::paired_log_ratio).
    ///
    /// To be asked after every round with all rounds so far; the first interval that settles the
    /// question (see [`verdict`](crate::compare::verdict)) may end the comparison.
    ///
    /// # Errors
    ///
    /// As for [`paired_log_ratio`](crate::ratio::paired_log_ratio); and if there are more pairs than
    /// were planned.
    pub fn ratio(&self, a: &[Option<f64>], b: &[Option<f64>]) -> Result<Estimate, StatsError> {
        let logs = log_ratios(a, b)?;
        let first = *logs.first().ok_or(StatsError::Empty("a ratio"))?;
        let n = in_range(u32::try_from(logs.len()).unwrap_or(u32::MAX), 1, self.most)?;
        let mean = trimmed_mean(&logs);
        let look = self.looks.iter().find(|look| look.rounds == n);
        let interval =
            look.and_then(|look| look.critical)
                .zip(mean)
                .and_then(|(critical, mean)| {
                    let half = critical * widened(&mean, n)? * mean.error;
                    Interval::new((mean.center - half).exp(), (mean.center + half).exp())
                });
        let center = mean.map_or(first, |mean| mean.center);
        Estimate::new(center.exp(), interval, u64::from(n), Unit::Ratio)
    }
}

impl Plan {
    /// The interval of [`ratio`](Self::ratio) with no round left out, of as many logarithms of ratios: what rare rounds
    /// do to it. None if no look is due then, or of fewer than two.
    #[must_use]
    pub fn untrimmed(&self, logs: &[f64]) -> Option<Interval> {
        let n = logs.len();
        let look = self.looks.iter().find(|look| look.rounds as usize == n)?;
        let center = logs.iter().sum::<f64>() / n as f64;
        let half = look.critical? * standard_deviation(logs)? / (n as f64).sqrt();
        Interval::new((center - half).exp(), (center + half).exp())
    }
}

/// How much wider an interval of these degrees of freedom is than one of n − 1.
fn widened(mean: &Trimmed, n: u32) -> Option<f64> {
    Some(t_quantile(mean.freedom)? / t_quantile(f64::from(n) - 1.0)?)
}

fn in_range(rounds: u32, least: u32, most: u32) -> Result<u32, StatsError> {
    if (least..=most).contains(&rounds) {
        Ok(rounds)
    } else {
        Err(StatsError::OutOfRange {
            what: "the number of rounds",
            value: f64::from(rounds),
        })
    }
}

/// The last look takes all that is left, whether or not it comes after `most` rounds.
fn critical_values(looks: &[u32], most: u32, spending: Spending, comparisons: u32) -> Vec<Look> {
    let mut paths = Paths::new(looks[0]);
    let mut spent = 0.0;
    looks
        .iter()
        .enumerate()
        .map(|(at, &rounds)| {
            let share = if at + 1 == looks.len() {
                1.0
            } else {
                f64::from(rounds) / f64::from(most)
            };
            let budget = spending.spent(share) / f64::from(comparisons) - spent;
            paths.advance(rounds);
            let critical = (budget >= TOO_LITTLE).then(|| {
                spent += budget;
                let critical = paths.critical(budget);
                paths.stop_beyond(critical);
                critical
            });
            Look { rounds, critical }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mean::{t_p_value, t_quantile};

    fn critical(plan: &Plan) -> Vec<f64> {
        plan.looks()
            .iter()
            .filter_map(|look| look.critical)
            .collect()
    }

    #[test]
    fn a_single_look_is_an_ordinary_t_interval() {
        for n in [2, 3, 10, 60] {
            let plan = Plan::new(&[n], Spending::Quadratic).expect("a plan");
            let t = t_quantile(f64::from(n) - 1.0).expect("a quantile");
            let c = critical(&plan)[0];
            assert!((c / t - 1.0).abs() < 1e-6, "{n}: {c} for {t}");
        }
    }

    /// Limits for five looks at equal distances, both sides, 5%: those of Lan & DeMets' function,
    /// 4.8769, 3.3569, 2.6803, 2.2898, 2.0310 (Reboussin, DeMets, Kim & Lan, *Controlled Clinical
    /// Trials* 21 (2000); the program ld98 and R's ldbounds print the
    /// same, and so does recursive integration in numpy). With many rounds t is
    /// normal but for what its p-value corrects.
    #[test]
    fn published_limits() {
        let published = [4.8769, 3.3569, 2.6803, 2.2898, 2.0310];
        let looks = [80, 160, 240, 320, 400];
        let plan = Plan::new(&looks, Spending::OBrienFleming).expect("a plan");
        for ((c, z), n) in critical(&plan).into_iter().zip(published).zip(looks) {
            let p = t_p_value(c, f64::from(n) - 1.0).expect("a p-value");
            let normal = -Normal::standard().inverse_cdf(p / 2.0);
            assert!((normal - z).abs() < 0.006, "{n}: {normal} for {z}");
        }
    }

    #[test]
    fn an_early_end_takes_what_is_left() {
        let plan = Plan::up_to(20).expect("a plan");
        let ended = plan.ended_at(12).expect("a plan");
        assert_eq!(plan.looks()[..9], ended.looks()[..9]);
        assert!(ended.looks()[9].critical < plan.looks()[9].critical);
        assert_eq!(ended.looks().len(), 10);
        // Before the first look: nothing is spent yet.
        let at_once = critical(&plan.ended_at(2).expect("a plan"));
        assert!((at_once[0] / t_quantile(1.0).expect("a quantile") - 1.0).abs() < 1e-6);
        assert!(plan.ended_at(21).is_err());
    }

    // Slow: 12 plans of up to 120 rounds, whose limits are integrated numerically.
    #[test]
    fn what_the_end_will_be_judged_by() {
        for (most, end) in [(30, 6), (30, 12), (30, 30), (120, 6), (120, 60), (120, 120)] {
            let plan = Plan::up_to(most).expect("a plan").among(4);
            let ended = plan.ended_at(end).expect("a plan");
            let exact = *critical(&ended).last().expect("a look");
            let about = plan.about_critical_at(end).expect("two rounds or more");
            assert!(
                (0.9..=1.1).contains(&(about / exact)),
                "{end} of {most}: {about} for {exact}"
            );
        }
        assert_eq!(Plan::up_to(9).expect("a plan").about_critical_at(1), None);
    }

    #[test]
    fn several_comparisons_share_the_risk() {
        let plan = Plan::new(&[10], Spending::Quadratic).expect("a plan");
        let c = critical(&plan.among(4))[0];
        let p = t_p_value(c, 9.0).expect("a p-value");
        assert!((p - 0.0125).abs() < 1e-6, "{p}");
        assert_eq!(plan.among(1), plan);
        let ended = Plan::up_to(20)
            .expect("a plan")
            .among(4)
            .ended_at(10)
            .expect("a plan");
        assert!(critical(&ended).last() > critical(&plan).last());
    }

    #[test]
    fn plans_that_are_none() {
        assert!(Plan::new(&[], Spending::Even).is_err());
        assert!(Plan::new(&[1, 5], Spending::Even).is_err());
        assert!(Plan::new(&[5, 5], Spending::Even).is_err());
        assert!(Plan::new(&[5, MOST_ROUNDS + 1], Spending::Even).is_err());
        assert_eq!(Plan::up_to(2).expect("a plan").looks().len(), 1);
    }

    #[test]
    fn between_the_looks_there_is_no_interval() {
        let plan = Plan::new(&[3, 5], Spending::Even).expect("a plan");
        let a = [Some(1.1), Some(1.2), None, Some(1.15), Some(1.2), Some(1.3)];
        let b = [Some(1.0); 6];
        let at = |rounds: usize| plan.ratio(&a[..rounds], &b[..rounds]).expect("a ratio");
        assert_eq!(at(3).interval(), None);
        assert!(at(4).interval().is_some());
        assert_eq!(at(5).interval(), None);
        assert!(at(6).interval().is_some());
        assert!(plan.ratio(&[Some(1.0); 6], &b).is_err());
    }
}

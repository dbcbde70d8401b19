//! How throughput grows with the number of workers: Amdahl's law and the Universal Scalability Law.
//!
//! λ(N) = λN/(1 + σ(N−1) + κN(N−1)), with λ the throughput of one worker, σ the part that only one
//! can do at a time (contention) and κ what each pair costs to keep agreed (coherency); Amdahl's law
//! is that with κ = 0. With κ > 0 there is a peak at N* = √((1−σ)/κ), beyond which more workers do
//! less (Gunther, *Guerrilla Capacity Planning* (2007)).
//!
//! Fitted by least squares with σ ≥ 0 and κ ≥ 0: of the logarithms, because throughput varies by a
//! share of itself, not by the same amount whether 1 or 64 workers make it; or of the rates. Intervals
//! are those of the linearised model, ± t·standard error with as many degrees of freedom as there are
//! points more than numbers fitted; they cover in 94 to 95% (`tests/stats/scaling.rs`). The peak's interval
//! is Fieller's, for the ratio (1−σ)/κ.
//!
//! Three numbers always fit three points: with no more distinct N than numbers to fit there is no
//! fit, [`Fit::TooFewPoints`]. And a law fits what was measured; what it says beyond the largest N is
//! an extrapolation, of which the intervals know only the noise, not whether the law goes on.

mod least_squares;

use crate::mean::t_quantile;
use crate::{Estimate, Interval, StatsError, Unit, finite};
use least_squares::{Free, Solution};

/// Scaling law that is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Law {
    /// λ and σ; κ is 0.
    Amdahl,
    /// λ, σ and κ.
    Universal,
}

/// Model of the noise in the measured rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Noise {
    /// The same share of every rate, as with throughput measured again and again: logarithms are
    /// fitted.
    Proportional,
    /// The same amount for every rate: rates are fitted, as published fits do.
    Constant,
}

/// Result of a fit.
#[derive(Debug, Clone, PartialEq)]
pub enum Fit {
    /// The points cannot tell.
    TooFewPoints {
        /// How many distinct N there are.
        distinct: usize,
        /// How many there must be.
        needed: usize,
    },
    /// The law with its numbers.
    Fitted(Scaling),
}

/// A fitted law.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// λ: the rate of one worker.
    pub lambda: Estimate,
    /// σ: contention; at least 0. Exactly 0 where the fit would have it below: its interval's upper end
    /// is then that of the fit without this condition.
    pub sigma: Estimate,
    /// κ: coherency; as σ. 0 for Amdahl's law, without an interval.
    pub kappa: Estimate,
    /// Where the most is done. None if κ is 0: then the rate grows towards λ/σ, or for ever.
    pub peak: Option<Peak>,
    /// The residuals' standard deviation: of the logarithms, about a share of the rate; or in the
    /// rate's unit, as [`Noise`] says.
    pub residual: f64,
    uncertainty: Box<Uncertainty>,
}

/// Parts of the law's interval at any number of workers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Uncertainty {
    /// Covariance of λ, σ and κ.
    covariance: [[f64; 3]; 3],
    /// Student's t for the fit's degrees of freedom.
    t: f64,
    noise: Noise,
}

/// Where a fitted law has its maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// N*, not rounded.
    pub workers: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end. None if there may be no peak at all: the data do not tell κ from zero.
    pub high: Option<f64>,
    /// Is N* at most the largest N that was measured? If not, it is an extrapolation.
    pub measured: bool,
}

impl Scaling {
    /// The law's rate with `workers` workers.
    #[must_use]
    pub fn rate(&self, workers: f64) -> f64 {
        let Self {
            lambda,
            sigma,
            kappa,
            ..
        } = self;
        least_squares::rate([lambda.value(), sigma.value(), kappa.value()], workers)
    }

    /// The interval of the law itself (not of a single measurement) with `workers` workers, at one
    /// place at a time: the linearised model's, rate ± t·√(gᵀCg), with g the derivatives by λ, σ and
    /// κ and C their covariance; of the logarithm, where logarithms were fitted. None where the fit
    /// leaves no degree of freedom.
    #[must_use]
    pub fn band(&self, workers: f64) -> Option<Interval> {
        let Uncertainty {
            covariance,
            t,
            noise,
        } = *self.uncertainty;
        let rate = self.rate(workers);
        let pairs = workers * (workers - 1.0);
        let below = 1.0 + self.sigma.value() * (workers - 1.0) + self.kappa.value() * pairs;
        // Of ln rate.
        let slope = [
            1.0 / self.lambda.value(),
            -(workers - 1.0) / below,
            -pairs / below,
        ];
        let variance: f64 = (0..3)
            .flat_map(|i| (0..3).map(move |j| (i, j)))
            .map(|(i, j)| slope[i] * covariance[i][j] * slope[j])
            .sum();
        let half = t * variance.max(0.0).sqrt();
        match noise {
            Noise::Proportional => Interval::new(rate * (-half).exp(), rate * half.exp()),
            Noise::Constant => Interval::new(rate * (1.0 - half), rate * (1.0 + half)),
        }
    }
}

/// Fits a law to points (N, rate): the number of workers, above zero, and the throughput they made, in
/// verified answers a second, above zero. An N that was measured several times counts as often.
///
/// # Errors
///
/// If there are no points, or a number is not finite or not above zero.
pub fn fit(points: &[(f64, f64)], law: Law, noise: Noise) -> Result<Fit, StatsError> {
    check(points)?;
    let free = match law {
        Law::Amdahl => Free {
            sigma: true,
            kappa: false,
        },
        Law::Universal => Free {
            sigma: true,
            kappa: true,
        },
    };
    let needed = free.count() + 1;
    let mut distinct: Vec<f64> = points.iter().map(|point| point.0).collect();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    if distinct.len() < needed {
        return Ok(Fit::TooFewPoints {
            distinct: distinct.len(),
            needed,
        });
    }
    let without = least_squares::solve(points, noise, free);
    let best =
        without
            .filter(Solution::allowed)
            .into_iter()
            .chain(free.fewer().filter_map(|free| {
                least_squares::solve(points, noise, free).filter(Solution::allowed)
            }))
            .min_by(|a, b| a.rss.total_cmp(&b.rss))
            .ok_or(StatsError::Empty("a fit"))?;
    let most = distinct.last().copied().unwrap_or(1.0);
    scaling(&best, without.as_ref(), law, noise, most).map(Fit::Fitted)
}

fn check(points: &[(f64, f64)]) -> Result<(), StatsError> {
    for values in [
        points.iter().map(|point| point.0).collect::<Vec<f64>>(),
        points.iter().map(|point| point.1).collect(),
    ] {
        finite(&values, "a fit")?;
        if let Some(at) = values.iter().position(|&value| value <= 0.0) {
            return Err(StatsError::NotPositive {
                at,
                value: values[at],
            });
        }
    }
    Ok(())
}

fn scaling(
    best: &Solution,
    without: Option<&Solution>,
    law: Law,
    noise: Noise,
    most: f64,
) -> Result<Scaling, StatsError> {
    let n = best.points as u64;
    let t = t_quantile(best.freedom()).unwrap_or(f64::INFINITY);
    let around = |value: f64, error: f64| Interval::new(value - t * error, value + t * error);
    let not_below_zero = |index: usize, free: bool| {
        let value = best.values[index];
        let interval = if free {
            around(value, best.error(index))
        } else {
            // At the edge: what the fit without the condition says.
            without.and_then(|fit| {
                let t = t_quantile(fit.freedom())?;
                let upper = fit.values[index] + t * fit.error(index);
                Interval::new(0.0, upper.max(0.0))
            })
        };
        let interval = interval.and_then(|i| Interval::new(i.low().max(0.0), i.high()));
        Estimate::new(value, interval, n, Unit::Fraction)
    };
    let lambda = around(best.values[0], best.error(0));
    Ok(Scaling {
        lambda: Estimate::new(best.values[0], lambda, n, Unit::PerSecond)?,
        sigma: not_below_zero(1, best.free.sigma)?,
        kappa: if law == Law::Amdahl {
            Estimate::new(0.0, None, n, Unit::Fraction)?
        } else {
            not_below_zero(2, best.free.kappa)?
        },
        peak: peak(best, t, most),
        residual: (best.rss / best.freedom()).sqrt(),
        uncertainty: Box::new(Uncertainty {
            covariance: best.covariance,
            t,
            noise,
        }),
    })
}

/// All q = N*² with (1 − σ − qκ)² ≤ t²·Var(1 − σ − qκ): a quadratic inequality in q.
fn peak(best: &Solution, t: f64, most: f64) -> Option<Peak> {
    let [_, sigma, kappa] = best.values;
    let top = 1.0 - sigma;
    if !(kappa > 0.0 && top > 0.0) {
        return None;
    }
    let t2 = t * t;
    let [_, [_, var_sigma, both], [_, _, var_kappa]] = best.covariance;
    let square = kappa * kappa - t2 * var_kappa;
    let half = top * kappa + t2 * both;
    let constant = top * top - t2 * var_sigma;
    let root = (half * half - square * constant).max(0.0).sqrt();
    // The lower end in the form that loses no digits: constant/(half + root).
    let low = (constant / (half + root)).max(0.0).sqrt();
    let workers = (top / kappa).sqrt();
    Some(Peak {
        workers,
        low: if low.is_finite() {
            low.min(workers)
        } else {
            0.0
        },
        high: (square > 0.0).then(|| ((half + root) / square).sqrt().max(workers)),
        measured: workers <= most,
    })
}

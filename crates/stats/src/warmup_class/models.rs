//! Simple shapes that a series may have instead of steps: a straight line, a line that becomes level,
//! a wave.
//!
//! They are weighed against each other by n·ln(RSS) + p·ln n, with p free numbers (BIC, Schwarz,
//! *Annals of Statistics* 6 (1978), for normal values of one variance).

use std::f64::consts::TAU;
use std::ops::RangeInclusive;

use crate::mean::t_p_value;
use crate::summary::average;

/// n·ln(RSS) + p·ln n; the smallest is best.
pub(super) fn score(rss: f64, n: usize, free: usize) -> f64 {
    let n = n as f64;
    n * rss.max(f64::MIN_POSITIVE).ln() + free as f64 * n.ln()
}

/// Σ(y − mean)².
pub(super) fn scatter(values: &[f64]) -> f64 {
    let mean = average(values).unwrap_or(0.0);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// How much of a residual the next one keeps: the first autocorrelation, 0 unless it is more than
/// chance makes it (two standard errors of 1/√n), and at most 0.5: what keeps more is not noise but
/// moves.
pub(super) fn persistence(residuals: &[f64]) -> f64 {
    let all: f64 = residuals.iter().map(|r| r * r).sum();
    let next: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let kept = next / all;
    if kept > 2.0 / (residuals.len() as f64).sqrt() {
        kept.min(0.5)
    } else {
        0.0
    }
}

/// How many times more the mean of residuals varies that keep so much of the one before.
pub(super) fn inflation(persistence: f64) -> f64 {
    (1.0 + persistence) / (1.0 - persistence)
}

/// The straight line through a series.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinearFit {
    /// The change from the first value to the last, as a share of the mean.
    pub(super) change: f64,
    /// The p-value of its slope, with what residuals keep of the one before taken into account.
    pub(super) p: f64,
    /// Residual sum of squares: Σ(y − line)².
    pub(super) rss: f64,
}

/// By least squares.
pub(super) fn line(values: &[f64]) -> LinearFit {
    let n = values.len() as f64;
    let mean = average(values).unwrap_or(0.0);
    let middle = (n - 1.0) / 2.0;
    let sxx = n * (n * n - 1.0) / 12.0;
    let sxy: f64 = values
        .iter()
        .enumerate()
        .map(|(i, y)| (i as f64 - middle) * (y - mean))
        .sum();
    let slope = sxy / sxx;
    let rss = (scatter(values) - slope * sxy).max(0.0);
    let rest = |(i, y): (usize, &f64)| y - mean - slope * (i as f64 - middle);
    let residuals: Vec<f64> = values.iter().enumerate().map(rest).collect();
    let t = slope / (rss / (n - 2.0) / sxx * inflation(persistence(&residuals))).sqrt();
    LinearFit {
        change: slope * (n - 1.0) / mean,
        p: t_p_value(t, n - 2.0).unwrap_or(1.0),
        rss,
    }
}

/// The best straight line that ends in a level: where it does, among `knees`, and what it leaves
/// unexplained.
pub(super) fn hinge(values: &[f64], knees: RangeInclusive<usize>) -> Option<(usize, f64)> {
    let n = values.len() as f64;
    let mean = average(values)?;
    let all = scatter(values);
    knees
        .map(|knee| {
            // y = level + slope·min(i − knee, 0), by least squares.
            let x = |i: usize| (i as f64 - knee as f64).min(0.0);
            let middle = (0..values.len()).map(x).sum::<f64>() / n;
            let (sxx, sxy) = values
                .iter()
                .enumerate()
                .fold((0.0, 0.0), |(sxx, sxy), (i, y)| {
                    let off = x(i) - middle;
                    (sxx + off * off, sxy + off * (y - mean))
                });
            (knee, all - sxy * sxy / sxx)
        })
        .min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The strongest wave in a series.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wave {
    /// How far it swings to either side, as a share of the mean.
    pub(super) swing: f64,
    /// The probability that the strongest of all waves in normal values is as strong (Fisher's test
    /// of the periodogram, *Proceedings of the Royal Society A* 125 (1929); the first term of the
    /// sum, which is an upper bound). Of values that keep as much of the one before as the residuals
    /// do: these have more of slow waves.
    pub(super) p: f64,
    /// Residual sum of squares.
    pub(super) rss: f64,
}

/// Finds the strongest wave of at least two whole periods, each of at least four values. None in a series without
/// spread or too short for a wave.
pub(super) fn wave(values: &[f64]) -> Option<Wave> {
    let n = values.len();
    let mean = average(values)?;
    let all = scatter(values);
    let (periods, power) = (2..=n / 4)
        .map(|periods| (periods, power(values, mean, periods)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    if power <= 0.0 {
        return None;
    }
    let step = TAU * periods as f64 / n as f64;
    // The wave itself, to see whether what is left still hangs together.
    let of = |function: fn(f64) -> f64| -> f64 {
        let products = values.iter().enumerate();
        2.0 / n as f64
            * products
                .map(|(i, y)| function(step * i as f64) * (y - mean))
                .sum::<f64>()
    };
    let (cos, sin) = (of(f64::cos), of(f64::sin));
    let residuals: Vec<f64> = values
        .iter()
        .enumerate()
        .map(|(i, y)| y - mean - cos * (step * i as f64).cos() - sin * (step * i as f64).sin())
        .collect();
    // The spectrum of an autoregressive series, as a share of its mean.
    let kept = persistence(&residuals);
    let expected = (1.0 - kept * kept) / (1.0 + kept * kept - 2.0 * kept * step.cos());
    let ordinates = ((n - 1) / 2) as f64;
    let share = (power / all / expected.max(1.0)).min(1.0);
    Some(Wave {
        swing: (2.0 * power / n as f64).sqrt() / mean.abs(),
        p: (ordinates * (1.0 - share).powf(ordinates - 1.0)).min(1.0),
        rss: (all - power).max(0.0),
    })
}

/// The part of Σ(y − mean)² that a wave with `periods` periods explains.
fn power(values: &[f64], mean: f64, periods: usize) -> f64 {
    let n = values.len() as f64;
    // Goertzel's recurrence: |Σ(y − mean)·e^(iωk)|² without a sine for each value.
    let twice = 2.0 * (TAU * periods as f64 / n).cos();
    let (a, b) = values
        .iter()
        .fold((0.0, 0.0), |(a, b), y| (y - mean + twice * a - b, a));
    2.0 / n * (a * a + b * b - twice * a * b)
}

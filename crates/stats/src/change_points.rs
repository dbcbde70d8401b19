//! Where a series changes its mean or its variance.
//!
//! PELT (Killick, Fearnhead & Eckley, "Optimal detection of changepoints with a linear computational
//! cost", *Journal of the American Statistical Association* 107 (2012)): of all ways to cut the
//! series into segments, the one with the least Σ cost(segment) + penalty × number of cuts. It is
//! found exactly; what PELT saves is the looking at cuts that cannot be best.
//!
//! The cost of a segment is twice the negative logarithm of the likelihood of normal values with the
//! segment's own mean and variance σ̂², which is n·ln σ̂² + n but for a constant. A few equal values
//! would have a variance of zero and a cost without bound, so no variance is believed to be below
//! that of [`RESOLUTION`]: with f the least variance, the cost of a segment with σ̂² < f is
//! n·ln f + n·σ̂²/f, which is the likelihood's maximum over variances from f on.

use crate::{StatsError, finite};

/// The smallest standard deviation that is believed, as a share of the values' mean magnitude. The
/// histograms' values are exact to 0.1%; a window of 100,000 answers counts no better than 0.3%
/// if they come independently.
pub const RESOLUTION: f64 = 0.001;

/// The fewest values in a segment, unless the caller says otherwise. The variance of three or four
/// values is so uncertain that chance would cut them out everywhere.
pub const SHORTEST: usize = 5;

/// A cut's cost, in units of ln n. The Bayesian information criterion would have 3 (a cut adds a
/// place, a mean and a variance), which cuts up to one in seven steady series of 20 to 50 values; 5
/// cuts one in a hundred (`tests/stats/change_points.rs`). Barrett et al. (OOPSLA 2017) take 15, for series
/// of 2,000 values. Values that depend on their neighbours need more: with half kept from one to the
/// next, 5 cuts one steady series in eight.
pub const PENALTY: f64 = 5.0;

/// Cost of a cut in a series of `n` values: [`PENALTY`]·ln n.
#[must_use]
pub fn penalty(n: usize) -> f64 {
    PENALTY * (n as f64).ln()
}

/// The places at which a new segment begins, in ascending order, from 1 to the last but
/// `shortest` − 1; none if the series is all of one kind. Values in the order of time, in any unit; a
/// cut must lower the cost by more than `penalty` (see [`penalty`]), and every segment has at least
/// `shortest` values (at least 2).
///
/// # Errors
///
/// If there are no values, one is not finite, or the penalty is not a number at or above zero.
pub fn change_points(
    values: &[f64],
    penalty: f64,
    shortest: usize,
) -> Result<Vec<usize>, StatsError> {
    finite(values, "change points")?;
    if penalty.is_nan() || penalty < 0.0 {
        return Err(StatsError::OutOfRange {
            what: "a penalty at or above zero",
            value: penalty,
        });
    }
    let shortest = shortest.max(2);
    let (n, costs) = (values.len(), Costs::new(values));
    // best[t]: the least cost of the first t values, with a penalty for every segment but one.
    let mut best = vec![f64::INFINITY; n + 1];
    best[0] = -penalty;
    let mut last_cut = vec![0; n + 1];
    // Cuts that may still be the last before some later end; with the end from which on they cannot.
    let mut candidates: Vec<(usize, usize)> = Vec::new();
    for end in shortest..=n {
        let newest = end - shortest;
        if best[newest].is_finite() {
            candidates.push((newest, usize::MAX));
        }
        for &(cut, _) in &candidates {
            let cost = best[cut] + costs.of(cut, end) + penalty;
            if cost < best[end] {
                (best[end], last_cut[end]) = (cost, cut);
            }
        }
        // A cut that is no better than cutting here as well will not become better; but the segment
        // that begins here needs its length first.
        for (cut, until) in &mut candidates {
            if *until == usize::MAX && best[*cut] + costs.of(*cut, end) >= best[end] {
                *until = end + shortest;
            }
        }
        candidates.retain(|&(_, until)| until > end + 1);
    }
    let mut cuts: Vec<usize> = std::iter::successors(Some(last_cut[n]), |&cut| Some(last_cut[cut]))
        .take_while(|&cut| cut > 0)
        .collect();
    cuts.reverse();
    Ok(cuts)
}

/// Sums from which every segment's cost follows at once.
struct Costs {
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Costs {
    fn new(values: &[f64]) -> Self {
        let n = values.len() as f64;
        // Around the mean, in units of the least standard deviation: the sums keep their digits.
        let mean = values.iter().map(|value| value / n).sum::<f64>();
        let unit = values.iter().map(|value| value.abs() / n).sum::<f64>() * RESOLUTION;
        let scaled = |value: &f64| {
            if unit > 0.0 {
                (value - mean) / unit
            } else {
                0.0
            }
        };
        let add = |sum: &mut f64, value: f64| {
            *sum += value;
            Some(*sum)
        };
        let running = |of: fn(f64) -> f64| {
            std::iter::once(0.0)
                .chain(values.iter().map(|value| of(scaled(value))).scan(0.0, add))
                .collect()
        };
        Self {
            sums: running(|value| value),
            squares: running(|value| value * value),
        }
    }

    fn of(&self, from: usize, to: usize) -> f64 {
        let n = (to - from) as f64;
        let sum = self.sums[to] - self.sums[from];
        let squares = self.squares[to] - self.squares[from];
        let variance = ((squares - sum * sum / n) / n).max(0.0);
        if variance > 1.0 {
            n * (variance.ln() + 1.0)
        } else {
            n * variance
        }
    }
}

//! Class of a series of windows: steady from the start, after a while, or never.
//!
//! After Barrett, Bolz-Tereick, Killick, Mount & Tratt, "Virtual machine warmup blows hot and cold",
//! *Proceedings of the ACM on Programming Languages* 1 (OOPSLA) (2017): the series is cut where it
//! changes ([`change_points`]); segments that are equivalent to the last one are joined to it; the
//! part so found must be long enough, and what came before decides the class.
//!
//! The paper has 2,000 iterations of a fixed piece of work; here are some dozens of windows of a
//! server's rate, with more noise. The differences are:
//!
//! | | paper | here |
//! |---|---|---|
//! | single windows far off | taken out | replaced by their neighbours' median |
//! | penalty of a cut | 15·ln n | [`penalty`], 5·ln n, for shorter series; up to 15·ln n if windows keep part of the one before |
//! | equivalent | means within the last segment's variance or 1 ms | within [`EQUIVALENT`], or the interval of their difference |
//! | steady part | the last 500 of 2,000 | the same share, [`STEADY_SHARE`] |
//! | drifts, waves | as many steps | no steady state, if a line or a wave explains the series better than the steps do, or is found in the steady part |
//! | slow beginnings | as many steps | also a line that becomes level, and one to four cold windows |
//!
//! Measured (`tests/stats/warmup.rs`) on 2,688 planted series of 40 to 240 windows, with noise of 1 to 8%,
//! without and with outliers (`tests/stats/common/planted.rs`): 99.8% are right, 98.9% or more of each shape. With
//! noise of which each window keeps half of the one before, 94% of flat series of 100 windows are
//! found flat, of 40 some 85%. Series of 20 windows are enough for steps, not for swings or a short
//! phase.
//!
//! Not detected: swings that are shorter than four windows or smaller than [`SWING`]; changes
//! smaller than [`EQUIVALENT`], or than the noise lets through (at 8% a drift of 15% over 60 windows
//! is seen in half of all cases). With less than two periods of a swing it finds a warm-up or a
//! slowdown. And a rate that drifts at random is often found to have settled: its last quarter may
//! look as if it had.

mod models;
mod outliers;

use crate::change_points::{SHORTEST, change_points, penalty};
use crate::compare::Better;
use crate::fieller::welch;
use crate::mean::{t_p_value, t_quantile};
use crate::summary::{average, variance};
use crate::{StatsError, finite};
use models::{LinearFit, Wave, hinge, inflation, line, persistence, scatter, score, wave};

/// Means that differ by no more than this share are equivalent: the band of
/// [`compare`](crate::compare::BAND).
pub const EQUIVALENT: f64 = crate::compare::BAND;

/// The share of all windows that the steady part must have at least; the paper's 500 of 2,000.
pub const STEADY_SHARE: f64 = 0.25;

/// The change along a fitted line, as a share of the mean, from which a series drifts, if chance does
/// not explain it; as in [`steady`](crate::steady::TREND).
pub const DRIFT: f64 = crate::steady::TREND;

/// The swing to either side, as a share of the mean, from which a series has waves, if chance does
/// not explain them. As for [`DRIFT`].
pub const SWING: f64 = 0.02;

/// The p-value below which chance does not explain a line, a wave or a cold start. Each series meets
/// a few such tests, and few series that are steady may fail one.
const SURE: f64 = 0.001;

/// The class of a series of windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Steady from the first window on.
    Flat,
    /// Steady, and better than everything before that was different.
    WarmUp {
        /// The first window of the steady part, from 0; at least 1.
        ends_at: usize,
    },
    /// Steady, but it was better at some time before.
    Slowdown {
        /// The first window of the steady part, from 0; at least 1.
        ends_at: usize,
    },
    /// No steady part, or too short a one.
    NoSteadyState,
    /// Not enough windows to tell.
    TooFew {
        /// How many there are; twice [`SHORTEST`] are needed.
        have: usize,
    },
}

/// Classifies a series of windows, all equally long, in the order of time: rates, for which higher is
/// better, or response times, for which lower is; in any unit. Takes time with the square of their
/// number: a thousand windows take some 10 ms.
///
/// # Errors
///
/// If there are no values, or one is not finite.
pub fn classify(values: &[f64], better: Better) -> Result<Class, StatsError> {
    finite(values, "a class")?;
    let n = values.len();
    if n < 2 * SHORTEST {
        return Ok(Class::TooFew { have: n });
    }
    let values = &outliers::replaced(values)[..];
    let mut starts = change_points(values, penalty(n), SHORTEST)?;
    // Values that hang together look as if they changed more often than they do.
    let kept = persistence(&residuals(&segments(values, &starts)));
    if kept > 0.0 {
        starts = change_points(values, penalty(n) * inflation(kept), SHORTEST)?;
    }
    let least = SHORTEST.max((STEADY_SHARE * n as f64).ceil() as usize);
    let segments = segments(values, &starts);
    let Some(begin) = first_guess(values, &segments, n - least)
        .and_then(|begin| without_drift(values, begin, n - least))
    else {
        return Ok(Class::NoSteadyState);
    };
    let steady = &values[begin..];
    if wave(steady).is_some_and(|wave| swings(&wave)) {
        return Ok(Class::NoSteadyState);
    }
    let ends_at = if begin == 0 {
        cold_windows(values)
    } else {
        begin
    };
    if ends_at == 0 {
        return Ok(Class::Flat);
    }
    Ok(if was_better(values, &segments, ends_at, better) {
        Class::Slowdown { ends_at }
    } else {
        Class::WarmUp { ends_at }
    })
}

fn segments<'a>(values: &'a [f64], starts: &[usize]) -> Vec<&'a [f64]> {
    let mut left = values;
    let mut segments = Vec::with_capacity(starts.len() + 1);
    for start in starts.iter().rev() {
        let (before, segment) = left.split_at(*start);
        segments.push(segment);
        left = before;
    }
    segments.push(left);
    segments.reverse();
    segments
}

/// Differences of the values from their segments' means.
fn residuals(segments: &[&[f64]]) -> Vec<f64> {
    segments
        .iter()
        .flat_map(|segment| {
            let mean = average(segment).unwrap_or(0.0);
            segment.iter().map(move |value| value - mean)
        })
        .collect()
}

/// Where the steady part begins according to whatever explains the series best; at most `latest`.
/// None if that is something that never becomes steady.
fn first_guess(values: &[f64], segments: &[&[f64]], latest: usize) -> Option<usize> {
    let n = values.len();
    // Each segment has a mean, each but the first a beginning.
    let unexplained = segments.iter().map(|segment| scatter(segment)).sum();
    let steps = score(unexplained, n, 2 * segments.len() - 1);
    let straight = line(values);
    let straight_score = score(straight.rss, n, 2);
    if drifts(&straight) && straight_score < steps {
        return hinge(values, 2..=latest)
            .filter(|&(_, rss)| score(rss, n, 3) < straight_score)
            .map(|(knee, _)| knee);
    }
    if wave(values).is_some_and(|wave| swings(&wave) && score(wave.rss, n, 4) < steps) {
        return None;
    }
    let (last, before) = segments.split_last()?;
    let joined = before
        .iter()
        .rev()
        .take_while(|segment| equivalent(segment, last))
        .count();
    let begin = before[..before.len() - joined]
        .iter()
        .map(|segment| segment.len())
        .sum();
    (begin <= latest).then_some(begin)
}

/// The steady part without a beginning that still drifts: the end of a warm-up that is too slow for
/// a step. None if it drifts to the end.
fn without_drift(values: &[f64], mut begin: usize, latest: usize) -> Option<usize> {
    while drifts(&line(&values[begin..])) {
        begin += SHORTEST.div_ceil(2);
        if begin > latest {
            return None;
        }
    }
    Some(begin)
}

fn drifts(line: &LinearFit) -> bool {
    line.change.abs() > DRIFT && line.p < SURE
}

fn swings(wave: &Wave) -> bool {
    wave.swing > SWING && wave.p < SURE
}

/// Do two segments' means differ by no more than [`EQUIVALENT`], or than the 95% interval of their
/// difference (Welch's) allows for?
fn equivalent(segment: &[f64], last: &[f64]) -> bool {
    let error = |values: &[f64]| variance(values).unwrap_or(0.0) / values.len() as f64;
    let (a, b) = (error(segment), error(last));
    let chance = t_quantile(welch((a, segment.len()), (b, last.len()))).unwrap_or(0.0);
    let mean = average(last).unwrap_or(0.0);
    let difference = (average(segment).unwrap_or(0.0) - mean).abs();
    difference <= (chance * (a + b).sqrt()).max(EQUIVALENT * mean.abs())
}

/// How many windows at the beginning, fewer than a segment, lie off all others by more than chance
/// explains.
fn cold_windows(values: &[f64]) -> usize {
    let (first, rest) = values.split_at(SHORTEST);
    let (Some(mean), Some(variance)) = (average(rest), variance(rest)) else {
        return 0;
    };
    let n = rest.len() as f64;
    let off = |values: &[f64]| average(values).unwrap_or(mean) - mean;
    (1..SHORTEST)
        .rev()
        .find(|&k| {
            let (all, last) = (off(&first[..k]), off(&first[k - 1..k]));
            let t = all / (variance * (1.0 / k as f64 + 1.0 / n)).sqrt();
            let p = t_p_value(t, n - 1.0).unwrap_or(1.0);
            // The last of them must be off as well, or fewer were cold.
            p < SURE / 4.0
                && all.abs() > EQUIVALENT * mean.abs()
                && last / all.signum() > variance.sqrt()
        })
        .unwrap_or(0)
}

/// Was a segment before the steady part better than it, and not equivalent to it? If all are
/// equivalent: was their mean?
fn was_better(values: &[f64], segments: &[&[f64]], ends_at: usize, better: Better) -> bool {
    let (before, steady) = values.split_at(ends_at);
    let level = average(steady).unwrap_or(0.0);
    let is_better = |part: &[f64]| {
        let mean = average(part).unwrap_or(level);
        match better {
            Better::Higher => mean > level,
            Better::Lower => mean < level,
        }
    };
    let mut left = before;
    let mut different = Vec::new();
    for segment in segments {
        let (part, rest) = left.split_at(segment.len().min(left.len()));
        left = rest;
        if part.len() >= 2 && !equivalent(part, steady) {
            different.push(part);
        }
    }
    if different.is_empty() {
        is_better(before)
    } else {
        different.into_iter().any(is_better)
    }
}

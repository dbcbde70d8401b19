//! A change of the mean among values that spread alike: in a few of them, or near the end of many.
//!
//! [`change_points`](crate::change_points) estimates a variance for each segment, so it needs several values in
//! each. Here both segments have one variance in common, which two values on either side allow: Student's t test
//! at every cut, the largest |t| held against the quantile at [`ALPHA`] divided by the number of cuts
//! (Bonferroni). It assumes independent values that are about normal.

use crate::mean::upper_quantile;
use crate::summary::average;

/// The fewest values before a change, and after it.
pub const FEWEST: usize = 2;

/// The part of steady series in which a change is found all the same, at most.
pub const ALPHA: f64 = 0.01;

/// The place of the first value after a change; None if there is none, or too few values to tell. Values in their
/// order, in any unit. At least [`FEWEST`] values lie before it and after it.
#[must_use]
pub fn change_of_mean(values: &[f64]) -> Option<usize> {
    let n = values.len();
    let cuts = FEWEST..(n + 1).saturating_sub(FEWEST);
    let each = ALPHA / cuts.len() as f64 / 2.0;
    let limit = upper_quantile(n as f64 - 2.0, each)?;
    let found = cuts.filter_map(|cut| Some((cut, t(values, cut)?)));
    let (cut, t) = found.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (t > limit).then_some(cut)
}

/// The size of Student's t for the difference of the means before and after a cut.
fn t(values: &[f64], cut: usize) -> Option<f64> {
    let (before, after) = values.split_at(cut);
    let (mean_before, mean_after) = (average(before)?, average(after)?);
    let error = common_variance(before, after)?.sqrt()
        * (1.0 / before.len() as f64 + 1.0 / after.len() as f64).sqrt();
    Some((mean_after - mean_before).abs() / error)
}

/// The variance that two groups have in common, with two degrees of freedom less than values. It is not believed
/// to be below that of [`RESOLUTION`](crate::change_points::RESOLUTION): two equal values would make anything a
/// change.
pub(crate) fn common_variance(a: &[f64], b: &[f64]) -> Option<f64> {
    let squares = |group: &[f64]| {
        let mean = average(group)?;
        Some(
            group
                .iter()
                .map(|value| (value - mean).powi(2))
                .sum::<f64>(),
        )
    };
    let n = a.len() + b.len();
    let found = (squares(a)? + squares(b)?) / n.checked_sub(2).filter(|&n| n > 0)? as f64;
    let size = a.iter().chain(b).map(|value| value.abs()).sum::<f64>() / n as f64;
    let least = (size * crate::change_points::RESOLUTION).powi(2);
    Some(found.max(least)).filter(|&variance| variance > 0.0)
}

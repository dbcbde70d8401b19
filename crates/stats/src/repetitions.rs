//! How often to repeat what, from a pilot.
//!
//! Repetitions are nested: windows within a start, starts within a build, and so on. More windows are
//! cheap but say nothing of the next start; more starts say it but cost a start each. Kalibera &
//! Jones, "Rigorous benchmarking in reasonable time" (ISMM 2013): with c_i the cost of one
//! repetition at level i, the best number of them within one repetition of level i + 1 is
//! rᵢ = ⌈√((cᵢ₊₁/cᵢ)·(Tᵢ²/Tᵢ₊₁²))⌉, where T² is the variance that a level itself adds:
//! Tᵢ² = Sᵢ² − S²ᵢ₋₁/rᵢ₋₁ with the pilot's S² and r (as the paper's revised version has it).
//!
//! The number of repetitions at the top is not a matter of cost but of how precise the result must
//! be: [`Plan::at_the_top`].

use crate::compare::rounds_needed;
use crate::summary::{average, variance};
use crate::{StatsError, finite};

/// The most repetitions that are planned at a level.
pub const MOST: u32 = 1_000_000;

/// What a pilot says of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// S²: the mean variance, within a repetition of the level above, of this level's means; in the
    /// unit of the values, squared.
    pub variance_of_means: f64,
    /// T²: what of it is this level's own. Zero or less if the levels below explain it all.
    pub own_variance: f64,
    /// The best number of repetitions within one of the level above; from 1 to [`MOST`]. None at the
    /// top; and where no level above adds any variance that the pilot could see: then repeating here
    /// is all that is needed.
    pub repetitions: Option<u32>,
}

/// What a pilot says of all levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The levels, lowest first.
    pub levels: Vec<Level>,
}

/// Plans the repetitions at every level but the highest.
///
/// `shape` says how many repetitions the pilot had at each level, lowest first: for 3 starts of 20
/// windows, [20, 3]; at least 2 at every level. `values` has all values, in any unit, those of the
/// lowest level next to each other: the windows of the first start, those of the second, and so on.
/// `costs`, lowest first and above zero, are what one repetition costs in time or money, without the
/// repetitions of lower levels within it: for a window its length; for a start the time until it is
/// ready and warm.
///
/// A level that adds no variance of its own (T² ≤ 0) gets one repetition, and its cost is counted
/// with that of the next level above that does: the formula, for an experiment without that level.
///
/// # Errors
///
/// If the lengths do not fit together, there are no levels, a value is not finite, a level has fewer
/// than 2 repetitions, or a cost is not above zero.
pub fn plan(values: &[f64], shape: &[usize], costs: &[f64]) -> Result<Plan, StatsError> {
    let want = shape.iter().product();
    for (have, want) in [(values.len(), want), (costs.len(), shape.len())] {
        if have != want {
            return Err(StatsError::Misshapen { have, want });
        }
    }
    finite(costs, "a plan")?;
    finite(values, "a plan")?;
    for (ok, value) in shape
        .iter()
        .map(|&r| (r >= 2, r as f64))
        .chain(costs.iter().map(|&cost| (cost > 0.0, cost)))
    {
        if !ok {
            return Err(StatsError::OutOfRange {
                what: "a pilot's repetitions (2 or more) or a cost (above 0)",
                value,
            });
        }
    }
    let mut levels = levels(values, shape);
    // Costs of levels that add nothing, to be paid with the next one above that does.
    let mut with_it = 0.0;
    let adding: Vec<(usize, f64)> = costs
        .iter()
        .enumerate()
        .filter_map(|(i, cost)| {
            with_it += cost;
            (levels[i].own_variance > 0.0).then(|| (i, std::mem::take(&mut with_it)))
        })
        .collect();
    for pair in adding.windows(2) {
        let ((low, cost), (high, cost_above)) = (pair[0], pair[1]);
        let variances = levels[low].own_variance / levels[high].own_variance;
        let best = (cost_above / cost * variances).sqrt().ceil();
        levels[low].repetitions = Some(best.clamp(1.0, f64::from(MOST)) as u32);
    }
    let top = levels.len() - 1;
    for level in &mut levels[..top] {
        if level.own_variance <= 0.0 {
            level.repetitions = Some(1);
        }
    }
    Ok(Plan { levels })
}

/// S² and T² of every level.
fn levels(values: &[f64], shape: &[usize]) -> Vec<Level> {
    let mut means = values.to_vec();
    let mut from_below = 0.0;
    shape
        .iter()
        .map(|&r| {
            let groups = means.chunks_exact(r);
            let variances: Vec<f64> = groups.clone().filter_map(variance).collect();
            let variance_of_means = average(&variances).unwrap_or(0.0);
            let level = Level {
                variance_of_means,
                own_variance: variance_of_means - from_below,
                repetitions: None,
            };
            from_below = variance_of_means / r as f64;
            means = groups.filter_map(average).collect();
            level
        })
        .collect()
}

impl Plan {
    /// How many repetitions of the highest level it takes, with the planned ones below it, for a mean
    /// to be known to ± `half_width`, in the values' unit, at 95 % (see [`rounds_needed`]). A level
    /// below the top whose number is None counts as repeated once. None if it takes too many.
    #[must_use]
    pub fn at_the_top(&self, half_width: f64) -> Option<u32> {
        // The variance of one top repetition's mean: each level's own over the repetitions that it
        // is averaged over.
        let variance = self.levels.iter().fold(0.0, |below: f64, level| {
            let here = below + level.own_variance.max(0.0);
            here / f64::from(level.repetitions.unwrap_or(1))
        });
        rounds_needed(variance.sqrt(), half_width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    /// The worked example of Kalibera & Jones (2013) with three levels: 3 × 2 × 2 values, whose S²
    /// are 16.5, 2.6, 3.6 and T² 16.5, −5.7, 2.3.
    const EXAMPLE: [f64; 12] = [
        9.0, 5.0, 8.0, 3.0, 10.0, 6.0, 7.0, 11.0, 1.0, 12.0, 2.0, 4.0,
    ];

    #[test]
    fn the_papers_example_with_three_levels() {
        let plan = plan(&EXAMPLE, &[2, 2, 3], &[1.0; 3]).expect("a plan");
        for (level, (s, t)) in plan
            .levels
            .iter()
            .zip([(16.5, 16.5), (2.6, -5.7), (3.6, 2.3)])
        {
            assert!(close(level.variance_of_means, s, 0.05), "{level:?}");
            assert!(close(level.own_variance, t, 0.05), "{level:?}");
        }
        // The middle level adds nothing: one repetition, and its cost joins the top's.
        assert_eq!(plan.levels[1].repetitions, Some(1));
        let best = (2.0 * plan.levels[0].own_variance / plan.levels[2].own_variance).sqrt();
        assert_eq!(plan.levels[0].repetitions, Some(best.ceil() as u32));
        assert_eq!(plan.levels[2].repetitions, None);
    }

    /// The same values with two levels: S² 12.7 and 3.6, T² 12.7 and 0.4.
    #[test]
    fn the_papers_example_with_two_levels() {
        let plan = plan(&EXAMPLE, &[4, 3], &[1.0; 2]).expect("a plan");
        for (level, (s, t)) in plan.levels.iter().zip([(12.7, 12.7), (3.6, 0.4)]) {
            assert!(close(level.variance_of_means, s, 0.05), "{level:?}");
            assert!(close(level.own_variance, t, 0.05), "{level:?}");
        }
    }

    /// An example in the tests of libkalibera, an implementation of the paper: T² are
    /// 0.7266667, 0.262777778 and 0.7747; with costs of 3, 20 and 100 the best counts are 4.2937 and
    /// 1.3023, rounded up to 5 and 2.
    #[test]
    fn libkaliberas_example() {
        let values = [3.0, 4.0, 3.0, 1.2, 3.1, 3.0, 0.2, 1.0, 1.5, 1.0, 2.0, 3.0];
        let plan = plan(&values, &[3, 2, 2], &[3.0, 20.0, 100.0]).expect("a plan");
        let own: Vec<f64> = plan.levels.iter().map(|level| level.own_variance).collect();
        for (own, want) in own.iter().zip([0.726_666_7, 0.262_777_778, 0.7747]) {
            assert!(close(*own, want, 1e-4), "{own} for {want}");
        }
        let counts: Vec<Option<u32>> = plan.levels.iter().map(|l| l.repetitions).collect();
        assert_eq!(counts, [Some(5), Some(2), None]);
    }

    #[test]
    fn where_starts_do_not_differ_windows_are_enough() {
        // Both starts have the same mean.
        let plan = plan(&[1.0, 3.0, 3.0, 1.0], &[2, 2], &[1.0, 10.0]).expect("a plan");
        assert!(plan.levels[1].own_variance < 0.0);
        assert_eq!(plan.levels[0].repetitions, None);
    }

    #[test]
    fn the_top_follows_from_the_precision() {
        // Windows vary by 1, starts by 4.
        let plan = Plan {
            levels: vec![
                Level {
                    variance_of_means: 1.0,
                    own_variance: 1.0,
                    repetitions: Some(4),
                },
                Level {
                    variance_of_means: 4.25,
                    own_variance: 4.0,
                    repetitions: None,
                },
            ],
        };
        assert_eq!(plan.at_the_top(1.0), rounds_needed(4.25_f64.sqrt(), 1.0));
        assert_eq!(plan.at_the_top(0.0), None);
    }

    #[test]
    fn pilots_that_are_none() {
        assert!(plan(&[], &[], &[]).is_err());
        assert!(plan(&[1.0; 4], &[2, 3], &[1.0; 2]).is_err());
        assert!(plan(&[1.0; 4], &[4, 1], &[1.0; 2]).is_err());
        assert!(plan(&[1.0; 4], &[2, 2], &[1.0]).is_err());
        assert!(plan(&[1.0; 4], &[2, 2], &[1.0, 0.0]).is_err());
        assert!(plan(&[1.0, f64::NAN, 1.0, 1.0], &[2, 2], &[1.0; 2]).is_err());
    }
}

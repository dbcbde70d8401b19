//! Order of the kinds of requests.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Number of requests of a worker in a row that have exactly the shares of the plan.
pub const CYCLE: u32 = 1_000;

/// How the shares of kinds of requests are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shares {
    /// Exactly, in any [`CYCLE`] requests of a worker in a row, by largest remainder.
    #[default]
    Exact,
    /// Each request is drawn for itself.
    Random,
}

/// How many of [`CYCLE`] requests each weight gets, by largest remainder; of equal remainders the earlier
/// weight's counts as the larger.
#[must_use]
pub fn exact_shares(weights: &[u32]) -> Vec<u32> {
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    let scaled = |&weight: &u32| u64::from(weight) * u64::from(CYCLE);
    let mut counts: Vec<u32> = weights
        .iter()
        .map(|weight| (scaled(weight) / sum.max(1)) as u32)
        .collect();
    let mut places: Vec<usize> = (0..weights.len()).collect();
    places.sort_by_key(|&place| std::cmp::Reverse(scaled(&weights[place]) % sum.max(1)));
    let left = CYCLE.saturating_sub(counts.iter().sum()) as usize;
    for place in places.into_iter().take(left) {
        counts[place] += 1;
    }
    counts
}

/// The order of kinds.
#[derive(Debug)]
pub(super) enum KindOrder {
    /// One and the same cycle again and again: so every stretch of its length has the same shares.
    Cycle { places: Vec<u32>, next: usize },
    /// Drawn by cumulative weights.
    Drawn {
        ends: Vec<u64>,
        rng: Xoshiro256PlusPlus,
    },
}

impl KindOrder {
    /// With these weights, at least one of them above 0.
    pub(super) fn new(weights: &[u32], shares: Shares, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed.rotate_left(16));
        match shares {
            Shares::Exact => {
                let mut places: Vec<u32> = exact_shares(weights)
                    .into_iter()
                    .zip(0..)
                    .flat_map(|(count, place)| std::iter::repeat_n(place, count as usize))
                    .collect();
                places.shuffle(&mut rng);
                Self::Cycle { places, next: 0 }
            }
            Shares::Random => {
                let mut sum = 0;
                let ends = weights.iter().map(|&weight| {
                    sum += u64::from(weight);
                    sum
                });
                Self::Drawn {
                    ends: ends.collect(),
                    rng,
                }
            }
        }
    }

    /// Always the same.
    pub(super) fn only(place: usize) -> Self {
        Self::Cycle {
            places: vec![place as u32],
            next: 0,
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> usize {
        match self {
            Self::Cycle { places, next } => {
                let place = places[*next];
                *next = if *next + 1 == places.len() {
                    0
                } else {
                    *next + 1
                };
                place as usize
            }
            Self::Drawn { ends, rng } => {
                let drawn = rng.random_range(0..ends[ends.len() - 1]);
                ends.partition_point(|&end| end <= drawn)
            }
        }
    }
}

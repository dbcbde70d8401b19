//! How much blocks of measurements differ from each other: the rigs that the rounds of a run were divided among.
//!
//! The logarithm of a rate is taken as the sum of what was measured (its cell), of where it was measured (its block) and of
//! the rest: the additive two-way layout, fitted by least squares (Scheffé, *The Analysis of Variance*, 1959, chapter 4).

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// Rounds of the fit, which alternates between its two factors. Complete blocks need two; blocks with gaps converge fast.
const STEPS: usize = 50;

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// Number of the cell, from 0: what was measured.
    pub cell: usize,
    /// The block that it belongs to, as a number from 0.
    pub block: usize,
    /// The value, above zero.
    pub value: f64,
}

/// How much blocks differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocks {
    /// The factor by which the values of each block lie above those of all; their geometric mean is 1. NaN for a block
    /// without a value.
    pub factors: Vec<f64>,
    /// The part of the variance between values of the same cell that differences between blocks explain, 0 to 1.
    pub share: f64,
    /// The probability of blocks that differ at least so much where all are equal (F test).
    pub p: f64,
}

/// Compares blocks. None with fewer than two of them, a value that is not above zero, or nothing left that chance could be
/// seen by, such as one value for each cell and block of a single cell.
#[must_use]
pub fn blocks(values: &[Value]) -> Option<Blocks> {
    let cells = values.iter().map(|it| it.cell + 1).max()?;
    let blocks = values.iter().map(|it| it.block + 1).max()?;
    if values
        .iter()
        .any(|it| !(it.value.is_finite() && it.value > 0.0))
    {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|it| it.value.ln()).collect();
    let count = |of: fn(&Value) -> usize, n: usize| {
        let mut counts = vec![0.0; n];
        values.iter().for_each(|it| counts[of(it)] += 1.0);
        counts
    };
    let (in_cell, in_block) = (count(|it| it.cell, cells), count(|it| it.block, blocks));
    let present = |counts: &[f64]| counts.iter().filter(|n| **n > 0.0).count();
    let (levels, groups) = (present(&in_cell), present(&in_block));
    if groups < 2 {
        return None;
    }
    let freedom = values.len() as f64 - levels as f64 - (groups as f64 - 1.0);
    let between_freedom = groups as f64 - 1.0;
    if freedom < 1.0 {
        return None;
    }
    let (mut of_cell, mut of_block) = (vec![0.0; cells], vec![0.0; blocks]);
    for _ in 0..STEPS {
        let mut sums = vec![0.0; cells];
        for (it, log) in values.iter().zip(&logs) {
            sums[it.cell] += log - of_block[it.block];
        }
        of_cell = divided(&sums, &in_cell);
        let mut sums = vec![0.0; blocks];
        for (it, log) in values.iter().zip(&logs) {
            sums[it.block] += log - of_cell[it.cell];
        }
        of_block = divided(&sums, &in_block);
    }
    let within: f64 = (values.iter().zip(&logs))
        .map(|(it, log)| (log - of_cell[it.cell] - of_block[it.block]).powi(2))
        .sum();
    // What is left when blocks are taken for equal.
    let mut sums = vec![0.0; cells];
    for (it, log) in values.iter().zip(&logs) {
        sums[it.cell] += log;
    }
    let alone = divided(&sums, &in_cell);
    let all: f64 = (values.iter().zip(&logs))
        .map(|(it, log)| (log - alone[it.cell]).powi(2))
        .sum();
    let (mean_between, mean_within) = ((all - within).max(0.0) / between_freedom, within / freedom);
    // Values of each block, on average: what a block's mean is worth.
    let each = values.len() as f64 / groups as f64;
    let of_blocks = (mean_between - mean_within).max(0.0) / each;
    let known = || of_block.iter().zip(&in_block).filter(|(_, n)| **n > 0.0);
    let middle = known().map(|(effect, _)| effect).sum::<f64>() / groups as f64;
    Some(Blocks {
        factors: (of_block.iter().zip(&in_block))
            .map(|(effect, n)| match *n > 0.0 {
                true => (effect - middle).exp(),
                false => f64::NAN,
            })
            .collect(),
        share: match of_blocks + mean_within {
            0.0 => 0.0,
            sum => of_blocks / sum,
        },
        p: match (mean_between, mean_within) {
            (0.0, _) => 1.0,
            (_, 0.0) => 0.0,
            (between, within) => FisherSnedecor::new(between_freedom, freedom)
                .ok()?
                .sf(between / within),
        },
    })
}

fn divided(sums: &[f64], counts: &[f64]) -> Vec<f64> {
    let each = sums.iter().zip(counts);
    each.map(|(sum, n)| if *n > 0.0 { sum / n } else { 0.0 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three cells in rounds that are divided among blocks in turns, with some noise.
    fn layout(blocks: usize, rounds: usize, factor: impl Fn(usize) -> f64) -> Vec<Value> {
        drawn(12_345, blocks, rounds, factor)
    }

    /// The same with other noise for each seed.
    fn drawn(seed: u64, blocks: usize, rounds: usize, factor: impl Fn(usize) -> f64) -> Vec<Value> {
        let mut state = seed;
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            1.0 + 0.01 * ((state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0)
        };
        let round = |round| (0..3).map(move |cell| (round, cell));
        (0..rounds)
            .flat_map(round)
            .map(|(round, cell)| Value {
                cell,
                block: round % blocks,
                value: 1_000.0 * (cell + 1) as f64 * factor(round % blocks) * noise(),
            })
            .collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn equal_blocks_explain_nothing() {
        let all = (1..=1_000).map(|seed| blocks(&drawn(seed << 20, 3, 9, |_| 1.0)).unwrap());
        let all: Vec<Blocks> = all.collect();
        let called = all.iter().filter(|found| found.p < 0.05).count();
        assert!((25..=75).contains(&called), "{called} of 1,000 at 5%");
        let shares: f64 = all.iter().map(|found| found.share).sum();
        assert!(shares / 1_000.0 < 0.1, "{shares}");
        let near = |found: &Blocks| found.factors.iter().all(|f| (f - 1.0).abs() < 0.02);
        assert!(all.iter().all(near));
    }

    #[test]
    fn a_slower_block_is_found_even_with_one_round_for_each() {
        for rounds in [3, 9] {
            let found = blocks(&layout(3, rounds, |it| if it == 1 { 0.8 } else { 1.0 })).unwrap();
            assert!(found.p < 0.001 && found.share > 0.9, "{found:?}");
            let ratio = found.factors[1] / found.factors[0];
            assert!((0.79..0.81).contains(&ratio), "{found:?}");
            let product: f64 = found.factors.iter().product();
            assert!((product - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn gaps_do_not_make_blocks_differ() {
        // The fastest cell is missing in one block: that block is no slower for it.
        let mut values = layout(2, 6, |_| 1.0);
        values.retain(|it| !(it.block == 1 && it.cell == 2));
        let found = blocks(&values).unwrap();
        assert!(found.p > 0.05, "{found:?}");
        assert!((found.factors[1] - 1.0).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn what_cannot_be_told_is_not() {
        assert_eq!(blocks(&[]), None);
        assert_eq!(blocks(&layout(1, 3, |_| 1.0)), None);
        let single = |block, value| Value {
            cell: 0,
            block,
            value,
        };
        assert_eq!(blocks(&[single(0, 1.0), single(1, 2.0)]), None);
        assert_eq!(
            blocks(&[single(0, 1.0), single(0, 0.0), single(1, 2.0)]),
            None
        );
        let exact = blocks(&[single(0, 1.0), single(0, 1.0), single(1, 2.0)]).unwrap();
        assert_eq!((exact.p, exact.share), (0.0, 1.0));
    }
}

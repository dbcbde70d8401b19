//! Many servers in order, in groups without a significant difference.
//!
//! Every pair of servers is compared by a paired t test of the logarithms, over the rounds that both
//! have. Each server's ratio to the baseline is shown with an interval, and is told apart from it exactly if
//! that interval does not hold 1. So that many servers do not find a difference by chance, the intervals
//! hold together: among more than two servers all of them may err in half of 5% (Bonferroni, [`comparisons`]).
//! Of the other pairs those are believed that keep the false discovery rate at the other half
//! ([`false_discovery`](crate::false_discovery)). Equal servers are therefore called different, any of them
//! from any other, in at most 5% of all runs (`tests/stats/ties.rs`: nine servers over six rounds, 4.6%; with an
//! interval of 95% for each ratio alone, 27%). Without a baseline all pairs share 5%.
//!
//! Servers that are not told apart from each other form
//! a group, and a group has a letter; a server between two others may be in the groups of both. Two
//! servers are told apart exactly if they have no letter in common (a "compact letter display":
//! Piepho, *Journal of Computational and Graphical Statistics* 13 (2004)).
//!
//! Not being told apart is not being equal: with few rounds all are in one group.

mod groups;

use crate::compare::Better;
use crate::false_discovery::{RATE, findings};
use crate::mean::t_p_value;
use crate::ratio::{log_ratios, logarithm, paired_log_ratio_among};
use crate::summary::{average, standard_deviation};
use crate::{StatsError, finite};

/// A server's place among all.
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// Row of the server in the table, from 0.
    pub server: usize,
    /// How many times the best server's value this one's is; 1 for the best itself.
    pub relative: f64,
    /// The best rank it may have, from 1: one more than there are servers told apart from it that
    /// are better.
    pub best_rank: usize,
    /// The worst rank it may have.
    pub worst_rank: usize,
    /// The groups it belongs to, in ascending order from 0; at least one.
    pub groups: Vec<usize>,
}

impl Rank {
    /// The letters of its groups, such as "ab".
    #[must_use]
    pub fn letters(&self) -> String {
        self.groups.iter().map(|&group| letter(group)).collect()
    }
}

/// The letter of a group from 0: a to z, then (27) and so on.
#[must_use]
pub fn letter(group: usize) -> String {
    match u8::try_from(group) {
        Ok(small @ 0..26) => char::from(b'a' + small).to_string(),
        _ => format!("({})", group + 1),
    }
}

/// Two servers compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerPair {
    /// One server's row.
    pub one: usize,
    /// The other's; larger.
    pub other: usize,
    /// The p-value of the paired t test. None if fewer than two rounds have both, or both are the
    /// same in all.
    pub p: Option<f64>,
    /// Are they told apart?
    pub apart: bool,
}

/// All servers, best first, and all pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The places, best first.
    pub places: Vec<Rank>,
    /// Every pair of servers, in the order of their rows.
    pub pairs: Vec<ServerPair>,
}

/// Among how many comparisons the ratio of each of this many servers to the baseline shares the 5%
/// ([`paired_log_ratio_among`]): one of two servers; of more, twice as many as there are ratios, because half
/// of the 5% is for the other pairs.
#[must_use]
pub fn comparisons(servers: usize) -> u32 {
    match u32::try_from(servers).unwrap_or(u32::MAX) {
        0..=2 => 1,
        many => (many - 1).saturating_mul(2),
    }
}

/// Ranks servers: `table` has a row for each of them, with a value above zero for each round, or None
/// where the round failed. All rows are equally long. One server is ranked without ado. `baseline` is the
/// row of the server that the others are held against, if there is one.
///
/// The order is that of the mean logarithms, in which a server that missed some rounds is neither
/// punished nor rewarded for what these were like: they are the servers' part of a least-squares fit
/// of servers + rounds.
///
/// # Errors
///
/// If there are no servers, rows differ in length, a server has no values, or a value is not finite
/// or not above zero.
pub fn rank(
    table: &[Vec<Option<f64>>],
    better: Better,
    baseline: Option<usize>,
) -> Result<Ranking, StatsError> {
    let levels = levels(table)?;
    let mut order: Vec<usize> = (0..table.len()).collect();
    order.sort_by(|&a, &b| match better {
        Better::Higher => levels[b].total_cmp(&levels[a]),
        Better::Lower => levels[a].total_cmp(&levels[b]),
    });
    let pairs = pairs(table, baseline)?;
    let mut apart = vec![vec![false; table.len()]; table.len()];
    let mut position = vec![0; table.len()];
    for (at, &server) in order.iter().enumerate() {
        position[server] = at;
    }
    for pair in pairs.iter().filter(|pair| pair.apart) {
        let (a, b) = (position[pair.one], position[pair.other]);
        (apart[a][b], apart[b][a]) = (true, true);
    }
    let groups = groups::groups(&apart);
    let places = order
        .iter()
        .enumerate()
        .map(|(at, &server)| {
            let told = |others: &[bool]| others.iter().filter(|apart| **apart).count();
            Rank {
                server,
                relative: (levels[server] - levels[order[0]]).exp(),
                best_rank: 1 + told(&apart[at][..at]),
                worst_rank: table.len() - told(&apart[at][at..]),
                groups: (0..groups.len())
                    .filter(|&group| groups[group].contains(&at))
                    .collect(),
            }
        })
        .collect();
    Ok(Ranking { places, pairs })
}

fn pairs(
    table: &[Vec<Option<f64>>],
    baseline: Option<usize>,
) -> Result<Vec<ServerPair>, StatsError> {
    let held = |pair: &ServerPair| baseline.is_some_and(|it| it == pair.one || it == pair.other);
    let mut pairs = Vec::new();
    for (one, a) in table.iter().enumerate() {
        for (other, b) in table.iter().enumerate().skip(one + 1) {
            let p = p_value(&log_ratios(a, b)?);
            pairs.push(ServerPair {
                one,
                other,
                p,
                apart: false,
            });
        }
    }
    // No number is no finding.
    let p_values: Vec<f64> = pairs
        .iter()
        .map(|pair| pair.p.filter(|_| !held(pair)).unwrap_or(f64::NAN))
        .collect();
    let rate = if baseline.is_some() { RATE / 2.0 } else { RATE };
    for (pair, found) in pairs.iter_mut().zip(findings(&p_values, rate)) {
        pair.apart = match held(pair) {
            false => found,
            // The very interval that is shown.
            true => paired_log_ratio_among(
                &table[pair.one],
                &table[pair.other],
                comparisons(table.len()),
            )
            .is_ok_and(|ratio| ratio.interval().is_some_and(|it| !it.contains(1.0))),
        };
    }
    Ok(pairs)
}

/// P-value of the hypothesis that the mean is zero. None for fewer than two values, or if all are zero.
fn p_value(logs: &[f64]) -> Option<f64> {
    let n = logs.len() as f64;
    let (mean, s) = (average(logs)?, standard_deviation(logs)?);
    // Without spread t is infinite, or not a number where the mean is zero as well.
    t_p_value(mean * n.sqrt() / s, n - 1.0)
}

/// The servers' part of servers + rounds, fitted to the logarithms by turns; at once where no round
/// is missing.
fn levels(table: &[Vec<Option<f64>>]) -> Result<Vec<f64>, StatsError> {
    const TURNS: usize = 1_000;
    const SETTLED: f64 = 1e-12;
    let rounds = table.first().ok_or(StatsError::Empty("a ranking"))?.len();
    let mut logs = Vec::with_capacity(table.len());
    for row in table {
        if row.len() != rounds {
            return Err(StatsError::Misshapen {
                have: row.len(),
                want: rounds,
            });
        }
        let row = row.iter().enumerate();
        logs.push(
            row.map(|(at, value)| value.map(|value| logarithm(at, value)).transpose())
                .collect::<Result<Vec<_>, _>>()?,
        );
    }
    let mut levels = vec![0.0; table.len()];
    let mut by_round = vec![0.0; rounds];
    for _ in 0..TURNS {
        let mut change = 0.0_f64;
        for (level, row) in levels.iter_mut().zip(&logs) {
            let rest: Vec<f64> = row
                .iter()
                .zip(&by_round)
                .filter_map(|(value, round)| value.map(|value| value - round))
                .collect();
            finite(&rest, "a server's place")?;
            let new = average(&rest).unwrap_or(0.0);
            change = change.max((new - *level).abs());
            *level = new;
        }
        for (round, effect) in by_round.iter_mut().enumerate() {
            let rest: Vec<f64> = logs
                .iter()
                .zip(&levels)
                .filter_map(|(row, level)| row[round].map(|value| value - level))
                .collect();
            *effect = average(&rest).unwrap_or(0.0);
        }
        if change < SETTLED {
            break;
        }
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&[f64]]) -> Vec<Vec<Option<f64>>> {
        rows.iter()
            .map(|row| {
                row.iter()
                    .map(|&value| (value > 0.0).then_some(value))
                    .collect()
            })
            .collect()
    }

    #[test]
    fn one_far_ahead_and_two_alike() {
        let table = table(&[
            &[100.0, 103.0, 98.0, 101.0, 99.0],
            &[101.0, 100.0, 99.0, 102.0, 98.0],
            &[200.0, 204.0, 198.0, 201.0, 205.0],
        ]);
        let ranking = rank(&table, Better::Higher, None).expect("a ranking");
        let letters: Vec<(usize, String)> = ranking
            .places
            .iter()
            .map(|place| (place.server, place.letters()))
            .collect();
        assert_eq!(letters[0], (2, "a".to_owned()));
        assert_eq!((&*letters[1].1, &*letters[2].1), ("b", "b"));
        assert_eq!(
            (ranking.places[1].best_rank, ranking.places[1].worst_rank),
            (2, 3)
        );
        assert_eq!(
            (ranking.places[0].best_rank, ranking.places[0].worst_rank),
            (1, 1)
        );
        assert_eq!(ranking.places[0].relative, 1.0);
        let cheapest = rank(&table, Better::Lower, None).expect("a ranking");
        assert_eq!(cheapest.places[2].server, 2);
    }

    #[test]
    fn a_missed_round_neither_helps_nor_hurts() {
        // The second round was twice as fast for all; the first server missed it.
        let table = table(&[&[110.0, 0.0, 111.0, 109.0], &[100.0, 200.0, 101.0, 99.0]]);
        let ranking = rank(&table, Better::Higher, None).expect("a ranking");
        assert_eq!(ranking.places[0].server, 0);
        let behind = ranking.places[1].relative;
        assert!((behind - 100.0 / 110.0).abs() < 0.001, "{behind}");
    }

    #[test]
    fn too_little_to_tell_apart() {
        let one = rank(&table(&[&[1.0]]), Better::Higher, None).expect("a ranking");
        assert_eq!(one.places[0].letters(), "a");
        let single_round =
            rank(&table(&[&[1.0], &[2.0]]), Better::Higher, None).expect("a ranking");
        assert_eq!(single_round.pairs[0].p, None);
        assert!(
            single_round
                .places
                .iter()
                .all(|place| place.letters() == "a")
        );
        let same =
            rank(&table(&[&[1.0, 2.0], &[1.0, 2.0]]), Better::Higher, None).expect("a ranking");
        assert_eq!((same.pairs[0].p, same.pairs[0].apart), (None, false));
        // Always the double: no spread, so no doubt.
        let double =
            rank(&table(&[&[1.0, 2.0], &[2.0, 4.0]]), Better::Higher, None).expect("a ranking");
        assert_eq!(
            (double.pairs[0].p, double.pairs[0].apart),
            (Some(0.0), true)
        );
    }

    #[test]
    fn tables_that_are_none() {
        assert!(rank(&[], Better::Higher, None).is_err());
        assert!(rank(&table(&[&[1.0], &[1.0, 2.0]]), Better::Higher, None).is_err());
        assert!(rank(&[vec![None, None]], Better::Higher, None).is_err());
        assert!(rank(&[vec![Some(-1.0)]], Better::Higher, None).is_err());
    }

    #[test]
    fn letters_do_not_run_out() {
        assert_eq!(
            (&*letter(0), &*letter(25), &*letter(26)),
            ("a", "z", "(27)")
        );
    }
}

//! Tie groups: that letters say what the tests say, and how often they are wrong.

use crate::common::Source;
use prony_stats::compare::Better;
use prony_stats::false_discovery::findings;
use prony_stats::mean::t_p_value;
use prony_stats::ratio::paired_log_ratio_among;
use prony_stats::ties::{Rank, Ranking, comparisons, rank};
use proptest::prelude::*;

fn table(source: &mut Source, levels: &[f64], rounds: usize, spread: f64) -> Vec<Vec<Option<f64>>> {
    let hosts: Vec<f64> = (0..rounds).map(|_| (0.2 * source.normal()).exp()).collect();
    levels
        .iter()
        .map(|level| {
            hosts
                .iter()
                .map(|host| Some(1e4 * host * (level + spread * source.normal()).exp()))
                .collect()
        })
        .collect()
}

/// Student's sleep data (see `published.rs`): R's `t.test(extra ~ group, sleep, paired = TRUE)` prints
/// t = −4.0621, df = 9, p-value = 0.002833.
#[test]
fn the_p_value_of_students_sleep_data() {
    let p = t_p_value(-4.062_127_7, 9.0).expect("a p-value");
    assert!((p - 0.002_832_89).abs() < 1e-8, "{p}");
    // scipy 1.17: 2·t.sf(20, 2), 2·t.sf(12, 40), 2·t.sf(0.5, 7).
    for (t, freedom, p) in [
        (20.0, 2.0, 0.002_490_663_9),
        (12.0, 40.0, 7.824_171_3e-15),
        (0.5, 7.0, 0.632_407_135_7),
    ] {
        let got = t_p_value(t, freedom).expect("a p-value");
        assert!((got / p - 1.0).abs() < 1e-7, "{t}, {freedom}: {got}");
    }
}

/// Eight equal servers over ten rounds: any pair told apart is wrong, which happens in 5% at most.
/// With servers that do differ, the wrong ones among those told apart are 5% at most on average.
#[test]
fn false_findings() {
    const RUNS: u32 = 500;
    let mut source = Source::new(500);
    let mut any = 0;
    let (mut wrong_share, mut power) = (0.0, 0.0);
    for _ in 0..RUNS {
        let equal = rank(
            &table(&mut source, &[0.0; 8], 10, 0.03),
            Better::Higher,
            None,
        )
        .expect("ranks");
        any += u32::from(equal.pairs.iter().any(|pair| pair.apart));
        // Two and two are equal; the others 5% or more apart.
        let levels = [0.0, 0.0, 0.05, 0.05, 0.1, 0.1, 0.2, 0.2];
        let ranking =
            rank(&table(&mut source, &levels, 10, 0.03), Better::Higher, None).expect("ranks");
        let same = |pair: &&prony_stats::ties::ServerPair| levels[pair.one] == levels[pair.other];
        let apart: Vec<_> = ranking.pairs.iter().filter(|pair| pair.apart).collect();
        let wrong = apart.iter().filter(|pair| same(pair)).count();
        wrong_share += wrong as f64 / apart.len().max(1) as f64 / f64::from(RUNS);
        power += (apart.len() - wrong) as f64 / 24.0 / f64::from(RUNS);
    }
    let any = f64::from(any) / f64::from(RUNS);
    println!("any of equal ones: {any:.3}; wrong among found: {wrong_share:.4}; power {power:.3}");
    assert!(any <= 0.05, "{any}");
    assert!(wrong_share <= 0.05, "{wrong_share}");
    assert!(power > 0.9, "{power}");
}

/// Equal servers of which any is called different, by an interval beside the baseline or by letters, as a share of
/// runs; with what intervals of 95% each would say.
fn called_different(servers: usize, rounds: usize, runs: u32) -> (f64, f64) {
    let mut source = Source::new(servers as u64 * 100 + rounds as u64);
    let (mut any, mut unadjusted) = (0, 0);
    for _ in 0..runs {
        let table = table(&mut source, &vec![0.0; servers], rounds, 0.03);
        let ranking = rank(&table, Better::Higher, Some(0)).expect("ranks");
        let beside = |among: u32| {
            table[1..].iter().any(|row| {
                let ratio = paired_log_ratio_among(row, &table[0], among).expect("a ratio");
                !ratio.interval().expect("rounds").contains(1.0)
            })
        };
        let apart = ranking.pairs.iter().any(|pair| pair.apart);
        let shown = beside(comparisons(servers));
        assert!(apart || !shown, "letters hide what an interval shows");
        any += u32::from(apart);
        unadjusted += u32::from(beside(1));
    }
    let share = |n: u32| f64::from(n) / f64::from(runs);
    (share(any), share(unadjusted))
}

#[test]
fn nine_equal_servers_are_not_called_different() {
    let (any, unadjusted) = called_different(9, 6, 1_000);
    println!("any: {any:.3}; each interval alone: {unadjusted:.3}");
    assert!(any <= 0.05, "{any}");
    assert!(unadjusted > 0.15, "{unadjusted}");
}

#[test]
#[ignore = "scripts/campaign statistics: half a minute of simulation"]
fn equal_servers_are_called_different_in_5_percent_of_runs_at_most() {
    for (servers, rounds) in [(2, 6), (3, 3), (3, 10), (9, 3), (9, 6), (9, 20), (20, 6)] {
        let (any, unadjusted) = called_different(servers, rounds, 5_000);
        println!("{servers} servers, {rounds} rounds: {any:.4}; alone {unadjusted:.3}");
        // With 5,000 runs a share of 5% is known to 0.3% (one standard error).
        assert!(any <= 0.056, "{any}");
    }
}

/// A server between two others that is told apart from neither is in the groups of both. The noise
/// of 3% is the same for all but for its order.
#[test]
fn a_server_in_two_groups() {
    let noise = [0.03, -0.03, 0.02, -0.02, 0.01, -0.01, 0.025, -0.025];
    let row = |level: f64, shift: usize| -> Vec<Option<f64>> {
        (0..8)
            .map(|i| Some(f64::exp(level + noise[(i + shift) % 8])))
            .collect()
    };
    let table = [row(0.0, 0), row(0.02, 1), row(0.05, 2), row(0.3, 3)];
    let ranking = rank(&table, Better::Lower, None).expect("ranks");
    let letters: Vec<String> = ranking.places.iter().map(Rank::letters).collect();
    let order: Vec<usize> = ranking.places.iter().map(|place| place.server).collect();
    assert_eq!(order, [0, 1, 2, 3]);
    assert_eq!(letters, ["a", "ab", "b", "c"]);
    let ranks: Vec<_> = ranking
        .places
        .iter()
        .map(|p| (p.best_rank, p.worst_rank))
        .collect();
    assert_eq!(ranks, [(1, 2), (1, 3), (2, 3), (4, 4)]);
}

fn consistent(ranking: &Ranking) -> Result<(), TestCaseError> {
    let n = ranking.places.len();
    let mut groups = vec![Vec::new(); n];
    for place in &ranking.places {
        groups[place.server].clone_from(&place.groups);
        prop_assert!(!place.groups.is_empty());
        prop_assert!(place.groups.is_sorted());
        prop_assert!(1 <= place.best_rank && place.best_rank <= place.worst_rank);
        prop_assert!(place.worst_rank <= n);
    }
    for pair in &ranking.pairs {
        let common = groups[pair.one]
            .iter()
            .any(|group| groups[pair.other].contains(group));
        prop_assert_eq!(common, !pair.apart, "{:?} {:?}", pair, groups);
    }
    prop_assert_eq!(ranking.pairs.len(), n * (n - 1) / 2);
    Ok(())
}

proptest! {
    #[test]
    fn letters_say_what_the_tests_say(
        table in (2_usize..9, 1_usize..8).prop_flat_map(|(servers, rounds)| {
            prop::collection::vec(
                prop::collection::vec(prop::option::weighted(0.85, 1.0..2.0), rounds),
                servers,
            )
        }),
    ) {
        if table.iter().any(|row: &Vec<Option<f64>>| row.iter().all(Option::is_none)) {
            prop_assert!(rank(&table, Better::Higher, None).is_err());
        } else {
            let ranking = rank(&table, Better::Higher, None).unwrap();
            consistent(&ranking)?;
            let beside = rank(&table, Better::Higher, Some(0)).unwrap();
            consistent(&beside)?;
            for pair in beside.pairs.iter().filter(|pair| pair.one == 0) {
                let among = comparisons(table.len());
                let ratio = paired_log_ratio_among(&table[pair.other], &table[0], among);
                let shown = ratio.is_ok_and(|it| it.interval().is_some_and(|it| !it.contains(1.0)));
                prop_assert_eq!(shown, pair.apart, "{:?}", pair);
            }
            let order: Vec<f64> = ranking.places.iter().map(|place| place.relative).collect();
            prop_assert!(order.is_sorted_by(|a, b| a >= b), "{:?}", order);
        }
    }

    #[test]
    fn the_findings_are_the_smallest_p_values(
        p in prop::collection::vec(0.0..1.0, 0..30),
        rate in 0.0..0.5,
    ) {
        let kept = findings(&p, rate);
        let count = kept.iter().filter(|kept| **kept).count();
        let m = p.len() as f64;
        let largest = p.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(p, _)| *p);
        let largest = largest.fold(0.0, f64::max);
        prop_assert!(count == 0 || largest <= count as f64 * rate / m + 1e-15);
        // One more would not have been allowed.
        let mut rest: Vec<f64> =
            p.iter().zip(&kept).filter(|(_, kept)| !**kept).map(|(p, _)| *p).collect();
        rest.sort_by(f64::total_cmp);
        for (more, p) in rest.iter().enumerate() {
            prop_assert!(*p > (count + more + 1) as f64 * rate / m);
            prop_assert!(*p >= largest);
        }
    }
}

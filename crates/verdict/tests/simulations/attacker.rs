//! Someone who watches a duel of a server with itself, and ends it when it looks good.

use prony_record::verdict::{Bands, Quantity, Terms, Values};
use prony_verdict::duel::plan;
use prony_verdict::seen::DuelObservations;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const MOST: u32 = 16;
const DUELS: u32 = 600;

/// About normal: the sum of twelve uniform values.
fn noise(random: &mut Xoshiro256PlusPlus) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// A report of a duel that its user ended has the intervals of the planned looks, which is shown in `seen.rs`; so whoever
/// stops at the first look with a difference stops with one of these.
// Slow: 600 simulated duels of up to 16 rounds, compared after each.
#[test]
fn an_attacker_who_stops_when_it_looks_good_finds_a_difference_in_five_percent_at_most() {
    let terms = Terms {
        quantities: Quantity::ALL.to_vec(),
        most: MOST,
        exact: false,
        precision: None,
        band: 0.01,
        bands: Bands::all(0.01),
    };
    let plan = plan(&terms, 2).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(20_261_127);
    let mut fooled = 0;
    for _ in 0..DUELS {
        let mut seen = DuelObservations::nothing(vec!["a".into(), "b".into()]);
        let found = (0..MOST).any(|_| {
            let mut at = || Some((0.1 * noise(&mut random)).exp());
            let mut values = || Values {
                throughput: at(),
                p50: at(),
                p99: at(),
                cpu: at(),
                ..Values::default()
            };
            seen.rounds.push(vec![values(), values()]);
            let all = seen.compare(&plan, &terms).unwrap();
            all.iter().any(|one| one.verdict.is_difference())
        });
        fooled += u32::from(found);
    }
    // 5% of 600 are 30; 46 or more come in one of a thousand such tests if it is exactly 5%.
    assert!(fooled <= 46, "{fooled} of {DUELS}");
}

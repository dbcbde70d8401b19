//! Giving up what is hopeless, and leaving out what is too coarse, must not make a duel err more often: of
//! duels between equal sides at most 5% call a difference.

use prony_record::verdict::{Bands, Quantity, Terms, Values};
use prony_stats::sequential::Plan;
use prony_verdict::duel::{compare, may_end, may_give_up, plan};
use prony_verdict::outlook::{ENOUGH, outlook, throughput_is_too_coarse};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

const DUELS: u32 = 600;
/// The last round that there is time for.
const END: u32 = 20;

fn terms() -> Terms {
    Terms {
        quantities: Quantity::ALL.to_vec(),
        most: 60,
        exact: false,
        precision: None,
        band: 0.01,
        bands: Bands::all(0.01),
    }
}

/// A factor whose logarithm is about normal, with this standard deviation.
fn noise(rng: &mut Xoshiro256PlusPlus, deviation: f64) -> f64 {
    let sum: f64 = (0..12).map(|_| rng.random::<f64>()).sum();
    (deviation * (sum - 6.0)).exp()
}

// Slow: 600 simulated duels of up to 20 rounds, compared after each.
#[test]
fn equal_sides_are_called_different_in_five_percent_at_most() {
    let terms = terms();
    let names = ["a".to_owned(), "b".to_owned()];
    let planned = plan(&terms, 2).unwrap();
    let mut ended: BTreeMap<u32, Plan> = BTreeMap::new();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(20_261_122);
    let (mut called, mut gave_up) = (0, 0);
    for _ in 0..DUELS {
        let mut rounds: Vec<Vec<Values>> = Vec::new();
        let mut saturation = true;
        let verdicts = loop {
            let mut side = || Values {
                throughput: saturation.then(|| 1e4 * noise(&mut rng, 0.1)),
                p50: Some(1e5 * noise(&mut rng, 0.03)),
                p99: Some(1e6 * noise(&mut rng, 0.3)),
                cpu: Some(4e4 * noise(&mut rng, 0.004)),
                ..Values::default()
            };
            rounds.push(vec![side(), side()]);
            let made = rounds.len() as u32;
            let judge = |plan: &Plan| {
                compare(&names, &terms.quantities, &rounds, plan, &terms.bands).unwrap()
            };
            let found = judge(&planned);
            if may_end(&terms, made, &found) {
                break found;
            }
            let outlook = outlook(&terms.quantities, &rounds, &planned, END);
            let hopeless = may_give_up(&terms, &names, &found, &outlook);
            if hopeless || made == END {
                gave_up += u32::from(hopeless);
                let last = ended
                    .entry(made)
                    .or_insert_with(|| planned.ended_at(made).unwrap());
                break judge(last);
            }
            if made >= ENOUGH && throughput_is_too_coarse(&terms, &outlook) {
                saturation = false;
            }
        };
        called += u32::from(
            verdicts
                .iter()
                .any(|one| Quantity::ALL.contains(&one.quantity) && one.verdict.is_difference()),
        );
    }
    let share = f64::from(called) / f64::from(DUELS);
    println!("called different: {share:.3}; gave up: {gave_up} of {DUELS}");
    assert!(gave_up > DUELS / 4, "the rule was hardly tried: {gave_up}");
    // Two standard deviations of as many duels above 5%.
    let tolerated = 0.05 + 2.0 * (0.05 * 0.95 / f64::from(DUELS)).sqrt();
    assert!(share <= tolerated, "{share}");
}

//! Simulated duels, decided by prony's own code: cases that no real server can be made to show, or that would take days.

use crate::table::Table;
use prony_record::verdict::{Bands, Quantity, Terms, Values, Verdict};
use prony_stats::StatsError;
use prony_verdict::duel::{may_end, plan};
use prony_verdict::seen::DuelObservations;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use std::fmt;

/// Duels of each scenario, for one time that the referee is asked.
const DUELS: u32 = 100;
/// Rounds of a duel at most, as `prony duel` has them.
const MOST: u32 = 60;
/// The equivalence margin.
const MARGIN: f64 = 0.01;

/// Draws for one side of a round.
struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// About normal, with a standard deviation of 1: the sum of twelve uniform values.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// A value that spreads by this share from start to start.
    fn around(&mut self, value: f64, spread: f64) -> f64 {
        value * (spread * self.normal()).exp()
    }
}

/// A pair of servers.
struct Scenario {
    name: &'static str,
    quantity: Quantity,
    /// How B compares with A.
    truth: Truth,
    /// The share of B's requests that fail.
    failing: f64,
    round: fn(&mut Draw) -> [Values; 2],
}

/// How B compares with A, and so which verdicts on it are right.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Truth {
    /// Only this verdict is right; "no difference" and the opposite verdict are wrong.
    Is(Verdict),
    /// The servers are equal: every difference is wrong.
    Equal,
    /// The figures cannot show it: only "inconclusive" is right.
    Unknown,
}

fn throughput(a: f64, b: f64) -> [Values; 2] {
    [a, b].map(|value| Values {
        throughput: Some(value),
        ..Values::default()
    })
}

/// CPU time per request in nanoseconds, in all and in the own code, and wake-ups per request.
fn cpu(total: f64, user: f64, wakeups: f64) -> Values {
    Values {
        cpu: Some(total),
        user: Some(user),
        kernel: Some(total - user),
        wakeups: Some(wakeups),
        ..Values::default()
    }
}

fn scenarios() -> [Scenario; 9] {
    let of = |name, quantity, truth, round| Scenario {
        name,
        quantity,
        truth,
        failing: 0.0,
        round,
    };
    [
        of(
            "the same server twice, 3% spread",
            Quantity::Throughput,
            Truth::Equal,
            |draw| throughput(draw.around(1e4, 0.03), draw.around(1e4, 0.03)),
        ),
        of(
            "5% slower, 3% spread",
            Quantity::Throughput,
            Truth::Is(Verdict::Slower),
            |draw| throughput(draw.around(1e4, 0.03), draw.around(9_500.0, 0.03)),
        ),
        of(
            "30% slower in a tenth of its starts, 1% spread",
            Quantity::Throughput,
            Truth::Is(Verdict::Slower),
            |draw| {
                let part = if draw.uniform() < 0.1 { 0.7 } else { 1.0 };
                throughput(draw.around(1e4, 0.01), draw.around(1e4 * part, 0.01))
            },
        ),
        of(
            "half as fast in a twentieth of its starts, 1% spread",
            Quantity::Throughput,
            Truth::Is(Verdict::Slower),
            |draw| {
                let part = if draw.uniform() < 0.05 { 0.5 } else { 1.0 };
                throughput(draw.around(1e4, 0.01), draw.around(1e4 * part, 0.01))
            },
        ),
        of(
            "20% faster, and the generator is the limit of both",
            Quantity::Throughput,
            Truth::Unknown,
            |draw| {
                throughput(draw.around(1e4, 0.005), draw.around(1e4, 0.005)).map(|values| Values {
                    limited: true,
                    ..values
                })
            },
        ),
        of(
            "stalls in a third of its starts, which miss the rate",
            Quantity::P99,
            Truth::Unknown,
            |draw| {
                let p99 = |draw: &mut Draw| Values {
                    rate: Some(5_000.0),
                    p99: Some(draw.around(1.25e6, 0.02)),
                    ..Values::default()
                };
                let (a, mut b) = (p99(draw), p99(draw));
                if draw.uniform() < 0.32 {
                    (b.missed, b.p99) = (true, None);
                }
                [a, b]
            },
        ),
        Scenario {
            failing: 0.03,
            ..of(
                "20% shorter p99, since 3% fail",
                Quantity::P99,
                Truth::Unknown,
                |draw| {
                    let p99 = |value| Values {
                        rate: Some(5_000.0),
                        p99: Some(value),
                        ..Values::default()
                    };
                    [p99(draw.around(1e6, 0.02)), p99(draw.around(8e5, 0.02))]
                },
            )
        },
        of(
            "3% more work, hidden by fewer wake-ups",
            Quantity::Cpu,
            Truth::Unknown,
            |draw| {
                let (more, less) = (draw.around(1.0, 0.005), draw.around(1.0, 0.005));
                [
                    cpu(1e4 * more, 5_000.0 * more, 0.40),
                    cpu(9_750.0 * less, 5_150.0 * less, 0.34),
                ]
            },
        ),
        of(
            "5% less work, and more wake-ups for it",
            Quantity::Cpu,
            Truth::Is(Verdict::Cheaper),
            |draw| {
                let (more, less) = (draw.around(1.0, 0.01), draw.around(1.0, 0.01));
                [
                    cpu(1e4 * more, 5_000.0 * more, 0.34),
                    cpu(9_500.0 * less, 4_500.0 * less, 0.36),
                ]
            },
        ),
    ]
}

/// The verdicts of the duels of one scenario.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Outcome {
    scenario: String,
    duels: u32,
    right: u32,
    inconclusive: u32,
    no_difference: u32,
    wrong_way: u32,
    mean_rounds: f64,
    /// Where "no difference" was said of servers that differ, the report added what it cannot have seen.
    with_its_limits: u32,
}

/// Every scenario, so many times [`DUELS`].
pub(super) fn run(times: u32) -> Result<Vec<Outcome>, StatsError> {
    let one =
        |(seed, scenario): (usize, Scenario)| duels(&scenario, times * DUELS, MOST, seed as u64);
    scenarios().into_iter().enumerate().map(one).collect()
}

fn duels(scenario: &Scenario, duels: u32, most: u32, seed: u64) -> Result<Outcome, StatsError> {
    let terms = Terms {
        quantities: vec![scenario.quantity],
        most,
        exact: false,
        precision: None,
        band: MARGIN,
        bands: Bands::all(MARGIN),
    };
    let plan = plan(&terms, 2)?;
    let mut draw = Draw(Xoshiro256PlusPlus::seed_from_u64(seed));
    let mut all = Outcome {
        scenario: scenario.name.into(),
        duels,
        right: 0,
        inconclusive: 0,
        no_difference: 0,
        wrong_way: 0,
        mean_rounds: 0.0,
        with_its_limits: 0,
    };
    let mut rounds = 0;
    for _ in 0..duels {
        let mut seen = DuelObservations::nothing(vec!["a".into(), "b".into()]);
        let report = loop {
            seen.rounds.push((scenario.round)(&mut draw).to_vec());
            let made = seen.rounds.len() as u32;
            let requests = 10_000 * u64::from(made);
            let failed = (requests as f64 * scenario.failing) as u64;
            seen.failed = vec![(0, requests), (failed, requests)];
            let comparisons = seen.compare(&plan, &terms)?;
            if made == most || may_end(&terms, made, &comparisons) {
                break seen.report(1, &terms, true)?;
            }
        };
        rounds += report.rounds;
        let of_it = |it: &&prony_record::verdict::Comparison| it.quantity == scenario.quantity;
        let said = report.comparisons.iter().find(of_it).map(|it| it.verdict);
        match (said.unwrap_or(Verdict::Inconclusive), scenario.truth) {
            (said, Truth::Is(right)) if said == right => {
                all.right += 1;
            }
            (Verdict::Same, Truth::Equal) | (Verdict::Inconclusive, Truth::Unknown) => {
                all.right += 1;
            }
            (Verdict::Same, _) => {
                all.no_difference += 1;
                let limits = report
                    .notes
                    .iter()
                    .any(|note| note.contains("may not have been seen"));
                all.with_its_limits += u32::from(limits);
            }
            (Verdict::Inconclusive, _) => {
                all.inconclusive += 1;
            }
            _ => {
                all.wrong_way += 1;
            }
        }
    }
    all.mean_rounds = f64::from(rounds) / f64::from(duels);
    Ok(all)
}

/// A table of them.
pub(super) struct Shown<'a>(pub(super) &'a [Outcome]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "B, compared with A",
            "right",
            "inconclusive",
            "no difference (with its limits)",
            "wrong way",
            "rounds",
        ]);
        for one in self.0 {
            let share = |n: u32| format!("{:.1}%", 100.0 * f64::from(n) / f64::from(one.duels));
            table.row([
                one.scenario.clone(),
                share(one.right),
                share(one.inconclusive),
                format!(
                    "{} ({})",
                    share(one.no_difference),
                    share(one.with_its_limits)
                ),
                share(one.wrong_way),
                format!("{:.0}", one.mean_rounds),
            ]);
        }
        write!(f, "{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_verdict_is_the_wrong_way_round() {
        for (seed, scenario) in scenarios().into_iter().enumerate() {
            let found = duels(&scenario, 4, 10, seed as u64).unwrap();
            // Equal servers are called different in 5%: all four in one of 160,000.
            let most = if scenario.truth == Truth::Equal { 3 } else { 0 };
            assert!(found.wrong_way <= most, "{found:?}");
        }
    }
}

//! Can prony's verdicts be relied on? Duels of a server with itself. What is planted into one side of a duel is in
//! [`power`](crate::claims::power).

use crate::error::{Error, Result};
use crate::place::Rig;
use crate::prony;
use prony_record::verdict::{Bands, Comparison, Quantity, Values};
use prony_stats::compare::BAND;
use prony_stats::sequential::Plan;
use prony_verdict::duel::{compare, settled};
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::process::Command;

/// Duels that are drawn from recorded rounds.
pub const RESAMPLED: usize = 2_000;
/// Rounds of a resampled duel at most, as `prony duel` has them.
const MOST: u32 = 60;

/// Output of a duel, reduced to the fields that are needed here.
#[derive(Debug, Deserialize)]
pub struct Duel {
    pub rounds: u32,
    comparisons: Vec<Called>,
    pub values: Vec<Vec<Values>>,
}

#[derive(Debug, Deserialize)]
struct Called {
    quantity: Quantity,
    verdict: String,
    withheld: Option<String>,
}

impl Duel {
    pub fn calls(&self, quantity: Quantity) -> Option<&str> {
        let found = self.comparisons.iter().find(|c| c.quantity == quantity);
        found.map(|c| c.verdict.as_str())
    }

    /// Was a verdict withheld?
    pub fn withheld(&self) -> bool {
        self.comparisons.iter().any(|c| c.withheld.is_some())
    }

    fn differs(&self) -> bool {
        let verdicts = Quantity::ALL
            .iter()
            .filter_map(|&quantity| self.calls(quantity));
        verdicts.into_iter().any(is_difference)
    }
}

fn is_difference(verdict: &str) -> bool {
    !["no difference", "inconclusive"].contains(&verdict)
}

/// A duel of the reference server with itself.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// CPU work for each request, in nanoseconds: of the first side and of the second.
    pub busy_ns: (u64, u64),
    /// The longest that it may take, in seconds.
    pub max_time: f64,
    /// The length of each measurement, in seconds.
    pub duration: f64,
    /// Differences below this share count as none.
    pub band: Option<f64>,
    /// The only quantity that the duel compares; none: all of them.
    pub only: Option<&'static str>,
    /// The common rate, in requests per second; none: the duel finds one.
    pub rate: Option<f64>,
}

/// Carries out such a duel.
pub fn duel_of(asked: &Asked) -> Result<Duel> {
    let prony = prony::program()?;
    let server = |busy_ns: u64| {
        format!(
            "'{}' serve http-echo --listen :{{port}} --busy {busy_ns}ns",
            prony.display()
        )
    };
    let scratch = tempfile::tempdir().map_err(Error::io("no temporary folder"))?;
    let mut command = Command::new(&prony);
    command
        .arg("duel")
        .args([server(asked.busy_ns.0), server(asked.busy_ns.1)])
        .args(["--contract", "http-echo", "--json", "--quiet"])
        .args(["--max-time", &format!("{}s", asked.max_time)])
        .args(["--warmup", "300ms"])
        .args(["-d", &format!("{}ms", (asked.duration * 1e3) as u64)])
        .env("PRONY_NOTEBOOK", scratch.path().join("notebook.db"));
    if let Some(band) = asked.band {
        command.args(["--min-effect", &format!("{}%", band * 100.0)]);
    }
    if let Some(only) = asked.only {
        command.args(["--only", only]);
    }
    if let Some(rate) = asked.rate {
        command.args(["--rate", &rate.to_string()]);
    }
    prony::json(&mut command)
}

/// One with nothing planted in the first side, and `busy_ns` in the second.
pub fn duel(
    busy_ns: u64,
    max_time: f64,
    duration: f64,
    band: Option<f64>,
    only: Option<&'static str>,
) -> Result<Duel> {
    duel_of(&Asked {
        busy_ns: (0, busy_ns),
        max_time,
        duration,
        band,
        only,
        rate: None,
    })
}

/// Identical servers: how often is a difference called?
#[derive(Debug, Serialize)]
pub struct Equal {
    duels: u32,
    called: u32,
    rounds: u32,
    by_quantity: Vec<(Quantity, u32)>,
    resampled: usize,
    resampled_called: usize,
}

pub fn aa(_rig: Rig, duels: u32, seconds: f64) -> Result<Equal> {
    let mut shown = Equal {
        duels: 0,
        called: 0,
        rounds: 0,
        by_quantity: Quantity::ALL.map(|quantity| (quantity, 0)).to_vec(),
        resampled: 0,
        resampled_called: 0,
    };
    let mut recorded: Vec<Vec<Values>> = Vec::new();
    for number in 1..=duels {
        let duel = duel(0, seconds, 0.1, None, None)?;
        shown.duels += 1;
        shown.called += u32::from(duel.differs());
        shown.rounds += duel.rounds;
        for (quantity, count) in &mut shown.by_quantity {
            *count += u32::from(duel.calls(*quantity).is_some_and(is_difference));
        }
        recorded.extend(duel.values);
        eprintln!(
            "aa: duel {number} of {duels}: {} called so far",
            shown.called
        );
    }
    (shown.resampled, shown.resampled_called) = resample(&recorded)?;
    Ok(shown)
}

/// Draws duels from the recorded rounds, and returns how many it drew and how many of them call a difference. Both are
/// 0 with fewer than 20 rounds. Sides are exchanged at random, so that a difference between first and second does not
/// count as theirs.
fn resample(recorded: &[Vec<Values>]) -> Result<(usize, usize)> {
    if recorded.len() < 20 {
        return Ok((0, 0));
    }
    let mut called = 0;
    let mut drawn = Drawn::new(recorded, MOST, &Quantity::ALL, Bands::all(BAND))?;
    for _ in 0..RESAMPLED {
        let comparisons = drawn.duel(true)?;
        let about = |c: &&Comparison| Quantity::ALL.contains(&c.quantity);
        let mut about = comparisons.iter().filter(about);
        called += usize::from(about.any(|c| c.verdict.is_difference()));
    }
    Ok((RESAMPLED, called))
}

/// Draws duels from recorded rounds. Each is evaluated after every round, as `prony duel` does, until it
/// is settled, or until it has used up its rounds.
pub struct Drawn<'a> {
    recorded: &'a [Vec<Values>],
    rng: rand_xoshiro::Xoshiro256PlusPlus,
    plan: Plan,
    /// For the last look of a duel that ends before the plan does.
    last: Plan,
    rounds: u32,
    quantities: Vec<Quantity>,
    bands: Bands,
}

impl<'a> Drawn<'a> {
    pub fn new(
        recorded: &'a [Vec<Values>],
        rounds: u32,
        quantities: &[Quantity],
        bands: Bands,
    ) -> Result<Self> {
        let unusable = |error: prony_stats::StatsError| Error::Unusable(error.to_string());
        // As `prony duel` has it: rounds with one part are more.
        let most = match quantities.len() {
            1 => 2 * MOST,
            _ => MOST,
        };
        let rounds = rounds.min(most);
        let plan = Plan::up_to(most).map_err(unusable)?;
        let plan = plan.among(quantities.len() as u32);
        Ok(Self {
            recorded,
            rng: rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1),
            last: plan.ended_at(rounds).map_err(unusable)?,
            plan,
            rounds,
            quantities: quantities.to_vec(),
            bands,
        })
    }

    /// Draws rounds until the duel is settled or has used them up, and returns its comparisons. With `exchange`, the
    /// sides of each round are exchanged at random.
    pub fn duel(&mut self, exchange: bool) -> Result<Vec<Comparison>> {
        let names = ["a".to_owned(), "b".to_owned()];
        let mut rounds: Vec<Vec<Values>> = Vec::new();
        loop {
            let at = self.rng.random_range(0..self.recorded.len());
            let mut round = self.recorded[at].clone();
            if exchange && self.rng.random() {
                round.swap(0, 1);
            }
            rounds.push(round);
            let last = rounds.len() as u32 == self.rounds;
            if rounds.len() < 3 && !last {
                continue;
            }
            let plan = if last { &self.last } else { &self.plan };
            let comparisons = compare(&names, &self.quantities, &rounds, plan, &self.bands)
                .map_err(|error| Error::Unusable(error.to_string()))?;
            if settled(&comparisons) || last {
                return Ok(comparisons);
            }
        }
    }
}

impl fmt::Display for Equal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |part: usize, all: usize| 100.0 * part as f64 / all.max(1) as f64;
        writeln!(
            f,
            "{} duels of identical servers, {} rounds in all: a difference was called in {} ({:.1}%; at most 5% is asked)",
            self.duels,
            self.rounds,
            self.called,
            share(self.called as usize, self.duels as usize)
        )?;
        for (quantity, count) in &self.by_quantity {
            writeln!(f, "  {}: {count}", quantity.label())?;
        }
        writeln!(
            f,
            "{} duels of rounds drawn from these: called in {} ({:.1}%)",
            self.resampled,
            self.resampled_called,
            share(self.resampled_called, self.resampled)
        )
    }
}

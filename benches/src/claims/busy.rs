//! Is a known slowdown ever called an improvement? Duels of a server with itself, the second side with a
//! little more work for each request, at several loads, on a quiet machine and beside CPU hogs.

use crate::child::Child;
use crate::claims::verdicts::{Asked, duel_of};
use crate::error::{Error, Result};
use crate::place::Rig;
use crate::server;
use crate::table::Table;
use prony_record::verdict::{Quantity, Values};
use serde::Serialize;
use std::fmt;
use std::time::{Duration, Instant};

/// CPU work for each request on the first side, in addition to the server's own.
const WORK: Duration = Duration::from_micros(40);

/// Situations to try, and the number of duels in each.
#[derive(Debug, Clone)]
pub struct Options {
    /// Duels in each situation.
    pub duels: u32,
    /// Longest time that a duel may take, in seconds.
    pub seconds: f64,
    /// Numbers of CPU hogs, on all CPUs in turns.
    pub hogs: Vec<u32>,
    /// More work on the second side, in percent of the first's.
    pub planted: Vec<f64>,
    /// The rate, in percent of what the first side reaches; 0: the one that the duel chooses.
    pub loads: Vec<f64>,
}

/// Verdicts of duels on a server that does more work.
#[derive(Debug, Serialize)]
pub struct Busy {
    capacity: f64,
    situations: Vec<Situation>,
}

#[derive(Debug, Default, Serialize)]
struct Situation {
    hogs: u32,
    planted_percent: f64,
    load_percent: f64,
    duels: u32,
    /// Called slower or more expensive in anything, and better in nothing.
    right: u32,
    /// Called faster or cheaper in anything.
    wrong: u32,
    /// With a verdict that was withheld.
    withheld: u32,
    rounds: u32,
    seconds: f64,
}

pub fn run(rig: Rig, options: &Options) -> Result<Busy> {
    let capacity = capacity()?;
    let mut situations = Vec::new();
    for &hogs in &options.hogs {
        let cpus = rig.cpus();
        let burning = cpus.iter().cycle().take(hogs as usize).map(|&cpu| {
            let mut hog = server::ourselves("plant")?;
            hog.arg("hog");
            Child::start(hog, cpu)
        });
        let _hogs = burning.collect::<Result<Vec<_>>>()?;
        for &planted in &options.planted {
            for &load in &options.loads {
                let mut situation = Situation {
                    hogs,
                    planted_percent: planted,
                    load_percent: load,
                    ..Situation::default()
                };
                measure(&mut situation, capacity, options)?;
                situations.push(situation);
            }
        }
    }
    Ok(Busy {
        capacity,
        situations,
    })
}

fn asked(more: f64, seconds: f64) -> Asked {
    let work = WORK.as_nanos() as f64;
    Asked {
        busy_ns: (work as u64, (work * (1.0 + more)).round() as u64),
        max_time: seconds,
        duration: 1.0,
        ..Asked::default()
    }
}

/// Answers per second of the first side, as fast as they come.
fn capacity() -> Result<f64> {
    let duel = duel_of(&Asked {
        only: Some("throughput"),
        ..asked(0.0, 15.0)
    })?;
    let all = duel.values.iter().flatten();
    let all: Vec<f64> = all
        .filter_map(|v: &Values| v.of(Quantity::Throughput))
        .collect();
    match all.len() {
        0 => Err(Error::Unusable("the server gave no answers".into())),
        n => Ok(all.iter().sum::<f64>() / n as f64),
    }
}

fn measure(situation: &mut Situation, capacity: f64, options: &Options) -> Result<()> {
    let rate =
        (situation.load_percent > 0.0).then(|| (capacity * situation.load_percent / 100.0).round());
    for number in 1..=options.duels {
        let begun = Instant::now();
        let duel = duel_of(&Asked {
            rate,
            ..asked(situation.planted_percent / 100.0, options.seconds)
        })?;
        let called = |words: &[&str]| {
            let mut verdicts = Quantity::ALL
                .iter()
                .filter_map(|&quantity| duel.calls(quantity));
            verdicts.any(|verdict| words.contains(&verdict))
        };
        let wrong = called(&["faster", "cheaper"]);
        situation.duels += 1;
        situation.wrong += u32::from(wrong);
        situation.right += u32::from(!wrong && called(&["slower", "more expensive"]));
        situation.withheld += u32::from(duel.withheld());
        situation.rounds += duel.rounds;
        situation.seconds += begun.elapsed().as_secs_f64();
        eprintln!(
            "busy: {} hogs, {}% more work, load {}%, duel {number} of {}: right {}, wrong {}",
            situation.hogs,
            situation.planted_percent,
            situation.load_percent,
            options.duels,
            situation.right,
            situation.wrong
        );
    }
    Ok(())
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "each request costs the first side {} µs of its own work, and the second side more; the first \
             reaches {:.0} answers/s\n",
            WORK.as_micros(),
            self.capacity
        )?;
        let mut table = Table::new([
            "hogs",
            "more work",
            "load",
            "duels",
            "right",
            "the wrong way",
            "with a verdict withheld",
            "rounds each",
            "time each",
        ]);
        for one in &self.situations {
            let each = |sum: f64| sum / f64::from(one.duels.max(1));
            table.row([
                one.hogs.to_string(),
                format!("{}%", one.planted_percent),
                match one.load_percent {
                    0.0 => "chosen".to_owned(),
                    percent => format!("{percent}%"),
                },
                one.duels.to_string(),
                one.right.to_string(),
                one.wrong.to_string(),
                one.withheld.to_string(),
                format!("{:.1}", each(f64::from(one.rounds))),
                format!("{:.0} s", each(one.seconds)),
            ]);
        }
        write!(f, "{table}")
    }
}

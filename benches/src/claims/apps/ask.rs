//! Asks `prony`, as someone would who knows none of its options.

use super::answer::{Answer, Answers, Capacity, Compared, Duel, Found, Loaded, Question, Same};
use super::app::{App, Side};
use super::judge::PLANTED;
use super::running::Running;
use crate::error::{Error, Result};
use crate::prony::{self, Check, Figure};
use prony_record::verdict::{Quantity, Values, Verdict};
use prony_record::{CheckId, Outcomes};
use serde::Deserialize;
use std::process::Command;
use std::time::Instant;

/// Time limit of a duel of a side with itself: many short ones say more of false differences than a few long ones. It is
/// enough for two rounds of most applications, also on a slow machine.
const SHORT: [&str; 2] = ["--max-time", "90s"];
/// Trials of a long search: starts, and the length of each.
const LONG: [&str; 4] = ["--starts", "12", "-d", "20s"];

/// Asks a question about an application. The amount to plant follows from its first short duel, which must be among the answers.
///
/// # Errors
/// When `prony` or the application cannot be started, or gives no result.
pub fn ask(app: &App, question: Question, time: u32, answers: &Answers) -> Result<Answer> {
    let begun = Instant::now();
    let found = match question {
        Question::Loads => Found::Loads {
            a: load(app, &app.a, 0.0, &[])?,
            b: load(app, &app.b, 0.0, &[])?,
        },
        Question::Duels => Found::Duels(duel(app, &app.filled(&app.b.command)?)?),
        Question::Planted => {
            let plant_us = PLANTED * cpu_us(app, answers)?;
            let duel = duel(app, &app.planted(&app.a, plant_us)?)?;
            Found::Planted { plant_us, duel }
        }
        Question::Same => Found::Same(same(app)?),
        Question::Capacities => Found::Capacities(capacity(app, &[])?),
        Question::LongCapacities => Found::LongCapacities(capacity(app, &LONG)?),
    };
    Ok(Answer {
        app: app.name.clone(),
        time,
        seconds: begun.elapsed().as_secs_f64(),
        found,
    })
}

/// CPU time of a request, as the first short duel saw it: that of a request differs with the load.
fn cpu_us(app: &App, answers: &Answers) -> Result<f64> {
    let first = answers.get(&app.name, Question::Same, 1);
    match first.map(|it| &it.found) {
        Some(Found::Same(same)) => Ok(same.cpu_us),
        _ => Err(Error::Unusable("no duel has shown its CPU time".into())),
    }
}

/// A `prony` command about an application, with a temporary notebook.
fn command(app: &App, scratch: &tempfile::TempDir, verb: &str) -> Result<Command> {
    let mut command = Command::new(prony::program()?);
    command
        .args([verb, "--json", "--quiet"])
        .env("PRONY_NOTEBOOK", scratch.path().join("notebook.db"));
    app.at_home(&mut command)?;
    Ok(command)
}

fn scratch() -> Result<tempfile::TempDir> {
    tempfile::tempdir().map_err(Error::io("no temporary folder"))
}

fn names(checks: Vec<Check>) -> Vec<CheckId> {
    let mut names: Vec<CheckId> = checks.into_iter().map(|it| it.name).collect();
    names.sort();
    names.dedup();
    names
}

#[derive(Deserialize)]
struct Load {
    throughput: Figure,
    outcomes: Outcomes,
    checks: Vec<Check>,
}

/// `prony load` of a side that is started for it.
///
/// # Errors
/// When it cannot be started, or `prony` gives no result.
pub fn load(app: &App, side: &Side, plant_us: f64, options: &[&str]) -> Result<Loaded> {
    let running = Running::start(app, side, plant_us)?;
    let folder = scratch()?;
    let mut load = command(app, &folder, "load")?;
    let found: Load = prony::json(load.args(options).arg(running.url(&app.path)))?;
    Ok(Loaded {
        rate: found.throughput.value,
        failed: found.outcomes.failed(),
        checks: names(found.checks),
    })
}

#[derive(Deserialize)]
struct Printed {
    rounds: u32,
    comparisons: Vec<Comparison>,
    values: Vec<Vec<Values>>,
    checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Comparison {
    quantity: Quantity,
    ratio: Figure,
    verdict: Verdict,
    detectable: Option<f64>,
}

/// A duel of an application's first side with another command line.
fn duel(app: &App, other: &str) -> Result<Duel> {
    printed(app, other, &[])?.duel()
}

/// A duel of an application's first side with itself.
fn same(app: &App) -> Result<Same> {
    let found = printed(app, &app.filled(&app.a.command)?, &SHORT)?;
    let cpu_us = found.cpu_us()?;
    let about = |it: &&Comparison| Quantity::ALL.contains(&it.quantity);
    let differs = found.comparisons.iter().filter(about);
    Ok(Same {
        rounds: found.rounds,
        cpu_us,
        differs: differs
            .filter(|it| it.verdict.is_difference())
            .map(|it| it.quantity)
            .collect(),
        checks: names(found.checks),
    })
}

fn printed(app: &App, other: &str, options: &[&str]) -> Result<Printed> {
    let folder = scratch()?;
    let mut duel = command(app, &folder, "duel")?;
    duel.args(options)
        .args(["--path", &app.path, "-n", "a", "-n", "b"])
        .args([&app.filled(&app.a.command)?, other]);
    prony::json(&mut duel)
}

impl Printed {
    /// Mean CPU time per request of the first side, in microseconds.
    fn cpu_us(&self) -> Result<f64> {
        let first = |round: &Vec<Values>| round.first()?.of(Quantity::Cpu);
        let cpu: Vec<f64> = self.values.iter().filter_map(first).collect();
        if cpu.is_empty() {
            return Err(Error::Unusable("a duel measured no CPU time".into()));
        }
        Ok(cpu.iter().sum::<f64>() / cpu.len() as f64 / 1e3)
    }

    fn duel(self) -> Result<Duel> {
        let cpu_us = self.cpu_us()?;
        let compared = |quantity| {
            let found = self.comparisons.iter().find(|it| it.quantity == quantity);
            let missing = || Error::Unusable(format!("a duel says nothing of {quantity:?}"));
            found.map(Comparison::compared).ok_or_else(missing)
        };
        Ok(Duel {
            rounds: self.rounds,
            cpu_us,
            cpu: compared(Quantity::Cpu)?,
            throughput: compared(Quantity::Throughput)?,
            checks: names(self.checks),
        })
    }
}

impl Comparison {
    fn compared(&self) -> Compared {
        Compared {
            ratio: self.ratio.value,
            low: self.ratio.low,
            high: self.ratio.high,
            verdict: self.verdict.to_string(),
            detectable: self.detectable,
        }
    }
}

/// The capacity of an application's first side.
fn capacity(app: &App, options: &[&str]) -> Result<Capacity> {
    let folder = scratch()?;
    let mut search = command(app, &folder, "capacity")?;
    search
        .args(options)
        .args(["--path", &app.path, &app.filled(&app.a.command)?]);
    let prony::Capacity { capacity, known } = prony::json(&mut search)?;
    Ok(Capacity {
        capacity,
        low: known.low,
        high: known.high,
        because: known.because,
    })
}

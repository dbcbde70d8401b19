//! What the rig itself weighs on this host: the rate of prony's own server, what the generator
//! costs, and how far two measurements of the same server lie apart.

use crate::duel::{Quantity, Values};
use crate::facts::Facts;
use crate::kept::ReportError;
use crate::show;
use crate::table::{Align, Table};
use prony_notebook::{Notebook, Run, TrialStatus};
use prony_stats::Unit;
use prony_stats::compare::rounds_needed;
use prony_stats::mean::{mean, t_quantile};
use prony_stats::{Estimate, ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The name of a calibration's run in the notebook.
pub const RUN: &str = "calibrate";
/// Numbers of rounds for which the smallest difference that can be told is given.
const ROUNDS: [u32; 3] = [5, 10, 30];

/// What `prony calibrate --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "prony calibrate")]
pub struct CalibrationReport {
    /// Its run in the notebook.
    pub run: i64,
    /// When it was made, RFC 3339, UTC.
    pub made: String,
    /// Every contract with every number of connections.
    pub cells: Vec<CalibrationCell>,
}

/// The rig under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationCell {
    /// The contract.
    pub contract: String,
    /// Connections.
    pub connections: u32,
    /// Answers per second of prony's own server: the ceiling.
    pub ceiling: Estimate,
    /// The generator's CPU time per request at that rate, in microseconds: its floor.
    pub generator_us_per_request: f64,
    /// The busiest generator thread's work as a part of the time, 0 to 1.
    pub generator_busy: f64,
    /// How far the same server lies from itself.
    pub noise: Vec<Noise>,
}

/// The noise of a quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// Of what.
    pub quantity: Quantity,
    /// The standard deviation of one round's logarithm of the ratio of a server to itself.
    pub deviation: f64,
    /// The smallest difference (as a share) that so many rounds can tell from none.
    pub tellable: BTreeMap<u32, f64>,
}

impl CalibrationReport {
    /// The report of a calibration in the notebook.
    ///
    /// # Errors
    /// When the notebook cannot be read, or the run is not a calibration.
    pub fn new(notebook: &Notebook, run: &Run) -> Result<Self, ReportError> {
        type Key = (String, u32);
        // By round: the two sides' values; and every saturated trial's generator.
        let mut rounds: BTreeMap<Key, BTreeMap<u32, [Values; 2]>> = BTreeMap::new();
        let mut generators: BTreeMap<Key, Vec<(f64, f64)>> = BTreeMap::new();
        for trial in notebook.trials(run.id)? {
            let facts = trial.facts;
            if facts.status != TrialStatus::Ok {
                continue;
            }
            let contract = facts.load["contract"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let connections = facts.load["connections"].as_u64().unwrap_or(0) as u32;
            let key = (contract, connections);
            let round = rounds
                .entry(key.clone())
                .or_default()
                .entry(facts.round)
                .or_default();
            let values = &mut round[usize::from(facts.server.ends_with(AGAIN))];
            if facts.load["rate"].is_null() {
                values.throughput = facts.throughput;
                let kept: Facts = serde_json::from_value(facts.observation).map_err(|error| {
                    ReportError::Unreadable {
                        run: run.id.0,
                        what: error.to_string(),
                    }
                })?;
                let us = kept.generator.cpu_us_per_request.unwrap_or(0.0);
                let all = generators.entry(key).or_default();
                all.push((us, kept.generator.busy));
            } else {
                values.p50 = facts.p50_ns.map(|ns| ns as f64);
                values.p99 = facts.p99_ns.map(|ns| ns as f64);
                values.cpu = facts.cpu_ns_per_request;
            }
        }
        let cells = rounds.into_iter().filter_map(|(key, rounds)| {
            let rounds: Vec<[Values; 2]> = rounds.into_values().collect();
            let rates: Vec<f64> = rounds
                .iter()
                .flatten()
                .filter_map(|v| v.throughput)
                .collect();
            let generators = generators.remove(&key).unwrap_or_default();
            let mean_of = |pick: fn(&(f64, f64)) -> f64| {
                generators.iter().map(pick).sum::<f64>() / generators.len().max(1) as f64
            };
            Some(CalibrationCell {
                contract: key.0,
                connections: key.1,
                ceiling: mean(&rates, Unit::PerSecond).ok()?,
                generator_us_per_request: mean_of(|g| g.0),
                generator_busy: mean_of(|g| g.1),
                noise: Quantity::ALL
                    .into_iter()
                    .filter_map(|q| noise(&rounds, q))
                    .collect(),
            })
        });
        Ok(Self {
            run: run.id.0,
            made: run.facts.started.to_string(),
            cells: cells.collect(),
        })
    }

    /// The ceiling for a contract with so many connections.
    pub fn ceiling(&self, contract: &str, connections: u32) -> Option<f64> {
        Some(self.cell(contract, connections)?.ceiling.value())
    }

    /// The rig for a contract with so many connections.
    pub fn cell(&self, contract: &str, connections: u32) -> Option<&CalibrationCell> {
        let fits =
            |cell: &&CalibrationCell| cell.contract == contract && cell.connections == connections;
        self.cells.iter().find(fits)
    }

    /// As text for a terminal.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut table = Table::new([
            ("contract", Align::Left),
            ("connections", Align::Right),
            ("ceiling", Align::Right),
            ("± 95 %", Align::Right),
            ("generator CPU/req", Align::Right),
            ("generator busy", Align::Right),
        ]);
        for cell in &self.cells {
            let half = cell.ceiling.relative_half_width();
            table.row([
                cell.contract.clone(),
                cell.connections.to_string(),
                show::rate(cell.ceiling.value()),
                half.map_or("–".into(), |half| format!("{:.1} %", half * 100.0)),
                show::time(cell.generator_us_per_request * 1e3),
                format!("{:.0} %", cell.generator_busy * 100.0),
            ]);
        }
        let _ = write!(
            out,
            "{table}\nthe smallest difference that can be told from none, by rounds:\n\n"
        );
        let columns: Vec<String> = ROUNDS.iter().map(|n| format!("{n} rounds")).collect();
        let head = [("contract", Align::Left), ("connections", Align::Right)];
        let mut columns_all: Vec<(&str, Align)> = head.to_vec();
        columns_all.push(("quantity", Align::Left));
        columns_all.extend(columns.iter().map(|name| (name.as_str(), Align::Right)));
        columns_all.push(("rounds for 1 %", Align::Right));
        let mut table = Table::new(columns_all);
        for cell in &self.cells {
            for noise in &cell.noise {
                let mut row = vec![
                    cell.contract.clone(),
                    cell.connections.to_string(),
                    noise.quantity.name().to_owned(),
                ];
                let told = noise.tellable.values();
                row.extend(told.map(|share| format!("{:.1} %", share * 100.0)));
                let needed = rounds_needed(noise.deviation, 0.01_f64.ln_1p());
                row.push(needed.map_or("–".into(), |n| n.to_string()));
                table.row(row);
            }
        }
        let _ = write!(out, "{table}");
        out
    }
}

/// What the name of the second of two equal sides ends with.
pub const AGAIN: &str = " again";

/// Of one quantity, from rounds in which the same server was measured twice.
fn noise(rounds: &[[Values; 2]], quantity: Quantity) -> Option<Noise> {
    let side = |i: usize| -> Vec<Option<f64>> {
        rounds.iter().map(|round| round[i].of(quantity)).collect()
    };
    let ratio = ratio::paired_log_ratio(&side(0), &side(1)).ok()?;
    let n = ratio.n() as f64;
    let interval = ratio.interval()?;
    // The interval is exp(d ± t·s/√n): s from its width.
    let half = (interval.high().ln() - interval.low().ln()) / 2.0;
    let deviation = half * n.sqrt() / t_quantile(n - 1.0)?;
    let tell = |rounds: u32| {
        let n = f64::from(rounds);
        Some((
            rounds,
            (t_quantile(n - 1.0)? * deviation / n.sqrt()).exp_m1(),
        ))
    };
    Some(Noise {
        quantity,
        deviation,
        tellable: ROUNDS.into_iter().filter_map(tell).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_the_spread_of_a_server_against_itself() {
        let round = |a: f64, b: f64| {
            let of = |rate: f64| Values {
                throughput: Some(rate),
                ..Values::default()
            };
            [of(a), of(b)]
        };
        let rounds = [round(100.0, 101.0), round(200.0, 198.0), round(50.0, 50.0)];
        let found = noise(&rounds, Quantity::Throughput).unwrap();
        let logs = [(100.0_f64 / 101.0).ln(), (200.0_f64 / 198.0).ln(), 0.0];
        let mean = logs.iter().sum::<f64>() / 3.0;
        let s = (logs.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
        assert!(
            (found.deviation - s).abs() < 1e-9,
            "{} {s}",
            found.deviation
        );
        assert!(found.tellable[&5] > found.tellable[&30]);
        assert_eq!(noise(&rounds, Quantity::Cpu), None);
        assert_eq!(noise(&rounds[..1], Quantity::Throughput), None);
    }
}

//! Capabilities of this host's rig, from the notebook, and as text.

use crate::kept::ReportError;
use crate::show;
use crate::table::{Align, TextTable};
use prony_notebook::{Notebook, StoredRun};
use prony_record::TrialStatus;
use prony_record::calibration::{AGAIN, Calibration, CalibrationCell, Noise};
use prony_record::verdict::{Quantity, Values};
use prony_stats::compare::{self, rounds_to_detect};
use prony_stats::mean::{mean, t_quantile};
use prony_stats::{Unit, ratio};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Numbers of rounds for which the minimum detectable effect is given.
const ROUNDS: [u32; 3] = [5, 10, 30];

/// Measurements of one load of a calibration.
#[derive(Default)]
struct CalibrationValues {
    /// By round: the values of the two sides.
    rounds: BTreeMap<u32, [Values; 2]>,
    /// For every trial as fast as answers came: the generator's CPU time per request, in microseconds, and how busy it
    /// was, 0 to 1.
    generators: Vec<(f64, f64)>,
}

/// The calibration that a run has made.
///
/// # Errors
/// When the notebook cannot be read.
pub fn read(notebook: &Notebook, run: &StoredRun) -> Result<Calibration, ReportError> {
    let mut loads: BTreeMap<(String, u32), CalibrationValues> = BTreeMap::new();
    for stored in notebook.trials(run.id)? {
        let trial = stored.trial;
        if trial.status != TrialStatus::Ok {
            continue;
        }
        let contract = trial.load.contract.clone().unwrap_or_default();
        let seen = loads.entry((contract, trial.load.connections)).or_default();
        let sides = seen.rounds.entry(trial.round).or_default();
        sides[usize::from(trial.server.ends_with(AGAIN))].add(&trial);
        if let (None, Some(measured)) = (trial.load.rate, &trial.observation) {
            let generator = &measured.generator;
            let us = generator.cpu_us_per_request.unwrap_or(0.0);
            seen.generators.push((us, generator.busy));
        }
    }
    let cells = loads
        .into_iter()
        .filter_map(|((contract, connections), seen)| cell(contract, connections, seen));
    Ok(Calibration {
        run: run.id.0,
        made: run.facts.started.to_string(),
        cells: cells.collect(),
    })
}

fn cell(contract: String, connections: u32, seen: CalibrationValues) -> Option<CalibrationCell> {
    let CalibrationValues { rounds, generators } = seen;
    let rounds: Vec<[Values; 2]> = rounds.into_values().collect();
    let rates: Vec<f64> = rounds
        .iter()
        .flatten()
        .filter_map(|values| values.throughput)
        .collect();
    let mean_of = |pick: fn(&(f64, f64)) -> f64| {
        generators.iter().map(pick).sum::<f64>() / generators.len().max(1) as f64
    };
    Some(CalibrationCell {
        contract,
        connections,
        ceiling: mean(&rates, Unit::PerSecond).ok()?,
        generator_us_per_request: mean_of(|generator| generator.0),
        generator_busy: mean_of(|generator| generator.1),
        noise: Quantity::ALL
            .into_iter()
            .filter_map(|quantity| noise(&rounds, quantity))
            .collect(),
    })
}

/// The ceilings, in a sentence.
#[must_use]
pub fn result(calibration: &Calibration) -> String {
    let ceilings = calibration.cells.iter().map(|cell| {
        let ceiling = show::rate(cell.ceiling.value());
        format!("{} c{} {ceiling}", cell.contract, cell.connections)
    });
    format!("ceilings: {}", ceilings.collect::<Vec<_>>().join(", "))
}

/// The calibration as text for a terminal of `width` columns.
#[must_use]
pub fn text(calibration: &Calibration, width: usize) -> String {
    let mut out = String::new();
    let mut table = TextTable::new([
        ("contract", Align::Left),
        ("connections", Align::Right),
        ("ceiling ±95%", Align::Right),
        ("generator CPU/req", Align::Right),
        ("generator busy", Align::Right),
    ]);
    for cell in &calibration.cells {
        let ceiling = show::rate(cell.ceiling.value());
        let half = cell.ceiling.relative_half_width();
        table.row([
            cell.contract.clone(),
            cell.connections.to_string(),
            match half {
                Some(half) => format!("{ceiling} {}", show::within(half)),
                None => ceiling,
            },
            show::time(cell.generator_us_per_request * 1e3),
            format!("{:.0}%", cell.generator_busy * 100.0),
        ]);
    }
    let _ = write!(
        out,
        "{}\nminimum detectable effect, by rounds:\n\n",
        table.fit(width)
    );
    let columns: Vec<String> = ROUNDS.iter().map(|n| format!("{n} rounds")).collect();
    let head = [("contract", Align::Left), ("connections", Align::Right)];
    let mut columns_all: Vec<(&str, Align)> = head.to_vec();
    columns_all.push(("quantity", Align::Left));
    columns_all.extend(columns.iter().map(|name| (name.as_str(), Align::Right)));
    columns_all.push(("rounds for 1%", Align::Right));
    let mut table = TextTable::new(columns_all);
    for cell in &calibration.cells {
        for noise in &cell.noise {
            let mut row = vec![
                cell.contract.clone(),
                cell.connections.to_string(),
                noise.quantity.label().to_owned(),
            ];
            let detectable = noise.detectable.values();
            row.extend(detectable.map(|share| format!("{:.1}%", share * 100.0)));
            let needed = rounds_to_detect(noise.deviation, 0.01_f64.ln_1p());
            row.push(needed.map_or("–".into(), |n| n.to_string()));
            table.row(row);
        }
    }
    let _ = write!(out, "{table}");
    out
}

/// Noise of one quantity, from rounds in which the same server was measured twice; None where they do not suffice.
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
    let detectable = |rounds: u32| {
        let n = f64::from(rounds);
        let errors = compare::detectable(t_quantile(n - 1.0)?, n - 1.0);
        Some((rounds, (errors * deviation / n.sqrt()).exp_m1()))
    };
    Some(Noise {
        quantity,
        deviation,
        detectable: ROUNDS.into_iter().filter_map(detectable).collect(),
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
        assert!(found.detectable[&5] > found.detectable[&30]);
        assert_eq!(noise(&rounds, Quantity::Cpu), None);
        assert_eq!(noise(&rounds[..1], Quantity::Throughput), None);
    }
}

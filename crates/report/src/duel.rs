//! Duels from the notebook, and their reports as text.

use crate::kept::ReportError;
use crate::show::{self, findings};
use crate::table::{Align, Table};
use prony_notebook::{Notebook, Run};
use prony_record::verdict::{Quantity, Values};
use prony_verdict::seen::{DuelReport, Seen};
use prony_verdict::sentence::more;
use std::fmt::Write;

/// What the notebook has of a duel.
///
/// # Errors
/// When the notebook cannot be read.
pub fn seen(notebook: &Notebook, run: &Run) -> Result<Seen, ReportError> {
    let mut seen = Seen::nothing(run.facts.experiment.servers.clone());
    for stored in notebook.trials(run.id)? {
        let trial = stored.trial;
        let Some(side) = seen.names.iter().position(|name| *name == trial.server) else {
            continue;
        };
        let memory = trial.figures.rss_peak_bytes.unwrap_or(0);
        let found = trial
            .observation
            .as_ref()
            .map_or(&[][..], |seen| &seen.checks);
        seen.add(side, &trial.command_line, memory, found);
        let round = trial.round as usize;
        let empty = || vec![Values::default(); seen.names.len()];
        while seen.rounds.len() <= round {
            seen.rounds.push(empty());
        }
        seen.rounds[round][side].add(&trial);
        seen.rate = trial.load.rate.or(seen.rate);
    }
    Ok(seen)
}

/// What a duel in the notebook said at its end; None for other runs, for one that was kept without
/// its terms, and for one without a whole round.
///
/// # Errors
/// When the notebook cannot be read, or holds more rounds than its terms allow.
pub fn read(notebook: &Notebook, run: &Run) -> Result<Option<DuelReport>, ReportError> {
    let Some(terms) = &run.facts.experiment.duel else {
        return Ok(None);
    };
    let seen = seen(notebook, run)?;
    if seen.rounds.is_empty() {
        return Ok(None);
    }
    let report = seen.report(run.id.0, terms);
    report.map(Some).map_err(|error| ReportError::Unreadable {
        run: run.id.0,
        what: error.to_string(),
    })
}

/// As text for a terminal.
#[must_use]
pub fn text(report: &DuelReport) -> String {
    let mut out = String::new();
    for sentence in &report.sentences {
        let _ = writeln!(out, "{sentence}");
    }
    for side in report.sides.iter().filter(|side| !side.command.is_empty()) {
        let _ = writeln!(out, "{}: {}", side.name, side.command);
    }
    let _ = write!(out, "\n{}\n{}", figures(report), verdicts(report));
    let _ = writeln!(out, "\n{}", ending(report));
    out += &widened(report);
    out += &findings(&report.checks);
    out
}

/// After how much it ended, and what counted as a difference.
#[must_use]
pub fn ending(report: &DuelReport) -> String {
    let rate = report.rate.map_or_else(String::new, |rate| {
        format!("; the common rate was {}", show::rate(rate))
    });
    format!(
        "{} rounds{rate}; differences below {:.1} % count as none{}",
        report.rounds,
        report.band * 100.0,
        if report.cut_short { "; cut short" } else { "" }
    )
}

/// Says where the host's noise has widened the band.
fn widened(report: &DuelReport) -> String {
    let mut wide: Vec<(Quantity, f64)> = report
        .comparisons
        .iter()
        .filter(|comparison| comparison.band > report.band)
        .map(|comparison| (comparison.quantity, comparison.band))
        .collect();
    wide.sort_by_key(|&(quantity, _)| quantity);
    wide.dedup();
    let parts: Vec<String> = wide
        .iter()
        .map(|(quantity, band)| format!("{} {:.1} %", short(*quantity), band * 100.0))
        .collect();
    match parts.as_slice() {
        [] => String::new(),
        parts => format!(
            "equivalence margin widened to this host's noise (`prony calibrate`): {}\n",
            parts.join(", ")
        ),
    }
}

fn figures(report: &DuelReport) -> Table {
    let quantities: Vec<Quantity> = Quantity::ALL
        .into_iter()
        .filter(|quantity| {
            let mut figures = report.sides.iter().flat_map(|side| &side.figures);
            figures.any(|figure| figure.quantity == *quantity)
        })
        .collect();
    let mut columns = vec![("side", Align::Left)];
    for quantity in &quantities {
        columns.push((short(*quantity), Align::Right));
        columns.push(("± 95 %", Align::Right));
    }
    columns.push(("memory", Align::Right));
    let mut table = Table::new(columns);
    for side in &report.sides {
        let mut cells = vec![side.name.clone()];
        for quantity in &quantities {
            let figure = side.figures.iter().find(|f| f.quantity == *quantity);
            let value = figure.map(|figure| figure.value);
            cells.push(value.map_or("–".into(), |v| shown(*quantity, v.value())));
            let half = value.and_then(|v| v.relative_half_width());
            cells.push(half.map_or("–".into(), |half| format!("{:.1} %", half * 100.0)));
        }
        cells.push(match side.rss_peak_bytes {
            0 => "–".into(),
            bytes => show::bytes(bytes as f64),
        });
        table.row(cells);
    }
    table
}

fn verdicts(report: &DuelReport) -> Table {
    let mut table = Table::new([
        ("side", Align::Left),
        ("quantity", Align::Left),
        ("ratio", Align::Right),
        ("interval", Align::Left),
        ("verdict", Align::Left),
    ]);
    for comparison in &report.comparisons {
        let found = comparison.ratio.interval();
        table.row([
            comparison.side.clone(),
            comparison.quantity.name().to_owned(),
            show::ratio(comparison.ratio.value()),
            found.map_or("–".into(), |i| {
                format!("{:.3} to {:.3}", i.low(), i.high())
            }),
            format!("{}{}", comparison.verdict, more(comparison)),
        ]);
    }
    table
}

fn short(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Throughput => "answers/s",
        Quantity::P50 => "p50",
        Quantity::P99 => "p99",
        Quantity::Cpu => "CPU/req",
    }
}

/// A value of a quantity, as tables show it.
#[must_use]
pub fn shown(quantity: Quantity, value: f64) -> String {
    match quantity {
        Quantity::Throughput => show::rate(value),
        Quantity::P50 | Quantity::P99 | Quantity::Cpu => show::time(value),
    }
}

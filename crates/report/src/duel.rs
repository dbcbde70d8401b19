//! Duels from the notebook, and their reports as text.

use crate::diff::called;
use crate::kept::{ReportError, why};
use crate::show::{self, findings};
use crate::table::{Align, TextTable};
use prony_notebook::{Notebook, StoredRun};
use prony_record::RunStatus;
use prony_record::verdict::{Comparison, Quantity, Verdict};
use prony_verdict::outlook::Outlook;
use prony_verdict::seen::{DuelObservations, DuelReport, SideReport};
use std::fmt::Write;

/// An interval whose ends lie further apart than this factor is not shown.
const WIDE: f64 = 100.0;

/// Reads the observations of a duel from the notebook.
///
/// # Errors
/// When the notebook cannot be read.
pub fn seen(notebook: &Notebook, run: &StoredRun) -> Result<DuelObservations, ReportError> {
    let mut seen = DuelObservations::nothing(run.facts.experiment.servers.clone());
    seen.design.clone_from(&run.facts.experiment.design);
    for stored in notebook.trials(run.id)? {
        let trial = stored.trial;
        let Some(side) = seen.names.iter().position(|name| *name == trial.server) else {
            continue;
        };
        seen.add(side, &trial);
    }
    Ok(seen)
}

/// Report that a duel in the notebook made at its end; None for other runs, for one that was kept without its terms,
/// and for one without a whole round.
///
/// # Errors
/// When the notebook cannot be read, or holds more rounds than its terms allow.
pub fn read(notebook: &Notebook, run: &StoredRun) -> Result<Option<DuelReport>, ReportError> {
    let Some(terms) = &run.facts.experiment.duel else {
        return Ok(None);
    };
    let seen = seen(notebook, run)?;
    if seen.rounds.is_empty() {
        return Ok(None);
    }
    let report = seen.report(run.id.0, terms, run.status == RunStatus::Finished);
    let report = report.map_err(|error| ReportError::Unreadable {
        run: run.id.0,
        what: error.to_string(),
    })?;
    Ok(Some(DuelReport {
        why: why(notebook, run)?,
        ..report
    }))
}

/// The report as text for a terminal of `width` columns.
#[must_use]
pub fn text(report: &DuelReport, width: usize) -> String {
    let mut out = String::new();
    for sentence in &report.sentences {
        let _ = writeln!(out, "{sentence}");
    }
    for (name, what) in report.sides.iter().filter_map(described) {
        let _ = writeln!(out, "{name}: {what}");
    }
    let _ = write!(
        out,
        "\n{}\n{}",
        figures(report).fit(width),
        verdicts(report, width)
    );
    if let Some(table) = idle(report) {
        let _ = write!(out, "\n{}", table.fit(width));
    }
    if let Some(table) = services(report) {
        let _ = write!(out, "\n{}", table.fit(width));
        for what in crate::services::described(report.sides.iter().flat_map(|it| &it.services)) {
            let _ = writeln!(out, "{what}");
        }
    }
    if !report.requests.is_empty() {
        let _ = write!(out, "\n{}", by_name(report).fit(width));
    }
    let _ = writeln!(out, "\n{}", ending(report));
    if let Some(design) = &report.design {
        let _ = writeln!(out, "{}", crate::design::sentence(design));
    }
    for note in &report.notes {
        let _ = writeln!(out, "{note}");
    }
    out += &widened(report);
    out += &findings(&report.checks);
    if let Some(anatomy) = &report.why {
        out += &crate::why::text(anatomy, width);
    }
    out
}

/// A side's name with its version and command line, as far as they are known.
#[must_use]
pub fn described(side: &SideReport) -> Option<(&str, String)> {
    let what: Vec<&str> = [side.version.as_str(), side.command.as_str()]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    (!what.is_empty()).then(|| (side.name.as_str(), what.join(" · ")))
}

/// After how much it ended, and what counted as a difference.
#[must_use]
pub fn ending(report: &DuelReport) -> String {
    let rate = report.rate.map_or_else(String::new, |rate| {
        format!("; the common rate was {}", show::rate(rate))
    });
    format!(
        "{} {}{rate}; differences below {} count as none{}",
        report.rounds,
        if report.rounds == 1 {
            "round"
        } else {
            "rounds"
        },
        show::percent(report.band),
        if report.cut_short {
            "; ended before everything was settled"
        } else {
            ""
        }
    )
}

/// Line on the differences that the duel can find in its time.
#[must_use]
pub fn prospects(outlook: &[Outlook], end: u32, dropped: bool) -> String {
    let mut finest: Vec<(Quantity, f64)> = Vec::new();
    for one in outlook {
        match finest
            .iter_mut()
            .find(|(quantity, _)| *quantity == one.quantity)
        {
            Some((_, effect)) => *effect = effect.max(one.detectable),
            None => finest.push((one.quantity, one.detectable)),
        }
    }
    let parts: Vec<String> = finest
        .iter()
        .map(|(quantity, effect)| match effect {
            effect if *effect < 1.0 => format!("{} {:.1}%", quantity.phrase(), effect * 100.0),
            _ => format!("{} only a factor of two or more", quantity.phrase()),
        })
        .collect();
    let left_out = match dropped {
        true => "; throughput is too noisy here and is not measured any more",
        false => "",
    };
    format!(
        "differences that can be found by round {end}: {}{left_out}",
        parts.join(", ")
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
        .map(|(quantity, band)| format!("{} {:.1}%", quantity.label(), band * 100.0))
        .collect();
    match parts.as_slice() {
        [] => String::new(),
        parts => format!(
            "equivalence margin widened to this host's noise (`prony calibrate`): {}\n",
            parts.join(", ")
        ),
    }
}

/// The requests of each name, at the common rate, with each side's ratio to the first.
fn by_name(report: &DuelReport) -> TextTable {
    let mut table = TextTable::new([
        ("request", Align::Left),
        ("side", Align::Left),
        ("answers", Align::Right),
        ("failed", Align::Right),
        ("p50", Align::Right),
        ("ratio ±95%", Align::Right),
        ("p99", Align::Right),
        ("ratio ±95%", Align::Right),
    ]);
    for request in &report.requests {
        for side in &request.sides {
            let mut cells = vec![
                request.name.clone(),
                side.side.clone(),
                show::count(side.answers),
                show::count(side.failed),
            ];
            for quantity in [Quantity::P50, Quantity::P99] {
                let figure = side.figures.iter().find(|f| f.quantity == quantity);
                cells.push(figure.map_or("–".into(), |f| shown(quantity, f.value.value())));
                let mut ratios = request.comparisons.iter();
                let ratio = ratios.find(|c| c.side == side.side && c.quantity == quantity);
                cells.push(ratio.map_or(String::new(), |found| {
                    let half = found.ratio.relative_half_width();
                    let half = half.map_or(String::new(), show::within);
                    format!("{} {half}", show::ratio(found.ratio.value()))
                }));
            }
            table.row(cells);
        }
    }
    table
}

fn figures(report: &DuelReport) -> TextTable {
    let quantities: Vec<Quantity> = Quantity::ALL
        .into_iter()
        .filter(|quantity| {
            let mut figures = report.sides.iter().flat_map(|side| &side.figures);
            figures.any(|figure| figure.quantity == *quantity)
        })
        .collect();
    let mut columns = vec![("side", Align::Left)];
    let heads: Vec<String> = quantities
        .iter()
        .map(|quantity| {
            // Short enough for 80 columns: of sides, times are response times.
            let label = quantity.label().trim_end_matches(" latency");
            format!("{label} ±95%")
        })
        .collect();
    columns.extend(heads.iter().map(|head| (head.as_str(), Align::Right)));
    columns.push(("memory", Align::Right));
    let mut table = TextTable::new(columns);
    for side in &report.sides {
        let mut cells = vec![side.name.clone()];
        for quantity in &quantities {
            let figure = side.figures.iter().find(|f| f.quantity == *quantity);
            let value = figure.map(|figure| figure.value);
            let mut cell = value.map_or("–".into(), |v| shown(*quantity, v.value()));
            if let Some(half) = value.and_then(|v| v.relative_half_width()) {
                let _ = write!(cell, " {}", show::within(half));
            }
            cells.push(cell);
        }
        cells.push(show::bytes_or_dash(side.rss_peak_bytes));
        table.row(cells);
    }
    table
}

/// Idle connections of each side; None where there were none.
#[must_use]
pub fn idle(report: &DuelReport) -> Option<TextTable> {
    let sides = report.sides.iter();
    crate::idle::table("side", sides.map(|side| (side.name.clone(), side.idle)))
}

/// Costs of each side's services; None where there are none.
#[must_use]
pub fn services(report: &DuelReport) -> Option<TextTable> {
    let all = report.sides.iter();
    let rows = all.flat_map(|side| side.services.iter().map(|cost| (side.name.as_str(), cost)));
    crate::services::table("side", rows)
}

/// A table for each side but the first: how it compares with the first.
fn verdicts(report: &DuelReport, width: usize) -> String {
    let Some((first, others)) = report.sides.split_first() else {
        return String::new();
    };
    let tables = others.iter().map(|side| {
        let versus = format!("{} vs {}", side.name, first.name);
        let mut table = TextTable::new([
            (versus.as_str(), Align::Left),
            ("change", Align::Right),
            ("95% CI", Align::Left),
            ("verdict", Align::Left),
        ]);
        for one in of_side(report, &side.name) {
            table.row([
                in_table(one.quantity),
                show::change(one.ratio.value()),
                interval(one),
                verdict(one),
            ]);
        }
        table.fit(width)
    });
    tables.collect::<Vec<_>>().join("\n")
}

/// A comparison's interval, as tables show it.
#[must_use]
pub fn interval(one: &Comparison) -> String {
    match one.ratio.interval() {
        // Wider than this it says nothing but that nothing is known.
        Some(found) if found.high() / found.low() < WIDE => {
            format!(
                "{} to {}",
                show::change(found.low()),
                show::change(found.high())
            )
        }
        _ => "–".into(),
    }
}

/// The comparisons of a side with the first.
pub fn of_side<'a>(
    report: &'a DuelReport,
    side: &'a str,
) -> impl Iterator<Item = &'a Comparison> + 'a {
    let of = move |one: &&Comparison| one.side == side;
    report.comparisons.iter().filter(of)
}

/// A quantity as a row of a table: the parts of CPU time are indented.
#[must_use]
pub fn in_table(quantity: Quantity) -> String {
    match Quantity::PARTS.contains(&quantity) {
        true => format!("  {}", quantity.label()),
        false => quantity.label().to_owned(),
    }
}

/// A verdict, as tables show it; an inconclusive one with the reason, or with the smallest difference that would have been found.
#[must_use]
pub fn verdict(one: &Comparison) -> String {
    match (one.verdict, &one.withheld, one.detectable) {
        (Verdict::Inconclusive, Some(withheld), _) => {
            format!("inconclusive: {}", withheld.cause.short())
        }
        (Verdict::Inconclusive, None, Some(effect)) if effect < 1.0 => {
            format!("inconclusive (needs {})", show::percent(effect))
        }
        (verdict, _, _) if one.at_least => format!("{verdict}, at least"),
        (verdict, _, _) => called(verdict, one.band),
    }
}

/// A value of a quantity, as tables show it.
#[must_use]
pub fn shown(quantity: Quantity, value: f64) -> String {
    match quantity {
        Quantity::Throughput => show::per(value),
        Quantity::Wakeups | Quantity::Statements => format!("{value:.3}"),
        _ => show::time(value),
    }
}

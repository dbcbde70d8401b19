//! Throughput: every trial, the mean with its interval, ties, and what others have published.

use super::mark;
use super::rows::{NARROW_TRIALS, Row, Rows};
use super::text::rate_tick;
use super::{Align, Chart, ChartKind, Table, name};
use crate::material::Material;
use crate::scale::Scale;
use maud::{Markup, html};
use prony_record::Severity;
use prony_report::run::CellReport;
use prony_report::show;
use prony_stats::Estimate;

pub(super) fn charts(material: &Material) -> Vec<Chart> {
    if material.sweeps_rates() {
        return Vec::new();
    }
    material
        .loads()
        .into_iter()
        // At a rate that is kept, throughput is the rate.
        .filter(|(_, cells)| {
            let at_rate = |at: &usize| material.report.cells[*at].load.rate.is_some();
            !cells.iter().all(at_rate)
        })
        .map(|(load, cells)| chart(material, load, &cells))
        .collect()
}

fn chart(material: &Material, load: &str, cells: &[usize]) -> Chart {
    let cells: Vec<&CellReport> = cells.iter().map(|&at| &material.report.cells[at]).collect();
    let rows: Vec<Row> = cells.iter().map(|cell| row(material, cell)).collect();
    let values = rows.iter().flat_map(|row| {
        let trials = row.trials.iter().map(|trial| trial.0);
        let ends = row
            .interval
            .into_iter()
            .flat_map(|(low, high)| [low.max(0.0), high]);
        let foreign = row.foreign.iter().map(|value| value.0);
        trials.chain(ends).chain(foreign).chain([row.value.0])
    });
    let scale = Scale::linear(values);
    let drawn = Rows {
        rows: &rows,
        scale: &scale,
        axis: "requests per second".into(),
        tick: rate_tick,
        rule: None,
    };
    let (drawing, width, height) = drawn.draw();
    let trials: usize = rows.iter().map(|row| row.trials.len()).sum();
    let narrow = (trials <= NARROW_TRIALS).then(|| drawn.narrow());
    let tied = rows.iter().any(|row| row.groups.len() > 1)
        || rows.iter().any(|row| {
            let same = |other: &&Row| other.groups == row.groups && !row.groups.is_empty();
            rows.iter().filter(same).count() > 1
        });
    let mut key: Vec<(Markup, String)> = vec![
        (
            html! { circle.t cx="14" cy="8" r="3" {} },
            "one trial".into(),
        ),
        (
            html! { g { path.interval d="M3 4v8M25 4v8M3 8H25" {} (mark::sample(material.series.look(""))) } },
            "mean of the trials with its 95% CI".into(),
        ),
    ];
    if rows
        .iter()
        .any(|row| row.foreign.iter().any(|value| !value.1))
    {
        key.push((sample(false), "as others have published it".into()));
    }
    if rows
        .iter()
        .any(|row| row.foreign.iter().any(|value| value.1))
    {
        key.push((sample(true), "as published, corrected".into()));
    }
    if tied {
        let bracket = html! { path.bracket d="M16 2h-4V14h4" {} };
        key.push((
            bracket,
            "no significant difference between these servers".into(),
        ));
    }
    if rows.iter().any(|row| row.checks.0 > 0) {
        let check = html! { text.check.grave x="6" y="12" { "▲" } };
        key.push((check, "number of checks raised (△: notes only)".into()));
    }
    Chart {
        name: name(&["throughput", load]),
        kind: ChartKind::Throughput,
        title: format!("Throughput, load {load}"),
        note: String::new(),
        width,
        height,
        drawing,
        narrow,
        key,
        table: table(&cells),
    }
}

fn sample(corrected: bool) -> Markup {
    mark::foreign((14.0, 8.0), corrected, "")
}

fn row(material: &Material, cell: &CellReport) -> Row {
    let label = cell.label();
    let trials = material.trials_of(cell);
    let trials = trials.iter().filter_map(|part| {
        let rate = part.trial().figures.throughput?;
        let round = part.trial().round + 1;
        Some((rate, format!("{label}, round {round}: {}", precise(rate))))
    });
    let rate = &cell.throughput;
    let relative = rate.relative_half_width();
    let half = relative.map_or(String::new(), |half| format!("± {:.1}%", half * 100.0));
    let ratio = match &cell.ratio {
        Some(ratio) if label != material.report.run.baseline => show::ratio(ratio.value()),
        _ => String::new(),
    };
    let grave = |severity: Severity| severity > Severity::Note;
    Row {
        baseline: label == material.report.run.baseline,
        look: material.series.look(&label),
        trials: trials.collect(),
        value: (rate.value(), words(&label, rate)),
        // No rate is below zero, whatever the interval of a mean of few says.
        interval: rate.low().map(|low| low.max(0.0)).zip(rate.high()),
        foreign: foreign(material, &label, cell.load_label()),
        text: vec![show::rate(rate.value()), half, ratio],
        checks: (
            cell.checks.len(),
            cell.checks.iter().any(|check| grave(check.severity)),
        ),
        groups: cell.group.clone().unwrap_or_default(),
        name: label,
    }
}

/// An estimate in words.
pub(super) fn words(label: &str, rate: &Estimate) -> String {
    let n = rate.n();
    match rate.interval() {
        Some(interval) => format!(
            "{label}: mean {}, 95% CI {} to {}, {n} trials",
            precise(rate.value()),
            precise(interval.low()),
            precise(interval.high())
        ),
        None => format!(
            "{label}: {}, a single trial: no interval",
            precise(rate.value())
        ),
    }
}

/// A rate to the last answer.
pub(super) fn precise(rate: f64) -> String {
    match rate {
        rate if rate >= 100.0 => format!("{} req/s", show::count(rate.round() as u64)),
        rate => show::rate(rate),
    }
}

fn foreign(material: &Material, label: &str, load: &str) -> Vec<(f64, bool, String)> {
    let Some(published) = &material.report.published else {
        return Vec::new();
    };
    let rows = published.rows.iter().filter(|row| {
        row.server.as_deref() == Some(label) && row.load.as_deref().is_none_or(|l| l == load)
    });
    rows.flat_map(|row| {
        let of = |value: Option<f64>, corrected: bool, what: &str| {
            let label = |rate| format!("{}: {what} {}", row.label, precise(rate));
            value.map(|rate| (rate, corrected, label(rate)))
        };
        [
            of(row.published, false, "published as"),
            of(row.corrected, true, "published, corrected to"),
        ]
    })
    .flatten()
    .collect()
}

fn table(cells: &[&CellReport]) -> Table {
    let mut table = Table::new([
        ("server", Align::Left),
        ("requests/s", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
        ("trials", Align::Right),
        ("ratio", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
        ("group", Align::Left),
        ("verified", Align::Left),
        ("checks", Align::Left),
    ]);
    for cell in cells {
        let rate = &cell.throughput;
        let shown = |value: Option<f64>| value.map_or("–".into(), precise);
        let ratio = |pick: fn(&Estimate) -> Option<f64>| {
            let value = cell.ratio.as_ref().and_then(pick);
            value.map_or("–".to_owned(), |value| format!("{value:.3}"))
        };
        let checks: Vec<&str> = cell.checks.iter().map(|check| check.name.word()).collect();
        table.row([
            cell.label(),
            precise(rate.value()),
            shown(rate.low()),
            shown(rate.high()),
            rate.n().to_string(),
            ratio(|ratio| Some(ratio.value())),
            ratio(Estimate::low),
            ratio(Estimate::high),
            cell.group.clone().unwrap_or_default(),
            if cell.verified { "yes" } else { "NO" }.into(),
            checks.join(", "),
        ]);
    }
    table
}

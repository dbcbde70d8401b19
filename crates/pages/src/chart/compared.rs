//! Two runs compared: what each server gave as a multiple of what it gave before.

use super::rows::{NARROW_TRIALS, Row, Rows};
use super::text::plain;
use super::{Align, Chart, ChartKind, Table};
use crate::scale::Scale;
use crate::series::SeriesStyle;
use prony_record::verdict::Verdict;
use prony_report::diff::{CellChange, DiffReport, called};
use prony_report::show;
use prony_stats::Estimate;

/// The charts of a comparison: throughput, and CPU time per request where it is known of both runs.
/// None of runs that have nothing in common.
pub fn compared(report: &DiffReport) -> Vec<Chart> {
    let rate = |change: &CellChange| Some((change.throughput, change.throughput_verdict));
    let cpu = |change: &CellChange| Some((change.cpu?, change.cpu_verdict?));
    let charts = [
        chart(report, "throughput", "Throughput", &rate),
        chart(report, "cpu", "CPU time per request", &cpu),
    ];
    charts.into_iter().flatten().collect()
}

type Ratio<'a> = &'a dyn Fn(&CellChange) -> Option<(Estimate, Verdict)>;

fn chart(report: &DiffReport, what: &str, title: &str, ratio: Ratio<'_>) -> Option<Chart> {
    let mut rows = Vec::new();
    let mut table = Table::new([
        ("server, load", Align::Left),
        ("ratio", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
        ("verdict", Align::Left),
    ]);
    for change in &report.cells {
        let Some((estimate, verdict)) = ratio(change) else {
            continue;
        };
        let name = format!("{}, {}", change.server, change.load);
        let end = |end: Option<f64>| end.map_or("–".to_owned(), |end| format!("{end:.3}"));
        table.row([
            name.clone(),
            format!("{:.3}", estimate.value()),
            end(estimate.low()),
            end(estimate.high()),
            called(verdict, report.band),
        ]);
        rows.push(Row {
            baseline: false,
            look: look(verdict),
            trials: Vec::new(),
            value: (estimate.value(), words(&name, &estimate, verdict)),
            interval: estimate.low().zip(estimate.high()),
            foreign: Vec::new(),
            text: vec![show::ratio(estimate.value()), verdict.to_string()],
            checks: (0, false),
            groups: String::new(),
            name,
        });
    }
    let values = rows.iter().flat_map(|row| {
        let ends = row.interval.into_iter().flat_map(|(low, high)| [low, high]);
        ends.chain([row.value.0])
    });
    let scale = Scale::linear(values.chain([1.0]));
    let drawn = Rows {
        rows: &rows,
        scale: &scale,
        axis: format!(
            "run {} as a multiple of run {}",
            report.after, report.before
        ),
        tick: plain,
        rule: Some(1.0),
    };
    if rows.is_empty() {
        return None;
    }
    let (drawing, width, height) = drawn.draw();
    let narrow = (rows.len() <= NARROW_TRIALS).then(|| drawn.narrow());
    Some(Chart {
        name: format!("compared-{what}"),
        kind: ChartKind::Runs,
        title: format!(
            "{title}: run {} against run {}",
            report.after, report.before
        ),
        note: "A mark is the ratio with its 95% CI; at the dashed line nothing has changed.".into(),
        width,
        height,
        drawing,
        narrow,
        key: Vec::new(),
        table,
    })
}

/// Verdicts differ by shape and by colour, and are written beside.
fn look(verdict: Verdict) -> SeriesStyle {
    let (colour, shape) = match verdict {
        Verdict::Faster | Verdict::Cheaper => (2, 2),
        Verdict::Slower | Verdict::MoreExpensive => (1, 4),
        Verdict::Same => (0, 0),
        _ => (7, 3),
    };
    SeriesStyle { colour, shape }
}

fn words(name: &str, ratio: &Estimate, verdict: Verdict) -> String {
    match ratio.interval() {
        Some(interval) => format!(
            "{name}: {:.3}×, 95% CI {:.3} to {:.3}, {verdict}",
            ratio.value(),
            interval.low(),
            interval.high()
        ),
        None => format!("{name}: {:.3}×, no interval, {verdict}", ratio.value()),
    }
}

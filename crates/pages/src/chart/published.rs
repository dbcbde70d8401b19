//! Figures that others have published against measured ones: a line of slope one would be the same order.

use super::WIDTH;
use super::lines::{Axis, LineSeries, Plot, Rule, Spot};
use super::text::rate_tick;
use super::throughput::precise;
use super::{Align, Chart, ChartKind, Table, name};
use crate::material::Material;
use crate::scale::Scale;
use prony_report::published::BesideRow;

pub(super) fn chart(material: &Material) -> Option<Chart> {
    let beside = material.report.published.as_ref()?;
    let then = |row: &BesideRow| row.corrected.or(row.published);
    let both: Vec<(&BesideRow, f64, f64)> = beside
        .rows
        .iter()
        .filter_map(|row| Some((row, then(row)?, row.measured?)))
        .filter(|(_, then, now)| *then > 0.0 && *now > 0.0)
        .collect();
    if both.len() < 2 {
        return None;
    }
    let x = Scale::log(both.iter().map(|row| row.1));
    let y = Scale::log(both.iter().map(|row| row.2));
    // Equal ratios then and now: parallel to this one, through the baseline or the middle.
    let base = both
        .iter()
        .find(|(row, ..)| row.server.as_deref() == Some(&beside.baseline))
        .unwrap_or(&both[0]);
    let factor = base.2 / base.1;
    let (low, high) = (
        x.range().start.max(y.range().start / factor),
        x.range().end.min(y.range().end / factor),
    );
    let rule = Rule {
        from: (low, low * factor),
        to: (high, high * factor),
        label: String::new(),
    };
    let lines = both.iter().map(|(row, then, now)| {
        let server = row.server.clone().unwrap_or_default();
        LineSeries {
            name: row.label.clone(),
            look: material.series.look(&server),
            dash: None,
            path: Vec::new(),
            spots: vec![Spot {
                x: *then,
                y: *now,
                interval: None,
                trial: false,
                label: format!(
                    "{}: then {}, now {}",
                    row.label,
                    precise(*then),
                    precise(*now)
                ),
            }],
            band: Vec::new(),
        }
    });
    let plot = Plot {
        size: (WIDTH, 460.0),
        x: Axis {
            scale: x,
            label: format!("as published (corrected where it was), {}", beside.unit),
            ticks: None,
            tick: rate_tick,
        },
        y: Axis {
            scale: y,
            label: "as measured here, answers/s".into(),
            ticks: None,
            tick: rate_tick,
        },
        lines: lines.collect(),
        rules: vec![rule],
        beside: true,
    };
    let mut table = Table::new([
        ("row", Align::Left),
        ("server", Align::Left),
        ("load", Align::Left),
        ("published", Align::Right),
        ("corrected", Align::Right),
        ("measured", Align::Right),
        ("ratio then", Align::Right),
        ("ratio now", Align::Right),
        ("CPU/request then, µs", Align::Right),
        ("CPU/request now, µs", Align::Right),
        ("note", Align::Left),
    ]);
    for row in &beside.rows {
        let rate = |value: Option<f64>| value.map_or("–".into(), precise);
        let ratio = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.3}"));
        let cpu = |us: Option<f64>| us.map_or("–".into(), |us| format!("{us:.2}"));
        table.row([
            row.label.clone(),
            row.server.clone().unwrap_or_default(),
            row.load.clone().unwrap_or_default(),
            rate(row.published),
            rate(row.corrected),
            rate(row.measured),
            ratio(row.ratio_then),
            ratio(row.ratio_now),
            cpu(row.cpu_us_per_request),
            cpu(row.measured_cpu_us_per_request),
            row.note.clone().unwrap_or_default(),
        ]);
    }
    let order = beside.order.map_or(String::new(), |order| {
        format!(
            " Of {} pairs of servers, {} stand in the same order as then.",
            order.pairs, order.same
        )
    });
    Some(Chart {
        name: name(&["published"]),
        kind: ChartKind::Throughput,
        title: format!("Then and now: {}", beside.title),
        note: format!(
            "{}. On the line, a server is as many times {} as it was then; above it, it has gained.{order}",
            beside.rig, beside.baseline
        ),
        width: plot.size.0,
        height: plot.size.1,
        drawing: plot.draw(),
        narrow: None,
        key: Vec::new(),
        table,
    })
}

//! Throughput and p99 over the number of connections.

use super::WIDTH;
use super::lines::{Axis, LineSeries, Plot, Spot};
use super::text::{plain, rate_tick, time_tick};
use super::throughput::{precise, words};
use super::{Align, Chart, ChartKind, Table, name};
use crate::material::Material;
use crate::scale::Scale;
use prony_report::run::CellReport;
use prony_report::show;
use std::collections::BTreeMap;

/// Everything of a load but its connections and threads, in words: loads that agree in it make a grid.
fn others(cell: &CellReport) -> String {
    let load = &cell.load;
    let mut parts = Vec::new();
    if load.pipeline > 1 {
        parts.push(format!("pipelining {}", load.pipeline));
    }
    if !load.keepalive {
        parts.push("a connection per request".to_owned());
    }
    if load.message.len() > 64 {
        parts.push(format!("{} bytes", load.message.len()));
    }
    parts.join(", ")
}

pub(super) fn charts(material: &Material) -> Vec<Chart> {
    type GridLine<'a> = BTreeMap<String, Vec<(f64, &'a CellReport)>>;
    let mut grids: BTreeMap<String, GridLine<'_>> = BTreeMap::new();
    for cell in &material.report.cells {
        // Loads at a rate are drawn against the rate.
        if cell.load.rate.is_some() {
            continue;
        }
        let grid = grids.entry(others(cell)).or_default();
        let line = grid.entry(cell.label()).or_default();
        line.push((f64::from(cell.load.connections), cell));
    }
    let mut all = Vec::new();
    for (words, mut grid) in grids {
        for line in grid.values_mut() {
            line.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let mut points: Vec<f64> = grid.values().flatten().map(|point| point.0).collect();
        points.sort_by(f64::total_cmp);
        points.dedup();
        if points.len() > 1 {
            all.push(throughput(material, &words, &grid, &points));
            all.extend(p99(material, &words, &grid, &points));
        }
    }
    all
}

type Grid<'a> = BTreeMap<String, Vec<(f64, &'a CellReport)>>;

fn across(points: &[f64]) -> Axis {
    Axis {
        scale: Scale::log(points.iter().copied()),
        label: "connections".into(),
        ticks: Some(points.to_vec()),
        tick: plain,
    }
}

fn line(material: &Material, label: &str, spots: Vec<Spot>) -> LineSeries {
    LineSeries {
        name: label.to_owned(),
        look: material.series.look(label),
        dash: None,
        path: spots.iter().map(|spot| (spot.x, spot.y)).collect(),
        spots,
        band: Vec::new(),
    }
}

fn title(what: &str, words: &str) -> String {
    match words {
        "" => format!("{what} by connections"),
        words => format!("{what} by connections ({words})"),
    }
}

fn throughput(material: &Material, others: &str, grid: &Grid<'_>, points: &[f64]) -> Chart {
    let mut table = Table::new([
        ("server", Align::Left),
        ("connections", Align::Right),
        ("requests/s", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
    ]);
    let lines: Vec<LineSeries> = grid
        .iter()
        .map(|(label, cells)| {
            let spots = cells.iter().map(|(connections, cell)| {
                let rate = &cell.throughput;
                let end = |value: Option<f64>| value.map_or("–".into(), precise);
                table.row([
                    label.clone(),
                    plain(*connections),
                    precise(rate.value()),
                    end(rate.low()),
                    end(rate.high()),
                ]);
                Spot {
                    x: *connections,
                    y: rate.value(),
                    interval: rate.low().map(|low| low.max(0.0)).zip(rate.high()),
                    trial: false,
                    label: format!(
                        "{} connections: {}",
                        plain(*connections),
                        words(label, rate)
                    ),
                }
            });
            line(material, label, spots.collect())
        })
        .collect();
    let values = lines.iter().flat_map(|line| &line.spots).flat_map(|spot| {
        let high = spot.interval.map_or(spot.y, |(_, high)| high);
        [spot.y, high]
    });
    let plot = Plot {
        size: (WIDTH, (14.0 * lines.len() as f64 + 90.0).max(400.0)),
        x: across(points),
        y: Axis {
            scale: Scale::from_zero(values),
            label: "requests per second".into(),
            ticks: None,
            tick: rate_tick,
        },
        lines,
        rules: Vec::new(),
        beside: false,
    };
    chart(
        "grid-throughput",
        others,
        title("Throughput", others),
        &plot,
        table,
    )
}

fn p99(material: &Material, others: &str, grid: &Grid<'_>, points: &[f64]) -> Option<Chart> {
    let mut table = Table::new([
        ("server", Align::Left),
        ("connections", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("samples", Align::Right),
    ]);
    let lines: Vec<LineSeries> = grid
        .iter()
        .filter_map(|(label, cells)| {
            let spots: Vec<Spot> = cells
                .iter()
                .filter_map(|(connections, cell)| {
                    let times = &cell.latency.response;
                    table.row([
                        label.clone(),
                        plain(*connections),
                        show::time_or_dash(times.p50),
                        show::time_or_dash(times.p99),
                        show::count(times.n),
                    ]);
                    let p99 = times.p99.filter(|p99| *p99 > 0)? as f64;
                    Some(Spot {
                        x: *connections,
                        y: p99,
                        interval: None,
                        trial: false,
                        label: format!(
                            "{label}, {} connections: p99 {}",
                            plain(*connections),
                            show::time(p99)
                        ),
                    })
                })
                .collect();
            (!spots.is_empty()).then(|| line(material, label, spots))
        })
        .collect();
    if lines.is_empty() {
        return None;
    }
    let values = lines.iter().flat_map(|line| &line.spots).map(|spot| spot.y);
    let plot = Plot {
        size: (WIDTH, (14.0 * lines.len() as f64 + 90.0).max(400.0)),
        x: across(points),
        y: Axis {
            scale: Scale::log(values),
            label: "p99 of the response time".into(),
            ticks: None,
            tick: time_tick,
        },
        lines,
        rules: Vec::new(),
        beside: false,
    };
    Some(chart(
        "grid-p99",
        others,
        title("p99", others),
        &plot,
        table,
    ))
}

fn chart(kind: &str, words: &str, title: String, plot: &Plot, table: Table) -> Chart {
    Chart {
        name: name(&[kind, words]),
        kind: ChartKind::Grid,
        title,
        note:
            "As fast as answers come. Where throughput has stopped growing, more connections only \
               wait longer."
                .into(),
        width: plot.size.0,
        height: plot.size.1,
        drawing: plot.draw(),
        narrow: None,
        key: Vec::new(),
        table,
    }
}

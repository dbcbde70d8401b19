//! A cell over time: a mark for every run, and a line for every stretch between changes.

use super::WIDTH;
use super::lines::{Axis, LineSeries, Plot, Rule, Spot};
use super::text::{rate_tick, time_tick};
use super::throughput::precise;
use super::{Align, Chart, ChartKind, Table, name};
use crate::scale::Scale;
use crate::series::SeriesStyle;
use prony_report::history::change::{History, HistoryPoint};
use prony_report::history::{CellHistory, Measure};
use prony_report::show;
use prony_stats::Estimate;

/// The chart of a history; none of a cell that no run has.
pub fn history(cell: &CellHistory, history: &History) -> Option<Chart> {
    if history.points.is_empty() {
        return None;
    }
    let look = SeriesStyle {
        colour: 0,
        shape: 0,
    };
    let place = |point: &HistoryPoint| point.run as f64;
    let value = |value: f64| show_value(history.measure, value);
    let spots = history.points.iter().map(|point| Spot {
        x: place(point),
        y: point.value.value(),
        // Nothing that is counted here is below zero.
        interval: point
            .value
            .low()
            .map(|low| low.max(0.0))
            .zip(point.value.high()),
        trial: false,
        label: label(history.measure, point),
    });
    let mut lines = vec![LineSeries {
        name: String::new(),
        look,
        dash: None,
        path: Vec::new(),
        spots: spots.collect(),
        band: Vec::new(),
    }];
    for stretch in &history.stretches {
        let ends = [stretch.from, stretch.to - 1].map(|at| place(&history.points[at]));
        let band = stretch.mean.low().zip(stretch.mean.high());
        lines.push(LineSeries {
            name: String::new(),
            look,
            dash: None,
            path: ends.map(|x| (x, stretch.mean.value())).to_vec(),
            spots: Vec::new(),
            band: band.map_or(Vec::new(), |(low, high)| {
                ends.map(|x| (x, low.max(0.0), high)).to_vec()
            }),
        });
    }
    let seen = lines[0].spots.iter().flat_map(|spot| {
        let ends = spot
            .interval
            .into_iter()
            .flat_map(|(low, high)| [low, high]);
        ends.chain([spot.y])
    });
    let y = Scale::linear(seen);
    let range = y.range();
    let rules = history.changes.iter().map(|change| {
        // Between the last run before it and the first after.
        let (before, after) = (
            place(&history.points[change.at - 1]),
            place(&history.points[change.at]),
        );
        let x = f64::midpoint(before, after);
        Rule {
            from: (x, range.start),
            to: (x, range.end),
            label: show::ratio(change.ratio.value()),
        }
    });
    let plot = Plot {
        size: (WIDTH, 380.0),
        x: Axis {
            scale: Scale::linear(history.points.iter().map(place)),
            label: "run".into(),
            ticks: None,
            tick: |run| format!("{run:.0}"),
        },
        y: Axis {
            scale: y,
            label: axis(history.measure).into(),
            ticks: None,
            tick: match history.measure {
                Measure::Throughput => rate_tick,
                Measure::P99 | Measure::Cpu => time_tick,
            },
        },
        rules: rules.collect(),
        lines,
        beside: false,
    };
    let mut table = Table::new([
        ("run", Align::Left),
        ("began (UTC)", Align::Left),
        ("version", Align::Left),
        (history.measure.title(), Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
        ("trials", Align::Right),
        ("change", Align::Left),
    ]);
    for (at, point) in history.points.iter().enumerate() {
        let shown = |end: Option<f64>| end.map_or("–".into(), value);
        let change = history.changes.iter().find(|change| change.at == at);
        table.row([
            point.run.to_string(),
            point.started.strftime("%Y-%m-%d %H:%M").to_string(),
            point.version.clone(),
            value(point.value.value()),
            shown(point.value.low().map(|low| low.max(0.0))),
            shown(point.value.high()),
            point.value.n().to_string(),
            change.map_or(String::new(), |change| change.words.clone()),
        ]);
    }
    Some(Chart {
        name: name(&["history", history.measure.name()]),
        kind: ChartKind::Runs,
        title: format!("{}: {}, {}", history.measure.title(), cell.server, cell.load),
        note: "A mark for each run: the mean of its trials with its 95% CI. A line is the mean of \
               the runs between two changes, with its band; a dashed line is a change, with the ratio of \
               after to before."
            .into(),
        width: plot.size.0,
        height: plot.size.1,
        drawing: plot.draw(),
        narrow: None,
        key: Vec::new(),
        table,
    })
}

/// A value of a measure, exact enough to be read back.
fn show_value(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Throughput => precise(value),
        Measure::P99 | Measure::Cpu => show::time(value),
    }
}

fn axis(measure: Measure) -> &'static str {
    match measure {
        Measure::Throughput => "requests per second",
        Measure::P99 => "p99 of the response time",
        Measure::Cpu => "CPU time per request",
    }
}

fn label(measure: Measure, point: &HistoryPoint) -> String {
    let when = point.started.strftime("%Y-%m-%d %H:%M");
    let value = |value: f64| show_value(measure, value);
    let n = point.value.n();
    let spread = |mean: &Estimate| match mean.interval() {
        Some(interval) => format!(
            "95% CI {} to {}, {n} trials",
            value(interval.low().max(0.0)),
            value(interval.high())
        ),
        None => "a single trial: no interval".into(),
    };
    format!(
        "run {}, {when}: {}, {}",
        point.run,
        value(point.value.value()),
        spread(&point.value)
    )
}

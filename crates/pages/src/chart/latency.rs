//! Response times: the whole curve on HdrHistogram's axis, as far as the samples support it.

use super::WIDTH;
use super::lines::{Axis, LineSeries, Plot, Spot};
use super::text::time_tick;
use super::{Align, Chart, ChartKind, Table, name};
use crate::curve::{CurvePoint, curve};
use crate::material::Material;
use crate::scale::{Scale, percentile_name};
use crate::series::SeriesStyle;
use prony_record::{Distributions, Times};
use prony_report::show;

/// The share of the response time that the send delay must have, at p99, for it to be drawn on its own.
const LAG_MATTERS: f64 = 0.02;
/// Charts of the send delay in a page: those of the cells in which it is the largest share.
const LAG_CHARTS: usize = 8;

pub(super) fn charts(material: &Material) -> Vec<Chart> {
    let loads = material.loads();
    let many_rates = material.sweeps_rates();
    let mut all: Vec<Chart> = Vec::new();
    if !many_rates {
        all.extend(
            loads
                .iter()
                .filter_map(|(load, cells)| chart(material, load, cells)),
        );
    }
    all.extend(lags(material, many_rates));
    all
}

fn chart(material: &Material, load: &str, cells: &[usize]) -> Option<Chart> {
    let streams = cells
        .iter()
        .any(|&at| material.report.cells[at].latency.first_event.n > 0);
    let events: &[_] = match streams {
        true => &["first event p50", "first event p99", "gap p50", "gap p99"],
        false => &[],
    };
    let times = ["p50", "p90", "p99", "p99.9", "max", "samples"];
    let others = ["first byte p99", "service p99", "send delay p99"];
    let names = times.iter().chain(&others).chain(events);
    let columns = names.map(|&name| (name, Align::Right));
    let mut table = Table::new([("server", Align::Left)].into_iter().chain(columns));
    let mut lines = Vec::new();
    for &at in cells {
        let cell = &material.report.cells[at];
        let label = cell.label();
        let response = &cell.latency.response;
        let mut row = vec![
            label.clone(),
            show::time_within(response.p50, response.intervals.p50),
            show::time_within(response.p90, response.intervals.p90),
            show::time_within(response.p99, response.intervals.p99),
            show::time_within(response.p99_9, response.intervals.p99_9),
            show::time_or_dash(response.max),
            show::count(response.n),
            show::time_or_dash(cell.latency.first_byte.p99),
            show::time_or_dash(cell.latency.service.p99),
            show::time_or_dash(cell.latency.send_delay.p99),
        ];
        if streams {
            let (first, gap) = (&cell.latency.first_event, &cell.latency.gap);
            let all = [first.p50, first.p99, gap.p50, gap.p99];
            row.extend(all.map(show::time_or_dash));
        }
        table.row(row);
        let look = material.series.look(&label);
        lines.extend(line(
            &label,
            look,
            None,
            (&material.times[at].response, response.failed),
        ));
    }
    // Names are placed at the ends of lines, each on a line of its own.
    let height = (14.0 * lines.len() as f64 + 90.0).max(430.0);
    let plot = plot(lines, height)?;
    let closed = cells
        .iter()
        .all(|&at| material.report.cells[at].load.rate.is_none());
    let kind = match closed {
        true => {
            "The load is a closed loop: a connection asks again when it is answered, so a slow server \
             is asked less, and times at different throughputs are not times at the same work."
        }
        false => "Times run from when a request was due, whether or not it could be sent then.",
    };
    Some(Chart {
        name: name(&["latency", load]),
        kind: ChartKind::Latency,
        title: format!("Response times, load {load}"),
        note: format!(
            "{kind} Each curve ends at the highest percentile with ten samples beyond it; the maximum \
             stands in the table, and so do the 95% intervals of the percentiles (±)."
        ),
        width: plot.size.0,
        height: plot.size.1,
        drawing: plot.draw(),
        narrow: None,
        key: Vec::new(),
        table,
    })
}

/// Response, service and send delay of the cells in which the send delay matters.
fn lags(material: &Material, many_rates: bool) -> Vec<Chart> {
    let p99 = |times: &Times| match times.len() {
        0 => 0.0,
        _ => times.value_at_quantile(0.99) as f64,
    };
    let share = |times: &Distributions| p99(&times.send_delay) / p99(&times.response).max(1.0);
    let mut found: Vec<(usize, f64)> = material
        .times
        .iter()
        .map(share)
        .enumerate()
        .filter(|(_, share)| *share > LAG_MATTERS)
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let most = if many_rates { 1 } else { LAG_CHARTS };
    found.truncate(most);
    found
        .into_iter()
        .filter_map(|(at, _)| send_delay(material, at))
        .collect()
}

fn send_delay(material: &Material, at: usize) -> Option<Chart> {
    let cell = &material.report.cells[at];
    let times = &material.times[at];
    let label = cell.label();
    let look = |colour| SeriesStyle { colour, shape: 0 };
    let failed = cell.latency.response.failed;
    let parts = [
        ("response", (&times.response, failed), look(0), "none"),
        ("service", (&times.service, failed), look(1), "7 3"),
        ("send delay", (&times.send_delay, 0), look(2), "2 2.5"),
    ];
    let mut table = Table::new([
        ("time", Align::Left),
        ("p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("max", Align::Right),
    ]);
    let mut lines = Vec::new();
    for (what, times, look, dash) in parts {
        let of = prony_record::Percentiles::of(times.0, times.1);
        let row = [of.p50, of.p90, of.p99, of.p99_9, of.max].map(show::time_or_dash);
        table.row([what.to_owned()].into_iter().chain(row));
        lines.extend(line(what, look, Some(dash), times));
    }
    let plot = plot(lines, 380.0)?;
    let load = cell.load_label();
    Some(Chart {
        name: name(&["send-delay", &label, load]),
        kind: ChartKind::Latency,
        title: format!("Response, service and send delay: {label}, load {load}"),
        note: "A request is due, waits (send delay) until it can be sent, and is served. A tool that measures \
               from the sending on reports the service time and hides the rest."
            .into(),
        width: plot.size.0,
        height: plot.size.1,
        drawing: plot.draw(),
        narrow: None,
        key: Vec::new(),
        table,
    })
}

/// The curve of these times, and of requests that failed without one: it ends where they begin.
fn line(
    name: &str,
    look: SeriesStyle,
    dash: Option<&'static str>,
    (times, failed): (&Times, u64),
) -> Option<LineSeries> {
    let of_all = times.len() as f64 / (times.len() + failed).max(1) as f64;
    let points: Vec<CurvePoint> = curve(times)
        .into_iter()
        .map(|point| CurvePoint {
            quantile: point.quantile * of_all,
            ..point
        })
        .filter(|point| point.nanoseconds > 0)
        .collect();
    let last = points.last()?.nines();
    let at = |point: &CurvePoint| (point.nines(), point.nanoseconds as f64);
    // Marks where people look, and at the end.
    let wanted = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];
    let spots = wanted
        .into_iter()
        .map(|quantile| CurvePoint {
            quantile,
            nanoseconds: times.value_at_quantile((quantile / of_all).min(1.0)),
        })
        .filter(|point| point.nines() <= last + 1e-9 && point.nanoseconds > 0)
        .map(|point| {
            let (x, y) = at(&point);
            Spot {
                x,
                y,
                interval: None,
                trial: false,
                label: format!("{name}: {} {}", percentile_name(x), show::time(y)),
            }
        });
    Some(LineSeries {
        name: name.to_owned(),
        look,
        dash,
        spots: spots.collect(),
        path: points.iter().map(at).collect(),
        band: Vec::new(),
    })
}

fn plot(lines: Vec<LineSeries>, height: f64) -> Option<Plot> {
    if lines.is_empty() {
        return None;
    }
    let points = || lines.iter().flat_map(|line| &line.path);
    Some(Plot {
        size: (WIDTH, height),
        x: Axis {
            scale: Scale::nines(points().map(|point| point.0)),
            label: "percentile: as many requests were faster".into(),
            ticks: None,
            tick: percentile_name,
        },
        y: Axis {
            scale: Scale::log(points().map(|point| point.1)),
            label: "response time".into(),
            ticks: None,
            tick: time_tick,
        },
        lines,
        rules: Vec::new(),
        beside: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_marks_only_where_samples_are() {
        let mut times = Times::new(3).unwrap();
        (1..=2_000).for_each(|i| times.record(i * 1_000).unwrap());
        let line = line(
            "it",
            SeriesStyle {
                colour: 0,
                shape: 0,
            },
            None,
            (&times, 0),
        )
        .unwrap();
        let labels: Vec<&str> = line.spots.iter().map(|spot| spot.label.as_str()).collect();
        assert_eq!(labels.len(), 3, "{labels:?}");
        assert!(labels[2].starts_with("it: p99 1.98 ms"), "{labels:?}");
        // Where 5% failed, p95 is the last that is drawn.
        let failing = super::line("it", line.look, None, (&times, 105)).unwrap();
        assert_eq!(failing.spots.len(), 2, "p50 and p90");
        let none = Times::new(3).unwrap();
        assert!(super::line("it", line.look, None, (&none, 0)).is_none());
    }
}

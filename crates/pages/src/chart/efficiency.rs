//! CPU time per request against throughput: who is efficient, and who merely gets more CPUs.

use super::WIDTH;
use super::lines::{Axis, LineSeries, Plot, Rule, Spot};
use super::text::{plain, rate_tick, time_tick};
use super::throughput::precise;
use super::{Align, Chart, ChartKind, Table, name};
use crate::material::Material;
use crate::scale::Scale;
use prony_report::run::CellReport;
use prony_report::show;

/// CPUs at which a line is drawn.
const CPUS: [f64; 9] = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

pub(super) fn charts(material: &Material) -> Vec<Chart> {
    if material.sweeps_rates() {
        return Vec::new();
    }
    material
        .loads()
        .into_iter()
        .filter_map(|(load, cells)| chart(material, load, &cells))
        .collect()
}

fn chart(material: &Material, load: &str, cells: &[usize]) -> Option<Chart> {
    let cells: Vec<(&CellReport, f64, f64)> = cells
        .iter()
        .map(|&at| &material.report.cells[at])
        .filter_map(|cell| {
            let cpu = cell.server_cpu_us_per_request?.value * 1e3;
            Some((cell, cell.throughput.value(), cpu))
        })
        .filter(|(_, rate, cpu)| *rate > 0.0 && *cpu > 0.0)
        .collect();
    if cells.len() < 2 {
        return None;
    }
    let mut table = Table::new([
        ("server", Align::Left),
        ("requests/s", Align::Right),
        ("CPU/request", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
        ("CPUs used", Align::Right),
    ]);
    let lines = cells.iter().map(|(cell, rate, cpu)| {
        let label = cell.label();
        let of = cell.server_cpu_us_per_request;
        let end =
            |value: Option<f64>| value.map_or("–".into(), |us| show::time(us.max(0.0) * 1e3));
        table.row([
            label.clone(),
            precise(*rate),
            show::time(*cpu),
            end(of.and_then(|cpu| cpu.low)),
            end(of.and_then(|cpu| cpu.high)),
            format!("{:.2}", rate * cpu / 1e9),
        ]);
        let spot = Spot {
            x: *rate,
            y: *cpu,
            interval: of
                .and_then(|cpu| cpu.low.zip(cpu.high))
                .filter(|(low, _)| *low > 0.0)
                .map(|(low, high)| (low * 1e3, high * 1e3)),
            trial: false,
            label: format!(
                "{label}: {}, {} of CPU per request, {:.2} CPUs",
                precise(*rate),
                show::time(*cpu),
                rate * cpu / 1e9
            ),
        };
        LineSeries {
            look: material.series.look(&label),
            name: label,
            dash: None,
            path: Vec::new(),
            spots: vec![spot],
            band: Vec::new(),
        }
    });
    let lines: Vec<LineSeries> = lines.collect();
    let x = Scale::log(cells.iter().map(|cell| cell.1));
    // Intervals may reach far down on a logarithmic axis: a factor of three around is enough.
    let y = Scale::log(cells.iter().map(|cell| cell.2));
    let (xs, ys) = (x.range(), y.range());
    let rules = CPUS.iter().filter_map(|cpus| {
        // rate · cpu = cpus, in CPU seconds a second.
        let at = |rate: f64| cpus * 1e9 / rate;
        let from = xs.start.max(cpus * 1e9 / ys.end);
        let to = xs.end.min(cpus * 1e9 / ys.start);
        (from < to * 0.98).then(|| Rule {
            from: (from, at(from)),
            to: (to, at(to)),
            label: format!("{} CPU{}", plain(*cpus), if *cpus > 1.0 { "s" } else { "" }),
        })
    });
    let mut lines = lines;
    for spot in lines.iter_mut().flat_map(|line| &mut line.spots) {
        spot.interval = spot
            .interval
            .map(|(low, high)| (low.max(ys.start), high.min(ys.end)));
    }
    let plot = Plot {
        size: (WIDTH, 440.0),
        rules: rules.collect(),
        x: Axis {
            scale: x,
            label: "requests per second".into(),
            ticks: None,
            tick: rate_tick,
        },
        y: Axis {
            scale: y,
            label: "CPU time per request".into(),
            ticks: None,
            tick: time_tick,
        },
        lines,
        beside: true,
    };
    Some(Chart {
        name: name(&["cpu", load]),
        kind: ChartKind::Cost,
        title: format!("CPU time per request against throughput, load {load}"),
        note: "Down is efficient, right is fast. Servers on the same dashed line use the same number of \
               CPUs: one that is to the right on a higher line has got more of the machine, not more out \
               of it."
            .into(),
        width: plot.size.0,
        height: plot.size.1,
        drawing: plot.draw(),
        narrow: None,
        key: Vec::new(),
        table,
    })
}

//! Throughput over workers, with the law that fits.

use super::WIDTH;
use super::lines::{Axis, LineSeries, Plot, Spot};
use super::text::{plain, rate_tick};
use super::throughput::precise;
use super::{Align, Chart, ChartKind, Table, name};
use crate::material::Material;
use crate::scale::Scale;
use crate::series::SeriesStyle;
use prony_report::run::CellReport;
use prony_report::scaling::ScalingReport;
use prony_stats::Estimate;
use prony_stats::scaling::{Fit, Law, Noise, Scaling, fit};

/// Places at which a law is drawn.
const STEPS: u32 = 48;

pub(super) fn charts(material: &Material) -> Vec<Chart> {
    material
        .report
        .scaling
        .iter()
        .map(|scaling| chart(material, scaling))
        .collect()
}

fn chart(material: &Material, scaling: &ScalingReport) -> Chart {
    let mut cells: Vec<&CellReport> = material
        .report
        .cells
        .iter()
        .filter(|cell| cell.server == scaling.server && cell.load_label() == scaling.load)
        .collect();
    cells.sort_by_key(|cell| cell.workers);
    let look = SeriesStyle {
        colour: 0,
        shape: 0,
    };
    let mut table = Table::new([
        ("workers", Align::Left),
        ("requests/s", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
        ("of one worker's", Align::Right),
    ]);
    let first = cells
        .first()
        .map(|cell| cell.throughput.value() / f64::from(cell.workers));
    let mut spots = Vec::new();
    let mut points = Vec::new();
    for cell in &cells {
        let rate = &cell.throughput;
        let end = |value: Option<f64>| value.map_or("–".into(), precise);
        table.row([
            cell.workers.to_string(),
            precise(rate.value()),
            end(rate.low()),
            end(rate.high()),
            first.map_or("–".into(), |first| {
                format!("{:.2}×", rate.value() / first)
            }),
        ]);
        for part in material.trials_of(cell) {
            let Some(rate) = part.trial().figures.throughput.filter(|rate| *rate > 0.0) else {
                continue;
            };
            points.push((f64::from(cell.workers), rate));
            spots.push(Spot {
                x: f64::from(cell.workers),
                y: rate,
                interval: None,
                trial: true,
                label: format!(
                    "{} workers, round {}: {}",
                    cell.workers,
                    part.trial().round + 1,
                    precise(rate)
                ),
            });
        }
        spots.push(Spot {
            x: f64::from(cell.workers),
            y: rate.value(),
            interval: rate.low().map(|low| low.max(0.0)).zip(rate.high()),
            trial: false,
            label: super::throughput::words(&format!("{} workers", cell.workers), rate),
        });
    }
    let most = cells.last().map_or(1.0, |cell| f64::from(cell.workers));
    let fitted = match fit(&points, Law::Universal, Noise::Proportional) {
        Ok(Fit::Fitted(fitted)) => Some(fitted),
        _ => None,
    };
    let (path, band) = fitted
        .as_ref()
        .map_or_else(Default::default, |fitted| law(fitted, most));
    let mut lines = Vec::new();
    if let Some(first) = first {
        // What each further worker would bring if it cost nothing.
        lines.push(LineSeries {
            name: "linear".into(),
            look: SeriesStyle {
                colour: 7,
                shape: 2,
            },
            dash: None,
            path: vec![(1.0, first), (most, first * most)],
            spots: Vec::new(),
            band: Vec::new(),
        });
    }
    lines.push(LineSeries {
        name: if path.is_empty() {
            String::new()
        } else {
            "fitted law".into()
        },
        look,
        dash: Some("none"),
        path,
        spots,
        band,
    });
    let highest = lines.iter().flat_map(|line| {
        let path = line.path.iter().map(|point| point.1);
        let spots = line
            .spots
            .iter()
            .map(|spot| spot.interval.map_or(spot.y, |(_, high)| high));
        path.chain(spots).collect::<Vec<_>>()
    });
    let ticks: Vec<f64> = cells.iter().map(|cell| f64::from(cell.workers)).collect();
    let plot = Plot {
        size: (WIDTH, 380.0),
        y: Axis {
            scale: Scale::from_zero(highest),
            label: "requests per second".into(),
            ticks: None,
            tick: rate_tick,
        },
        x: Axis {
            scale: Scale::from_zero([most]),
            label: "workers".into(),
            ticks: Some(ticks),
            tick: plain,
        },
        lines,
        rules: Vec::new(),
        beside: false,
    };
    let number = |what: &str, value: &Option<Estimate>| {
        value
            .as_ref()
            .map_or(String::new(), |value| match value.interval() {
                Some(i) => format!(
                    " {what} {:.4} ({:.4} to {:.4}).",
                    value.value(),
                    i.low(),
                    i.high()
                ),
                None => format!(" {what} {:.4}.", value.value()),
            })
    };
    Chart {
        name: name(&["scaling", &scaling.server, &scaling.load]),
        kind: ChartKind::Scaling,
        title: format!("Workers: {}, load {}", scaling.server, scaling.load),
        note: format!(
            "{}.{}{}{}",
            scaling.sentence,
            number("Contention σ", &scaling.sigma),
            number("Coherency κ", &scaling.kappa),
            if fitted.is_some() {
                " The band is the 95% CI of the Universal Scalability Law's fit; beyond what was \
                 measured nothing is drawn."
            } else {
                ""
            }
        ),
        width: plot.size.0,
        height: plot.size.1,
        drawing: plot.draw(),
        narrow: None,
        key: Vec::new(),
        table,
    }
}

type Drawn = (Vec<(f64, f64)>, Vec<(f64, f64, f64)>);

/// The law and its band from one worker to the most that were measured.
fn law(fitted: &Scaling, most: f64) -> Drawn {
    let at = |step: u32| 1.0 + (most - 1.0) * f64::from(step) / f64::from(STEPS);
    let places = || (0..=STEPS).map(at);
    let band = places().filter_map(|n| {
        let band = fitted.band(n)?;
        Some((
            n,
            band.low().max(0.0),
            band.high().min(3.0 * fitted.rate(n)),
        ))
    });
    (
        places().map(|n| (n, fitted.rate(n))).collect(),
        band.collect(),
    )
}

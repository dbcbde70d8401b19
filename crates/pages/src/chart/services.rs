//! CPU time per request of servers and their services: own code, kernel, each service.

use super::text::{plain, px, shortened, width};
use super::{Align, Chart, ChartKind, Table, WIDTH, mark, name};
use crate::material::Material;
use crate::scale::Scale;
use crate::series::SeriesStyle;
use maud::{Markup, html};
use prony_record::Resources;
use prony_report::show;

const ROW: f64 = 27.0;
const BAR: f64 = 15.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 46.0;
/// Characters of a name; a longer one is whole in the table.
const NAME: usize = 30;

/// A server's parts, each with its name and its nanoseconds per request.
struct Bar {
    label: String,
    parts: Vec<(String, f64)>,
}

impl Bar {
    fn whole(&self) -> f64 {
        self.parts.iter().map(|(_, cpu)| cpu).sum()
    }
}

pub(super) fn charts(material: &Material) -> Vec<Chart> {
    if material.sweeps_rates() {
        return Vec::new();
    }
    let loads = material.loads().into_iter();
    loads
        .filter_map(|(load, cells)| chart(material, load, &cells))
        .collect()
}

/// The bar of a cell; None without services.
fn bar(material: &Material, at: usize) -> Option<Bar> {
    let cell = &material.report.cells[at];
    let own = cell.server_cpu_us_per_request?.value * 1e3;
    if cell.services.is_empty() {
        return None;
    }
    let mut used = Resources::default();
    let trials = material.trials_of(cell);
    for seen in trials.iter().filter_map(|part| part.measured()) {
        used.merge(&seen.resources);
    }
    let mut parts = match used.user_share() {
        Some(share) => vec![
            ("own code".to_owned(), own * share),
            ("kernel".to_owned(), own * (1.0 - share)),
        ],
        None => vec![("server".to_owned(), own)],
    };
    let services = cell.services.iter();
    parts.extend(services.map(|cost| (cost.name.clone(), cost.cpu_ns)));
    Some(Bar {
        label: cell.label(),
        parts,
    })
}

fn chart(material: &Material, load: &str, cells: &[usize]) -> Option<Chart> {
    let bars = cells.iter().filter_map(|&at| bar(material, at));
    let mut bars: Vec<Bar> = bars.collect();
    bars.sort_by(|a, b| a.whole().total_cmp(&b.whole()));
    let mut kinds: Vec<&str> = Vec::new();
    for (kind, _) in bars.iter().flat_map(|bar| &bar.parts) {
        if !kinds.contains(&kind.as_str()) {
            kinds.push(kind);
        }
    }
    let look = |kind: &str| SeriesStyle {
        colour: kinds.iter().position(|it| *it == kind).unwrap_or(0),
        shape: 1,
    };
    let mut table = Table::new([
        ("server", Align::Left),
        ("CPU time of", Align::Left),
        ("per request", Align::Right),
    ]);
    for bar in &bars {
        for (kind, cpu) in &bar.parts {
            table.row([bar.label.clone(), kind.clone(), show::time(*cpu)]);
        }
    }
    let key = kinds
        .iter()
        .map(|&kind| (mark::sample(look(kind)), kind.to_owned()));
    (!bars.is_empty()).then(|| Chart {
        name: name(&["cpu", load]),
        kind: ChartKind::Cost,
        title: format!("CPU time of servers and services, load {load}"),
        note: "Of a request: the server's own code, the kernel on its behalf, and each of its services.".into(),
        width: WIDTH,
        height: TOP + ROW * bars.len() as f64 + BOTTOM,
        drawing: draw(&bars, &look),
        narrow: None,
        key: key.collect(),
        table,
    })
}

fn draw(bars: &[Bar], look: &dyn Fn(&str) -> SeriesStyle) -> Markup {
    let names = bars.iter().map(|bar| width(&shortened(&bar.label, NAME)));
    let left = 24.0 + names.fold(0.0, f64::max);
    let right = WIDTH - 90.0;
    let scale = Scale::from_zero(bars.iter().map(Bar::whole));
    let x = |value: f64| scale.place(value, left, right);
    let bottom = TOP + ROW * bars.len() as f64;
    html! {
        @for tick in scale.ticks(7) {
            line.grid x1=(px(x(tick))) x2=(px(x(tick))) y1=(px(TOP)) y2=(px(bottom)) {}
            text.tick x=(px(x(tick))) y=(px(bottom + 16.0)) text-anchor="middle" { (plain(tick / 1e3)) }
        }
        line.axis x1=(px(left)) x2=(px(right)) y1=(px(bottom)) y2=(px(bottom)) {}
        text.label x=(px((left + right) / 2.0)) y=(px(bottom + 36.0)) text-anchor="middle" { "µs of CPU time per request" }
        @for (at, bar) in bars.iter().enumerate() {
            @let y = TOP + ROW * (at as f64 + 0.5);
            text.name x=(px(left - 10.0)) y=(px(y + 4.0)) text-anchor="end" { (shortened(&bar.label, NAME)) }
            @for (place, (kind, cpu)) in bar.parts.iter().enumerate() {
                @let before: f64 = bar.parts[..place].iter().map(|(_, cpu)| cpu).sum();
                rect class=(format!("m {}", look(kind).class())) x=(px(x(before))) y=(px(y - BAR / 2.0))
                    width=(px(x(before + cpu) - x(before))) height=(px(BAR)) tabindex="-1" role="img"
                    aria-label=(format!("{}, {kind}: {}", bar.label, show::time(*cpu))) {}
            }
            text.tick x=(px(x(bar.whole()) + 8.0)) y=(px(y + 4.0)) { (show::time(bar.whole())) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_parts_together() {
        let bars = [Bar {
            label: "<app>".into(),
            parts: vec![
                ("own code".into(), 30_000.0),
                ("kernel".into(), 20_000.0),
                ("postgres".into(), 50_000.0),
            ],
        }];
        let look = |_: &str| SeriesStyle {
            colour: 0,
            shape: 1,
        };
        let drawn = draw(&bars, &look).into_string();
        assert_eq!(drawn.matches("<rect").count(), 3);
        assert!(drawn.contains("&lt;app&gt;, postgres: 50.0 µs"), "{drawn}");
        assert!(drawn.contains(">100 µs<"), "{drawn}");
    }
}

//! Memory: the most that each trial's processes held.

use super::rows::{NARROW_TRIALS, Row, Rows};
use super::text::plain;
use super::{Align, Chart, ChartKind, Table, name};
use crate::material::Material;
use crate::scale::Scale;
use prony_record::Resources;
use prony_report::show;

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
    let mut table = Table::new([
        ("server", Align::Left),
        ("least of the trials' peaks", Align::Right),
        ("most", Align::Right),
        ("processes", Align::Right),
        ("threads", Align::Right),
    ]);
    let mut rows: Vec<Row> = Vec::new();
    for &at in cells {
        let cell = &material.report.cells[at];
        let label = cell.label();
        let parts = material.trials_of(cell);
        let peaks: Vec<(f64, String)> = parts
            .iter()
            .filter_map(|part| {
                let bytes = part
                    .trial()
                    .figures
                    .rss_peak_bytes
                    .filter(|bytes| *bytes > 0)? as f64;
                let round = part.trial().round + 1;
                Some((
                    bytes,
                    format!("{label}, round {round}: {}", show::bytes(bytes)),
                ))
            })
            .collect();
        let Some(most) = peaks.iter().map(|peak| peak.0).reduce(f64::max) else {
            continue;
        };
        let least = peaks.iter().map(|peak| peak.0).fold(most, f64::min);
        let of = |what: fn(&Resources) -> u64| {
            let values = parts
                .iter()
                .filter_map(|part| Some(what(&part.measured()?.resources)));
            values
                .max()
                .filter(|n| *n > 0)
                .map_or("–".into(), |n| n.to_string())
        };
        table.row([
            label.clone(),
            show::bytes(least),
            show::bytes(most),
            of(|used| used.processes),
            of(|used| used.threads),
        ]);
        rows.push(Row {
            baseline: label == material.report.run.baseline,
            look: material.series.look(&label),
            value: (most, format!("{label}: at most {}", show::bytes(most))),
            interval: None,
            foreign: Vec::new(),
            text: vec![show::bytes(most)],
            checks: (0, false),
            groups: String::new(),
            trials: peaks,
            name: label,
        });
    }
    if rows.is_empty() {
        return None;
    }
    rows.sort_by(|a, b| a.value.0.total_cmp(&b.value.0));
    let scale = Scale::log(
        rows.iter()
            .flat_map(|row| row.trials.iter().map(|peak| peak.0)),
    );
    let drawn = Rows {
        rows: &rows,
        scale: &scale,
        axis: "most memory of all its processes (resident), logarithmic".into(),
        tick,
        rule: None,
    };
    let (drawing, width, height) = drawn.draw();
    let trials: usize = rows.iter().map(|row| row.trials.len()).sum();
    let narrow = (trials <= NARROW_TRIALS).then(|| drawn.narrow());
    Some(Chart {
        name: name(&["memory", load]),
        kind: ChartKind::Cost,
        title: format!("Memory, load {load}"),
        note: "Small dots are trials; the mark is the most of any of them. Pages that processes share \
               count once for each."
            .into(),
        width,
        height,
        drawing,
        narrow,
        key: Vec::new(),
        table,
    })
}

/// Bytes at a tick.
fn tick(bytes: f64) -> String {
    match bytes {
        b if b >= 1e9 => format!("{} GB", plain(b / 1e9)),
        b if b >= 1e6 => format!("{} MB", plain(b / 1e6)),
        b => format!("{} kB", plain(b / 1e3)),
    }
}

//! Response times by the name of the request, where a load sends several.

use super::rows::{NARROW_TRIALS, Row, Rows};
use super::text::time_tick;
use super::{Align, Chart, ChartKind, Table, name};
use crate::material::Material;
use crate::scale::Scale;
use prony_record::Percentiles;
use prony_record::by_request::RequestReport;
use prony_report::run::CellReport;
use prony_report::show;
use prony_stats::summary::median;

/// A percentile: its name, how the axis calls it, and how to get it.
type Pick = (&'static str, &'static str, fn(&Percentiles) -> Option<u64>);

/// The percentiles that can be drawn, the best first: a trial has one only where its samples support it.
const PICKS: [Pick; 3] = [
    ("p99", "99th percentile", |times| times.p99),
    ("p90", "90th percentile", |times| times.p90),
    ("p50", "median", |times| times.p50),
];

/// The requests of one name to one server, in all trials.
struct NamedRequests<'a> {
    name: &'a str,
    cell: &'a CellReport,
    /// The round of each trial, from 1 on, and what was seen in it.
    trials: Vec<(u32, &'a RequestReport)>,
    /// Requests of all names that have ended.
    ended: u64,
}

impl NamedRequests<'_> {
    /// A percentile in each trial that has it, with the trial's round.
    fn each(&self, pick: fn(&Percentiles) -> Option<u64>) -> Vec<(u32, f64)> {
        let trials = self.trials.iter();
        trials
            .filter_map(|(round, seen)| Some((*round, pick(&seen.response)? as f64)))
            .collect()
    }

    /// The median over the trials.
    fn median(&self, pick: fn(&Percentiles) -> Option<u64>) -> Option<f64> {
        let values: Vec<f64> = self.each(pick).iter().map(|value| value.1).collect();
        median(&values)
    }

    fn sum(&self, of: fn(&RequestReport) -> u64) -> u64 {
        self.trials.iter().map(|(_, seen)| of(seen)).sum()
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

/// All names of a load, each with all servers, in the order of the file.
fn named<'a>(material: &'a Material, cells: &[usize]) -> Vec<NamedRequests<'a>> {
    let mut all: Vec<NamedRequests<'a>> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for &at in cells {
        let cell = &material.report.cells[at];
        let mut own: Vec<NamedRequests<'a>> = Vec::new();
        for part in material.trials_of(cell) {
            let round = part.trial().round + 1;
            let seen = part.measured().into_iter().flat_map(|seen| &seen.requests);
            for seen in seen {
                if !names.contains(&seen.name.as_str()) {
                    names.push(&seen.name);
                }
                match own.iter_mut().find(|known| known.name == seen.name) {
                    Some(known) => known.trials.push((round, seen)),
                    None => own.push(NamedRequests {
                        name: &seen.name,
                        cell,
                        trials: vec![(round, seen)],
                        ended: 0,
                    }),
                }
            }
        }
        let ended = own.iter().map(|one| one.sum(|it| it.outcomes.finished()));
        let ended = ended.sum();
        all.extend(own.into_iter().map(|one| NamedRequests { ended, ..one }));
    }
    // Stable: within a name, servers stay in their order.
    all.sort_by_key(|one| names.iter().position(|name| *name == one.name));
    all
}

fn chart(material: &Material, load: &str, cells: &[usize]) -> Option<Chart> {
    let all = named(material, cells);
    if all.is_empty() {
        return None;
    }
    let has = |pick: &&Pick| all.iter().all(|one| one.median(pick.2).is_some());
    let &(short, long, pick) = PICKS.iter().find(has).unwrap_or(&PICKS[2]);
    let rows = all
        .iter()
        .filter_map(|one| row(material, one, (short, pick)));
    let rows: Vec<Row> = rows.collect();
    let values = rows.iter().flat_map(|row| {
        let trials = row.trials.iter().map(|trial| trial.0);
        trials.chain([row.value.0])
    });
    let scale = Scale::log(values);
    let drawn = Rows {
        rows: &rows,
        scale: &scale,
        axis: format!("response time, {long}, logarithmic"),
        tick: time_tick,
        rule: None,
    };
    let (drawing, width, height) = drawn.draw();
    let trials: usize = rows.iter().map(|row| row.trials.len()).sum();
    let narrow = (trials <= NARROW_TRIALS).then(|| drawn.narrow());
    Some(Chart {
        name: name(&["requests", load]),
        kind: ChartKind::Requests,
        title: format!("Response times by request, {short}, load {load}"),
        note: "Small dots are trials; the mark is their median, and so are the percentiles of the table: of each \
               name and trial only these are kept. Answers and failures are sums."
            .into(),
        width,
        height,
        drawing,
        narrow,
        key: Vec::new(),
        table: table(&all),
    })
}

fn row(
    material: &Material,
    one: &NamedRequests<'_>,
    (short, pick): (&str, fn(&Percentiles) -> Option<u64>),
) -> Option<Row> {
    let label = one.cell.label();
    let name = format!("{} · {label}", one.name);
    let value = one.median(pick)?;
    let told = |round: u32, value| format!("{name}, round {round}: {short} {}", show::time(value));
    let trials = one.each(pick).into_iter();
    let failed = one.sum(|it| it.outcomes.failed());
    Some(Row {
        baseline: label == material.report.run.baseline,
        look: material.series.look(&label),
        trials: trials
            .map(|(round, value)| (value, told(round, value)))
            .collect(),
        value: (
            value,
            format!("{name}: median of {short} {}", show::time(value)),
        ),
        interval: None,
        foreign: Vec::new(),
        text: vec![
            show::time(value),
            match failed {
                0 => String::new(),
                n => format!("{} failed", show::count(n)),
            },
        ],
        checks: (0, false),
        groups: String::new(),
        name,
    })
}

fn table(all: &[NamedRequests<'_>]) -> Table {
    let mut table = Table::new([
        ("request", Align::Left),
        ("server", Align::Left),
        ("share", Align::Right),
        ("answers", Align::Right),
        ("failed", Align::Right),
        ("p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
    ]);
    for one in all {
        let ended = one.sum(|it| it.outcomes.finished());
        let share = match one.ended {
            0 => "–".to_owned(),
            all => format!("{:.1}%", 100.0 * ended as f64 / all as f64),
        };
        let median = |pick| one.median(pick).map_or("–".into(), show::time);
        let max = one.trials.iter().filter_map(|(_, it)| it.response.max);
        table.row([
            one.name.to_owned(),
            one.cell.label(),
            share,
            show::count(one.sum(|it| it.outcomes.ok)),
            show::count(one.sum(|it| it.outcomes.failed())),
            median(|times| times.p50),
            median(|times| times.p90),
            median(|times| times.p99),
            show::time_or_dash(max.max()),
        ]);
    }
    table
}

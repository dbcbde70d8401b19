//! Two runs compared, cell by cell.

mod why;

use crate::kept::ReportError;
use crate::show;
use crate::table::{Align, TextTable};
use prony_notebook::{Notebook, StoredRun};
use prony_record::verdict::{Quantity, Verdict};
use prony_record::{ServerLimits, TrialStatus};
use prony_stats::compare::verdict;
use prony_stats::fieller::ratio_of_means;
use prony_stats::{Estimate, StatsError};
use prony_verdict::why::Anatomy;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The output of `prony diff --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "prony diff")]
pub struct DiffReport {
    /// The earlier run's number.
    pub before: i64,
    /// The later run's number.
    pub after: i64,
    /// Differences smaller than this count as none, as a share.
    pub band: f64,
    /// Differences between the runs besides the servers: host, kernel, version of prony, limits of servers.
    pub differences: Vec<String>,
    /// Every server under every load that both runs have.
    pub cells: Vec<CellChange>,
    /// Servers under loads that only one run has, or has answers of, and costs of requests that are not compared, in
    /// words.
    pub unmatched: Vec<String>,
    /// Cost of a request for each server that both runs have looked into (`--why`), the earlier run's side first.
    pub why: Vec<Anatomy>,
}

/// How a server under a load has changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellChange {
    /// The server's label.
    pub server: String,
    /// The load's label.
    pub load: String,
    /// Throughput of the later run as a multiple of the earlier's.
    pub throughput: Estimate,
    /// The verdict on it.
    pub throughput_verdict: Verdict,
    /// CPU time per request, likewise; null when unknown.
    pub cpu: Option<Estimate>,
    /// The verdict on it; null when unknown.
    pub cpu_verdict: Option<Verdict>,
}

/// The starts of a cell: the throughput of each one, and its CPU time per request.
#[derive(Debug, Clone, Default)]
struct Starts {
    rates: Vec<f64>,
    cpu: Vec<f64>,
}

impl Starts {
    /// Was anything answered at all? Of zero there is no ratio.
    fn answered(&self) -> bool {
        self.rates.iter().any(|&rate| rate > 0.0)
    }
}

impl DiffReport {
    /// Compares two runs of the notebook.
    ///
    /// # Errors
    /// When the notebook cannot be read.
    pub fn new(
        notebook: &Notebook,
        before: &StoredRun,
        after: &StoredRun,
        band: f64,
    ) -> Result<Self, ReportError> {
        let (old, new) = (cells(notebook, before)?, cells(notebook, after)?);
        let (mut changes, mut silent) = (Vec::new(), Vec::new());
        for (key, new) in &new {
            let Some(old) = old.get(key) else { continue };
            let bad = |error: StatsError| ReportError::Unreadable {
                run: after.id.0,
                what: error.to_string(),
            };
            if old.answered() && new.answered() {
                changes.push(change(key, old, new, band).map_err(bad)?);
            } else {
                silent.push(format!(
                    "{} under {}: no answers in run {}",
                    key.1,
                    key.0,
                    if old.answered() {
                        after.id.0
                    } else {
                        before.id.0
                    }
                ));
            }
        }
        let only = |ours: &Cells, theirs: &Cells, run: i64| -> Vec<String> {
            let missing = ours.keys().filter(|key| !theirs.contains_key(*key));
            missing
                .map(|(load, server)| format!("{server} under {load}: only in run {run}"))
                .collect()
        };
        let mut unmatched = only(&old, &new, before.id.0);
        unmatched.extend(only(&new, &old, after.id.0));
        unmatched.extend(silent);
        let (why, left_out) = why::compared(notebook, before, after)?;
        unmatched.extend(left_out);
        Ok(Self {
            before: before.id.0,
            after: after.id.0,
            band,
            differences: differences(before, after),
            cells: changes,
            unmatched,
            why,
        })
    }

    /// The report as text for a terminal of `width` columns.
    pub fn text(&self, width: usize) -> String {
        let mut out = format!("run {} against run {}\n", self.after, self.before);
        for difference in &self.differences {
            let _ = writeln!(out, "not the same: {difference}");
        }
        let mut table = TextTable::new([
            ("server", Align::Left),
            ("load", Align::Left),
            ("throughput", Align::Right),
            ("95% CI", Align::Left),
            ("verdict", Align::Left),
            ("CPU/req", Align::Right),
            ("95% CI", Align::Left),
            ("verdict", Align::Left),
        ])
        .keys(2);
        let between = |ratio: &Estimate| {
            ratio.interval().map_or("–".to_owned(), |interval| {
                format!("{:.3} to {:.3}", interval.low(), interval.high())
            })
        };
        for cell in &self.cells {
            table.row([
                cell.server.clone(),
                cell.load.clone(),
                show::ratio(cell.throughput.value()),
                between(&cell.throughput),
                called(cell.throughput_verdict, self.band),
                cell.cpu.map_or("–".into(), |cpu| show::ratio(cpu.value())),
                cell.cpu.as_ref().map_or("–".into(), between),
                cell.cpu_verdict
                    .map_or_else(String::new, |it| called(it, self.band)),
            ]);
        }
        let _ = write!(out, "\n{}", table.fit(width));
        for unmatched in &self.unmatched {
            let _ = writeln!(out, "{unmatched}");
        }
        if self.cells.is_empty() {
            let _ = writeln!(out, "the runs have no server under the same load in common");
        }
        for anatomy in &self.why {
            out += &crate::why::text(anatomy, width);
        }
        out
    }
}

/// A verdict in a table, with the equivalence margin where that is what it speaks of.
#[must_use]
pub fn called(verdict: Verdict, band: f64) -> String {
    match verdict {
        Verdict::Same => format!("no difference above {}", show::percent(band)),
        other => other.to_string(),
    }
}

type Cells = BTreeMap<(String, String), Starts>;

/// The cells of a run, by load and server.
fn cells(notebook: &Notebook, run: &StoredRun) -> Result<Cells, ReportError> {
    let mut cells = Cells::new();
    for stored in notebook.trials(run.id)? {
        let trial = &stored.trial;
        let (TrialStatus::Ok, Some(throughput)) = (trial.status, trial.figures.throughput) else {
            continue;
        };
        let key = (trial.cell.clone(), trial.label());
        let starts = cells.entry(key).or_default();
        starts.rates.push(throughput);
        starts.cpu.extend(trial.figures.cpu_ns_per_request);
    }
    Ok(cells)
}

fn change(
    (load, server): &(String, String),
    old: &Starts,
    new: &Starts,
    band: f64,
) -> Result<CellChange, StatsError> {
    let throughput = ratio_of_means(&new.rates, &old.rates)?;
    let cpu = match old.cpu.is_empty() || new.cpu.is_empty() {
        true => None,
        false => ratio_of_means(&new.cpu, &old.cpu).ok(),
    };
    let found = |ratio: &Estimate, quantity: Quantity| {
        verdict(ratio, band, quantity.better()).map(|found| Verdict::of(found, quantity))
    };
    let cpu_verdict = match &cpu {
        None => None,
        Some(ratio) => Some(found(ratio, Quantity::Cpu)?),
    };
    Ok(CellChange {
        server: server.clone(),
        load: load.clone(),
        throughput_verdict: found(&throughput, Quantity::Throughput)?,
        throughput,
        cpu,
        cpu_verdict,
    })
}

fn differences(before: &StoredRun, after: &StoredRun) -> Vec<String> {
    let described = |run: &StoredRun| {
        let host = &run.facts.host;
        [
            ("kernel", host.kernel.clone()),
            ("cpu", host.cpu.clone()),
            ("cpus", host.cpus.to_string()),
            ("memory", show::bytes(host.memory as f64)),
            ("prony", run.facts.prony_version.clone()),
            (
                "limits of each server",
                limits(&run.facts.experiment.limits),
            ),
        ]
    };
    described(before)
        .into_iter()
        .zip(described(after))
        .filter(|(before, after)| before != after)
        .map(|((what, before), (_, after))| format!("{what}: {before} and {after}"))
        .collect()
}

/// Limits in words; `none` without any.
fn limits(limits: &ServerLimits) -> String {
    match limits.is_none() {
        true => "none".to_owned(),
        false => limits.to_string(),
    }
}

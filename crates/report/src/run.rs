//! The report of a run, made from its trials.

mod cell;
mod composite;
pub mod generators;
mod over;
pub mod rigs;
mod text;
pub mod times;

use crate::published::{Beside, MeasuredCell};
use crate::scaling::{ScalingPoint, ScalingReport, scaling};
use prony_checks::ceiling;
use prony_record::calibration::Calibration;
use prony_record::published::Published;
use prony_record::trial::label;
use prony_record::{
    CheckId, Finding, IdleConnections, Latency, Load, ServiceCost, Severity, Step, Trial,
    TrialStatus,
};
use prony_stats::Estimate;
use prony_verdict::why::Anatomy;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use times::CellTimes;

pub use composite::{CompositeReport, CompositeServer};
pub use generators::GeneratorReport;
pub use over::OverReport;
pub use rigs::RigReport;
pub use text::{TOGETHER, idle_of, services_of, streams_of};

/// Output of `prony run --json` and `prony report --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "prony run")]
pub struct RunReport {
    /// The run.
    pub run: RunHead,
    /// Every server under every load.
    pub cells: Vec<CellReport>,
    /// Trials that yielded nothing, and servers that did not take part.
    pub failures: Vec<FailureReport>,
    /// One figure for each server over all loads; null where the experiment does not weigh them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub composite: Option<CompositeReport>,
    /// How throughput grows with the number of workers, for servers that were measured with several.
    pub scaling: Vec<ScalingReport>,
    /// Cost of encryption and HTTP/2 for each server, compared with itself over plain HTTP/1.1.
    pub over: Vec<OverReport>,
    /// The rigs that the rounds were divided among, and how much they differ; empty where there was one.
    pub rigs: Vec<RigReport>,
    /// The machines that sent the load, where others than prony's own did.
    pub generators: Vec<GeneratorReport>,
    /// Figures that others have published, beside measured ones; null where there are none.
    pub published: Option<Beside>,
    /// Why the servers differ: what a request costs each, part by part; only with `--why`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Anatomy>,
}

/// A run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunHead {
    /// Number of the run in the notebook.
    pub id: i64,
    /// The experiment's name.
    pub name: String,
    /// Title of the run, which describes the comparison.
    pub title: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// `running`, `finished`, `interrupted` or `failed`.
    pub status: String,
    /// Why it failed; null otherwise.
    pub failure: Option<String>,
    /// Contract or requests that the servers had to answer, in words.
    pub contract: String,
    /// The server that the others are compared with.
    pub baseline: String,
    /// The server behind every gateway; null when there was none.
    pub upstream: Option<String>,
    /// Rounds that were planned.
    pub rounds: u32,
    /// CPUs of the server and of the generator, in words.
    pub placement: String,
    /// Kernel and CPU.
    pub host: String,
    /// prony's version.
    pub prony: String,
}

/// A server under a load, over all its trials.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CellReport {
    /// The server's name.
    pub server: String,
    /// Number of the server's workers.
    pub workers: u32,
    /// The load.
    pub load: Load,
    /// Trials that yielded figures: the n of the intervals.
    pub trials: u64,
    /// The server kept its contract in every trial: before the load, under it and after it.
    pub verified: bool,
    /// Verified answers in the measurements of all trials.
    pub answers: u64,
    /// Verified answers per second: mean over the trials, with its interval.
    pub throughput: Estimate,
    /// Events per second of streams: mean over the trials, with its interval; absent where no answer was a stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Estimate>,
    /// Latency over all trials together; the intervals are over trials as well.
    pub latency: Latency,
    /// The server's CPU time per verified answer, in microseconds.
    pub server_cpu_us_per_request: Option<MicrosecondsPerRequest>,
    /// Idle connections during its loads; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleConnections>,
    /// Costs of each of its services per request, over all trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceCost>,
    /// The most memory of any trial, in bytes.
    pub rss_peak_bytes: u64,
    /// The most memory of a trial, in bytes: the mean over the trials, with its interval; null when unknown.
    pub memory: Option<Estimate>,
    /// The longest response time of a trial, in nanoseconds: the mean over the trials, with its interval.
    pub longest: Option<Estimate>,
    /// The share of requests that failed, over all trials, 0 to 1.
    pub errors: f64,
    /// Throughput as a multiple of the baseline's under the same load, paired by round; null when
    /// no round has both. With three servers or more the intervals hold together: all of a load's in
    /// 97.5%, which leaves the letters of `group` the rest of the 5%.
    pub ratio: Option<Estimate>,
    /// Connections of each of its event loops (processes or threads, as seen from outside), the most
    /// first, in the trial where they were spread least evenly; empty when none could be seen.
    pub connections_per_worker: Vec<u32>,
    /// Steps of the verification that its stack cannot pass, with the reason.
    pub expected_failures: BTreeMap<String, String>,
    /// The groups that it belongs to, as letters: between servers that share a letter there is no
    /// significant difference. It shares none with the baseline exactly if the interval of `ratio` does
    /// not hold 1; of the other pairs, paired t tests over the rounds are believed at a false discovery
    /// rate of 2.5%. Null with fewer than three servers.
    pub group: Option<String>,
    /// Findings of the checks.
    pub checks: Vec<Finding>,
    #[serde(skip)]
    load_label: String,
}

impl CellReport {
    /// The server's label: `name`, or `name@workers` with more than one.
    pub fn label(&self) -> String {
        label(&self.server, self.workers)
    }

    /// The load's label.
    pub fn load_label(&self) -> &str {
        &self.load_label
    }
}

/// CPU time per request: mean over the trials, with its 95% CI.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MicrosecondsPerRequest {
    /// The mean, in microseconds.
    pub value: f64,
    /// The lower end; null with a single trial.
    pub low: Option<f64>,
    /// The upper end; null with a single trial.
    pub high: Option<f64>,
}

/// A trial that yielded nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailureReport {
    /// The server's label.
    pub server: String,
    /// The load's label; empty when it failed before any load.
    pub load: String,
    /// The round, 1-based; null when the server took part in none.
    pub round: Option<u32>,
    /// The server was left out, which is not a failure: its toolchain is not on this machine, or, with the step
    /// `verify`, it does not have what the load requests.
    pub skipped: bool,
    /// The step at which it failed; null where it is not known.
    pub step: Option<Step>,
    /// Description of what was tried and what was found.
    pub message: String,
    /// The end of what the server, or its build, printed.
    pub output: String,
}

/// A check that was raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaisedCheck {
    /// The labels of the servers that it concerns.
    pub servers: Vec<String>,
    /// Finding of the check, as it was first raised.
    pub finding: Finding,
}

impl FailureReport {
    /// The server is not set up on the machine.
    #[must_use]
    pub fn is_not_set_up(&self) -> bool {
        self.skipped && !self.is_lacking()
    }

    /// The server does not have the part of its contract that the load requests.
    #[must_use]
    pub fn is_lacking(&self) -> bool {
        self.skipped && self.step == Some(Step::Verify)
    }

    /// A trial that failed, or that was not tried.
    #[must_use]
    pub fn of(trial: &Trial) -> Self {
        let failure = trial.failure.as_ref();
        Self {
            server: trial.label(),
            load: trial.cell.clone(),
            round: (trial.status == TrialStatus::Failed).then_some(trial.round + 1),
            skipped: trial.status == TrialStatus::Skipped,
            step: failure.map(|failure| failure.step),
            message: failure.map_or_else(String::new, |failure| failure.message.clone()),
            output: failure.map_or_else(String::new, |failure| failure.output.clone()),
        }
    }
}

/// Something of each cell, by its load's label and its server's.
pub type ByCell<T> = BTreeMap<(String, String), T>;

/// The cell of a trial.
#[must_use]
pub fn cell_of(trial: &Trial) -> (String, String) {
    (trial.cell.clone(), trial.label())
}

impl RunReport {
    /// The report of a run with these trials, whose loads have these weights by their labels; none: they are not weighed.
    pub fn new(
        run: RunHead,
        weights: &BTreeMap<String, f64>,
        trials: &[Trial],
        times: &ByCell<CellTimes>,
        failures: Vec<FailureReport>,
    ) -> Self {
        let mut groups: ByCell<Vec<&Trial>> = BTreeMap::new();
        for trial in trials {
            groups.entry(cell_of(trial)).or_default().push(trial);
        }
        let mut cells: Vec<CellReport> = groups
            .iter()
            .filter_map(|(key, trials)| {
                let load = &key.0;
                let latency = times.get(key).map(CellTimes::latency);
                let of = |label: &str| {
                    let found = groups.get(&(load.clone(), label.to_owned()));
                    found.map_or(&[][..], Vec::as_slice)
                };
                let upstream = run.upstream.as_deref().map_or(&[][..], of);
                let latency = latency.unwrap_or_default();
                let baseline = of(&run.baseline);
                let servers = groups.keys().filter(|(other, _)| other == load).count();
                cell::cell(
                    trials, latency, baseline, servers, upstream, &run, &failures,
                )
            })
            .collect();
        cells.sort_by(|a, b| {
            let rate = |cell: &CellReport| cell.throughput.value();
            a.load_label
                .cmp(&b.load_label)
                .then(rate(b).total_cmp(&rate(a)))
        });
        for (load, letters) in cell::tie_groups(&groups, &run.baseline) {
            for cell in cells.iter_mut().filter(|cell| cell.load_label == load) {
                cell.group = letters.get(&cell.label()).cloned();
            }
        }
        let over = over::over(&groups);
        let composite = (!weights.is_empty())
            .then(|| composite::composite(&groups, weights, &run.baseline))
            .flatten();
        let (rigs, differ) = rigs::rigs(trials);
        for cell in &mut cells {
            cell.checks.extend(differ.clone());
        }
        let points = trials.iter().map(|trial| ScalingPoint {
            server: &trial.server,
            load: &trial.cell,
            workers: trial.workers.unwrap_or(1),
            rate: cell::rate(trial),
        });
        let scaling = scaling(&points.collect::<Vec<_>>());
        Self {
            run,
            cells,
            failures,
            composite,
            scaling,
            over,
            rigs,
            generators: generators::generators(trials),
            published: None,
            why: None,
        }
    }

    /// With the expected failures of servers, by their names.
    #[must_use]
    pub fn with_expected_failures(
        mut self,
        by_server: &BTreeMap<String, BTreeMap<String, String>>,
    ) -> Self {
        for cell in &mut self.cells {
            cell.expected_failures = by_server.get(&cell.server).cloned().unwrap_or_default();
        }
        self
    }

    /// With the calibration of its host: servers that reach its ceiling are named. prony's own servers
    /// are that ceiling.
    #[must_use]
    pub fn below(mut self, calibration: &Calibration) -> Self {
        for cell in &mut self.cells {
            let load = &cell.load;
            let shaped = load.rate.is_none() && load.keepalive && load.pipeline == 1;
            let plain = shaped && load.over.is_plain();
            let known = cell
                .checks
                .iter()
                .any(|check| check.name == CheckId::Ceiling);
            if !plain || known || cell.workers > 1 || cell.server.starts_with("reference-") {
                continue;
            }
            let limit = calibration.ceiling(&self.run.contract, load.connections);
            let found = limit.and_then(|limit| ceiling(cell.throughput.value(), limit));
            cell.checks.extend(found);
        }
        self
    }

    /// With what others have published beside it.
    #[must_use]
    pub fn beside(mut self, published: &Published) -> Self {
        let labels: Vec<String> = self.cells.iter().map(CellReport::label).collect();
        let measured: Vec<MeasuredCell<'_>> = self
            .cells
            .iter()
            .zip(&labels)
            .map(|(cell, server)| MeasuredCell {
                server,
                load: &cell.load_label,
                rate: cell.throughput.value(),
                latency: &cell.latency.response,
                cpu_us_per_request: cell.server_cpu_us_per_request.map(|cpu| cpu.value),
            })
            .collect();
        self.published = Some(Beside::new(published, &self.run.baseline, &measured));
        self
    }

    /// Did everything that was to be measured yield figures?
    pub fn complete(&self) -> bool {
        self.failures.iter().all(|failure| failure.skipped)
    }

    /// The cells of each load, the highest throughput first.
    pub fn by_load(&self) -> Vec<(&str, Vec<&CellReport>)> {
        let mut loads: Vec<(&str, Vec<&CellReport>)> = Vec::new();
        for cell in &self.cells {
            match loads.last_mut() {
                Some((load, cells)) if *load == cell.load_label => cells.push(cell),
                _ => loads.push((&cell.load_label, vec![cell])),
            }
        }
        loads
    }

    /// Findings, each check once with the servers that it concerns, the most serious first.
    pub fn findings(&self) -> Vec<RaisedCheck> {
        type MostSeriousFirst = (std::cmp::Reverse<Severity>, CheckId);
        let mut grouped: BTreeMap<MostSeriousFirst, (Vec<String>, &Finding)> = BTreeMap::new();
        for cell in &self.cells {
            for finding in &cell.checks {
                let key = (std::cmp::Reverse(finding.severity), finding.name);
                let who = cell.label();
                let group = grouped.entry(key).or_insert_with(|| (Vec::new(), finding));
                if !group.0.contains(&who) {
                    group.0.push(who);
                }
            }
        }
        grouped
            .into_values()
            .map(|(servers, finding)| RaisedCheck {
                servers,
                finding: finding.clone(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;

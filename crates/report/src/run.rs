//! The report of a run, made from its trials.

use crate::calibration::CalibrationReport;
use crate::facts::{Facts, Finding};
use crate::latency::{Distributions, Latency};
use crate::load::checks;
use crate::published::{Beside, Measured, Published};
use crate::scaling::{Point, ScalingReport, scaling};
use crate::show;
use crate::table::{Align, Table};
use prony_checks::{ceiling, spread_exceeds_effect};
use prony_stats::compare::Better;
use prony_stats::mean::mean;
use prony_stats::ratio::paired_log_ratio;
use prony_stats::ties::{Place, rank};
use prony_stats::{Estimate, Interval, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What `prony run --json` and `prony report --json` print.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "prony run")]
pub struct RunReport {
    /// The run.
    pub run: RunHead,
    /// Every server under every load.
    pub cells: Vec<CellReport>,
    /// Trials that yielded nothing, and servers that did not take part.
    pub failures: Vec<FailureReport>,
    /// How throughput grows with the number of workers, for servers that were measured with several.
    pub scaling: Vec<ScalingReport>,
    /// What others have published, beside what was measured.
    pub published: Option<Beside>,
}

/// A run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunHead {
    /// Its number in the notebook.
    pub id: i64,
    /// The experiment's name.
    pub name: String,
    /// What it compares.
    pub title: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// `running`, `finished`, `interrupted` or `failed`.
    pub status: String,
    /// What the servers had to answer.
    pub contract: String,
    /// The server that the others are compared with.
    pub baseline: String,
    /// The server that stood behind every gateway; null when there was none.
    pub upstream: Option<String>,
    /// Rounds that were planned.
    pub rounds: u32,
    /// Who ran on which CPUs.
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
    /// Its workers.
    pub workers: u32,
    /// The load.
    pub load: serde_json::Value,
    /// Trials that yielded figures: the n of the intervals.
    pub trials: u64,
    /// The server kept its contract in every trial: before the load, under it and after it.
    pub verified: bool,
    /// Verified answers in the measurements of all trials.
    pub answers: u64,
    /// Verified answers per second: mean over the trials, with its interval.
    pub throughput: Estimate,
    /// Latency over all trials together.
    pub latency: Latency,
    /// The server's CPU time per verified answer, in microseconds.
    pub server_cpu_us_per_request: Option<MicrosecondsPerRequest>,
    /// The most memory of any trial, in bytes.
    pub rss_peak_bytes: u64,
    /// Throughput as a multiple of the baseline's under the same load, paired by round; null when
    /// no round has both.
    pub ratio: Option<Estimate>,
    /// Connections of each of its event loops (processes or threads, as seen from outside), the most
    /// first, in the trial where they were spread least evenly; empty when none could be seen.
    pub connections_per_worker: Vec<u32>,
    /// Steps of the verification that its stack cannot pass, with the reason.
    pub expected_failures: BTreeMap<String, String>,
    /// The groups that it belongs to, as letters: servers that share a letter cannot be told apart
    /// (paired t tests over the rounds, false discovery rate 5 %). Null with fewer than three servers.
    pub group: Option<String>,
    /// What the checks found.
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

/// CPU time per request: mean over the trials, with its 95 % interval.
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
    /// It was left out, which is not a failure: its toolchain is not on this machine.
    pub skipped: bool,
    /// The step at which it failed.
    pub step: String,
    /// What was tried and what was found.
    pub message: String,
    /// The end of what the server, or its build, printed.
    pub output: String,
}

/// A check that was raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raised {
    /// The labels of the servers that it concerns.
    pub servers: Vec<String>,
    /// What was found, as it was found first.
    pub finding: Finding,
}

/// A trial as the report needs it.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The server's name.
    pub server: String,
    /// Its workers.
    pub workers: u32,
    /// The load's label.
    pub load_label: String,
    /// The load.
    pub load: serde_json::Value,
    /// 0-based.
    pub round: u32,
    /// Verified answers per second.
    pub throughput: f64,
    /// The server's CPU time per answer, in nanoseconds.
    pub cpu_ns_per_request: Option<f64>,
    /// The most memory, in bytes.
    pub rss_peak: u64,
    /// Everything else, but for its distributions.
    pub facts: Facts,
}

/// Something of each cell, by its load's label and its server's.
pub type ByCell<T> = BTreeMap<(String, String), T>;

impl Trial {
    /// The server's label.
    pub fn label(&self) -> String {
        label(&self.server, self.workers)
    }

    /// The cell that it is one of.
    pub fn cell(&self) -> (String, String) {
        (self.load_label.clone(), self.label())
    }
}

/// `name`, or `name@workers` with more than one.
pub fn label(server: &str, workers: u32) -> String {
    if workers == 1 {
        server.to_owned()
    } else {
        format!("{server}@{workers}")
    }
}

impl RunReport {
    /// The report of a run with these trials.
    pub fn new(
        run: RunHead,
        trials: &[Trial],
        times: &ByCell<Distributions>,
        failures: Vec<FailureReport>,
    ) -> Self {
        let mut groups: ByCell<Vec<&Trial>> = BTreeMap::new();
        for trial in trials {
            groups.entry(trial.cell()).or_default().push(trial);
        }
        let mut cells: Vec<CellReport> = groups
            .iter()
            .filter_map(|(key, trials)| {
                let load = &key.0;
                let latency = times.get(key).map(Distributions::percentiles);
                let of = |label: &str| {
                    let found = groups.get(&(load.clone(), label.to_owned()));
                    found.map_or(&[][..], Vec::as_slice)
                };
                let upstream = run.upstream.as_deref().map_or(&[][..], of);
                let latency = latency.unwrap_or_default();
                let baseline = of(&run.baseline);
                cell(trials, latency, baseline, upstream, &run, &failures)
            })
            .collect();
        cells.sort_by(|a, b| {
            let rate = |cell: &CellReport| cell.throughput.value();
            a.load_label
                .cmp(&b.load_label)
                .then(rate(b).total_cmp(&rate(a)))
        });
        for (load, letters) in tie_groups(&groups) {
            for cell in cells.iter_mut().filter(|cell| cell.load_label == load) {
                cell.group = letters.get(&label(&cell.server, cell.workers)).cloned();
            }
        }
        let points = trials.iter().map(|trial| Point {
            server: &trial.server,
            load: &trial.load_label,
            workers: trial.workers,
            rate: trial.throughput,
        });
        let scaling = scaling(&points.collect::<Vec<_>>());
        Self {
            run,
            cells,
            failures,
            scaling,
            published: None,
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

    /// With what the rig itself weighs: servers that reach its ceiling are named. prony's own servers
    /// are that ceiling.
    #[must_use]
    pub fn below(mut self, calibration: &CalibrationReport) -> Self {
        for cell in &mut self.cells {
            let connections = cell.load["connections"].as_u64().unwrap_or(0) as u32;
            let plain = cell.load["rate"].is_null()
                && cell.load["keepalive"].as_bool().unwrap_or(true)
                && cell.load["pipeline"].as_u64().unwrap_or(1) == 1;
            let known = cell.checks.iter().any(|check| check.name == "ceiling");
            if !plain || known || cell.workers > 1 || cell.server.starts_with("reference-") {
                continue;
            }
            let limit = calibration.ceiling(&self.run.contract, connections);
            let found = limit.and_then(|limit| ceiling(cell.throughput.value(), limit));
            cell.checks.extend(found.map(Finding::from));
        }
        self
    }

    /// With what others have published beside it.
    #[must_use]
    pub fn beside(mut self, published: &Published) -> Self {
        let labels: Vec<String> = self
            .cells
            .iter()
            .map(|cell| label(&cell.server, cell.workers))
            .collect();
        let measured: Vec<Measured<'_>> = self
            .cells
            .iter()
            .zip(&labels)
            .map(|(cell, server)| Measured {
                server,
                load: &cell.load_label,
                rate: cell.throughput.value(),
                latency: &cell.latency.response,
            })
            .collect();
        self.published = Some(Beside::new(published, &self.run.baseline, &measured));
        self
    }

    /// Did everything that was to be measured yield figures?
    pub fn complete(&self) -> bool {
        self.failures.iter().all(|failure| failure.skipped)
    }

    /// The report as text for a terminal.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let run = &self.run;
        let _ = writeln!(out, "{} — run {} ({})", run.title, run.id, run.name);
        let _ = writeln!(out, "{}; {}", run.host, run.placement);
        if run.status != "finished" {
            let _ = writeln!(out, "{}: these are the figures until then", run.status);
        }
        for (load, cells) in self.by_load() {
            let _ = writeln!(out, "\n{}", self.sentence(&cells));
            let _ = writeln!(out, "load {load}, {} rounds, 95 % intervals\n", run.rounds);
            let _ = write!(out, "{}", table(&cells));
            if cells.iter().any(|cell| cell.group.is_some()) {
                let _ = writeln!(
                    out,
                    "servers that share a group's letter cannot be told apart"
                );
            }
        }
        let _ = write!(out, "{}", self.findings_text());
        for scaling in &self.scaling {
            let _ = writeln!(out, "\n{}", scaling.sentence);
        }
        let _ = write!(out, "{}", self.expected_failures());
        let _ = write!(out, "{}", self.failed());
        if let Some(published) = &self.published {
            let _ = write!(out, "{}", published.text());
        }
        out
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

    /// What the first look should tell: who is ahead of the baseline, and how sure that is.
    pub fn sentence(&self, cells: &[&CellReport]) -> String {
        let Some(first) = cells.first() else {
            return String::new();
        };
        let name = label(&first.server, first.workers);
        let base = &self.run.baseline;
        if name == *base {
            return format!("{name}, the baseline, has the highest throughput.");
        }
        let Some(ratio) = &first.ratio else {
            return format!(
                "{name} has the highest throughput; the baseline {base} has none to compare it with."
            );
        };
        match ratio.interval() {
            None => format!(
                "{name} had {} the throughput of {base} in the only round: one round proves nothing.",
                show::ratio(ratio.value())
            ),
            Some(interval) if interval.low() > 1.0 => format!(
                "{name} has {} the throughput of {base} (95 % interval {:.3} to {:.3}, {} rounds).",
                show::ratio(ratio.value()),
                interval.low(),
                interval.high(),
                ratio.n()
            ),
            Some(interval) => format!(
                "{name} cannot be told from {base}: {} (95 % interval {:.3} to {:.3}, {} rounds).",
                show::ratio(ratio.value()),
                interval.low(),
                interval.high(),
                ratio.n()
            ),
        }
    }

    /// Findings, each check once with whom it concerns, the gravest first.
    pub fn findings(&self) -> Vec<Raised> {
        type GravestFirst<'a> = (std::cmp::Reverse<prony_checks::Severity>, &'a str);
        let mut grouped: BTreeMap<GravestFirst<'_>, (Vec<String>, &Finding)> = BTreeMap::new();
        for cell in &self.cells {
            for finding in &cell.checks {
                let key = (std::cmp::Reverse(finding.severity), finding.name.as_str());
                let who = label(&cell.server, cell.workers);
                let group = grouped.entry(key).or_insert_with(|| (Vec::new(), finding));
                if !group.0.contains(&who) {
                    group.0.push(who);
                }
            }
        }
        grouped
            .into_values()
            .map(|(servers, finding)| Raised {
                servers,
                finding: finding.clone(),
            })
            .collect()
    }

    fn findings_text(&self) -> String {
        let lines: Vec<Finding> = self
            .findings()
            .into_iter()
            .map(|Raised { servers, finding }| Finding {
                text: format!("{}: {}", servers.join(", "), finding.text),
                ..finding
            })
            .collect();
        checks(&lines)
    }

    /// Expected failures, each server once.
    fn expected_failures(&self) -> String {
        let mut by_server: BTreeMap<&str, &BTreeMap<String, String>> = BTreeMap::new();
        for cell in &self.cells {
            by_server.insert(&cell.server, &cell.expected_failures);
        }
        let mut out = String::new();
        for (server, failures) in by_server {
            for (step, reason) in failures {
                let _ = writeln!(out, "\nexpected failure of {server}: {step}: {reason}");
            }
        }
        out
    }

    fn failed(&self) -> String {
        let mut out = String::new();
        let (skipped, failed): (Vec<_>, Vec<_>) = self.failures.iter().partition(|f| f.skipped);
        for failure in failed {
            let round = failure
                .round
                .map_or(String::new(), |round| format!(" (round {round})"));
            let _ = writeln!(
                out,
                "\nfailed: {}{round}: {}: {}",
                failure.server, failure.step, failure.message
            );
            for line in failure.output.lines() {
                let _ = writeln!(out, "  | {}", line.escape_debug());
            }
        }
        for failure in skipped {
            let _ = writeln!(
                out,
                "\nnot measured: {}: {}",
                failure.server, failure.message
            );
        }
        out
    }
}

fn cell(
    trials: &[&Trial],
    latency: Latency,
    baseline: &[&Trial],
    upstream: &[&Trial],
    run: &RunHead,
    failures: &[FailureReport],
) -> Option<CellReport> {
    let first = trials.first()?;
    let rates: Vec<f64> = trials.iter().map(|trial| trial.throughput).collect();
    let cpu: Vec<f64> = trials
        .iter()
        .filter_map(|trial| trial.cpu_ns_per_request)
        .collect();
    let cpu = mean(&cpu, Unit::CpuNanosecondsPerRequest)
        .ok()
        .map(|estimate| {
            let us = |ns: f64| ns / 1e3;
            MicrosecondsPerRequest {
                value: us(estimate.value()),
                low: estimate.low().map(us),
                high: estimate.high().map(us),
            }
        });
    let ratio = ratio(trials, baseline, run.rounds);
    let mut checks = merge_findings(trials);
    let is_baseline = first.label() == run.baseline;
    if let Some(ratio) = ratio.as_ref().filter(|_| !is_baseline && trials.len() > 1) {
        let others: Vec<f64> = baseline.iter().map(|trial| trial.throughput).collect();
        checks.extend(
            spread_exceeds_effect(ratio.value(), spread(&rates), spread(&others))
                .map(Finding::from),
        );
    }
    if run.upstream.as_ref() != Some(&first.server) {
        let mean = |trials: &[&Trial]| {
            trials.iter().map(|trial| trial.throughput).sum::<f64>() / trials.len() as f64
        };
        if !upstream.is_empty() {
            checks.extend(ceiling(mean(trials), mean(upstream)).map(Finding::from));
        }
    }
    let broken = failures
        .iter()
        .any(|failure| failure.server == first.label() && failure.step.starts_with("verification"));
    let lied = trials
        .iter()
        .any(|trial| trial.facts.outcomes.wrong_answer > 0);
    Some(CellReport {
        server: first.server.clone(),
        workers: first.workers,
        load: first.load.clone(),
        trials: trials.len() as u64,
        verified: !broken && !lied,
        answers: trials.iter().map(|trial| trial.facts.outcomes.ok).sum(),
        throughput: mean(&rates, Unit::PerSecond).ok()?,
        latency,
        server_cpu_us_per_request: cpu,
        rss_peak_bytes: trials.iter().map(|trial| trial.rss_peak).max().unwrap_or(0),
        ratio,
        connections_per_worker: trials
            .iter()
            .map(|trial| &trial.facts.resources.connections_per_loop)
            .max_by_key(|counts| counts.first().unwrap_or(&0) - counts.last().unwrap_or(&0))
            .cloned()
            .unwrap_or_default(),
        expected_failures: BTreeMap::new(),
        group: None,
        checks,
        load_label: first.load_label.clone(),
    })
}

/// For each load with three servers or more: the letters of every server's groups, by its label.
fn tie_groups(groups: &ByCell<Vec<&Trial>>) -> Vec<(String, BTreeMap<String, String>)> {
    let mut loads: BTreeMap<&str, Vec<(&str, &Vec<&Trial>)>> = BTreeMap::new();
    for ((load, server), trials) in groups {
        loads.entry(load).or_default().push((server, trials));
    }
    let letters = |servers: &[(&str, &Vec<&Trial>)]| {
        let rounds = servers.iter().flat_map(|(_, trials)| trials.iter());
        let rounds = rounds.map(|trial| trial.round).max()?;
        let row = |trials: &Vec<&Trial>| -> Vec<Option<f64>> {
            (0..=rounds)
                .map(|round| {
                    let found = trials.iter().find(|trial| trial.round == round);
                    found
                        .map(|trial| trial.throughput)
                        .filter(|rate| *rate > 0.0)
                })
                .collect()
        };
        let table: Vec<_> = servers.iter().map(|(_, trials)| row(trials)).collect();
        let ranking = rank(&table, Better::Higher).ok()?;
        let named = |place: &Place| (servers[place.server].0.to_owned(), place.letters());
        Some(ranking.places.iter().map(named).collect())
    };
    loads
        .into_iter()
        .filter(|(_, servers)| servers.len() > 2)
        .filter_map(|(load, servers)| Some((load.to_owned(), letters(&servers)?)))
        .collect()
}

/// (largest − smallest) / mean.
fn spread(rates: &[f64]) -> f64 {
    let most = rates.iter().copied().fold(f64::MIN, f64::max);
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    (most - least) / mean
}

fn ratio(trials: &[&Trial], baseline: &[&Trial], rounds: u32) -> Option<Estimate> {
    let by_round = |trials: &[&Trial]| -> Vec<Option<f64>> {
        (0..rounds)
            .map(|round| {
                trials
                    .iter()
                    .find(|trial| trial.round == round)
                    .map(|trial| trial.throughput)
            })
            .collect()
    };
    let (ours, theirs) = (by_round(trials), by_round(baseline));
    if std::ptr::eq(trials, baseline) || ours == theirs {
        // A server compared with itself: exactly one, and that is no estimate.
        return Estimate::new(
            1.0,
            Interval::new(1.0, 1.0),
            trials.len() as u64,
            Unit::Ratio,
        )
        .ok();
    }
    paired_log_ratio(&ours, &theirs).ok()
}

/// Each check once, at its gravest, with how many of the trials raised it.
fn merge_findings(trials: &[&Trial]) -> Vec<Finding> {
    let mut merged: BTreeMap<&str, (u64, &Finding)> = BTreeMap::new();
    for finding in trials.iter().flat_map(|trial| &trial.facts.checks) {
        let entry = merged.entry(finding.name.as_str()).or_insert((0, finding));
        entry.0 += 1;
        if finding.severity > entry.1.severity {
            entry.1 = finding;
        }
    }
    merged
        .into_values()
        .map(|(n, finding)| match trials.len() {
            1 => finding.clone(),
            all => Finding {
                text: format!("in {n} of {all} trials: {}", finding.text),
                ..finding.clone()
            },
        })
        .collect()
}

fn table(cells: &[&CellReport]) -> Table {
    // Whose model has a single event loop, or none that can be seen, has nothing to spread.
    let spread = cells
        .iter()
        .any(|cell| cell.connections_per_worker.len() > 1);
    let columns = [
        ("server", Align::Left),
        ("answers/s", Align::Right),
        ("± 95 %", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
        ("CPU/req", Align::Right),
        ("memory", Align::Right),
        ("ratio", Align::Right),
        ("95 % interval", Align::Left),
        ("group", Align::Left),
        ("connections", Align::Left),
        ("checks", Align::Left),
    ];
    let groups = cells.iter().any(|cell| cell.group.is_some());
    let kept = |name: &str| match name {
        "connections" => spread,
        "group" => groups,
        _ => true,
    };
    let mut table = Table::new(columns.into_iter().filter(|(name, _)| kept(name)));
    for cell in cells {
        let relative = cell.throughput.relative_half_width();
        let names: Vec<&str> = cell
            .checks
            .iter()
            .map(|finding| finding.name.as_str())
            .collect();
        let ratio = cell.ratio.as_ref();
        let connections: Vec<String> = cell
            .connections_per_worker
            .iter()
            .map(u32::to_string)
            .collect();
        let row = [
            label(&cell.server, cell.workers),
            show::rate(cell.throughput.value()),
            relative.map_or("–".into(), |half| format!("{:.1} %", half * 100.0)),
            show::time_or_dash(cell.latency.response.p50),
            show::time_or_dash(cell.latency.response.p99),
            show::time_or_dash(cell.latency.response.max),
            cell.server_cpu_us_per_request
                .map_or("–".into(), |cpu| show::time(cpu.value * 1e3)),
            show::bytes(cell.rss_peak_bytes as f64),
            ratio.map_or("–".into(), |ratio| show::ratio(ratio.value())),
            ratio
                .and_then(Estimate::interval)
                .map_or("–".into(), |interval| {
                    format!("{:.3} to {:.3}", interval.low(), interval.high())
                }),
            cell.group.clone().unwrap_or_default(),
            connections.join("+"),
            names.join(" "),
        ];
        let kept = columns.iter().zip(row).filter(|((name, _), _)| kept(name));
        table.row(kept.map(|(_, cell)| cell));
    }
    table
}

#[cfg(test)]
mod tests;

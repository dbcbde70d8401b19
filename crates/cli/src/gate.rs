//! Judging what was measured by the conditions of `--fail-if`.

use crate::CommandEnd;
use crate::args::gate::{Conditions, Gate};
use crate::out::write_file;
use miette::{IntoDiagnostic, Result};
use prony_record::service::{CapacityBounds, CapacityReport};
use prony_record::times::Latency;
use prony_record::{CheckId, Finding, Percentiles, Severity, Timed};
use prony_report::diff::{CellChange, DiffReport};
use prony_report::load::{LoadReport, RequestReport, SessionReport};
use prony_report::run::RunReport;
use prony_verdict::gate::{
    GateOutcome, JudgedCondition, Metric, MetricReading, Subject, judge, ratios, worst,
};
use prony_verdict::seen::DuelReport;
use serde::Serialize;
use std::fmt::Write;

/// The conditions, judged.
pub struct Verdict {
    judged: Vec<JudgedCondition>,
    strict: bool,
}

impl Conditions {
    /// Judges what was measured.
    pub fn judge(&self, subjects: &[Subject]) -> Verdict {
        Verdict {
            judged: judge(&self.fail_if, subjects),
            strict: self.strict,
        }
    }
}

impl Gate {
    /// Judges what was measured.
    pub fn judge(&self, subjects: &[Subject]) -> Verdict {
        self.conditions.judge(subjects)
    }

    /// Writes the comment for a pull request, if it was asked for.
    pub fn comment(&self, verdict: &Verdict, text: impl FnOnce() -> Result<String>) -> Result<()> {
        let Some(path) = &self.markdown else {
            return Ok(());
        };
        write_file(path, &(text()? + &verdict.markdown()))
    }
}

impl Verdict {
    /// A report as JSON; with conditions it has a key `gates` with what came of them.
    pub fn json(&self, report: &impl Serialize) -> Result<String> {
        let mut value = serde_json::to_value(report).into_diagnostic()?;
        if let (false, Some(map)) = (self.judged.is_empty(), value.as_object_mut()) {
            let gates = serde_json::to_value(&self.judged).into_diagnostic()?;
            map.insert("gates".into(), gates);
        }
        serde_json::to_string_pretty(&value).into_diagnostic()
    }

    /// Says what came of each condition.
    pub fn tell(&self) {
        for one in &self.judged {
            eprintln!(
                "{}: {}: {}: {}",
                word(one.outcome),
                one.condition,
                one.subject,
                one.why
            );
        }
    }

    fn markdown(&self) -> String {
        let mut out = String::new();
        for one in &self.judged {
            let _ = write!(
                out,
                "\n- {}: `{}`: {}: {}",
                word(one.outcome),
                one.condition,
                prony_pages::export::plain(&one.subject),
                prony_pages::export::plain(&one.why)
            );
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out
    }

    /// How the command ends that would have ended like this without conditions.
    pub fn ended(&self, otherwise: CommandEnd) -> CommandEnd {
        match (worst(&self.judged), otherwise) {
            (GateOutcome::Broken, _) => CommandEnd::Broken,
            (_, CommandEnd::Incomplete) => CommandEnd::Incomplete,
            (GateOutcome::NotKnown, _) if self.strict => CommandEnd::NotKnown,
            (_, otherwise) => otherwise,
        }
    }
}

const fn word(outcome: GateOutcome) -> &'static str {
    match outcome {
        GateOutcome::Held => "passed",
        GateOutcome::NotKnown => "not known",
        GateOutcome::Broken => "failed",
    }
}

/// Every side but the first, against the first.
pub fn of_duel(report: &DuelReport) -> Vec<Subject> {
    let serious = serious(&report.checks);
    let subject = |side: &prony_verdict::seen::SideReport| {
        let figures = side.figures.iter().filter_map(|figure| {
            Some((
                Metric::of(figure.quantity)?,
                MetricReading::of(&figure.value),
            ))
        });
        let mut values: Vec<(Metric, MetricReading)> = figures.collect();
        values.push((Metric::Errors, MetricReading::exact(side.errors)));
        values.extend(
            side.memory
                .as_ref()
                .map(|it| (Metric::Memory, MetricReading::of(it))),
        );
        let compared = report.comparisons.iter();
        Subject {
            name: side.name.clone(),
            request: None,
            values,
            ratios: ratios(compared.filter(|one| one.side == side.name)),
            serious: serious.clone(),
        }
    };
    report.sides.iter().skip(1).map(subject).collect()
}

/// The load as a whole, then each of its requests and sessions that has a name.
pub fn of_load(report: &LoadReport) -> Vec<Subject> {
    let mut values = all_times(&report.latency);
    let events = report.events.as_ref();
    values.extend(events.map(|events| (Metric::Events, MetricReading::of(&events.rate))));
    values.extend(longest(&report.latency.response));
    values.push((Metric::Throughput, MetricReading::of(&report.throughput)));
    let ended = report.outcomes.finished();
    let failed = ended - report.outcomes.ok;
    values.push((Metric::Errors, MetricReading::exact(share(failed, ended))));
    let whole = Subject {
        name: report.target.clone(),
        request: None,
        values,
        ratios: Vec::new(),
        serious: serious(&report.checks),
    };
    let one = |one: &RequestReport| {
        let mut values = times(&one.response);
        let ended = one.outcomes.finished();
        let failed = ended - one.outcomes.ok;
        values.push((Metric::Errors, MetricReading::exact(share(failed, ended))));
        Subject {
            name: format!("{} of {}", one.name, report.target),
            request: Some(one.name.clone()),
            values,
            ..whole.clone()
        }
    };
    let session = |one: &SessionReport| {
        let mut values = times(&one.duration);
        let errors = share(one.failed, one.completed + one.failed);
        values.push((Metric::Errors, MetricReading::exact(errors)));
        Subject {
            name: format!("{} of {}", one.name, report.target),
            request: Some(one.name.clone()),
            values,
            ..whole.clone()
        }
    };
    let requests: Vec<Subject> = report.requests.iter().map(one).collect();
    let sessions: Vec<Subject> = report.sessions.iter().map(session).collect();
    let parts = requests.into_iter().chain(sessions);
    std::iter::once(whole).chain(parts).collect()
}

/// The share of what ended that failed: of nothing that ended everything.
fn share(failed: u64, ended: u64) -> f64 {
    match ended {
        0 => 1.0,
        _ => failed as f64 / ended as f64,
    }
}

/// The server whose capacity was searched.
pub fn of_capacity(report: &CapacityReport) -> Vec<Subject> {
    let CapacityBounds { low, high, .. } = report.known;
    // At least nothing, and up to whatever.
    let interval = (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY));
    let reading = MetricReading::new(report.capacity.or(low).unwrap_or(0.0), Some(interval));
    vec![Subject {
        name: report.server.clone(),
        request: None,
        values: vec![(Metric::Capacity, reading)],
        ratios: Vec::new(),
        serious: serious(&report.checks),
    }]
}

/// Every server of two runs under every load, against the earlier run.
pub fn of_diff(report: &DiffReport) -> Vec<Subject> {
    let subject = |change: &CellChange| {
        let cpu = change.cpu.as_ref();
        let ratios = [
            (Metric::Throughput, Some(&change.throughput)),
            (Metric::Cpu, cpu),
        ];
        let known = ratios
            .into_iter()
            .filter_map(|(metric, ratio)| Some((metric, MetricReading::of(ratio?))));
        Subject {
            name: format!("{} under {}", change.server, change.load),
            request: None,
            values: Vec::new(),
            ratios: known.collect(),
            serious: Vec::new(),
        }
    };
    report.cells.iter().map(subject).collect()
}

/// Every server under every load; one that failed has no values.
pub fn of_run(report: &RunReport) -> Vec<Subject> {
    let several = report.by_load().len() > 1;
    let measured = report.cells.iter().map(|cell| {
        let mut values = all_times(&cell.latency);
        values.push((Metric::Throughput, MetricReading::of(&cell.throughput)));
        values.push((Metric::Errors, MetricReading::exact(cell.errors)));
        // What is the most of a start is another in the next one.
        let most = [(Metric::Memory, &cell.memory), (Metric::Max, &cell.longest)];
        let most = most
            .into_iter()
            .filter_map(|(metric, it)| Some((metric, it.as_ref()?)));
        values.extend(most.map(|(metric, it)| (metric, MetricReading::of(it))));
        values.extend(cell.server_cpu_us_per_request.as_ref().map(|cpu| {
            let interval = cpu.low.zip(cpu.high);
            let interval = interval.map(|(low, high)| (low * 1e3, high * 1e3));
            (Metric::Cpu, MetricReading::new(cpu.value * 1e3, interval))
        }));
        let ratio = cell
            .ratio
            .as_ref()
            .filter(|_| cell.label() != report.run.baseline);
        Subject {
            name: match several {
                true => format!("{} under {}", cell.label(), cell.load_label()),
                false => cell.label(),
            },
            request: None,
            values,
            ratios: ratio
                .map(|ratio| (Metric::Throughput, MetricReading::of(ratio)))
                .into_iter()
                .collect(),
            serious: serious(&cell.checks),
        }
    });
    let failed = report.failures.iter().filter(|failure| !failure.skipped);
    let failed = failed.map(|failure| Subject {
        name: failure.server.clone(),
        request: None,
        values: Vec::new(),
        ratios: Vec::new(),
        serious: Vec::new(),
    });
    measured.chain(failed).collect()
}

/// The response times of a single load. It has one maximum, which therefore has no interval.
fn times(response: &Percentiles) -> Vec<(Metric, MetricReading)> {
    let mut values = percentiles(Timed::Response, response);
    values.extend(longest(response));
    values
}

fn longest(response: &Percentiles) -> Option<(Metric, MetricReading)> {
    let max = response.max?;
    Some((Metric::Max, MetricReading::exact(max as f64)))
}

/// The times of a load or a cell, of all kinds.
fn all_times(latency: &Latency) -> Vec<(Metric, MetricReading)> {
    let all = Timed::ALL.iter();
    all.flat_map(|&of| percentiles(of, latency.of(of)))
        .collect()
}

fn percentiles(of: Timed, times: &Percentiles) -> Vec<(Metric, MetricReading)> {
    let intervals = &times.intervals;
    let known = [
        (5_000, times.p50, intervals.p50),
        (9_000, times.p90, intervals.p90),
        (9_900, times.p99, intervals.p99),
        (9_990, times.p99_9, intervals.p99_9),
    ];
    let reading = |(hundredths, value, interval): (u32, Option<u64>, Option<(u64, u64)>)| {
        let interval = interval.map(|(low, high)| (low as f64, high as f64));
        let reading = MetricReading::new(value? as f64, interval);
        Some((Metric::Percentile(of, hundredths), reading))
    };
    known.into_iter().filter_map(reading).collect()
}

fn serious(checks: &[Finding]) -> Vec<CheckId> {
    let serious = checks
        .iter()
        .filter(|check| check.severity == Severity::Serious);
    serious.map(|check| check.name).collect()
}

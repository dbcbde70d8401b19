//! A run's report from the notebook.

use crate::calibration::CalibrationReport;
use crate::capacity::Limits;
use crate::duel::seen::Terms;
use crate::facts::Facts;
use crate::latency::{Distributions, decode};
use crate::published::Published;
use crate::run::{ByCell, FailureReport, RunHead, RunReport, Trial, label};
use prony_notebook::{HistogramKind, Notebook, NotebookError, Run, TrialStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a run is about, as it is kept in the notebook's `experiment`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// What the servers had to answer.
    pub contract: String,
    /// The label of the server that the others are compared with.
    pub baseline: String,
    /// Rounds that were planned.
    pub rounds: u32,
    /// Who ran on which CPUs.
    pub placement: String,
    /// The servers that took part, by their labels.
    pub servers: Vec<String>,
    /// The server that stood behind every gateway.
    #[serde(default)]
    pub upstream: Option<String>,
    /// Figures that others have published for it.
    #[serde(default)]
    pub published: Option<Published>,
    /// By server: steps of the verification that its stack cannot pass, with the reason.
    #[serde(default, alias = "limits")]
    pub expected_failures: BTreeMap<String, BTreeMap<String, String>>,
    /// By server: what its manifest says of it.
    #[serde(default)]
    pub manifests: BTreeMap<String, Value>,
    /// What a capacity run keeps within.
    #[serde(default)]
    pub service: Option<Limits>,
    /// How a duel is to be decided.
    #[serde(default)]
    pub duel: Option<Terms>,
}

/// Why a run cannot be reported.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The notebook says no.
    #[error(transparent)]
    Notebook(#[from] NotebookError),
    /// A part of it is not what this version of prony writes.
    #[error("run {run} cannot be reported: {what}")]
    Unreadable {
        /// The run's number.
        run: i64,
        /// What is wrong.
        what: String,
    },
}

/// The trials of a run, as a report needs them.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Those that yielded figures.
    pub trials: Vec<Trial>,
    /// The distributions of each cell, over all its trials.
    pub times: ByCell<Distributions>,
    /// Those that did not, and servers that took no part.
    pub failures: Vec<FailureReport>,
}

/// What a run is about.
///
/// # Errors
/// When it is not what this version of prony writes.
pub fn about(run: &Run) -> Result<About, ReportError> {
    serde_json::from_value(run.facts.experiment.clone()).map_err(|error| ReportError::Unreadable {
        run: run.id.0,
        what: error.to_string(),
    })
}

/// The report of a run, from nothing but the notebook.
///
/// # Errors
/// When the notebook cannot be read, or the run is not one of `prony run`.
pub fn report(notebook: &Notebook, run: &Run) -> Result<RunReport, ReportError> {
    report_of(notebook, run, &measured(notebook, run)?)
}

/// Reads the trials of a run.
///
/// # Errors
/// When the notebook cannot be read, or a trial is not what this version of prony writes.
pub fn measured(notebook: &Notebook, run: &Run) -> Result<Measured, ReportError> {
    let unreadable = |what: String| ReportError::Unreadable {
        run: run.id.0,
        what,
    };
    let (mut trials, mut failures) = (Vec::new(), Vec::new());
    let mut times: ByCell<Distributions> = ByCell::new();
    for row in notebook.trials(run.id)? {
        let facts = row.facts;
        let workers = facts.workers.unwrap_or(1);
        match facts.status {
            TrialStatus::Ok | TrialStatus::Interrupted if facts.throughput.is_some() => {
                let trial = Trial {
                    server: facts.server,
                    workers,
                    load_label: facts.cell,
                    load: facts.load,
                    round: facts.round,
                    throughput: facts.throughput.unwrap_or(0.0),
                    cpu_ns_per_request: facts.cpu_ns_per_request,
                    rss_peak: facts.rss_peak_bytes.unwrap_or(0),
                    facts: serde_json::from_value::<Facts>(facts.observation)
                        .map_err(|error| unreadable(error.to_string()))?,
                };
                let cell = times.entry(trial.cell()).or_default();
                for kept in notebook.histograms(row.id)? {
                    let all = match kept.kind {
                        HistogramKind::Response => &mut cell.response,
                        HistogramKind::Service => &mut cell.service,
                        HistogramKind::SendDelay => &mut cell.send_delay,
                        _ => continue,
                    };
                    let one = decode(&kept.data).map_err(|error| unreadable(error.to_string()))?;
                    all.add(one)
                        .map_err(|error| unreadable(error.to_string()))?;
                }
                trials.push(trial);
            }
            TrialStatus::Interrupted => {}
            status => failures.push(FailureReport {
                server: label(&facts.server, workers),
                load: facts.cell,
                round: (status == TrialStatus::Failed).then_some(facts.round + 1),
                skipped: status == TrialStatus::Skipped,
                step: facts.failed_step.unwrap_or_default(),
                message: facts.message.unwrap_or_default(),
                output: facts.last_output.unwrap_or_default(),
            }),
        }
    }
    Ok(Measured {
        trials,
        times,
        failures,
    })
}

/// The report of a run whose trials have been read.
///
/// # Errors
/// As [`report`].
pub fn report_of(
    notebook: &Notebook,
    run: &Run,
    measured: &Measured,
) -> Result<RunReport, ReportError> {
    let about = about(run)?;
    let text = |key: &str| {
        run.facts
            .host
            .get(key)
            .and_then(|v| v.as_str())
            .unwrap_or("?")
            .to_owned()
    };
    let head = RunHead {
        id: run.id.0,
        name: run.facts.name.clone(),
        title: run.facts.title.clone(),
        started: run.facts.started.to_string(),
        status: if run.is_abandoned() {
            "interrupted".into()
        } else {
            run.status.to_string()
        },
        contract: about.contract,
        baseline: about.baseline,
        upstream: about.upstream,
        rounds: about.rounds,
        placement: about.placement,
        host: format!("{}, {}", text("kernel"), text("cpu")),
        prony: run.facts.prony_version.clone(),
    };
    let Measured {
        trials,
        times,
        failures,
    } = measured;
    let mut report = RunReport::new(head, trials, times, failures.clone())
        .with_expected_failures(&about.expected_failures);
    if let Some(calibration) = calibration(notebook, run)? {
        report = report.below(&calibration);
    }
    Ok(match &about.published {
        Some(published) => report.beside(published),
        None => report,
    })
}

/// What the rig weighed on this run's host when it was last weighed. Of a run that was measured
/// elsewhere, what was known there: two hosts may look the same and weigh differently.
///
/// # Errors
/// When the notebook cannot be read.
pub fn calibration(
    notebook: &Notebook,
    run: &Run,
) -> Result<Option<CalibrationReport>, ReportError> {
    if let Some(origin) = &run.origin {
        let calibration = origin
            .calibration
            .clone()
            .map(serde_json::from_value)
            .transpose();
        return calibration.map_err(|error| ReportError::Unreadable {
            run: run.id.0,
            what: error.to_string(),
        });
    }
    let calibration = calibration_of(notebook, &run.facts.host)?;
    Ok(calibration.filter(|calibration| calibration.run != run.id.0))
}

/// What the rig weighed on a host, described as runs have it, when it was last weighed there.
///
/// # Errors
/// When the notebook cannot be read.
pub fn calibration_of(
    notebook: &Notebook,
    host: &Value,
) -> Result<Option<CalibrationReport>, ReportError> {
    let here = |run: &Run| {
        ["cpu", "cpus", "memory"]
            .iter()
            .all(|key| run.facts.host.get(key) == host.get(key))
    };
    let calibrations = notebook.runs_of(crate::calibration::RUN)?;
    match calibrations
        .iter()
        .find(|calibration| calibration.origin.is_none())
    {
        Some(calibration) if here(calibration) => {
            CalibrationReport::new(notebook, calibration).map(Some)
        }
        _ => Ok(None),
    }
}

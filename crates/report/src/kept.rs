//! A run's report from the notebook.

use crate::calibration;
use crate::run::times::CellTimes;
use crate::run::{ByCell, FailureReport, RunHead, RunReport, cell_of};
use prony_notebook::{Notebook, NotebookError, StoredRun};
use prony_record::calibration::Calibration;
use prony_record::{Distributions, Host, RunStatus, Trial, TrialStatus};
use prony_verdict::why::{Anatomy, anatomy};

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
        /// Description of the problem.
        what: String,
    },
}

/// The trials of a run, as a report needs them.
#[derive(Debug, Clone, Default)]
pub struct RunTrials {
    /// Trials that yielded figures.
    pub trials: Vec<Trial>,
    /// The distributions of each cell.
    pub times: ByCell<CellTimes>,
    /// Trials that yielded none, and servers that took no part. Interrupted trials without figures are in neither list.
    pub failures: Vec<FailureReport>,
}

/// The report of a run, from nothing but the notebook.
///
/// # Errors
/// When the notebook cannot be read, or the run is not one of `prony run`.
pub fn report(notebook: &Notebook, run: &StoredRun) -> Result<RunReport, ReportError> {
    report_of(notebook, run, &measured(notebook, run)?)
}

impl RunTrials {
    /// Adds a trial with its distributions.
    pub fn add(&mut self, trial: &Trial, times: &Distributions) {
        match trial.status {
            TrialStatus::Ok | TrialStatus::Interrupted if trial.figures.throughput.is_some() => {
                let seen = trial.observation.as_ref();
                let failed = seen.map_or(0, |seen| seen.outcomes.untimed());
                let cell = self.times.entry(cell_of(trial)).or_default();
                cell.add(times, failed);
                self.trials.push(trial.clone());
            }
            TrialStatus::Interrupted => {}
            _ => self.failures.push(FailureReport::of(trial)),
        }
    }
}

/// Reads the trials of a run.
///
/// # Errors
/// When the notebook cannot be read.
pub fn measured(notebook: &Notebook, run: &StoredRun) -> Result<RunTrials, ReportError> {
    let mut all = RunTrials::default();
    for stored in notebook.trials(run.id)? {
        all.add(&stored.trial, &notebook.distributions(stored.id)?);
    }
    Ok(all)
}

/// The report of a run whose trials have been read.
///
/// # Errors
/// As [`report`].
pub fn report_of(
    notebook: &Notebook,
    run: &StoredRun,
    measured: &RunTrials,
) -> Result<RunReport, ReportError> {
    let about = &run.facts.experiment;
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
        failure: run
            .result
            .clone()
            .filter(|_| run.status == RunStatus::Failed),
        contract: about.contract.clone(),
        baseline: about.baseline.clone(),
        upstream: about.upstream.clone(),
        rounds: about.rounds,
        placement: about.placement.clone(),
        host: run.facts.host.short(),
        prony: run.facts.prony_version.clone(),
    };
    let RunTrials {
        trials,
        times,
        failures,
    } = measured;
    let mut report = RunReport::new(head, &about.weights, trials, times, failures.clone())
        .with_expected_failures(&about.expected_failures);
    if let Some(calibration) = calibration(notebook, run)? {
        report = report.below(&calibration);
    }
    report.why = why(notebook, run)?;
    Ok(match &about.published {
        Some(published) => report.beside(published),
        None => report,
    })
}

/// Why its servers differ, if it had rounds that say that.
///
/// # Errors
/// When the notebook cannot be read.
pub fn why(notebook: &Notebook, run: &StoredRun) -> Result<Option<Anatomy>, ReportError> {
    let seen = notebook.anatomy(run.id)?;
    let seen = seen.filter(|seen| !seen.rounds.is_empty());
    Ok(seen.map(|seen| anatomy(&seen)))
}

/// The latest calibration of this run's host. Of a run that was measured elsewhere, what was known
/// there: two hosts may look the same and still differ.
///
/// # Errors
/// When the notebook cannot be read.
pub fn calibration(
    notebook: &Notebook,
    run: &StoredRun,
) -> Result<Option<Calibration>, ReportError> {
    if let Some(origin) = &run.origin {
        return Ok(origin.calibration.clone());
    }
    let calibration = calibration_of(notebook, &run.facts.host)?;
    Ok(calibration.filter(|calibration| calibration.run != run.id.0))
}

/// The latest calibration, if it is of this host.
///
/// # Errors
/// When the notebook cannot be read.
pub fn calibration_of(
    notebook: &Notebook,
    host: &Host,
) -> Result<Option<Calibration>, ReportError> {
    let calibrations = notebook.runs_of(prony_record::calibration::RUN)?;
    match calibrations.iter().find(|run| run.origin.is_none()) {
        Some(run) if run.facts.host.is_like(host) => calibration::read(notebook, run).map(Some),
        _ => Ok(None),
    }
}

//! The notebook, opened as often as needed, and the reports that were made of it.

use crate::page::state::RunState;
use prony_notebook::{CheckCount, Notebook, NotebookError, Overview, RunId, TrialId, Wanted};
use prony_pages::PageError;
use prony_pages::material::Material;
use prony_record::calibration;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Reports that are kept; each is at most two megabytes.
const REPORTS: usize = 12;
/// Runs whose findings are kept; each is a few names.
const RUNS: usize = 10_000;

/// State that all readers share: idle connections, reports, and findings.
#[derive(Debug)]
pub struct Shelf {
    path: PathBuf,
    /// Idle connections: opening one costs more than most questions.
    idle: Mutex<Vec<Notebook>>,
    reports: Mutex<VecDeque<(RunId, RenderedReport)>>,
    /// Findings of the checks in each run, as of its latest trial.
    findings: Mutex<HashMap<RunId, Findings>>,
}

/// The latest trial that they are of, and what they are.
type Findings = (Option<TrialId>, Vec<CheckCount>);

/// A run's report as it was made.
#[derive(Debug, Clone)]
pub struct RenderedReport {
    /// Changes when the report does.
    pub tag: String,
    /// The page.
    pub html: Arc<str>,
}

impl Shelf {
    /// A shelf with one notebook on it.
    pub fn new(notebook: Notebook) -> Self {
        Self {
            path: notebook.path().to_owned(),
            idle: Mutex::new(vec![notebook]),
            reports: Mutex::default(),
            findings: Mutex::default(),
        }
    }

    /// The notebook's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A connection of one's own.
    ///
    /// # Errors
    /// When the notebook cannot be opened.
    pub fn take(&self) -> Result<Notebook, NotebookError> {
        match held(&self.idle).pop() {
            Some(notebook) => Ok(notebook),
            None => Notebook::open_to_read(&self.path),
        }
    }

    /// Puts a connection back.
    pub fn put(&self, notebook: Notebook) {
        held(&self.idle).push(notebook);
    }

    /// Returns the findings of the checks in these runs. A run is read once, and again when it has more trials. The
    /// list is made anew after each trial, and must not take much from a measurement.
    ///
    /// # Errors
    /// When the notebook cannot be read.
    pub fn findings(
        &self,
        notebook: &Notebook,
        runs: &[Overview],
    ) -> Result<HashMap<RunId, Vec<CheckCount>>, NotebookError> {
        let mut all = HashMap::new();
        let mut unknown = Vec::new();
        {
            let known = held(&self.findings);
            for run in runs {
                match known.get(&run.id) {
                    Some((last, found)) if *last == run.last_trial => {
                        all.insert(run.id, found.clone());
                    }
                    _ => unknown.push(run),
                }
            }
        }
        let ids: Vec<RunId> = unknown.iter().map(|run| run.id).collect();
        let mut read = notebook.findings(&ids)?;
        let mut known = held(&self.findings);
        if known.len() > RUNS {
            known.clear();
        }
        for run in unknown {
            let found = read.remove(&run.id).unwrap_or_default();
            known.insert(run.id, (run.last_trial, found.clone()));
            all.insert(run.id, found);
        }
        Ok(all)
    }

    /// A run's report: the one that was made before, unless something of it has changed since.
    ///
    /// # Errors
    /// When the run cannot be read or is none that can be reported.
    pub fn report(&self, notebook: &Notebook, run: &Overview) -> Result<RenderedReport, PageError> {
        let tag = tag(notebook, run)?;
        let found = held(&self.reports)
            .iter()
            .find(|(id, report)| *id == run.id && report.tag == tag)
            .map(|(_, report)| report.clone());
        if let Some(report) = found {
            return Ok(report);
        }
        // Made without the lock: others are not to wait for it.
        let material = Material::read(notebook, &notebook.run(run.id)?)?;
        let report = RenderedReport {
            tag,
            html: prony_pages::page::html(&material)?.into(),
        };
        let mut reports = held(&self.reports);
        reports.retain(|(id, _)| *id != run.id);
        reports.push_front((run.id, report.clone()));
        reports.truncate(REPORTS);
        Ok(report)
    }
}

/// A panic while it was held left nothing half done: what is kept is put there whole.
fn held<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a tag of everything on which a report depends: the run, its trials, and the latest calibration, which stands
/// beside it. A run that is not being written does not change.
fn tag(notebook: &Notebook, run: &Overview) -> Result<String, NotebookError> {
    let wanted = Wanted {
        name: Some(calibration::RUN.into()),
        limit: 1,
        ..Wanted::default()
    };
    let rig = notebook.overviews(&wanted)?;
    let mut all = Sha256::new();
    for run in [run].into_iter().chain(&rig) {
        let trials = (run.trials, run.last_trial);
        all.update(format!(
            "{}|{:?}|{trials:?}|{}|",
            run.id,
            RunState::of(run),
            run.started
        ));
    }
    let bytes = all.finalize();
    Ok(bytes[..12]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

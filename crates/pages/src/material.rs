//! Everything that the notebook knows of a run, read once.

use crate::PageError;
use crate::series::Series;
use prony_notebook::{Notebook, StoredRun, TrialId};
use prony_record::anatomy::Dissections;
use prony_record::calibration::Calibration;
use prony_record::times::Encoded;
use prony_record::{Distributions, Measurement, Recording, Subject, Trial};
use prony_report::duel;
use prony_report::kept::{RunTrials, calibration, report_of};
use prony_report::run::times::CellTimes;
use prony_report::run::{CellReport, RunReport};
use prony_verdict::seen::DuelReport;

/// A run with all its trials.
#[derive(Debug)]
pub struct Material {
    /// The run.
    pub run: StoredRun,
    /// Report of the run.
    pub report: RunReport,
    /// Report of the run as a duel, if it is one.
    pub duel: Option<DuelReport>,
    /// The calibration of its host, if there is one.
    pub calibration: Option<Calibration>,
    /// All trials, in the order of the plan.
    pub trials: Vec<StoredTrial>,
    /// The latency of each of the report's cells, in their order.
    pub times: Vec<Distributions>,
    /// Results of the rounds of `--why`, if there were any.
    pub anatomy: Option<Dissections>,
    /// The servers, each with the look that it has in every chart.
    pub series: Series,
}

/// A trial as it is kept.
#[derive(Debug)]
pub struct StoredTrial {
    /// Number of the trial in the notebook.
    pub id: TrialId,
    /// Everything that is known of it.
    pub recording: Recording<Encoded>,
}

impl StoredTrial {
    /// Returns everything that is known of the trial besides its windows and distributions.
    #[must_use]
    pub fn trial(&self) -> &Trial {
        &self.recording.trial
    }

    /// Returns the measurement of the trial; `None` if the trial failed before.
    #[must_use]
    pub fn measured(&self) -> Option<&Measurement> {
        self.trial().observation.as_ref()
    }

    /// The server's label.
    #[must_use]
    pub fn label(&self) -> String {
        self.trial().label()
    }
}

impl Material {
    /// Reads a run.
    ///
    /// # Errors
    /// When the notebook cannot be read, or the run is none that can be reported.
    pub fn read(notebook: &Notebook, run: &StoredRun) -> Result<Self, PageError> {
        let (mut measured, mut trials) = (RunTrials::default(), Vec::new());
        for stored in notebook.trials(run.id)? {
            let recording = Recording {
                windows: notebook.windows(stored.id)?,
                histograms: notebook.encoded(stored.id)?,
                trial: stored.trial,
            };
            measured.add(&recording.trial, &(&recording.histograms).try_into()?);
            trials.push(StoredTrial {
                id: stored.id,
                recording,
            });
        }
        let report = report_of(notebook, run, &measured)?;
        let times = report.cells.iter().map(|cell| {
            let key = (cell.load_label().to_owned(), cell.label());
            let found = measured.times.remove(&key);
            found.map(CellTimes::into_merged).unwrap_or_default()
        });
        let times = times.collect();
        let labels = run.facts.experiment.servers.iter().cloned();
        let series = Series::new(labels.chain(report.cells.iter().map(CellReport::label)));
        Ok(Self {
            run: run.clone(),
            report,
            duel: duel::read(notebook, run)?,
            calibration: calibration(notebook, run)?,
            anatomy: notebook.anatomy(run.id)?,
            trials,
            times,
            series,
        })
    }

    /// Returns the subject of the run.
    #[must_use]
    pub fn about(&self) -> &Subject {
        &self.run.facts.experiment
    }

    /// The loads, in the report's order, with their cells: the cells' places in the report, the
    /// highest throughput first.
    pub fn loads(&self) -> Vec<(&str, Vec<usize>)> {
        let mut loads: Vec<(&str, Vec<usize>)> = Vec::new();
        for (index, cell) in self.report.cells.iter().enumerate() {
            match loads.last_mut() {
                Some((load, cells)) if *load == cell.load_label() => cells.push(index),
                _ => loads.push((cell.load_label(), vec![index])),
            }
        }
        loads
    }

    /// Is it one of many rates, as a capacity run is? Then its picture is latency against rate, and
    /// a picture for each rate would be none.
    pub fn sweeps_rates(&self) -> bool {
        self.loads().len() > 3
            && self
                .report
                .cells
                .iter()
                .all(|cell| cell.load.rate.is_some())
    }

    /// The trials of a cell that yielded figures, in the order of their rounds.
    pub fn trials_of(&self, cell: &CellReport) -> Vec<&StoredTrial> {
        let mut found: Vec<&StoredTrial> = self
            .trials
            .iter()
            .filter(|part| {
                let trial = part.trial();
                trial.figures.throughput.is_some()
                    && trial.server == cell.server
                    && trial.workers.unwrap_or(1) == cell.workers
                    && trial.cell == cell.load_label()
            })
            .collect();
        found.sort_by_key(|part| part.trial().round);
        found
    }
}

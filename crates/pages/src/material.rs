//! Everything that the notebook knows of a run, read once.

use crate::PageError;
use crate::series::Series;
use prony_notebook::{Histogram, Notebook, Run, TrialFacts, TrialId, Window};
use prony_report::calibration::CalibrationReport;
use prony_report::duel::DuelReport;
use prony_report::kept::{About, about, calibration, measured, report_of};
use prony_report::latency::Distributions;
use prony_report::run::{CellReport, RunReport, label};

/// A run with all its trials.
#[derive(Debug)]
pub struct Material {
    /// The run.
    pub run: Run,
    /// What it is about.
    pub about: About,
    /// What it says.
    pub report: RunReport,
    /// What it says as a duel, if it is one.
    pub duel: Option<DuelReport>,
    /// What the rig weighed on its host, if that is known.
    pub calibration: Option<CalibrationReport>,
    /// All trials, in the order of the plan.
    pub trials: Vec<Part>,
    /// The latency of each of the report's cells, in their order.
    pub times: Vec<Distributions>,
    /// The servers, each with the look that it has in every chart.
    pub series: Series,
}

/// A trial as it is kept.
#[derive(Debug)]
pub struct Part {
    /// Its number.
    pub id: TrialId,
    /// What is known of it.
    pub facts: TrialFacts,
    /// Its windows.
    pub windows: Vec<Window>,
    /// Its histograms.
    pub histograms: Vec<Histogram>,
}

impl Part {
    /// The server's label.
    pub fn label(&self) -> String {
        label(&self.facts.server, self.facts.workers.unwrap_or(1))
    }
}

impl Material {
    /// Reads a run.
    ///
    /// # Errors
    /// When the notebook cannot be read, or the run is none that can be reported.
    pub fn read(notebook: &Notebook, run: &Run) -> Result<Self, PageError> {
        let mut measured = measured(notebook, run)?;
        let report = report_of(notebook, run, &measured)?;
        let times = report.cells.iter().map(|cell| {
            let key = (cell.load_label().to_owned(), cell.label());
            measured.times.remove(&key).unwrap_or_default()
        });
        let times = times.collect();
        let mut trials = Vec::new();
        for trial in notebook.trials(run.id)? {
            trials.push(Part {
                windows: notebook.windows(trial.id)?,
                histograms: notebook.histograms(trial.id)?,
                id: trial.id,
                facts: trial.facts,
            });
        }
        let about = about(run)?;
        let labels = about.servers.iter().cloned();
        let series = Series::new(labels.chain(report.cells.iter().map(CellReport::label)));
        Ok(Self {
            run: run.clone(),
            about,
            report,
            duel: DuelReport::read(notebook, run)?,
            calibration: calibration(notebook, run)?,
            trials,
            times,
            series,
        })
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
        let rates = self
            .report
            .cells
            .iter()
            .map(|cell| cell.load["rate"].is_number());
        self.loads().len() > 3 && rates.into_iter().all(|at_rate| at_rate)
    }

    /// The trials of a cell that yielded figures, in the order of their rounds.
    pub fn trials_of(&self, cell: &CellReport) -> Vec<&Part> {
        let mut found: Vec<&Part> = self
            .trials
            .iter()
            .filter(|part| {
                let facts = &part.facts;
                facts.throughput.is_some()
                    && facts.server == cell.server
                    && facts.workers.unwrap_or(1) == cell.workers
                    && facts.cell == cell.load_label()
            })
            .collect();
        found.sort_by_key(|part| part.facts.round);
        found
    }
}

//! A run as JSON, read back into a notebook.

use crate::PageError;
use crate::material::Material;
use crate::raw::{FORMAT, Raw, VERSION};
use jiff::Timestamp;
use prony_notebook::{Import, Notebook, NotebookError, Origin, RunId};
use prony_record::times::{Encoded, UnreadableHistogram};
use prony_record::{Recording, RunStatus, bounds, inert};
use serde::Deserialize;
use std::borrow::Cow;

/// Why a run cannot be put into a notebook.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The document is something else, or of a later version.
    #[error("this is no run that this prony reads: {0}")]
    Foreign(String),
    /// The document does not match the schema.
    #[error("it is not as the schema of runs says (`prony schema export`): {0}")]
    Malformed(#[from] serde_json::Error),
    /// The document has been made smaller.
    #[error(
        "it has no histograms of single trials: these are the data of a page, which have been made \
         smaller; `prony export --format json` writes all of them"
    )]
    Lean,
    /// A histogram cannot be read.
    #[error("trial {trial}: {source}")]
    Histogram {
        /// The trial's place in the plan, from 0.
        trial: u32,
        /// Error that names the histogram, and why it cannot be read.
        source: UnreadableHistogram,
    },
    /// The published figures that it is compared with cannot be.
    #[error("the published figures: {0}")]
    Published(String),
    /// A trial contradicts itself.
    #[error("trial {trial}: {why}")]
    Impossible {
        /// The trial's place in the plan, from 0.
        trial: u32,
        /// Contradiction in the trial, in words.
        why: String,
    },
    /// No report could be made of it.
    #[error("no report can be made of it: {0}")]
    Unreportable(PageError),
    /// The notebook says no.
    #[error(transparent)]
    Notebook(#[from] NotebookError),
}

/// Format and version that a document states.
#[derive(Deserialize)]
struct FormatMark {
    format: String,
    #[serde(default)]
    version: u32,
}

/// Is this text meant to be a run? One that is broken is.
pub fn is_run(text: &str) -> bool {
    let mark = |text: &str| serde_json::from_str::<FormatMark>(text).ok();
    if let Some(mark) = mark(text) {
        return mark.format == FORMAT;
    }
    // What follows the mark is cut off, or no JSON: the mark comes first.
    let head: String = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .take(64)
        .collect();
    let known: String = FORMAT.chars().filter(|c| !c.is_whitespace()).collect();
    head.starts_with(&format!("{{\"format\":\"{known}\""))
}

/// Reads what [`export::json`](crate::export::json) has written.
///
/// # Errors
/// When it is something else, of a later version, or not as its schema says.
pub fn read(text: &str) -> Result<Raw<'static>, RestoreError> {
    // First what it is: a later version may have another schema.
    let mark: FormatMark = serde_json::from_str(text)?;
    known(&mark.format, mark.version)?;
    bounds::check(text)?;
    let mut raw: Raw<'static> = serde_json::from_str(text)?;
    // As the notebook will give them, so that the same run is known again.
    raw.run.facts = Cow::Owned(inert::json(&serde_json::to_string(&raw.run.facts)?)?);
    Ok(raw)
}

fn known(format: &str, version: u32) -> Result<(), RestoreError> {
    if format != FORMAT {
        return Err(RestoreError::Foreign(format!("it calls itself {format:?}")));
    }
    if version > VERSION {
        return Err(RestoreError::Foreign(format!(
            "it has version {version} of the format, and up to {VERSION} is known here; the prony that \
             has written it, or a later one, reads it"
        )));
    }
    Ok(())
}

/// Can a trial have been measured like this?
fn possible(recording: &Recording<Encoded>) -> Result<(), String> {
    let trial = &recording.trial;
    trial.load.check().map_err(|error| error.to_string())?;
    let figures = &trial.figures;
    // What crossed an end of the measurement: no more than can be in flight.
    let in_flight = f64::from(trial.load.max_connections()) * f64::from(trial.load.pipeline);
    let ends = trial
        .observation
        .as_ref()
        .map_or(0.0, |seen| seen.ends.right);
    let ends = ends.clamp(-in_flight, in_flight);
    if let (Some(seconds), Some(answers), Some(rate)) = (
        figures.measured_seconds,
        figures.verified_answers,
        figures.throughput,
    ) && (rate * seconds - answers as f64 - ends).abs() > 1.0 + 0.01 * answers as f64
    {
        return Err(format!(
            "{answers} answers in {seconds} s are not {rate} per second"
        ));
    }
    let mut last = 0;
    for window in &recording.windows {
        if window.length_ns == 0 {
            return Err(format!("its window {} has no length", window.index));
        }
        if window.start_ns < last {
            return Err(format!(
                "its window {} begins before the one before it",
                window.index
            ));
        }
        last = window.start_ns;
    }
    Ok(())
}

/// Puts a run into a notebook, under a new number: all of it, or nothing.
///
/// # Errors
/// When no report could be made of it, or the notebook cannot be written.
pub fn restore(notebook: &mut Notebook, raw: &Raw<'_>) -> Result<RunId, RestoreError> {
    known(&raw.format, raw.version)?;
    if !raw.cells.is_empty() {
        return Err(RestoreError::Lean);
    }
    if let Some(published) = &raw.run.facts.experiment.published {
        published.check().map_err(RestoreError::Published)?;
    }
    let decoded = raw.trials.iter().map(|trial| {
        possible(trial).map_err(|why| RestoreError::Impossible {
            trial: trial.trial.ordinal,
            why,
        })?;
        let histograms = (&trial.histograms).try_into();
        Ok(Recording {
            trial: trial.trial.clone(),
            windows: trial.windows.clone(),
            histograms: histograms.map_err(|source| RestoreError::Histogram {
                trial: trial.trial.ordinal,
                source,
            })?,
        })
    });
    let trials = decoded.collect::<Result<_, RestoreError>>()?;
    let (status, finished) = match (raw.run.status, raw.run.finished) {
        // A run that was under way when it was exported does not go on here.
        (RunStatus::Running, _) => (RunStatus::Interrupted, None),
        other => other,
    };
    let import = Import {
        facts: raw.run.facts.clone().into_owned(),
        status,
        finished: finished.unwrap_or(raw.run.facts.started),
        result: raw.run.result.clone(),
        origin: Origin {
            imported: Timestamp::now(),
            number: raw.run.id,
            calibration: raw.calibration.as_deref().cloned(),
        },
        trials,
        anatomy: raw.anatomy.as_deref().cloned(),
    };
    // A run that cannot be reported is better refused now than found out later.
    let mut rehearsal = Notebook::in_memory()?;
    let id = rehearsal.import(&import)?;
    let run = rehearsal.run(id)?;
    Material::read(&rehearsal, &run).map_err(RestoreError::Unreportable)?;
    Ok(notebook.import(&import)?)
}

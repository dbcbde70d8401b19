//! Runs as pages and files.
//!
//! - [`material`]: everything that the notebook knows of a run, read once
//! - [`chart`]: its pictures, each an SVG with the table that it shows
//! - [`page`]: the report, one HTML file that needs nothing else
//! - [`raw`]: the run as JSON, from which everything can be made again
//! - [`restore`]: the same, read back into a notebook
//! - [`export`]: the formats of other tools
//!
//! Whatever comes from outside (names, titles, outputs, versions) is escaped where it is written:
//! HTML and SVG are made by [`maud`], which escapes every value, and by nothing else.

#![forbid(unsafe_code)]

pub mod chart;
pub mod curve;
pub mod export;
pub mod material;
pub mod page;
pub mod raw;
pub mod restore;
pub mod scale;
pub mod series;
pub mod why;

/// Why a page or a file cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The run cannot be reported.
    #[error(transparent)]
    Report(#[from] prony_report::kept::ReportError),
    /// A histogram of the notebook cannot be read.
    #[error(transparent)]
    Histogram(#[from] prony_record::times::UnreadableHistogram),
    /// Data do not become JSON.
    #[error("the run cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// There is no such chart.
    #[error("there is no chart {name:?} in this run; there are: {there}")]
    NoSuchChart {
        /// Name that was asked for.
        name: String,
        /// Names of the run's charts.
        there: String,
    },
}

impl From<prony_notebook::NotebookError> for PageError {
    fn from(error: prony_notebook::NotebookError) -> Self {
        Self::Report(error.into())
    }
}

//! A run as JSON: everything that the notebook has of it, so that every report can be made again from
//! it ([`restore`](crate::restore::restore)).

use crate::PageError;
use crate::material::Material;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use prony_record::anatomy::Dissections;
use prony_record::calibration::Calibration;
use prony_record::times::Encoded;
use prony_record::{Recording, RunFacts, RunStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::Write;

/// Value of [`Raw::format`].
pub const FORMAT: &str = "prony run";
/// The version of the format; a reader refuses a later one.
pub const VERSION: u32 = 1;
/// About at most this many bytes of data go into a page, compressed.
const PAGE: usize = 600_000;
/// About what a window has, compressed. Histograms are compressed already.
const WINDOW: usize = 28;

/// A run with all its trials, as `prony export --format json` prints it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "prony export")]
pub struct Raw<'a> {
    /// `prony run`.
    pub format: Cow<'a, str>,
    /// The version of this format.
    pub version: u32,
    /// The run.
    pub run: RawRun<'a>,
    /// Trials of the run, in the order of the plan.
    pub trials: Vec<Cow<'a, Recording<Encoded>>>,
    /// The calibration of the run's host, if there is one: reports compare with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Cow<'a, Calibration>>,
    /// Histograms of cells, where those of single trials have been left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<RawCell>,
    /// Results of the rounds of `--why`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anatomy: Option<Cow<'a, Dissections>>,
}

/// A run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RawRun<'a> {
    /// Number of the run in the notebook that it comes from.
    pub id: i64,
    /// Facts that were known when the run began.
    #[serde(flatten)]
    pub facts: Cow<'a, RunFacts>,
    /// Status of the run: how it ended, or that it was under way.
    pub status: RunStatus,
    /// When it ended, RFC 3339; null while it was under way.
    #[schemars(with = "Option<String>")]
    pub finished: Option<Timestamp>,
    /// Result in a sentence or two: what was found, or why the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// The histograms of a cell, over all its trials.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RawCell {
    /// The server's label.
    pub server: String,
    /// The load's label.
    pub load: String,
    /// Histograms of the cell, encoded like those of a trial.
    pub histograms: Encoded,
}

impl<'a> Raw<'a> {
    /// A run with every histogram of every trial.
    pub fn whole(material: &'a Material) -> Self {
        let trials = material.trials.iter();
        Self {
            format: FORMAT.into(),
            version: VERSION,
            run: RawRun {
                id: material.run.id.0,
                facts: Cow::Borrowed(&material.run.facts),
                status: material.run.status,
                finished: material.run.finished,
                result: material.run.result.clone(),
            },
            trials: trials.map(|part| Cow::Borrowed(&part.recording)).collect(),
            calibration: material.calibration.as_ref().map(Cow::Borrowed),
            cells: Vec::new(),
            anatomy: material.anatomy.as_ref().map(Cow::Borrowed),
        }
    }

    /// The same with the histograms of cells instead of those of trials.
    fn lean(material: &'a Material) -> Self {
        let mut raw = Self::whole(material);
        raw.anatomy = None;
        for trial in &mut raw.trials {
            trial.to_mut().histograms = Encoded::default();
        }
        let cells = material.report.cells.iter().zip(&material.times);
        raw.cells = cells
            .map(|(cell, times)| RawCell {
                server: cell.label(),
                load: cell.load_label().to_owned(),
                histograms: times.into(),
            })
            .collect();
        raw
    }
}

/// A run's data as a page carries them.
pub struct Packed {
    /// Kinds of data that are left out, in words, because a page is to stay small.
    pub left_out: Vec<&'static str>,
    text: String,
}

impl Packed {
    /// The link that gives them.
    pub fn link(&self) -> String {
        format!("data:application/gzip;base64,{}", self.text)
    }

    /// How long they are, in bytes.
    pub fn bytes(&self) -> usize {
        self.text.len() / 4 * 3
    }
}

/// The run's data, compressed; of a long run without the histograms of single trials, and if need be
/// without its windows and the histograms of cells.
///
/// # Errors
/// When they do not become JSON.
pub fn packed(material: &Material) -> Result<Packed, PageError> {
    let parts = || material.trials.iter();
    let single: usize = parts().map(|part| part.recording.histograms.bytes()).sum();
    let windows = WINDOW
        * parts()
            .map(|part| part.recording.windows.len())
            .sum::<usize>();
    let mut left_out = Vec::new();
    let raw = if single + windows <= PAGE {
        Raw::whole(material)
    } else {
        left_out.push("the histograms of single trials");
        if material.anatomy.is_some() {
            left_out.push("the anatomy of requests");
        }
        let mut raw = Raw::lean(material);
        let cells: usize = raw.cells.iter().map(|cell| cell.histograms.bytes()).sum();
        if cells + windows > PAGE {
            left_out.push("the windows");
            for trial in &mut raw.trials {
                trial.to_mut().windows.clear();
            }
        }
        if cells > PAGE {
            left_out.push("the histograms of cells");
            raw.cells.clear();
        }
        raw
    };
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut gzip, &raw)?;
    gzip.flush().map_err(serde_json::Error::io)?;
    let bytes = gzip.finish().map_err(serde_json::Error::io)?;
    Ok(Packed {
        left_out,
        text: STANDARD.encode(bytes),
    })
}

//! A run as JSON: everything that the notebook has of it, so that every report can be made again from
//! it ([`restore`](crate::restore::restore)).

use crate::PageError;
use crate::material::Material;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use prony_notebook::{HistogramKind, RunFacts, RunStatus, TrialFacts, Window};
use prony_report::calibration::CalibrationReport;
use prony_report::latency::{Times, encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

/// What [`Raw::format`] says.
pub const FORMAT: &str = "prony run";
/// The version of the format; a reader refuses a later one.
pub const VERSION: u32 = 1;
/// So many bytes of data go into a page at about the most, compressed.
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
    /// Its trials, in the order of the plan.
    pub trials: Vec<RawTrial<'a>>,
    /// What the rig weighed on the run's host, if that is known: reports compare with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Cow<'a, CalibrationReport>>,
    /// Histograms of cells, where those of single trials have been left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<RawCell>,
}

/// A run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RawRun<'a> {
    /// Its number in the notebook that it comes from.
    pub id: i64,
    /// What was known when it began.
    #[schemars(with = "shape::Run")]
    #[serde(flatten)]
    pub facts: Cow<'a, RunFacts>,
    /// What became of it.
    #[schemars(with = "shape::RunStatus")]
    pub status: RunStatus,
    /// When it ended, RFC 3339; null while it was under way.
    #[schemars(with = "Option<String>")]
    pub finished: Option<Timestamp>,
}

/// A trial.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RawTrial<'a> {
    /// What is known of it.
    #[schemars(with = "shape::Trial")]
    #[serde(flatten)]
    pub facts: Cow<'a, TrialFacts>,
    /// Its windows.
    #[schemars(with = "Vec<shape::Window>")]
    pub windows: Cow<'a, [Window]>,
    /// Its histograms by kind (`response`, `service`, `send_delay`, `connect`, `late`): HdrHistogram's V2
    /// format, compressed, in base64; nanoseconds.
    pub histograms: BTreeMap<String, String>,
}

/// The histograms of a cell, over all its trials.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RawCell {
    /// The server's label.
    pub server: String,
    /// The load's label.
    pub load: String,
    /// As those of a trial.
    pub histograms: BTreeMap<String, String>,
}

/// The shapes of the notebook's own types, for the schema: the notebook knows nothing of schemas.
#[allow(dead_code, reason = "only their shape is used")]
mod shape {
    use schemars::JsonSchema;
    use serde::Serialize;
    use serde_json::Value;

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum RunStatus {
        Running,
        Finished,
        Interrupted,
        Failed,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum TrialStatus {
        Ok,
        Failed,
        Skipped,
        Interrupted,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Phase {
        Warmup,
        Measure,
    }

    #[derive(JsonSchema)]
    pub struct Run {
        /// The experiment's name.
        name: String,
        /// A title for people.
        title: String,
        /// When it began, RFC 3339, UTC.
        started: String,
        /// What every random choice of the run follows from.
        seed: u64,
        /// What it is about: contract, baseline, rounds, placement, servers, published figures.
        experiment: Value,
        /// The host it ran on.
        host: Value,
        /// prony's version.
        prony_version: String,
        /// The commit prony was built from.
        prony_commit: Option<String>,
        /// The command line, as typed.
        command_line: String,
    }

    #[derive(JsonSchema)]
    pub struct Trial {
        /// Its place in the run's plan.
        ordinal: u32,
        /// Its round, from 0.
        round: u32,
        /// The server's name.
        server: String,
        /// The server's workers.
        workers: Option<u32>,
        /// The load.
        load: Value,
        /// The load's label.
        cell: String,
        /// What became of it.
        status: TrialStatus,
        /// The step that failed.
        failed_step: Option<String>,
        /// Why it failed.
        message: Option<String>,
        /// The end of what the server printed, when it failed.
        last_output: Option<String>,
        /// When it began, RFC 3339, UTC.
        started: String,
        /// The server's command line.
        command_line: String,
        /// What the server says its version is.
        server_version: Option<String>,
        /// The length of what was measured, in seconds.
        measured_seconds: Option<f64>,
        /// Right answers finished in that time.
        verified_answers: Option<u64>,
        /// Right answers per second.
        throughput: Option<f64>,
        /// The server's CPU time per right answer, in nanoseconds.
        cpu_ns_per_request: Option<f64>,
        /// The most memory of the server's processes, in bytes.
        rss_peak_bytes: Option<u64>,
        /// The median response time, in nanoseconds.
        p50_ns: Option<u64>,
        /// The 99th percentile of the response time, in nanoseconds.
        p99_ns: Option<u64>,
        /// The longest response time, in nanoseconds.
        max_ns: Option<u64>,
        /// Everything else: counters, resources, environment, checks.
        observation: Value,
    }

    #[derive(JsonSchema)]
    pub struct Window {
        /// Its place in the trial, from 0.
        index: u32,
        /// Its start since the load's start, in nanoseconds.
        start_ns: u64,
        /// Its length, in nanoseconds.
        length_ns: u64,
        /// Before or during the measurement.
        phase: Phase,
        /// Right answers finished in it.
        verified_answers: u64,
        /// Wrong answers.
        wrong_answers: u64,
        /// Connections that failed in any way but a time-out.
        errors: u64,
        /// Requests that took too long.
        timeouts: u64,
        /// The median response time, in nanoseconds.
        p50_ns: Option<u64>,
        /// The 99th percentile of the response time, in nanoseconds.
        p99_ns: Option<u64>,
        /// CPU time of the server's processes, in nanoseconds.
        server_cpu_ns: Option<u64>,
        /// CPU time of the load's threads, in nanoseconds.
        generator_cpu_ns: Option<u64>,
        /// Memory of the server's processes at its end, in bytes.
        rss_bytes: Option<u64>,
        /// Everything else; null if there is nothing.
        more: Value,
    }
}

impl<'a> Raw<'a> {
    /// A run with every histogram of every trial.
    pub fn whole(material: &'a Material) -> Self {
        let trials = material.trials.iter().map(|part| RawTrial {
            facts: Cow::Borrowed(&part.facts),
            windows: Cow::Borrowed(&part.windows),
            histograms: part
                .histograms
                .iter()
                .map(|histogram| {
                    let kind = histogram.kind.word().to_owned();
                    (kind, STANDARD.encode(&histogram.data))
                })
                .collect(),
        });
        Self {
            format: FORMAT.into(),
            version: VERSION,
            run: RawRun {
                id: material.run.id.0,
                facts: Cow::Borrowed(&material.run.facts),
                status: material.run.status,
                finished: material.run.finished,
            },
            trials: trials.collect(),
            calibration: material.calibration.as_ref().map(Cow::Borrowed),
            cells: Vec::new(),
        }
    }

    /// The same with the histograms of cells instead of those of trials.
    fn lean(material: &'a Material) -> Self {
        let mut raw = Self::whole(material);
        for trial in &mut raw.trials {
            trial.histograms.clear();
        }
        let cells = material.report.cells.iter().zip(&material.times);
        raw.cells = cells
            .map(|(cell, times)| {
                let all = [
                    (HistogramKind::Response, &times.response),
                    (HistogramKind::Service, &times.service),
                    (HistogramKind::SendDelay, &times.send_delay),
                ];
                let text = |times: &Times| STANDARD.encode(encode(times));
                RawCell {
                    server: cell.label(),
                    load: cell.load_label().to_owned(),
                    histograms: all
                        .into_iter()
                        .filter(|(_, times)| !times.is_empty())
                        .map(|(kind, times)| (kind.word().to_owned(), text(times)))
                        .collect(),
                }
            })
            .collect();
        raw
    }
}

/// A run's data as a page carries them.
pub struct Packed {
    /// What has been left out, because a page is to stay small; in words.
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
    let single = parts().flat_map(|part| &part.histograms);
    let single: usize = single.map(|histogram| histogram.data.len()).sum();
    let windows = WINDOW * parts().map(|part| part.windows.len()).sum::<usize>();
    let mut left_out = Vec::new();
    let raw = if single + windows <= PAGE {
        Raw::whole(material)
    } else {
        left_out.push("the histograms of single trials");
        let mut raw = Raw::lean(material);
        // Base64 is a third longer.
        let cells = raw.cells.iter().flat_map(|cell| cell.histograms.values());
        let cells = cells.map(String::len).sum::<usize>() / 4 * 3;
        if cells + windows > PAGE {
            left_out.push("the windows");
            for trial in &mut raw.trials {
                trial.windows = Cow::Borrowed(&[]);
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

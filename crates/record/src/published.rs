//! Figures that others have published.

use crate::bounds::MOST;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A file of `published/`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Title of the publication.
    pub title: String,
    /// Where it stands, and since when.
    pub origin: String,
    /// On what it was measured, and how.
    pub rig: String,
    /// Unit of the rates, counted per second: `echoes/s`, `requests/s`.
    pub unit: String,
    /// Error that all of the rates have in common, with its correction; absent where there is none.
    #[serde(default)]
    pub correction: Option<Correction>,
    /// Rows of the published table.
    pub row: Vec<PublishedRow>,
}

/// Rates that were divided by too long a time: a rate of r over n requests was really
/// n / (n / r − too many seconds).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// Description of the error.
    pub why: String,
    /// Requests in each run.
    pub requests: u64,
    /// Seconds in the timed window that do not belong there.
    pub too_seconds: f64,
}

/// A row of a published table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// Label of the row, as published.
    pub label: String,
    /// The server of the catalog that stands for it (`name` or `name@workers`). When several rows
    /// name one, the last of them is compared.
    #[serde(default)]
    pub server: Option<String>,
    /// The load (as reports label it) when the table has several. `json c512` is also that of a run whose only load of
    /// this name is `json`.
    #[serde(default)]
    pub load: Option<String>,
    /// Requests per second, every run that was published.
    #[serde(default)]
    pub rates: Vec<f64>,
    /// The rates as they should have been published, where that is known for this row alone.
    #[serde(default)]
    pub corrected: Vec<f64>,
    /// Latency in milliseconds, by what was published: `p50`, `p99`, `mean`, `max`.
    #[serde(default)]
    pub latency_ms: BTreeMap<String, f64>,
    /// The server's CPU time per request, in microseconds.
    #[serde(default)]
    pub cpu_us_per_request: Option<f64>,
    /// Remark that a reader of this row needs.
    #[serde(default)]
    pub note: Option<String>,
}

impl Published {
    /// Can these be rates, latencies and times?
    ///
    /// # Errors
    /// The first row with a figure that cannot be, in words.
    pub fn check(&self) -> Result<(), String> {
        let possible = |figure: f64| (0.0..=MOST).contains(&figure);
        for row in &self.row {
            let rates = row.rates.iter().chain(&row.corrected);
            let costs = row.latency_ms.values().chain(&row.cpu_us_per_request);
            let mut all = rates.chain(costs);
            if let Some(figure) = all.find(|figure| !possible(**figure)) {
                return Err(format!(
                    "{:?} has a figure of {figure:?}, and figures are from 0 to {MOST:?}",
                    row.label
                ));
            }
        }
        match &self.correction {
            Some(it) if !possible(it.too_seconds) => Err(format!(
                "too_seconds is {:?}, and times are from 0 to {MOST:?}",
                it.too_seconds
            )),
            _ => Ok(()),
        }
    }
}

impl PublishedRow {
    /// The mean of the published rates.
    pub fn rate(&self) -> Option<f64> {
        mean(&self.rates)
    }

    /// The mean of the corrected rates; `None` when there is nothing to correct.
    pub fn corrected(&self, correction: Option<&Correction>) -> Option<f64> {
        mean(&self.corrected).or_else(|| {
            let correction = correction?;
            let rates: Vec<f64> = self.rates.iter().map(|&r| correction.apply(r)).collect();
            mean(&rates)
        })
    }
}

impl Correction {
    /// The rate that a published one should have been.
    pub fn apply(&self, rate: f64) -> f64 {
        let n = self.requests as f64;
        n / (n / rate - self.too_seconds)
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

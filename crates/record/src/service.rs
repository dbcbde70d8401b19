//! How much a server can do within limits: the limits, and what a search has tried and found.

use crate::Percentiles;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits of a service.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// The percentile of the response time that is limited, such as 99.
    pub percentile: f64,
    /// To how much, in milliseconds.
    pub within_ms: f64,
    /// The share of requests that may fail, 0 to 1.
    pub errors: f64,
}

/// What `prony capacity --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "prony capacity")]
pub struct CapacityReport {
    /// Its run in the notebook.
    pub run: i64,
    /// The server.
    pub server: String,
    /// The limits.
    pub limits: Limits,
    /// The highest rate that was kept within them, requests per second; null when none was.
    pub capacity: Option<f64>,
    /// Latency at parts of the capacity.
    pub curve: Vec<RateStep>,
    /// Every rate that was tried, in order.
    pub steps: Vec<RateStep>,
    /// It was ended by the user.
    pub interrupted: bool,
}

/// A rate that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RateStep {
    /// Requests per second that were asked for.
    pub rate: f64,
    /// Answers per second that came.
    pub achieved: f64,
    /// The limited percentile, in milliseconds; null when there were too few answers for it.
    pub at_percentile_ms: Option<f64>,
    /// The response times.
    pub latency: Percentiles,
    /// The share of requests that failed, 0 to 1.
    pub errors: f64,
    /// The server's CPU time per request, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// It was kept within all limits, and no check failed.
    pub kept: bool,
    /// What was not, in words.
    pub broken: Vec<String>,
}

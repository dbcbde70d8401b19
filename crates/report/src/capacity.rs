//! How much a server can do within limits.

use crate::latency::Percentiles;
use crate::show;
use crate::table::{Align, Table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

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
    pub curve: Vec<Step>,
    /// Every rate that was tried, in order.
    pub steps: Vec<Step>,
    /// It was ended by the user.
    pub interrupted: bool,
}

/// Limits of a service.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// The percentile of the response time that is limited, such as 99.
    pub percentile: f64,
    /// To how much, in milliseconds.
    pub within_ms: f64,
    /// The share of requests that may fail.
    pub errors: f64,
}

/// A rate that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    /// Requests per second that were asked for.
    pub rate: f64,
    /// Answers per second that came.
    pub achieved: f64,
    /// The limited percentile, in milliseconds; null when there were too few answers for it.
    pub at_percentile_ms: Option<f64>,
    /// The response times.
    pub latency: Percentiles,
    /// The share of requests that failed.
    pub errors: f64,
    /// The server's CPU time per request, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// It was kept within all limits, and no check failed.
    pub kept: bool,
    /// What was not.
    pub broken: Vec<String>,
}

impl Step {
    /// One line for progress.
    pub fn line(&self) -> String {
        let at = self
            .at_percentile_ms
            .map_or("–".into(), |ms| show::time(ms * 1e6));
        match self.kept {
            true => format!("{}: kept, {at}", show::rate(self.rate)),
            false => format!(
                "{}: not kept: {}",
                show::rate(self.rate),
                self.broken.join(", ")
            ),
        }
    }
}

impl CapacityReport {
    /// As text for a terminal.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let Limits {
            percentile,
            within_ms,
            errors,
        } = self.limits;
        let limits = format!(
            "p{percentile} ≤ {} and errors ≤ {:.2} %",
            show::time(within_ms * 1e6),
            errors * 100.0
        );
        let _ = match self.capacity {
            Some(rate) => writeln!(
                out,
                "{} keeps {limits} up to {}.",
                self.server,
                show::rate(rate)
            ),
            None if self.interrupted => writeln!(out, "interrupted before the capacity was found"),
            None => writeln!(
                out,
                "{} keeps {limits} at no rate that was tried.",
                self.server
            ),
        };
        let mut table = Table::new([
            ("of capacity", Align::Right),
            ("rate", Align::Right),
            ("p50", Align::Right),
            ("p90", Align::Right),
            ("p99", Align::Right),
            ("p99.9", Align::Right),
            ("max", Align::Right),
            ("errors", Align::Right),
            ("CPU/req", Align::Right),
        ]);
        // The capacity itself, as it was measured last before the curve.
        let top = self.steps.len().checked_sub(self.curve.len() + 1);
        let at_capacity = self.capacity.and(top).map(|i| &self.steps[i]);
        for step in self.curve.iter().chain(at_capacity) {
            let part = self.capacity.map_or(0.0, |capacity| step.rate / capacity);
            table.row([
                format!("{:.0} %", 100.0 * part),
                show::rate(step.rate),
                show::time_or_dash(step.latency.p50),
                show::time_or_dash(step.latency.p90),
                show::time_or_dash(step.latency.p99),
                show::time_or_dash(step.latency.p99_9),
                show::time_or_dash(step.latency.max),
                format!("{:.2} %", step.errors * 100.0),
                step.cpu_us_per_request
                    .map_or("–".into(), |us| show::time(us * 1e3)),
            ]);
        }
        if self.capacity.is_some() {
            let _ = write!(out, "\n{table}");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(rate: f64, kept: bool) -> Step {
        Step {
            rate,
            achieved: rate,
            at_percentile_ms: Some(2.0),
            latency: Percentiles::default(),
            errors: 0.0,
            cpu_us_per_request: None,
            kept,
            broken: if kept {
                vec![]
            } else {
                vec!["p99 was 30 ms".into()]
            },
        }
    }

    #[test]
    fn the_sentence_the_curve_and_the_capacity_itself() {
        let report = CapacityReport {
            run: 1,
            server: "it".into(),
            limits: Limits {
                percentile: 99.0,
                within_ms: 10.0,
                errors: 0.001,
            },
            capacity: Some(1_000.0),
            curve: vec![step(100.0, true), step(500.0, true)],
            steps: vec![
                step(2_000.0, false),
                step(1_000.0, true),
                step(100.0, true),
                step(500.0, true),
            ],
            interrupted: false,
        };
        let text = report.text();
        assert!(
            text.starts_with("it keeps p99 ≤ 10.0 ms and errors ≤ 0.10 % up to 1.00 k/s."),
            "{text}"
        );
        for part in ["10 %", "50 %", "100 %"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(
            step(2_000.0, false).line(),
            "2.00 k/s: not kept: p99 was 30 ms"
        );
        let none = CapacityReport {
            capacity: None,
            ..report
        };
        assert!(none.text().contains("at no rate"));
    }
}

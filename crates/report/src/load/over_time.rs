//! A load whose rate or number of connections changes, window by window.

use crate::show;
use crate::table::{Align, TextTable};
use prony_record::stages::due_in;
use prony_record::{Change, Load, Observation, SECOND};
use schemars::JsonSchema;
use serde::Serialize;

/// A window of a load that changes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WindowSummary {
    /// When it began, in seconds since the load's start.
    pub from: f64,
    /// When it ended.
    pub until: f64,
    /// Requests per second that fell due in it, by the stages; null in a closed loop.
    pub rate_asked: Option<f64>,
    /// Connections in it, by the stages, on average; null where their number does not change.
    pub connections: Option<f64>,
    /// Verified answers per second in it.
    pub throughput: f64,
    /// The median response time of what was answered in it, in nanoseconds, within 1%; null without
    /// answers.
    pub p50: Option<u64>,
    /// The 99th percentile.
    pub p99: Option<u64>,
    /// Requests that ended in it otherwise than with a right answer.
    pub failed: u64,
}

impl WindowSummary {
    /// Rate or number of connections that the stages prescribed for the window.
    pub(super) fn asked(&self) -> f64 {
        self.rate_asked.or(self.connections).unwrap_or_default()
    }
}

/// The windows of the measurement; none where nothing changes.
#[must_use]
pub fn over_time(load: &Load, seen: &Observation) -> Vec<WindowSummary> {
    let Some(change) = load.changes() else {
        return Vec::new();
    };
    let moment = |window: &prony_record::Window| {
        let from = window.start_ns as f64 / SECOND as f64;
        let until = window.end_ns() as f64 / SECOND as f64;
        let due = due_in(change.stages(), until) - due_in(change.stages(), from);
        let mean = Some(due / (until - from));
        let (rate_asked, connections) = match change {
            Change::Rate(_) => (mean, None),
            Change::Connections(_) => (None, mean),
        };
        WindowSummary {
            from,
            until,
            rate_asked,
            connections,
            throughput: window.rate(),
            p50: window.p50_ns,
            p99: window.p99_ns,
            failed: window.failed(),
        }
    };
    seen.measured_windows().map(moment).collect()
}

/// A table of them; empty without any.
pub(super) fn text(all: &[WindowSummary], width: usize) -> String {
    let Some(first) = all.first() else {
        return String::new();
    };
    let asked = match first.rate_asked {
        Some(_) => "asked",
        None => "connections",
    };
    let columns = ["over time", asked, "requests/s", "p50", "p99", "failed"];
    let mut table = TextTable::new(columns.map(|name| (name, Align::Right)));
    let tenths = |seconds: f64| (seconds * 10.0 - (seconds * 10.0).round()).abs() < 0.01;
    let digits = match all.iter().all(|one| tenths(one.from)) {
        true => 1,
        false => 2,
    };
    for one in all {
        table.row([
            format!("{:.digits$} s", one.from),
            one.rate_asked
                .map_or_else(|| format!("{:.0}", one.asked()), show::per),
            show::per(one.throughput),
            show::time_or_dash(one.p50),
            show::time_or_dash(one.p99),
            show::count(one.failed),
        ]);
    }
    format!("\n{}", table.fit(width))
}

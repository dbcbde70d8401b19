//! A load whose rate changes, window by window.

use crate::show;
use crate::table::{Align, Table};
use prony_record::stages::due_in;
use prony_record::{Observation, SECOND, Stage};
use schemars::JsonSchema;
use serde::Serialize;

/// A window of a load whose rate changes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Moment {
    /// When it began, in seconds since the load's start.
    pub from: f64,
    /// When it ended.
    pub until: f64,
    /// Requests per second that fell due in it, by the stages.
    pub rate_asked: f64,
    /// Verified answers per second in it.
    pub throughput: f64,
    /// The median response time of what was answered in it, in nanoseconds, within 1 %; null without
    /// answers.
    pub p50: Option<u64>,
    /// The 99th percentile.
    pub p99: Option<u64>,
    /// Requests that ended in it otherwise than with a right answer.
    pub failed: u64,
}

/// The windows of the measurement; none where the rate does not change.
#[must_use]
pub fn over_time(stages: &[Stage], seen: &Observation) -> Vec<Moment> {
    if stages.is_empty() {
        return Vec::new();
    }
    let moment = |window: &prony_record::Window| {
        let from = window.start_ns as f64 / SECOND as f64;
        let until = window.end_ns() as f64 / SECOND as f64;
        let due = due_in(stages, until) - due_in(stages, from);
        Moment {
            from,
            until,
            rate_asked: due / (until - from),
            throughput: window.rate(),
            p50: window.p50_ns,
            p99: window.p99_ns,
            failed: window.failed(),
        }
    };
    seen.measured_windows().map(moment).collect()
}

/// A table of them; empty without any.
pub(super) fn text(all: &[Moment], width: usize) -> String {
    if all.is_empty() {
        return String::new();
    }
    let columns = ["over time", "asked", "answers", "p50", "p99", "failed"];
    let mut table = Table::new(columns.map(|name| (name, Align::Right)));
    for one in all {
        table.row([
            format!("{:.1} s", one.from),
            show::rate(one.rate_asked),
            show::rate(one.throughput),
            show::time_or_dash(one.p50),
            show::time_or_dash(one.p99),
            show::count(one.failed),
        ]);
    }
    format!("\n{}", table.fit(width))
}

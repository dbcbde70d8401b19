//! What a load found by session, where users go through several steps.

use super::SessionReport;
use crate::show;
use crate::table::{Align, Table};
use std::fmt::Write;

/// A table of them, and why they failed; empty without any.
pub(super) fn text(all: &[SessionReport], seconds: f64, width: usize) -> String {
    if all.is_empty() {
        return String::new();
    }
    let columns = [
        "session",
        "completed",
        "per second",
        "failed",
        "p50",
        "p90",
        "p99",
        "max",
    ];
    let aligned = columns.map(|name| match name {
        "session" => (name, Align::Left),
        _ => (name, Align::Right),
    });
    let mut table = Table::new(aligned);
    for one in all {
        let took = &one.duration;
        table.row([
            one.name.clone(),
            show::count(one.completed),
            one.per_second(seconds)
                .map_or("–".into(), |rate| format!("{rate:.1}")),
            show::count(one.failed),
            show::time_within(took.p50, took.intervals.p50),
            show::time_within(took.p90, took.intervals.p90),
            show::time_within(took.p99, took.intervals.p99),
            show::time_or_dash(took.max),
        ]);
    }
    let mut out = format!("\n{}", table.fit(width));
    for one in all {
        for (why, n) in &one.failures {
            let _ = writeln!(
                out,
                "failed       {}: {} times {why}",
                one.name,
                show::count(*n)
            );
        }
    }
    out
}

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
            match seconds > 0.0 {
                true => format!("{:.1}", one.completed as f64 / seconds),
                false => "–".into(),
            },
            show::count(one.failed),
            show::time_or_dash(took.p50),
            show::time_or_dash(took.p90),
            show::time_or_dash(took.p99),
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

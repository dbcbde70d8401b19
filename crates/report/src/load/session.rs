//! Results of a load by session, where users go through several steps.

use super::SessionReport;
use super::named::NameTable;
use crate::show;

/// `seconds` is how long the load was measured.
pub(super) fn named(all: &[SessionReport], seconds: f64) -> NameTable {
    let heads = vec![
        "session",
        "completed",
        "per second",
        "failed",
        "p50",
        "p90",
        "p99",
        "max",
    ];
    let row = |one: &SessionReport| {
        let took = &one.duration;
        vec![
            one.name.clone(),
            show::count(one.completed),
            one.per_second(seconds)
                .map_or("–".into(), |rate| format!("{rate:.1}")),
            show::count(one.failed),
            show::time_within(took.p50, took.intervals.p50),
            show::time_within(took.p90, took.intervals.p90),
            show::time_within(took.p99, took.intervals.p99),
            show::time_or_dash(took.max),
        ]
    };
    let failures = |one: &SessionReport| {
        let failed = one.failures.iter().map(|(why, n)| {
            let text = format!("{}: {} times {why}", one.name, show::count(*n));
            ("failed", text)
        });
        failed.collect::<Vec<_>>()
    };
    NameTable {
        heads,
        rows: all.iter().map(row).collect(),
        notes: all.iter().flat_map(failures).collect(),
    }
}

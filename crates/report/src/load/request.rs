//! What a load found by request, where it sends several.

use crate::show;
use crate::table::{Align, Table};
pub use prony_record::by_request::RequestReport;
use std::fmt::Write;

/// A table of them, and what was wrong; empty without any.
pub(super) fn text(all: &[RequestReport], width: usize) -> String {
    if all.is_empty() {
        return String::new();
    }
    let columns = [
        "request", "share", "answers", "failed", "p50", "p90", "p99", "max", "searched",
    ];
    let aligned = columns.map(|name| match name {
        "request" => (name, Align::Left),
        _ => (name, Align::Right),
    });
    let mut table = Table::new(aligned);
    for one in all {
        let times = &one.response;
        table.row([
            one.name.clone(),
            one.share
                .map_or("–".into(), |share| format!("{:.1} %", 100.0 * share)),
            show::count(one.outcomes.ok),
            show::count(one.outcomes.failed()),
            show::time_within(times.p50, times.intervals.p50),
            show::time_within(times.p90, times.intervals.p90),
            show::time_within(times.p99, times.intervals.p99),
            show::time_or_dash(times.max),
            match one.searched {
                0 => "–".into(),
                n => show::count(n),
            },
        ]);
    }
    let mut out = format!("\n{}", table.fit(width));
    let searched: u64 = all.iter().map(|one| one.searched).sum();
    if searched > 0 {
        let n = show::count(searched);
        let _ = writeln!(
            out,
            "\nStatus, headers and lengths were checked in every answer; the bodies of {n} were searched."
        );
    }
    for text in all.iter().flat_map(|one| &one.wrong_answers) {
        let _ = writeln!(out, "wrong        {text}");
    }
    out
}

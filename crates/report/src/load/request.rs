//! What a load found by request, where it sends several.

use crate::show;
use crate::table::{Align, Table};
use prony_record::{ByRequest, Outcomes, Percentiles};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// What was seen of the requests of one name.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RequestReport {
    /// The name.
    pub name: String,
    /// The share of all requests that it was to have, from 0 to 1.
    pub share_asked: f64,
    /// The share that it had of those that ended in the measurement; null when none ended.
    pub share: Option<f64>,
    /// What became of its requests. One that was never sent belongs to no name.
    pub outcomes: Outcomes,
    /// Response times: from when a request was due until it was answered.
    pub response: Percentiles,
    /// Answers whose bodies were searched, where the file expects a text, a pattern or JSON. What else it
    /// expects is checked in every answer.
    pub searched: u64,
    /// The first wrong answers, in words.
    pub wrong_answers: Vec<String>,
}

impl RequestReport {
    /// Of one of these.
    #[must_use]
    pub fn of(one: &ByRequest, all: &[ByRequest]) -> Self {
        let ended: u64 = all.iter().map(|one| one.outcomes.finished()).sum();
        let share = one.outcomes.finished() as f64 / ended as f64;
        let times = &one.times;
        Self {
            name: one.name.clone(),
            share_asked: one.share,
            share: (ended > 0).then_some(share),
            outcomes: one.outcomes.clone(),
            response: Percentiles::of(&times.response)
                .with_intervals(&times.response, &times.effective),
            searched: one.searched,
            wrong_answers: one.wrong_answers.clone(),
        }
    }
}

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

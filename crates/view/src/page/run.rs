//! A run: what became of it, its report, its files, its trials as they come.

use super::{checks, counted, frame, host, state, time};
use crate::page::state::RunState;
use maud::{Markup, html};
use prony_notebook::{CheckCount, Overview, TrialLine};
use prony_record::TrialStatus;
use prony_record::trial::label;
use prony_report::show;

/// Trials that are listed; the report has all of them.
pub const TRIALS: u32 = 200;
/// Cells whose history is linked.
pub const CELLS: u32 = 100;
/// Formats, what each is called, and what it is.
pub const FORMATS: [(&str, &str); 8] = [
    ("json", "everything, as JSON"),
    ("csv", "a row per trial, as CSV"),
    ("markdown", "tables for a pull request"),
    ("hlog", "HdrHistogram's log"),
    ("hgrm", "HdrHistogram's percentiles of one server"),
    ("benchstat", "Go's benchmark format"),
    ("openmetrics", "OpenMetrics"),
    ("svg", "one of its charts"),
];

/// Content of the page.
#[derive(Debug)]
pub struct RunPage<'a> {
    /// The run.
    pub run: &'a Overview,
    /// Findings of the checks in the run.
    pub found: &'a [CheckCount],
    /// Latest trials of the run, the latest first.
    pub trials: &'a [TrialLine],
    /// The first trial of each of its cells.
    pub cells: &'a [TrialLine],
    /// The run of the same experiment before it.
    pub before: Option<&'a Overview>,
}

/// The page.
pub fn page(shown: &RunPage<'_>) -> Markup {
    let run = shown.run;
    let id = run.id;
    let body = html! {
        p.kind { "prony · " (run.name) " · run " (id) }
        h1 { (run.title) }
        p.facts { (time(run.started)) " · " (host(run)) }
        div data-part="state" {
            p { (state(run)) ", " (counted(run)) @if let Some(end) = run.finished { ", until " (time(end)) } "." }
            @let state = RunState::of(run);
            @if let Some(meaning) = state.meaning() {
                p class=(if state == RunState::UnderWay { "facts" } else { "status" }) { (meaning) }
            }
        }
        @if run.trials > 0 {
            p.lead { a href=(format!("/run/{id}/report")) { "Read the report" } }
            @if let Some(before) = shown.before {
                p { a href=(format!("/compare?run={}&run={id}", before.id)) {
                    "Compare with run " (before.id)
                } ", the one before of the same experiment (" (time(before.started)) ")" }
            }
        }
        h2 { "Checks" }
        div data-part="checks" { (checks(shown.found)) }
        @if run.trials > 0 {
            h2 { "Trials" }
            @if run.trials > u64::from(TRIALS) { p { "The latest " (TRIALS) ". The report has all of them." } }
            div.scroll tabindex="0" role="group" aria-label="Trials" { (table(shown.trials)) }
            h2 { "Over time" }
            ul data-part="cells" { @for cell in shown.cells { li {
                a href=(format!("/history/{}", cell.id)) { (server(cell)) ", " (cell.cell) }
            } } }
            h2 { "As a file" }
            ul { @for (format, what) in FORMATS { li {
                a href=(format!("/run/{id}/export/{format}")) { (format) } ": " (what)
            } } }
        }
        h2 { "How it was made" }
        pre { (run.command_line) }
    };
    frame(&run.title, Some(&id.to_string()), &body)
}

fn server(trial: &TrialLine) -> String {
    label(&trial.server, trial.workers.unwrap_or(1))
}

fn table(lines: &[TrialLine]) -> Markup {
    html! {
        table.trials {
            caption { "Trials, the latest first" }
            thead { tr {
                th scope="col" { "trial" }
                th.n scope="col" { "round" }
                th scope="col" { "server" }
                th scope="col" { "load" }
                th.n scope="col" { "requests/s" }
                th.n scope="col" { "p50" }
                th.n scope="col" { "p99" }
                th.n scope="col" { "CPU/request" }
                th scope="col" { "what became of it" }
            } }
            tbody data-rows="trials" { @for line in lines { (row(line)) } }
        }
    }
}

fn row(line: &TrialLine) -> Markup {
    let rate = line.throughput.map_or("–".into(), show::rate);
    let cpu = line.cpu_ns_per_request.map_or("–".into(), show::time);
    html! {
        tr id=(format!("trial-{}", line.id)) {
            th scope="row" { (line.ordinal + 1) }
            td.n { (line.round + 1) }
            td { (server(line)) }
            td { (line.cell) }
            td.n { (rate) }
            td.n { (show::time_or_dash(line.p50_ns)) }
            td.n { (show::time_or_dash(line.p99_ns)) }
            td.n { (cpu) }
            td { @match line.status {
                TrialStatus::Ok => "measured",
                status => {
                    (status)
                    @if let Some(step) = &line.failed_step { ": " (step.phrase()) }
                    @if let Some(message) = &line.message { ": " (message) }
                }
            } }
        }
    }
}

/// The parts of which a format takes but one: charts, or servers under a load.
pub fn choice(run: &Overview, format: &str, what: &str, parts: &[(String, String)]) -> Markup {
    let body = html! {
        p.kind { a href=(format!("/run/{}", run.id)) { "Run " (run.id) } ": " (run.title) }
        h1 { (what) }
        @if parts.is_empty() { p { "The run has none." } }
        ul { @for (query, name) in parts { li {
            a href=(format!("/run/{}/export/{format}?{query}", run.id)) { (name) }
        } } }
    };
    frame(what, None, &body)
}

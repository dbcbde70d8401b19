//! Cells over time: all of them, and one.

use super::frame;
use maud::{Markup, html};
use prony_pages::chart;
use prony_report::history::change::{History, day};
use prony_report::history::{CellHistory, Measure};
use prony_report::show;

/// Cells that are listed.
const LISTED: usize = 300;

/// All cells that more than one run has.
pub fn all(cells: &[CellHistory]) -> Markup {
    let several: Vec<&CellHistory> = cells.iter().filter(|cell| cell.visits.len() > 1).collect();
    let body = html! {
        h1 { "Histories" }
        p { "The same server under the same load in the same experiment on the same host, over all runs." }
        @if several.is_empty() {
            p.status { "No server has been measured in two runs of one experiment yet." }
        } @else {
            @if several.len() > LISTED { p { "The " (LISTED) " with the most runs, of " (several.len()) "." } }
            div.scroll tabindex="0" role="group" aria-label="Histories" {
                table.histories {
                    caption { "Servers under loads, those with the most runs first" }
                    thead { tr {
                        th scope="col" { "server, load" }
                        th scope="col" { "experiment, host" }
                        th.n scope="col" { "runs" }
                        th.n scope="col" { "last" }
                        th scope="col" { "throughput over the runs" }
                    } }
                    tbody { @for cell in several.iter().take(LISTED) { (row(cell)) } }
                }
            }
        }
    };
    frame("Histories", None, &body)
}

fn row(cell: &CellHistory) -> Markup {
    let last = cell.visits.last().map(|visit| day(visit.started));
    let sentence = match History::new(cell, Measure::Throughput) {
        Ok(history) => history.sentence(),
        Err(error) => error.to_string(),
    };
    html! {
        tr {
            th scope="row" { a href=(format!("/history/{}", cell.first)) { (cell.server) ", " (cell.load) } }
            td { (cell.experiment) div.small { (cell.host) } }
            td.n { (cell.visits.len()) }
            td.n { (last.unwrap_or_default()) }
            td { (sentence) }
        }
    }
}

/// One cell, by one measure.
pub fn one(cell: &CellHistory, history: &History, at: i64) -> Markup {
    let title = format!("{}, {}", cell.server, cell.load);
    let body = html! {
           p.kind { "history · " (cell.experiment) " · " (cell.contract) " · " (cell.host) }
           h1 { (title) }
           nav aria-label="Selection" {
               @for measure in Measure::ALL {
                   @let here = measure == history.measure;
                   a href=(format!("/history/{at}?value={}", measure.name())) aria-current=[here.then_some("page")] {
                       (measure.title())
                   }
               }
           }
           section.verdict { div.says {
               h2 { "Result" }
               p.lead { (history.sentence()) }
               @if history.changes.len() > 1 {
                   ul { @for change in history.changes.iter().rev().skip(1) { li { (change.words) } } }
               }
               @for change in history.changes.iter().rev().take(1) {
                   @let (before, after) = (history.points[change.at - 1].run, history.points[change.at].run);
                   p { a href=(format!("/compare?run={before}&run={after}")) {
                       "Compare the last run before it with the first after it"
                   } }
               }
           } aside {
               h2 { "What else changed" }
               @let others = cell.circumstances();
               @if others.is_empty() { p { "Neither the server's version nor prony nor the kernel." } }
               @else { ul { @for one in &others { li { (one) } } } }
           } }
           @if let Some(chart) = chart::history(cell, history) { div.figures { (chart.figure()) } }
           h2 { "Runs" }
           ul.runs { @for point in history.points.iter().rev() { li {
               a href=(format!("/run/{}", point.run)) { "run " (point.run) }
    " " (day(point.started)) @if !point.version.is_empty() { " · " (point.version) } ": " (value(history.measure, point.value.value()))
           } } }
       };
    frame(&title, None, &body)
}

fn value(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Throughput => show::rate(value),
        Measure::P99 | Measure::Cpu => show::time(value),
    }
}

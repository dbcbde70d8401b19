//! The list of runs.

use super::{checks, frame, host, state, time, trials};
use crate::query::Query;
use maud::{Markup, html};
use prony_notebook::{CheckCount, Overview, RunId};
use prony_record::trial::label;
use std::collections::HashMap;
use std::path::Path;

/// Servers that are named before "and … more".
const NAMED: usize = 4;

/// Content of the page.
#[derive(Debug)]
pub struct List<'a> {
    /// The notebook's file.
    pub notebook: &'a Path,
    /// Query of the request, by which the runs were selected.
    pub query: &'a Query,
    /// The runs, the latest first.
    pub runs: &'a [Overview],
    /// Findings of the checks, by run.
    pub found: &'a HashMap<RunId, Vec<CheckCount>>,
    /// The experiments that there are.
    pub names: &'a [String],
    /// Are there older ones?
    pub more: bool,
}

/// The page.
pub fn page(list: &List<'_>) -> Markup {
    let asked = ["q", "name", "before"]
        .iter()
        .any(|key| list.query.one(key).is_some());
    let body = html! {
        h1 { "Runs" }
        p.facts { "Notebook: " code { (list.notebook.display()) } }
        @if list.names.is_empty() {
            p.status { "There are no runs yet. " code { "prony run quickstart" } " makes one; it appears here." }
        } @else {
            (filter(list))
        }
        @if list.runs.is_empty() && !list.names.is_empty() {
            p.status { "No run is like that. " a href="/" { "All runs" } }
        }
        form action="/compare" method="get" data-choice="2" {
            div.bar hidden[list.runs.len() < 2] {
                button type="submit" { "Compare the two chosen" }
                span #chosen role="status" { "Choose two runs." }
            }
            div.scroll tabindex="0" role="group" aria-label="Runs" { (table(list)) }
        }
        @if let (true, Some(last)) = (list.more, list.runs.last()) {
            p { a rel="next" href=(list.query.with("before", &last.id.to_string()).to("/")) { "Older runs" } }
        }
        @if asked && !list.runs.is_empty() { p { a href="/" { "All runs" } } }
    };
    frame("Runs", Some("list"), &body)
}

fn filter(list: &List<'_>) -> Markup {
    let name = list.query.one("name").unwrap_or_default();
    html! {
        form.filter action="/" method="get" role="search" {
            label { "Text " input type="search" name="q" value=(list.query.one("q").unwrap_or_default()); }
            label { "Experiment "
                select name="name" {
                    option value="" { "all" }
                    @for one in list.names { option value=(one) selected[one == name] { (one) } }
                }
            }
            button type="submit" { "Filter" }
        }
    }
}

fn table(list: &List<'_>) -> Markup {
    html! {
        table.runs {
            caption { "Runs, the latest first" }
            thead { tr {
                th scope="col" { "compare" }
                th.n scope="col" { "run" }
                th scope="col" { "what" }
                th scope="col" { "began" }
                th scope="col" { "state" }
                th.n scope="col" { "trials" }
                th scope="col" { "checks raised" }
            } }
            tbody data-rows="runs" {
                @for run in list.runs { (row(run, list.found.get(&run.id).map_or(&[], Vec::as_slice))) }
            }
        }
    }
}

fn row(run: &Overview, found: &[CheckCount]) -> Markup {
    let id = run.id;
    html! {
        tr id=(format!("run-{id}")) {
            td.box { input type="checkbox" name="run" value=(id) aria-label=(format!("Compare run {id}")); }
            td.n data-label="run" { (id) }
            th scope="row" {
                a href=(format!("/run/{id}")) { (run.title) }
                @if let Some(result) = &run.result { div.result { (result) } }
                div.small { (run.name) ": " (servers(run)) }
            }
            td { (time(run.started)) div.small { (host(run)) } }
            td { (state(run)) }
            td.n data-label="trials" { (trials(run)) }
            td data-label="checks" { (checks(found)) }
        }
    }
}

fn servers(run: &Overview) -> String {
    let all = run
        .servers
        .iter()
        .map(|(server, workers)| label(server, workers.unwrap_or(1)));
    let mut named: Vec<String> = all.collect();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    match (named.is_empty(), more) {
        (true, _) => "no trials".into(),
        (_, 0) => named.join(", "),
        (_, more) => format!("{} and {more} more", named.join(", ")),
    }
}

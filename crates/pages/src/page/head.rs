//! Top of a page, which is read first: the sentence, and the checks beside it.

use crate::chart::capacity_sentences;
use crate::material::Material;
use maud::{Markup, html};
use prony_record::verdict::Comparison;
use prony_report::duel;
use prony_report::run::{CellReport, RaisedCheck, rigs};
use prony_report::show;
use prony_verdict::seen::DuelReport;

/// Servers that are named before "and … more".
const NAMED: usize = 6;

pub(super) fn header(material: &Material) -> Markup {
    let run = &material.report.run;
    let started = material.run.facts.started.strftime("%-d %B %Y, %H:%M UTC");
    html! {
        p.kind { "prony · " (run.name) " · run " (run.id) }
        h1 { (run.title) }
        p.facts {
            time datetime=(run.started) { (started.to_string()) }
            " · " (run.host) " · " (run.placement)
        }
        @if run.status != "finished" {
            @match &run.failure {
                Some(failure) => p.status { "The run has " strong { (run.status) } ": " (failure) },
                None => p.status { "The run is marked as " strong { (run.status) } ": these are the figures until then." },
            }
        }
    }
}

pub(super) fn verdict(material: &Material) -> Markup {
    let report = &material.report;
    let raised = report.findings();
    let sentences = match &material.duel {
        Some(_) => Vec::new(),
        None => sentences(material),
    };
    html! {
        section #verdict.verdict {
            div.says {
                h2 { "Result" }
                @if let Some(duel) = &material.duel { (told(duel)) }
                @else { @match &sentences[..] {
                    [] => p.lead { "Nothing has been measured." },
                    [(_, only)] => p.lead { (only) },
                    [(load, first), more @ ..] => {
                        p.lead { (first) " " span.load { "Load " (load) "." } }
                        ul { @for (load, sentence) in more { li { (sentence) " " span.load { "Load " (load) "." } } } }
                    }
                } }
                @if !report.over.is_empty() {
                    ul { @for over in &report.over { li { (over.sentence) } } }
                }
                @if !report.rigs.is_empty() { p { (rigs::sentence(&report.rigs)) } }
                @if let Some(p) = promises(material) { p { (p) } }
            }
            aside aria-label="Checks" {
                h2 { "Checks" }
                @if raised.is_empty() {
                    p { "None was raised: the figures mean what they seem to mean, as far as prony can tell." }
                } @else {
                    ul.checks { @for one in &raised { (check(one)) } }
                }
            }
        }
    }
}

/// Draws the result of a duel: its sentences, its comparisons and its notes.
fn told(duel: &DuelReport) -> Markup {
    html! {
        @for sentence in &duel.sentences { p.lead { (sentence) } }
        div.scroll { table {
            caption { "Comparison and result" }
            thead { tr {
                th scope="col" { "side" }
                th scope="col" { "quantity" }
                th.n scope="col" { "change" }
                th.n scope="col" { "95% CI" }
                th scope="col" { "verdict" }
            } }
            tbody { @for one in &duel.comparisons { tr {
                td { (versus(duel, one)) }
                th scope="row" { (duel::in_table(one.quantity)) }
                td.n { (show::change(one.ratio.value())) }
                td.n { (duel::interval(one)) }
                td { (duel::verdict(one)) }
            } } }
        } }
        p { (duel::ending(duel)) }
        @for note in &duel.notes { p { (note) } }
    }
}

/// Names the two sides of a ratio: a side, divided by the first one.
fn versus(duel: &DuelReport, one: &Comparison) -> String {
    let first = duel.sides.first().map_or("", |side| side.name.as_str());
    format!("{} / {first}", one.side)
}

fn check(raised: &RaisedCheck) -> Markup {
    let word = raised.finding.severity.word();
    let mut names = raised
        .servers
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if raised.servers.len() > NAMED {
        names += &format!(" and {} more", raised.servers.len() - NAMED);
    }
    html! {
        li class=(word) {
            details {
                summary { span.severity { (word) } " " strong { (raised.finding.name) } ": " (names) }
                p { (raised.finding.text) }
                p { code { "prony explain " (raised.finding.name) } " says what to do." }
            }
        }
    }
}

/// By load, which server is ahead; for loads at a rate, how long their answers take.
fn sentences(material: &Material) -> Vec<(String, String)> {
    let capacities = capacity_sentences(material);
    if !capacities.is_empty() {
        return capacities;
    }
    let report = &material.report;
    report
        .by_load()
        .into_iter()
        .map(|(load, cells)| {
            let at_rate = cells.iter().all(|cell| cell.load.rate.is_some());
            let sentence = if at_rate {
                times(&cells)
            } else {
                report.sentence(&cells)
            };
            (load.to_owned(), sentence)
        })
        .collect()
}

fn times(cells: &[&CellReport]) -> String {
    let mut found: Vec<(&&CellReport, u64)> = cells
        .iter()
        .filter_map(|cell| Some((cell, cell.latency.response.p99?)))
        .collect();
    found.sort_by_key(|(_, p99)| *p99);
    let words: Vec<String> = found
        .iter()
        .take(NAMED)
        .map(|(cell, p99)| format!("{} {}", cell.label(), show::time(*p99 as f64)))
        .collect();
    match words.is_empty() {
        true => "At this rate there were too few answers for a p99.".into(),
        false => format!(
            "At this rate the p99 of the response time was: {}.",
            words.join(", ")
        ),
    }
}

/// Were the answers right? The sentence is worth nothing if not.
fn promises(material: &Material) -> Option<String> {
    let cells = &material.report.cells;
    if cells.is_empty() || material.report.run.name == "capacity" {
        return None;
    }
    let broken: Vec<String> = cells
        .iter()
        .filter(|cell| !cell.verified)
        .map(CellReport::label)
        .collect();
    let answers: u64 = cells.iter().map(|cell| cell.answers).sum();
    let trials: u64 = cells.iter().map(|cell| cell.trials).sum();
    Some(if broken.is_empty() {
        format!(
            "{} answers in {} trials; every answer was checked, and every server kept its contract.",
            show::count(answers),
            show::count(trials)
        )
    } else {
        format!("Not every answer was right: see {}.", broken.join(", "))
    })
}

//! Sections about what was not measured, where the rest was, how, and how to do it again.

use crate::material::Material;
use crate::raw::Packed;
use maud::{Markup, html};
use prony_record::{Host, Step};
use prony_report::run::generators::{HEADS, row};
use prony_report::run::{FailureReport, GeneratorReport};
use prony_report::show;

pub(super) fn failures(material: &Material) -> Markup {
    let all = &material.report.failures;
    if all.is_empty() {
        return html! {};
    }
    let only = |kept: fn(&FailureReport) -> bool| -> Vec<&FailureReport> {
        all.iter().filter(|failure| kept(failure)).collect()
    };
    let (missing, failed) = (only(FailureReport::is_not_set_up), only(|it| !it.skipped));
    html! {
        section #failures {
            h2 { "Not measured" }
            @for failure in failed {
                details.server open {
                    summary {
                        strong { (failure.server) } " failed"
                        @if let Some(round) = failure.round { " in round " (round) }
                        ": " (failure.step.map_or("unknown step", Step::phrase))
                    }
                    p { (failure.message) }
                    @if !failure.output.is_empty() {
                        p { "The end of its output:" }
                        pre { (printable(&failure.output)) }
                    }
                }
            }
            @let lacking = material.report.lacking();
            @if !lacking.is_empty() { ul { @for line in lacking { li { (line) } } } }
            @if !missing.is_empty() {
                @if let Some((what, command)) = material.report.set_up_hint() { p { (what) ": " code { (command) } } }
                details {
                    summary { "Which, and what they need" }
                    ul { @for failure in missing { li { strong { (failure.server) } ": " (failure.message) } } }
                }
            }
        }
    }
}

/// Control characters as they would be written: a terminal's colours are no text.
fn printable(output: &str) -> String {
    output
        .chars()
        .flat_map(|c| match c {
            '\n' | '\t' => c.to_string().chars().collect::<Vec<_>>(),
            c if c.is_control() => c.escape_default().collect(),
            c => vec![c],
        })
        .collect()
}

pub(super) fn environment(material: &Material) -> Markup {
    let run = &material.report.run;
    let facts = &material.run.facts;
    html! {
        section #environment {
            h2 { "Environment" }
            dl {
                dt { "Placement" } dd { (run.placement) }
                @for (name, value) in described(&facts.host) { dt { (name) } dd { (value) } }
                dt { "prony" }
                dd { (facts.prony_version) @if let Some(commit) = &facts.prony_commit { ", commit " (commit) } }
                @if let Some(upstream) = &run.upstream { dt { "Upstream" } dd { (upstream) } }
            }
            @if !material.report.generators.is_empty() { (generators(&material.report.generators)) }
        }
    }
}

/// The machines that sent the load.
fn generators(all: &[GeneratorReport]) -> Markup {
    html! {
        div.scroll { table {
            caption { "Where the load came from, over all trials" }
            thead { tr { @for (nth, head) in HEADS.iter().enumerate() { th.n[nth > 1] scope="col" { (head) } } } }
            tbody { @for one in all { tr {
                @for (nth, cell) in row(one).iter().enumerate() { td.n[nth > 1] { (cell) } }
            } } }
        } }
    }
}

/// The host: what each figure is called, and what it is.
fn described(host: &Host) -> Vec<(&'static str, String)> {
    let unknown = || "not known".to_owned();
    let text = |text: &str| match text {
        "" => unknown(),
        text => text.to_owned(),
    };
    let number = |n: u64, shown: String| if n == 0 { unknown() } else { shown };
    let mitigations = host
        .mitigations
        .iter()
        .map(|(weakness, state)| format!("{}: {state}", weakness.replace('_', " ")));
    let cpus = host.cpus as u64;
    vec![
        ("kernel", text(&host.kernel)),
        ("CPU", text(&host.cpu)),
        ("CPUs", number(cpus, cpus.to_string())),
        (
            "memory",
            number(host.memory, show::bytes(host.memory as f64)),
        ),
        (
            "virtual machine",
            if host.virtual_machine { "yes" } else { "no" }.to_owned(),
        ),
        (
            "CPU governor",
            text(host.governor.as_deref().unwrap_or_default()),
        ),
        ("clock", text(&host.clock)),
        ("congestion control", text(&host.congestion_control)),
        (
            "somaxconn",
            number(host.somaxconn, host.somaxconn.to_string()),
        ),
        (
            "mitigations",
            text(&mitigations.collect::<Vec<_>>().join("; ")),
        ),
    ]
}

pub(super) fn method(material: &Material) -> Markup {
    let started_together = matches!(material.report.run.name.as_str(), "duel" | "calibrate");
    html! {
        section #method {
            h2 { "Method" }
            ol {
                @if started_together {
                    li { "In every round all sides are started together and loaded in turns, in an order and its reverse, so that a drift of the machine falls on all of them." }
                } @else {
                    li { "Every trial is a fresh start of one server, and every round has one trial of each, in an order drawn afresh, so that a drift of the machine falls on all of them." }
                }
                li { "A server is verified before and after the load with paths and payloads that it cannot know, and every answer under load is checked: what counts are right answers." }
                li { "It is loaded unmeasured until the rate is steady, then measured; response times run from when a request was due, time-outs are samples, and nothing is filled in afterwards." }
                li { "A server is compared with the baseline within rounds; intervals are at 95%, over trials and not over requests, and of more than two servers the intervals of all ratios hold together; between servers that share a bracket there is no significant difference: with the baseline if the ratio's interval holds 1, between others by paired t tests (false discovery rate 2.5%). A percentile's interval comes from order statistics, with as many samples as they are worth as independent ones, and is not narrower than the spread over trials allows." }
                li { "Checks examine every trial for common mistakes, and their findings are next to the results. A percentile with fewer than ten samples beyond it is not shown." }
            }
        }
    }
}

pub(super) fn again(material: &Material, data: &Packed) -> Markup {
    let facts = &material.run.facts;
    let id = material.run.id;
    html! {
        section #again {
            h2 { "Run it again" }
            p { "This run was made with" }
            pre { code { (facts.command_line) } }
            p { "Its random orders follow from the seed " code { (facts.seed) } " (" code { "--seed" } ")." }
            p {
                a #download download=(format!("prony-run-{id}.json.gz")) href=(data.link()) { "Download the raw data" }
                " (JSON, gzip, " (prony_report::show::bytes(data.bytes() as f64)) "): every trial"
                @if !data.left_out.is_empty() {
                    ", without " (data.left_out.join(", ")) ", which would make this file too large ("
                    code { "prony export " (id) " --format json" } " has them)"
                } @else { ", window and histogram" }
                ". " code { "prony schema export" } " describes it."
            }
        }
    }
}

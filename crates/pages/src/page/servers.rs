//! Each server: what it is, what it was started with, and all its trials.

use crate::chart::look_sample;
use crate::material::{Material, StoredTrial};
use maud::{Markup, html};
use prony_record::TrialStatus;
use prony_report::run::CellReport;
use prony_report::show;
use serde_json::Value;

pub(super) fn section(material: &Material) -> Markup {
    let mut labels: Vec<String> = Vec::new();
    for cell in &material.report.cells {
        let label = cell.label();
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    html! {
        section #servers {
            h2 { "Servers" }
            @for label in &labels { (server(material, label)) }
        }
    }
}

fn server(material: &Material, label: &str) -> Markup {
    let parts: Vec<&StoredTrial> = material
        .trials
        .iter()
        .filter(|part| part.label() == label)
        .collect();
    let cells: Vec<&CellReport> = material
        .report
        .cells
        .iter()
        .filter(|cell| cell.label() == label)
        .collect();
    let Some(cell) = cells.first() else {
        return html! {};
    };
    let manifest = material.about().manifests.get(&cell.server);
    let of = |key: &str| manifest.and_then(|m| m[key].as_str()).unwrap_or_default();
    let mut command = parts.iter().map(|part| part.trial().command_line.as_str());
    let command = command.rfind(|command| !command.is_empty());
    let version = parts
        .iter()
        .rev()
        .find_map(|part| part.trial().server_version.as_deref());
    let verified = cells.iter().all(|cell| cell.verified);
    let upstream = material.report.run.upstream.as_deref() == Some(cell.server.as_str());
    html! {
        details.server {
            summary {
                svg viewBox="0 0 28 16" width="28" height="16" aria-hidden="true" { (look_sample(material, label)) }
                strong { (label) }
                @if label == material.report.run.baseline { " · baseline" }
                @if upstream { " · stands behind every gateway" }
                @if !of("title").is_empty() { " · " (of("title")) }
            }
            dl {
                @if !of("language").is_empty() { dt { "Language" } dd { (of("language")) } }
                @if !of("model").is_empty() { dt { "Model" } dd { (of("model")) } }
                @if let Some(version) = version { dt { "Version" } dd { (version) } }
                @if let Some(command) = command { dt { "Command line" } dd { code { (command) } } }
                dt { "Workers" } dd { (cell.workers) }
                dt { "Verification" }
                dd {
                    @if verified { "kept its contract (" (material.report.run.contract) ") in every trial" }
                    @else { strong { "broke its contract: see the trials" } }
                }
                @for (step, reason) in &cell.expected_failures {
                    dt { "Expected failure" } dd { (step) ": " (reason) }
                }
                @let spread = &cell.connections_per_worker;
                @if spread.len() > 1 {
                    dt { "Connections of each event loop" }
                    dd { (spread.iter().map(u32::to_string).collect::<Vec<_>>().join(" + ")) }
                }
            }
            @if let Some(manifest) = manifest {
                details { summary { "Manifest" } pre { (pretty(manifest)) } }
            }
            (trials(label, &parts))
        }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn trials(label: &str, parts: &[&StoredTrial]) -> Markup {
    let rate = |part: &StoredTrial| {
        part.trial()
            .figures
            .throughput
            .map_or("–".into(), show::rate)
    };
    html! {
        div.scroll tabindex="0" role="group" aria-label=(format!("Trials of {label}")) {
            table {
                caption { "All trials of " (label) }
                thead { tr {
                    th scope="col" { "round" } th scope="col" { "load" }
                    th scope="col" class="n" { "requests/s" } th scope="col" class="n" { "p50" }
                    th scope="col" class="n" { "p99" } th scope="col" class="n" { "max" }
                    th scope="col" class="n" { "CPU/req" } th scope="col" class="n" { "memory" }
                    th scope="col" class="n" { "warm-up" } th scope="col" { "checks" }
                } }
                tbody {
                    @for part in parts {
                        @let (trial, figures) = (part.trial(), &part.trial().figures);
                        tr {
                            th scope="row" { (trial.round + 1) }
                            td { (trial.cell) }
                            td.n { (rate(part)) }
                            td.n { (show::time_or_dash(figures.p50_ns)) }
                            td.n { (show::time_or_dash(figures.p99_ns)) }
                            td.n { (show::time_or_dash(figures.max_ns)) }
                            td.n { (figures.cpu_ns_per_request.map_or("–".into(), show::time)) }
                            td.n { (figures.rss_peak_bytes.map_or("–".into(), |b| show::bytes(b as f64))) }
                            td.n { @if let Some(seen) = part.measured() {
                                (show::time(seen.durations.warmup_ns as f64)) @if !seen.warmed_up { "*" }
                            } @else { "–" } }
                            td { (judged(part)) }
                        }
                    }
                }
            }
        }
    }
}

fn judged(part: &StoredTrial) -> String {
    let trial = part.trial();
    let mut words: Vec<&str> = Vec::new();
    if trial.status != TrialStatus::Ok {
        words.push(trial.status.word());
        words.extend(trial.failure.as_ref().map(|failure| failure.step.phrase()));
    }
    let checks = part.measured().into_iter().flat_map(|seen| &seen.checks);
    words.extend(checks.map(|check| check.name.word()));
    words.join(", ")
}

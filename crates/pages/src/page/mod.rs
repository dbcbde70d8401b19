//! The report of a run as one HTML file, which needs nothing but itself.
//!
//! It reads well without its script, which only shows exact values beside marks, and looks into flame
//! graphs. A content security policy allows that one script, by its hash, and no request to anywhere: should a name ever escape
//! the escaping, it could still not do anything.

mod about;
mod head;
mod listed;
mod servers;

use crate::PageError;
use crate::chart::{self, Chart, ChartKind};
use crate::material::Material;
use crate::raw;
use crate::why::{self, FLAMES, section};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

const CHARTS: &str = include_str!("../chart/style.css");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Styles for pages made elsewhere, if they hold charts: the style of charts, and of pages.
pub const LOOKS: [&str; 2] = [CHARTS, STYLE];
/// Script that shows exact values beside the marks of charts; it needs an element `#tip`.
pub const HOVER: &str = SCRIPT;
/// Charts of one section that are open; the others unfold.
const OPEN: usize = 4;

/// The report as HTML.
///
/// # Errors
/// When the run's data cannot be written as JSON.
pub fn html(material: &Material) -> Result<String, PageError> {
    let charts = chart::charts(material);
    let report = serde_json::to_string(&material.report)?;
    let data = raw::packed(material)?;
    let script = match material.report.why {
        Some(_) => [SCRIPT, why::SCRIPT].concat(),
        None => SCRIPT.to_owned(),
    };
    let title = &material.report.run.title;
    let page = html! {
        (chart::doctype())
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(&script));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(format!("prony {}", material.report.run.prony));
                title { (title) " – prony" }
                link rel="icon" href="data:,";
                style { (PreEscaped(CHARTS)) (PreEscaped(STYLE)) @if material.report.why.is_some() { (PreEscaped(FLAMES)) } }
            }
            body {
                a.skip href="#verdict" { "Skip to the result" }
                header { (head::header(material)) }
                main {
                    (head::verdict(material))
                    (contents(&charts, material))
                    @for section in SECTIONS { (figures(&charts, section)) }
                    (listed::composite(material))
                    (listed::idle(material))
                    (listed::services(material))
                    @if let Some(anatomy) = &material.report.why { (section(anatomy)) }
                    (servers::section(material))
                    (about::failures(material))
                    (about::environment(material))
                    (about::method(material))
                    (about::again(material, &data))
                }
                footer { "Made by prony " (material.report.run.prony) " from its notebook." }
                div #tip role="status" hidden {}
                script #prony-report type="application/json" { (PreEscaped(inert(&report))) }
                script { (PreEscaped(&script)) }
            }
        }
    };
    Ok(page.into_string())
}

/// Returns the content security policy of a page: it may run this one script, and send no requests.
pub(crate) fn policy(script: &str) -> String {
    let hash = STANDARD.encode(Sha256::digest(script));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; img-src data:; \
         base-uri 'none'; form-action 'none'"
    )
}

/// JSON inside a `script` element: whatever could end it, or begin a comment in it, needs angle brackets,
/// which JSON has in strings alone, where they can be written in another way.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e")
}

/// A part of the page that is made of charts.
struct ChartSection {
    id: &'static str,
    title: &'static str,
    kind: ChartKind,
}

const SECTIONS: &[ChartSection] = &[
    ChartSection {
        id: "throughput",
        title: "Throughput",
        kind: ChartKind::Throughput,
    },
    ChartSection {
        id: "loads",
        title: "Over loads",
        kind: ChartKind::Grid,
    },
    ChartSection {
        id: "latency",
        title: "Response times",
        kind: ChartKind::Latency,
    },
    ChartSection {
        id: "requests",
        title: "By request",
        kind: ChartKind::Requests,
    },
    ChartSection {
        id: "cost",
        title: "Resources",
        kind: ChartKind::Cost,
    },
    ChartSection {
        id: "workers",
        title: "Workers",
        kind: ChartKind::Scaling,
    },
    ChartSection {
        id: "time",
        title: "Time inside trials",
        kind: ChartKind::Time,
    },
];

fn contents(charts: &[Chart], material: &Material) -> Markup {
    let has = |section: &&ChartSection| charts.iter().any(|chart| chart.kind == section.kind);
    html! {
        nav aria-label="Contents" {
            @for section in SECTIONS.iter().filter(has) {
                a href=(format!("#{}", section.id)) { (section.title) }
            }
            a href="#servers" { "Servers" }
            @if !material.report.failures.is_empty() { a href="#failures" { "Not measured" } }
            a href="#environment" { "Environment" }
            a href="#method" { "Method" }
            a href="#again" { "Run it again" }
        }
    }
}

fn figures(charts: &[Chart], section: &ChartSection) -> Markup {
    let own: Vec<&Chart> = charts
        .iter()
        .filter(|chart| chart.kind == section.kind)
        .collect();
    if own.is_empty() {
        return html! {};
    }
    let small = section.kind == ChartKind::Time;
    // Small ones stand beside each other, so more of them fit.
    let open = if small { 3 * OPEN } else { OPEN };
    let (first, more) = own.split_at(own.len().min(open));
    let class = if small { "figures small" } else { "figures" };
    html! {
        section id=(section.id) {
            h2 { (section.title) }
            @if small {
                p { "Each line is a trial: requests per second, window by window. What is shaded was warm-up \
                     and does not count. Red lines are where the rate changed while it was measured." }
            }
            div class=(class) { @for chart in first { (chart.figure()) } }
            @if !more.is_empty() {
                details.more {
                    summary { (more.len()) " more" }
                    div class=(class) { @for chart in more { (chart.figure()) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn json_cannot_end_its_element() {
        let json = serde_json::to_string("</script><!--<script>").unwrap();
        let inert = super::inert(&json);
        assert!(!inert.contains(['<', '>']));
        assert_eq!(
            serde_json::from_str::<String>(&inert).unwrap(),
            "</script><!--<script>"
        );
    }
}

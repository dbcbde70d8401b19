//! The pages: what they have in common, and what becomes of a question that has no answer.

pub mod compare;
pub mod history;
pub mod list;
pub mod run;
pub mod state;

use hyper::StatusCode;
use jiff::Timestamp;
use maud::{DOCTYPE, Markup, html};
use prony_notebook::{CheckCount, Overview};
use state::RunState;

/// The style of all pages: that of reports, and what only the view has.
pub fn style() -> String {
    let [charts, page] = prony_pages::page::LOOKS;
    [charts, page, include_str!("view.css")].concat()
}

/// The script of all pages: that of charts, and what listens. Pages say everything without it; they only
/// do not move by themselves.
pub fn script() -> String {
    [prony_pages::page::HOVER, include_str!("view.js")].concat()
}

/// A page. What `live` says is replaced when the notebook changes: `list`, or a run's number.
pub fn frame(title: &str, live: Option<&str>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " – prony view" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href="/style.css";
            }
            body data-live=[live] {
                a.skip href="#main" { "Skip to the content" }
                nav.site aria-label="Site" {
                    a href="/" { "Runs" }
                    a href="/histories" { "Histories" }
                    @if live.is_some() { p #said role="status" aria-live="polite" {} }
                }
                main #main tabindex="-1" { (body) }
                footer { "prony " (env!("CARGO_PKG_VERSION")) ", from the notebook. Times are UTC." }
                div #tip role="status" hidden {}
                script src="/script.js" {}
            }
        }
    }
}

/// Why there is no page.
pub fn problem(status: StatusCode, text: &str) -> Markup {
    let title = status.canonical_reason().unwrap_or("No answer");
    let body = html! {
        h1 { (title) }
        p { (text) }
        p { a href="/" { "All runs" } }
    };
    frame(title, None, &body)
}

/// A moment, to the minute.
fn time(at: Timestamp) -> Markup {
    html! { time datetime=(at.to_string()) { (at.strftime("%Y-%m-%d %H:%M").to_string()) } }
}

/// Formats the state of a run.
fn state(run: &Overview) -> Markup {
    let state = RunState::of(run);
    html! { span class=(state.class()) { (state.words()) } }
}

/// The host in short.
fn host(run: &Overview) -> String {
    run.host.short()
}

/// Trials so far, and how many of them failed.
fn trials(run: &Overview) -> Markup {
    html! { (run.trials) @if run.failed > 0 { " (" (run.failed) " failed)" } }
}

/// The same in words.
fn counted(run: &Overview) -> String {
    let failed = match run.failed {
        0 => String::new(),
        failed => format!(" ({failed} failed)"),
    };
    let word = if run.trials == 1 { "trial" } else { "trials" };
    format!("{} {word}{failed}", run.trials)
}

/// Formats the findings of checks in trials, the most serious first.
fn checks(found: &[CheckCount]) -> Markup {
    let mut found: Vec<&CheckCount> = found.iter().collect();
    found.sort_by_key(|one| std::cmp::Reverse(one.severity));
    html! {
        @if found.is_empty() { "none" }
        @else { ul.raised { @for one in found {
            li class=(one.severity) {
                span.severity { (one.severity) } " " (one.name)
                @if one.trials > 1 { " ×" (one.trials) }
            }
        } } }
    }
}

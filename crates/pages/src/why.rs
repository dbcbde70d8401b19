//! A page with the anatomy of a request: what differs, and flame graphs.

mod flame;
mod markdown;

use crate::chart::anatomy::{of_one, of_two};
use crate::page::{LOOKS, policy};
pub use markdown::{markdown, markdown_of};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use prony_report::table::UNLIMITED;
use prony_report::why;
use prony_verdict::why::Anatomy;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A page that is complete in one file. It says everything without its script, which searches flame graphs and looks into
/// them; a content security policy allows that one script, by its hash, and no request to anywhere.
#[must_use]
pub fn page(anatomy: &Anatomy) -> String {
    let names: Vec<&str> = anatomy
        .sides
        .iter()
        .map(|side| side.name.as_str())
        .collect();
    let title = format!("Why: {}", names.join(" against "));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(SCRIPT));
                title { (title) }
                style { (PreEscaped(LOOKS[0])) (PreEscaped(STYLE)) (PreEscaped(FLAMES)) }
            }
            body {
                h1 { (title) }
                (tables(anatomy))
                (graphs(anatomy))
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Section of a run's page about its anatomy: sentences and tables, with the flame graphs folded.
pub(crate) fn section(anatomy: &Anatomy) -> Markup {
    html! {
        section #why {
            h2 { "Why" }
            (tables(anatomy))
            details {
                summary { "Flame graphs" }
                (graphs(anatomy))
            }
        }
    }
}

/// Section that compares the anatomy of a server in two runs, without its flame graphs.
#[must_use]
pub fn compared(anatomy: &Anatomy) -> Markup {
    html! {
        section.why {
            h2 { "Why" }
            (tables(anatomy))
        }
    }
}

fn tables(anatomy: &Anatomy) -> Markup {
    html! {
        @for against in &anatomy.differences {
            p.verdict { (against.sentence) }
            @if let Some(chart) = of_two(anatomy, against) { (chart.figure()) }
            pre { (why::table(anatomy, against, UNLIMITED)) }
        }
        @if anatomy.differences.is_empty() {
            @for side in &anatomy.sides {
                p.verdict { (why::capital(&side.sentence)) }
                @if let Some(chart) = of_one(side) { (chart.figure()) }
                pre { (why::of_one(side).fit(UNLIMITED)) }
            }
        }
        pre { (why::notes(anatomy)) }
    }
}

fn graphs(anatomy: &Anatomy) -> Markup {
    let base = anatomy.sides.first();
    html! {
        @for side in anatomy.sides.iter().skip(1) {
            @if let Some(base) = base {
                h3 { "Difference: " (side.name) " against " (base.name) }
                p { "The width is " (side.name) "'s; red has a larger share of its samples, blue a smaller one." }
                (drawn(flame::graph(&side.stacks, Some(&base.stacks))))
            }
        }
        @for side in &anatomy.sides {
            h3 { (side.name) }
            (drawn(flame::graph(&side.stacks, None)))
        }
        @for side in anatomy.sides.iter().filter(|side| !side.waiting.is_empty()) {
            h3 { "Waiting: " (side.name) }
            p { "The width is how long threads wait, for requests too; the stack is the one in which they left their CPU." }
            (drawn(flame::graph(&side.waiting, None)))
        }
    }
}

/// Style of flame graphs, wherever they stand.
pub(crate) const FLAMES: &str = "svg.flame{width:100%;height:auto}svg.flame rect{stroke:#999;stroke-width:.4}svg.flame text{font:11px monospace;fill:#000;\
pointer-events:none}svg.flame g[role=button]{cursor:pointer}svg.flame g:focus{outline:none}\
svg.flame g:focus rect{stroke:#000;stroke-width:2}svg.flame rect.outer{opacity:.5}svg.flame rect.hit{fill:#c77dff}\
.flame-controls{display:flex;gap:1em;align-items:baseline;flex-wrap:wrap;margin:.5em 0}.flame-controls input{min-width:18em}";
/// Search in flame graphs, and a closer look at their boxes.
pub(crate) const SCRIPT: &str = include_str!("why/flame.js");

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:1240px;margin:2em auto;padding:0 1em;\
color-scheme:light dark}.verdict{font-size:1.2em}figure{margin:1em 0}.on-narrow,.hint{display:none}pre{overflow-x:auto;line-height:1.35}";

fn drawn(graph: Option<Markup>) -> Markup {
    html! {
        @match graph {
            Some(graph) => (graph),
            None => p { "There are no samples." },
        }
    }
}

/// Stacks as other tools read them: a line for each, frames separated by semicolons, then the number of samples.
#[must_use]
pub fn folded(stacks: &BTreeMap<String, u64>) -> String {
    stacks
        .iter()
        .fold(String::new(), |mut text, (stack, samples)| {
            let _ = writeln!(text, "{stack} {samples}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_folded_a_line_each() {
        let stacks = BTreeMap::from([("main;a<b>".to_owned(), 30), ("main;c".to_owned(), 10)]);
        assert_eq!(folded(&stacks), "main;a<b> 30\nmain;c 10\n");
    }
}

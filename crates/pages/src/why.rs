//! A page with the anatomy of a request: what differs, and flame graphs.

mod flame;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use prony_report::table::UNLIMITED;
use prony_report::why;
use prony_verdict::why::Anatomy;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A page that is complete in one file, without scripts.
#[must_use]
pub fn page(anatomy: &Anatomy) -> String {
    let names: Vec<&str> = anatomy
        .sides
        .iter()
        .map(|side| side.name.as_str())
        .collect();
    let title = format!("Why: {}", names.join(" against "));
    let base = anatomy.sides.first();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                @for against in &anatomy.differences {
                    p.verdict { (against.sentence) }
                    pre { (why::table(anatomy, against, UNLIMITED)) }
                }
                @if anatomy.differences.is_empty() {
                    pre { (why::text(anatomy, UNLIMITED)) }
                } @else {
                    pre { (why::notes(anatomy)) }
                }
                @for side in anatomy.sides.iter().skip(1) {
                    @if let Some(base) = base {
                        h2 { "Difference: " (side.name) " against " (base.name) }
                        p { "The width is " (side.name) "'s; red has a larger share of its samples, blue a smaller one." }
                        (drawn(flame::graph(&side.stacks, Some(&base.stacks))))
                    }
                }
                @for side in &anatomy.sides {
                    h2 { (side.name) }
                    (drawn(flame::graph(&side.stacks, None)))
                }
            }
        }
    };
    page.into_string()
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:1240px;margin:2em auto;padding:0 1em;\
color-scheme:light dark}.verdict{font-size:1.2em}pre{overflow-x:auto;line-height:1.35}\
svg{width:100%;height:auto}svg text{font:11px monospace;fill:#000;pointer-events:none}";

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

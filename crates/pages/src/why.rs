//! A page with the anatomy of a request: what differs, and flame graphs.

use inferno::differential;
use inferno::flamegraph::{self, Options};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use prony_verdict::why::Anatomy;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A page that is complete in one file. Each flame graph can be searched and zoomed into.
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
                }
                pre { (prony_report::why::text(anatomy, prony_report::table::UNLIMITED)) }
                @for side in anatomy.sides.iter().skip(1) {
                    @if let Some(base) = base {
                        h2 { "Difference: " (side.name) " against " (base.name) }
                        p { "The width is " (side.name) "'s; red costs more in it, blue less." }
                        (drawn(difference(&base.stacks, &side.stacks), "Difference"))
                    }
                }
                @for side in &anatomy.sides {
                    h2 { (side.name) }
                    (drawn(flame_graph(&side.stacks), &side.name))
                }
            }
        }
    };
    page.into_string()
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:1240px;margin:2em auto;padding:0 1em;\
color-scheme:light dark}.verdict{font-size:1.2em}pre{overflow-x:auto;line-height:1.35}\
iframe{width:100%;border:1px solid #8884;height:40em;background:#fff}";

/// A flame graph in a frame of its own: each has a script and names that would meet those of others on the page.
fn drawn(svg: Option<String>, title: &str) -> Markup {
    html! {
        @match svg {
            Some(svg) => iframe title=(title) srcdoc=(svg) {},
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

/// A flame graph as SVG; None without samples.
#[must_use]
pub fn flame_graph(stacks: &BTreeMap<String, u64>) -> Option<String> {
    svg(&folded(stacks))
}

/// The differential one, both sides scaled to as many samples; None without samples of both.
#[must_use]
pub fn difference(base: &BTreeMap<String, u64>, side: &BTreeMap<String, u64>) -> Option<String> {
    if base.is_empty() || side.is_empty() {
        return None;
    }
    let (before, after) = (folded(base), folded(side));
    let mut both = Vec::new();
    let options = differential::Options {
        normalize: true,
        ..differential::Options::default()
    };
    differential::from_readers(options, before.as_bytes(), after.as_bytes(), &mut both).ok()?;
    svg(&String::from_utf8(both).ok()?)
}

fn svg(folded: &str) -> Option<String> {
    let mut options = Options::default();
    options.title = String::new();
    options.count_name = "samples".to_owned();
    options.min_width = 0.05;
    let mut drawn = Vec::new();
    flamegraph::from_lines(&mut options, folded.lines(), &mut drawn).ok()?;
    String::from_utf8(drawn).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
        of.iter()
            .map(|(stack, n)| ((*stack).to_owned(), *n))
            .collect()
    }

    #[test]
    fn stacks_are_folded_and_drawn() {
        let old = stacks(&[("main;a<b>", 30), ("main;send;tcp_sendmsg_[k]", 10)]);
        assert_eq!(folded(&old), "main;a<b> 30\nmain;send;tcp_sendmsg_[k] 10\n");
        let drawn = flame_graph(&old).unwrap();
        assert!(
            drawn.contains("<svg") && drawn.contains("a&lt;b&gt;"),
            "{drawn}"
        );
        let new = stacks(&[("main;a<b>", 60)]);
        assert!(difference(&old, &new).is_some_and(|svg| svg.contains("<svg")));
        assert_eq!(flame_graph(&BTreeMap::new()), None);
        assert_eq!(difference(&old, &BTreeMap::new()), None);
    }
}

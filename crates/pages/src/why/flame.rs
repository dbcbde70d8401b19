//! A flame graph as SVG: a box for each function in each of its stacks, as wide as its part of the samples, above those
//! that it calls. The whole name and the share are in the box's tooltip.

use maud::{Markup, html};
use std::collections::BTreeMap;

const WIDTH: f64 = 1_200.0;
const ROW: f64 = 17.0;
/// Narrower boxes are not drawn, nor what they call.
const NARROWEST: f64 = 0.3;
/// Width of a character of the names.
const CHARACTER: f64 = 6.8;
/// A share that has changed by this much has the strongest colour.
const STRONG: f64 = 0.05;

/// Samples of a function in one place of the stacks, with those of what it calls.
#[derive(Debug, Default)]
struct Node {
    samples: f64,
    /// The share of all samples that it has elsewhere.
    before: f64,
    calls: BTreeMap<String, Node>,
}

impl Node {
    fn add(&mut self, stack: &str, count: &mut impl FnMut(&mut Self)) {
        count(self);
        let mut node = self;
        for frame in stack.split(';') {
            node = node.calls.entry(frame.to_owned()).or_default();
            count(node);
        }
    }
}

/// Draws the flame graph of these samples by stack. `None` without samples.
/// With the samples of another server, colours show where the share has grown (red) or shrunk (blue).
pub(super) fn graph(
    stacks: &BTreeMap<String, u64>,
    before: Option<&BTreeMap<String, u64>>,
) -> Option<Markup> {
    let mut root = Node::default();
    for (stack, samples) in stacks {
        root.add(stack, &mut |node| node.samples += *samples as f64);
    }
    if root.samples == 0.0 {
        return None;
    }
    if let Some(before) = before {
        let all: u64 = before.values().sum();
        for (stack, samples) in before {
            let share = *samples as f64 / all.max(1) as f64;
            root.add(stack, &mut |node| node.before += share);
        }
    }
    let mut boxes = Vec::new();
    place("all", &root, (0.0, 0), root.samples, &mut boxes);
    let rows = 1 + boxes.iter().map(|one| one.level).max().unwrap_or(0);
    Some(html! {
        svg.flame viewBox=(format!("0 0 {WIDTH} {}", rows as f64 * ROW)) role="img" {
            @for one in &boxes { (drawn(one, root.samples, before.is_some())) }
        }
    })
}

struct Drawn<'a> {
    name: &'a str,
    node: &'a Node,
    left: f64,
    level: usize,
    width: f64,
}

fn place<'a>(
    name: &'a str,
    node: &'a Node,
    (mut left, level): (f64, usize),
    all: f64,
    boxes: &mut Vec<Drawn<'a>>,
) {
    let width = node.samples / all * WIDTH;
    if width < NARROWEST {
        return;
    }
    boxes.push(Drawn {
        name,
        node,
        left,
        level,
        width,
    });
    for (name, called) in &node.calls {
        place(name, called, (left, level + 1), all, boxes);
        left += called.samples / all * WIDTH;
    }
}

fn drawn(one: &Drawn<'_>, all: f64, compared: bool) -> Markup {
    let share = one.node.samples / all;
    let top = one.level as f64 * ROW;
    let fits = ((one.width - 4.0) / CHARACTER).max(0.0) as usize;
    let text: String = match fits {
        0..3 => String::new(),
        _ => one.name.chars().take(fits).collect(),
    };
    let colour = match (compared, one.name.ends_with("_[k]")) {
        (true, _) => changed(share - one.node.before),
        (false, true) => "#e8a862".to_owned(),
        (false, false) => "#8fbf7f".to_owned(),
    };
    let title = match compared {
        true => format!(
            "{}: {:.1}%, was {:.1}%",
            one.name,
            100.0 * share,
            100.0 * one.node.before
        ),
        false => format!("{}: {:.1}%", one.name, 100.0 * share),
    };
    html! {
        g data-name=(one.name) {
            title { (title) }
            rect x=(format!("{:.2}", one.left)) y=(top) width=(format!("{:.2}", one.width)) height=(ROW - 1.0) fill=(colour) {}
            text x=(format!("{:.2}", one.left + 2.0)) y=(top + 12.0) { (text) }
        }
    }
}

/// White for a share that has not changed, red where it has grown, blue where it has shrunk.
fn changed(by: f64) -> String {
    let faded = 255.0 - 175.0 * (by.abs() / STRONG).min(1.0);
    let faded = faded as u8;
    match by >= 0.0 {
        true => format!("#ff{faded:02x}{faded:02x}"),
        false => format!("#{faded:02x}{faded:02x}ff"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
        let own = |(stack, n): &(&str, u64)| ((*stack).to_owned(), *n);
        of.iter().map(own).collect()
    }

    #[test]
    fn boxes_are_as_wide_as_their_samples() {
        let old = stacks(&[("main;a<b>", 30), ("main;send;tcp_sendmsg_[k]", 10)]);
        let drawn = graph(&old, None).unwrap().into_string();
        assert!(
            drawn.contains("<title>a&lt;b&gt;: 75.0%</title>"),
            "{drawn}"
        );
        assert!(drawn.contains("width=\"900.00\""), "{drawn}");
        let compared = graph(&old, Some(&stacks(&[("main;a<b>", 5)]))).unwrap();
        let compared = compared.into_string();
        assert!(compared.contains("75.0%, was 100.0%"), "{compared}");
        assert!(graph(&BTreeMap::new(), None).is_none());
    }

    #[test]
    fn what_has_not_changed_is_white() {
        assert_eq!(changed(0.0), "#ffffff");
        assert_eq!(changed(1.0), "#ff5050");
        assert_eq!(changed(-1.0), "#5050ff");
    }
}

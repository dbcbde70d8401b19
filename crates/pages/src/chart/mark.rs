//! Marks: what a value looks like, and what it says when it is focused.

use super::text::px;
use crate::series::SeriesStyle;
use maud::{Markup, html};

/// A value of a series. It takes the keyboard's focus through the arrow keys (see `script.js`), and
/// its label is what a screen reader says and what is shown beside it.
pub fn value(look: SeriesStyle, (x, y): (f64, f64), size: f64, label: &str) -> Markup {
    html! {
        path class=(format!("m {}", look.class())) d=(shape(look.shape, x, y, size)) tabindex="-1"
            role="img" aria-label=(label) {}
    }
}

/// A single trial: smaller, and paler.
pub fn trial(look: SeriesStyle, (x, y): (f64, f64), label: &str) -> Markup {
    html! {
        circle class=(format!("m t {}", look.class())) cx=(px(x)) cy=(px(y)) r="3" tabindex="-1"
            role="img" aria-label=(label) {}
    }
}

/// A value of another origin, without a colour: hollow as published, with a cross as corrected.
pub fn foreign((x, y): (f64, f64), corrected: bool, label: &str) -> Markup {
    let mut path = shape(1, x, y, 5.5);
    if corrected {
        path += &format!("M{} {}l7 7m0-7l-7 7", px(x - 3.5), px(y - 3.5));
    }
    html! { path.m.foreign d=(path) tabindex="-1" role="img" aria-label=(label) {} }
}

/// A server's look, for a key.
pub fn sample(look: SeriesStyle) -> Markup {
    html! { path class=(look.class()) d=(shape(look.shape, 14.0, 8.0, 5.5)) {} }
}

/// The path of a shape around a place.
fn shape(shape: usize, x: f64, y: f64, r: f64) -> String {
    let p = |dx: f64, dy: f64| format!("{} {}", px(x + dx * r), px(y + dy * r));
    match shape {
        0 => format!(
            "M{}a{r} {r} 0 1 0 {} 0a{r} {r} 0 1 0 {} 0z",
            p(-1.0, 0.0),
            px(2.0 * r),
            px(-2.0 * r)
        ),
        1 => format!(
            "M{}L{}L{}L{}z",
            p(-0.9, -0.9),
            p(0.9, -0.9),
            p(0.9, 0.9),
            p(-0.9, 0.9)
        ),
        2 => format!("M{}L{}L{}z", p(0.0, -1.15), p(1.1, 0.85), p(-1.1, 0.85)),
        3 => format!(
            "M{}L{}L{}L{}z",
            p(0.0, -1.3),
            p(1.3, 0.0),
            p(0.0, 1.3),
            p(-1.3, 0.0)
        ),
        4 => format!("M{}L{}L{}z", p(0.0, 1.15), p(1.1, -0.85), p(-1.1, -0.85)),
        // A plus.
        _ => format!(
            "M{}L{}L{}L{}L{}L{}L{}L{}L{}L{}L{}L{}z",
            p(-0.4, -1.2),
            p(0.4, -1.2),
            p(0.4, -0.4),
            p(1.2, -0.4),
            p(1.2, 0.4),
            p(0.4, 0.4),
            p(0.4, 1.2),
            p(-0.4, 1.2),
            p(-0.4, 0.4),
            p(-1.2, 0.4),
            p(-1.2, -0.4),
            p(-0.4, -0.4)
        ),
    }
}

//! The charts of a run, and those of several ([`compared`], [`history`]).
//!
//! A chart is SVG whose marks can be focused and say their exact values, with the table that it
//! shows. It has no colours of its own: classes name them, and a style sheet says what they are.

pub(crate) mod anatomy;
mod compared;
mod efficiency;
mod grid;
mod history;
mod latency;
mod lines;
mod mark;
mod memory;
mod published;
mod rate;
mod requests;
mod rows;
mod scaling;
mod services;
mod table;
mod text;
mod throughput;
mod windows;

use crate::PageError;
use crate::material::Material;
pub use compared::compared;
pub use history::history;
use maud::{DOCTYPE, Markup, PreEscaped, html};
pub use table::{Align, Table};

/// Subjects of charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartKind {
    /// Answers per second.
    Throughput,
    /// Response times.
    Latency,
    /// Response times by the name of the request.
    Requests,
    /// CPU time per request, memory.
    Cost,
    /// Throughput and latency over several loads.
    Grid,
    /// Throughput over workers.
    Scaling,
    /// Rate over time inside trials.
    Time,
    /// Cost of a request, part by part.
    Why,
    /// Several runs: two compared, or a cell over all of them.
    Runs,
}

/// A chart.
#[derive(Debug)]
pub struct Chart {
    /// Name, such as `throughput-c64`: unique in a run, of letters, digits and hyphens.
    pub name: String,
    /// Subject of the chart.
    pub kind: ChartKind,
    /// Title of the chart.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// The width of its drawing, in pixels.
    pub width: f64,
    /// The height of its drawing, in pixels.
    pub height: f64,
    /// Contents of the `svg` element.
    pub drawing: Markup,
    /// The same for a narrow screen, with its width and height; without one, the drawing is moved
    /// sideways there.
    pub narrow: Option<(Markup, f64, f64)>,
    /// Marks with their meanings, where the drawing does not show the meanings itself.
    pub key: Vec<(Markup, String)>,
    /// The figures that it shows.
    pub table: Table,
}

/// The width of most drawings, in pixels: a page's column.
const WIDTH: f64 = 956.0;
/// The style of charts alone, for files of their own.
const STYLE: &str = include_str!("style.css");

/// All charts of a run.
pub fn charts(material: &Material) -> Vec<Chart> {
    let mut all = Vec::new();
    all.extend(throughput::charts(material));
    all.extend(published::chart(material));
    all.extend(rate::charts(material));
    all.extend(latency::charts(material));
    all.extend(requests::charts(material));
    all.extend(efficiency::charts(material));
    all.extend(services::charts(material));
    all.extend(memory::charts(material));
    all.extend(grid::charts(material));
    all.extend(scaling::charts(material));
    all.extend(windows::charts(material));
    all.extend(material.report.why.iter().flat_map(anatomy::charts));
    // Two labels may become one name.
    let mut seen = std::collections::HashMap::<String, u32>::new();
    for chart in &mut all {
        let times = seen.entry(chart.name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            chart.name = format!("{}-{times}", chart.name);
        }
    }
    all
}

/// The chart of that name.
///
/// # Errors
/// When there is none.
pub fn chart(material: &Material, name: &str) -> Result<Chart, PageError> {
    let all = charts(material);
    let there: Vec<&str> = all.iter().map(|chart| chart.name.as_str()).collect();
    let there = there.join(", ");
    all.into_iter()
        .find(|chart| chart.name == name)
        .ok_or_else(|| PageError::NoSuchChart {
            name: name.to_owned(),
            there,
        })
}

impl Chart {
    /// Returns the chart as part of a page: the title, how to read it, the drawing, and the table behind it.
    pub fn figure(&self) -> Markup {
        let wide = if self.width < 600.0 { "" } else { "wide" };
        html! {
            figure id=(self.name) class=(wide) {
                figcaption {
                    h3 { (self.title) }
                    @if !self.note.is_empty() { p { (self.note) } }
                }
                @if !self.key.is_empty() {
                    ul.key {
                        @for (mark, text) in &self.key {
                            li { svg viewBox="0 0 28 16" width="28" height="16" aria-hidden="true" { (mark) } (text) }
                        }
                    }
                }
                @if self.width >= 600.0 && self.narrow.is_none() { p.hint { "It is wider than this screen: move it sideways." } }
                div class=(if self.narrow.is_some() { "scroll on-wide" } else { "scroll" }) tabindex="0"
                    role="group" aria-label=(self.title) {
                    (self.svg())
                }
                @if let Some((drawing, width, height)) = &self.narrow {
                    div.scroll.on-narrow tabindex="0" role="group" aria-label=(self.title) {
                        svg.chart.narrow viewBox=(format!("0 0 {width} {height}")) role="group"
                            aria-label=(self.title) { (drawing) }
                    }
                }
                details {
                    summary { "The figures as a table" }
                    div.scroll { (self.table.markup(&self.title)) }
                }
            }
        }
    }

    /// The drawing.
    pub fn svg(&self) -> Markup {
        html! {
            svg.chart viewBox=(format!("0 0 {} {}", self.width, self.height))
                style=(format!("max-width:{}px", self.width)) role="group" aria-label=(self.title) {
                (self.drawing)
            }
        }
    }

    /// The drawing as a file of its own, which brings its colours and follows the reader's wish for
    /// light or dark.
    pub fn file(&self) -> String {
        let (title, key_top) = (26.0, self.height + 34.0);
        let key_height = 18.0 * self.key.len() as f64;
        let height = key_top + key_height;
        let text = html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(self.width) height=(height)
                viewBox=(format!("0 0 {} {height}", self.width)) role="img" aria-label=(self.title) {
                style { (PreEscaped(STYLE)) }
                rect.paper width="100%" height="100%" {}
                text.title x="8" y="18" { (self.title) }
                g transform=(format!("translate(0 {title})")) { (self.drawing) }
                @for (index, (mark, text)) in self.key.iter().enumerate() {
                    g transform=(format!("translate(8 {})", key_top + 18.0 * index as f64)) {
                        (mark)
                        text x="34" y="12" { (text) }
                    }
                }
            }
        };
        // XML knows no control characters, not even escaped; names and titles may have them.
        text.into_string()
            .chars()
            .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
            .collect()
    }
}

/// A server's look, 28 by 16 pixels.
pub(crate) fn look_sample(material: &Material, label: &str) -> Markup {
    mark::sample(material.series.look(label))
}

/// For a capacity run: what each server keeps, in a sentence, with what was asked of it.
pub(crate) fn capacity_sentences(material: &Material) -> Vec<(String, String)> {
    rate::sentences(material)
}

/// The document type of a page, here so that pages and charts are made by one crate.
pub(crate) const fn doctype() -> PreEscaped<&'static str> {
    DOCTYPE
}

/// A name of letters, digits and hyphens.
fn name(parts: &[&str]) -> String {
    let mut out = String::new();
    for c in parts.join("-").chars() {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ if out.ends_with('-') || out.is_empty() => {}
            _ => out.push('-'),
        }
    }
    out.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_plain() {
        assert_eq!(super::name(&["throughput", "c64 t8"]), "throughput-c64-t8");
        assert_eq!(super::name(&["a", "<script>"]), "a-script");
        assert_eq!(super::name(&["memory", "é"]), "memory");
    }
}

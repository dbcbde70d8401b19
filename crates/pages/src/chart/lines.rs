//! Lines and marks between two axes.

use super::mark;
use super::text::{px, shortened, width};
use crate::scale::Scale;
use crate::series::SeriesStyle;
use maud::{Markup, html};
use std::fmt::Write;

const LEFT: f64 = 66.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 50.0;
/// The distance between labels at the ends of lines.
const LABEL: f64 = 14.0;
const NAME: usize = 26;

/// An axis.
pub struct Axis {
    /// Where values lie.
    pub scale: Scale,
    /// Text beside the axis: the quantity that it counts.
    pub label: String,
    /// Ticks at values of its own, or at round ones.
    pub ticks: Option<Vec<f64>>,
    /// How they are written.
    pub tick: fn(f64) -> String,
}

impl Axis {
    fn ticks(&self, n: usize) -> Vec<f64> {
        self.ticks.clone().unwrap_or_else(|| self.scale.ticks(n))
    }
}

/// A marked value.
#[derive(Debug, Clone)]
pub struct Spot {
    /// Across.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Vertical interval around the value: its lower and its upper end.
    pub interval: Option<(f64, f64)>,
    /// A single trial, smaller and paler.
    pub trial: bool,
    /// Text of the mark: read by a screen reader, and shown beside the mark.
    pub label: String,
}

/// A series.
#[derive(Debug)]
pub struct LineSeries {
    /// Text at the end of the line; empty for none.
    pub name: String,
    /// Look of the line and its marks.
    pub look: SeriesStyle,
    /// Dashes of the line; those of the look if `None`.
    pub dash: Option<&'static str>,
    /// The line, in order; none for marks alone.
    pub path: Vec<(f64, f64)>,
    /// Marks of the series.
    pub spots: Vec<Spot>,
    /// The band around it: across, low, high.
    pub band: Vec<(f64, f64, f64)>,
}

/// A straight line that something means.
#[derive(Debug)]
pub struct Rule {
    /// From here.
    pub from: (f64, f64),
    /// To there.
    pub to: (f64, f64),
    /// Meaning of the line, which stands at its end.
    pub label: String,
}

/// All of it.
pub struct Plot {
    /// Width and height of the drawing, in pixels.
    pub size: (f64, f64),
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// Series to draw.
    pub lines: Vec<LineSeries>,
    /// Straight lines to draw.
    pub rules: Vec<Rule>,
    /// Names stand beside marks rather than at the ends of lines.
    pub beside: bool,
}

impl Plot {
    /// The drawing.
    pub fn draw(&self) -> Markup {
        let (all, height) = self.size;
        let names = self.lines.iter().map(|line| shortened(&line.name, NAME));
        let names = names.map(|name| width(&name)).fold(0.0, f64::max);
        let right = if self.beside {
            all - 18.0
        } else {
            all - 22.0 - names
        };
        let bottom = height - BOTTOM;
        let x = |value: f64| self.x.scale.place(value, LEFT, right);
        let y = |value: f64| self.y.scale.place(value, bottom, TOP);
        let place = |(a, b): (f64, f64)| (x(a), y(b));
        html! {
            @for tick in self.x.ticks(9) {
                line.grid x1=(px(x(tick))) x2=(px(x(tick))) y1=(px(TOP)) y2=(px(bottom)) {}
                text.tick x=(px(x(tick))) y=(px(bottom + 16.0)) text-anchor="middle" { ((self.x.tick)(tick)) }
            }
            @for tick in self.y.ticks(7) {
                line.grid x1=(px(LEFT)) x2=(px(right)) y1=(px(y(tick))) y2=(px(y(tick))) {}
                text.tick x=(px(LEFT - 7.0)) y=(px(y(tick) + 4.0)) text-anchor="end" { ((self.y.tick)(tick)) }
            }
            path.axis d=(format!("M{} {}V{}H{}", px(LEFT), px(TOP), px(bottom), px(right))) {}
            text.label x=(px((LEFT + right) / 2.0)) y=(px(bottom + 38.0)) text-anchor="middle" {
                (self.x.label) @if self.x.scale.leaves_zero_out() { " (does not begin at zero)" }
            }
            text.label x=(px(-(TOP + bottom) / 2.0)) y="13" text-anchor="middle" transform="rotate(-90)" {
                (self.y.label) @if self.y.scale.leaves_zero_out() { " (not from zero)" }
            }
            @for rule in &self.rules { (self.rule(rule, &place)) }
            @for line in &self.lines {
                g class=(format!("series {}", line.look.class())) {
                    @if !line.band.is_empty() { path.band d=(band(&line.band, &place)) {} }
                    @if !line.path.is_empty() {
                        path.line d=(path(&line.path, &place))
                            stroke-dasharray=(line.dash.unwrap_or(line.look.dash())) {}
                    }
                    @for spot in &line.spots {
                        @let at = place((spot.x, spot.y));
                        @if let Some((low, high)) = spot.interval {
                            path.interval d=(format!("M{} {}h6M{} {}h6M{} {}V{}", px(at.0 - 3.0),
                                px(y(low)), px(at.0 - 3.0), px(y(high)), px(at.0), px(y(low)), px(y(high)))) {}
                        }
                        @if spot.trial { (mark::trial(line.look, at, &spot.label)) }
                        @else { (mark::value(line.look, at, 4.6, &spot.label)) }
                    }
                }
            }
            (self.names(&place, right))
        }
    }

    fn rule(&self, rule: &Rule, place: &dyn Fn((f64, f64)) -> (f64, f64)) -> Markup {
        let (from, to) = (place(rule.from), place(rule.to));
        // A rule that goes up has its words at its upper end, to its right.
        let up = (from.0 - to.0).abs() < 1.0;
        let (x, y, anchor) = match up {
            true => (to.0 + 5.0, to.1.min(from.1) + 12.0, "start"),
            false => (to.0 - 4.0, to.1 - 5.0, "end"),
        };
        html! {
            path.rule d=(format!("M{} {}L{} {}", px(from.0), px(from.1), px(to.0), px(to.1))) {}
            text.rule-label x=(px(x)) y=(px(y)) text-anchor=(anchor) { (rule.label) }
        }
    }

    /// The names at the ends of lines, moved apart; or beside marks, where there is room.
    fn names(&self, place: &dyn Fn((f64, f64)) -> (f64, f64), right: f64) -> Markup {
        let mut ends: Vec<(f64, f64, &LineSeries)> = self
            .lines
            .iter()
            .filter(|line| !line.name.is_empty())
            .filter_map(|line| {
                let spot = || line.spots.last().map(|spot| (spot.x, spot.y));
                let end = line.path.last().copied().or_else(spot)?;
                let (x, y) = place(end);
                Some((x, y, line))
            })
            .collect();
        if self.beside {
            return beside(&ends, (self.size.0, self.size.1 - BOTTOM));
        }
        ends.sort_by(|a, b| a.1.total_cmp(&b.1));
        let bottom = self.size.1 - BOTTOM;
        let mut heights: Vec<f64> = ends.iter().map(|end| end.1).collect();
        apart(&mut heights, TOP + 4.0, bottom + 4.0);
        html! {
            @for ((x, y, line), height) in ends.iter().zip(&heights) {
                g class=(format!("end {}", line.look.class())) {
                    path.leader d=(format!("M{} {}L{} {}", px(*x), px(*y), px(right + 6.0), px(*height))) {}
                    text.name x=(px(right + 10.0)) y=(px(height + 4.0)) { (shortened(&line.name, NAME)) }
                }
            }
        }
    }
}

/// Moves sorted heights apart, all of them between `top` and `bottom` as far as they fit.
fn apart(heights: &mut [f64], top: f64, bottom: f64) {
    let mut least = top;
    for height in heights.iter_mut() {
        *height = height.max(least);
        least = *height + LABEL;
    }
    let mut most = bottom;
    for height in heights.iter_mut().rev() {
        *height = height.min(most);
        most = *height - LABEL;
    }
}

/// Names right, left, above or below of marks: the first place where no other name and no mark is.
/// One for which there is none is left to the hover and the table.
fn beside(ends: &[(f64, f64, &LineSeries)], (all, bottom): (f64, f64)) -> Markup {
    let marks = ends
        .iter()
        .map(|&(x, y, _)| [x - 6.0, y - 6.0, x + 6.0, y + 6.0]);
    let mut taken: Vec<[f64; 4]> = marks.collect();
    let mut placed = Vec::new();
    for &(x, y, line) in ends {
        let name = shortened(&line.name, NAME);
        let wide = width(&name);
        let places = [
            (x + 9.0, y + 4.0),
            (x - 9.0 - wide, y + 4.0),
            (x - wide / 2.0, y - 10.0),
            (x - wide / 2.0, y + 19.0),
            (x + 7.0, y - 7.0),
            (x + 7.0, y + 15.0),
        ];
        let free = places.into_iter().find_map(|(left, base)| {
            let own = [left, base - 10.0, left + wide, base + 3.0];
            let inside = own[0] > LEFT && own[2] < all && own[1] > 0.0 && own[3] < bottom;
            let clear = taken.iter().all(|other| {
                own[2] < other[0] || other[2] < own[0] || own[3] < other[1] || other[3] < own[1]
            });
            (inside && clear).then_some((left, base, own))
        });
        if let Some((left, base, own)) = free {
            taken.push(own);
            placed.push((left, base, name, line.look));
        }
    }
    html! {
        @for (x, y, name, look) in placed {
            g class=(format!("end {}", look.class())) {
                text.name x=(px(x)) y=(px(y)) { (name) }
            }
        }
    }
}

fn path(points: &[(f64, f64)], place: &dyn Fn((f64, f64)) -> (f64, f64)) -> String {
    let mut out = String::new();
    for (at, &point) in points.iter().enumerate() {
        let (x, y) = place(point);
        let _ = write!(
            out,
            "{}{} {}",
            if at == 0 { 'M' } else { 'L' },
            px(x),
            px(y)
        );
    }
    out
}

fn band(points: &[(f64, f64, f64)], place: &dyn Fn((f64, f64)) -> (f64, f64)) -> String {
    let low = points.iter().map(|&(x, low, _)| (x, low));
    let high = points.iter().rev().map(|&(x, _, high)| (x, high));
    path(&low.chain(high).collect::<Vec<_>>(), place) + "z"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_cover_each_other() {
        let mut heights = [10.0, 12.0, 13.0, 90.0, 91.0];
        apart(&mut heights, 0.0, 100.0);
        assert!(
            heights.windows(2).all(|pair| pair[1] - pair[0] >= LABEL),
            "{heights:?}"
        );
        assert!(heights[0] >= 0.0 && heights[4] <= 100.0, "{heights:?}");
    }
}

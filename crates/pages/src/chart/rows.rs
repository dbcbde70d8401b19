//! Servers below each other, their values as dots on one axis.

use super::WIDTH;
use super::mark;
use super::text::{px, shortened, width};
use crate::scale::Scale;
use crate::series::SeriesStyle;
use maud::{Markup, html};

const ROW: f64 = 27.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 46.0;
/// Characters of a name; a longer one is whole in the table.
const NAME: usize = 30;
/// The width of a drawing for a telephone.
const NARROW: f64 = 380.0;
const NARROW_ROW: f64 = 48.0;
const NARROW_NAME: usize = 19;
/// The distance between the brackets of tie groups.
const BRACKET: f64 = 13.0;

/// A chart of more trials is not drawn a second time for narrow screens: a page is to stay small.
pub(super) const NARROW_TRIALS: usize = 200;

/// A server's values.
#[derive(Debug)]
pub struct Row {
    /// Label of the server.
    pub name: String,
    /// The others are compared with it.
    pub baseline: bool,
    /// Look of the server.
    pub look: SeriesStyle,
    /// Every trial, with what it says.
    pub trials: Vec<(f64, String)>,
    /// The value over all of them, with what it says.
    pub value: (f64, String),
    /// Interval around the value: its lower and its upper end.
    pub interval: Option<(f64, f64)>,
    /// Values of other origin: is it corrected, and what it says.
    pub foreign: Vec<(f64, bool, String)>,
    /// The value in short, and what else stands to its right, in columns.
    pub text: Vec<String>,
    /// How many checks were raised for it, and whether one of them is more than a note.
    pub checks: (usize, bool),
    /// The letters of its tie groups.
    pub groups: String,
}

/// Rows on an axis.
pub struct Rows<'a> {
    /// From the top.
    pub rows: &'a [Row],
    /// The axis.
    pub scale: &'a Scale,
    /// Text beside the axis: the quantity that it counts.
    pub axis: String,
    /// How its ticks are written.
    pub tick: fn(f64) -> String,
    /// A value that the others are held against, drawn as a line.
    pub rule: Option<f64>,
}

impl Rows<'_> {
    /// The drawing with its width and height.
    pub fn draw(&self) -> (Markup, f64, f64) {
        let widest = |texts: &mut dyn Iterator<Item = String>| {
            texts.map(|text| width(&text)).fold(0.0, f64::max)
        };
        let names = &mut self.rows.iter().map(|row| shortened(&row.name, NAME));
        let left = 46.0 + widest(names);
        let groups = self.groups();
        let brackets = WIDTH - 6.0 - BRACKET * groups.len() as f64;
        let end = brackets - 12.0;
        // The columns' right ends, the last at the end.
        let most = self
            .rows
            .iter()
            .map(|row| row.text.len())
            .max()
            .unwrap_or(0);
        let mut columns = vec![end; most];
        let mut right = end;
        for column in (0..most).rev() {
            columns[column] = right;
            let texts = &mut self
                .rows
                .iter()
                .filter_map(|row| row.text.get(column).cloned());
            right -= widest(texts) + 12.0;
        }
        let right = right - 4.0;
        let bottom = TOP + ROW * self.rows.len() as f64;
        let x = |value: f64| self.scale.place(value, left + 8.0, right - 8.0);
        let y = |row: usize| TOP + ROW * (row as f64 + 0.5);
        let drawing = html! {
            @for tick in self.scale.ticks(7) {
                line.grid x1=(px(x(tick))) x2=(px(x(tick))) y1=(px(TOP)) y2=(px(bottom)) {}
                text.tick x=(px(x(tick))) y=(px(bottom + 16.0)) text-anchor="middle" { ((self.tick)(tick)) }
            }
            line.axis x1=(px(left)) x2=(px(right)) y1=(px(bottom)) y2=(px(bottom)) {}
            text.label x=(px((left + right) / 2.0)) y=(px(bottom + 36.0)) text-anchor="middle" {
                (self.axis)
                @if self.scale.leaves_zero_out() { " (the axis does not begin at zero)" }
            }
            @if let Some(rule) = self.rule { (line(x(rule), bottom)) }
            @for (at, row) in self.rows.iter().enumerate() {
                (self.row(row, y(at), &x, (left, right), &columns))
            }
            @for (at, (letter, first, last, members)) in groups.iter().enumerate() {
                @let bx = brackets + BRACKET * (at as f64 + 0.5);
                path.bracket d=(bracket(bx, y(*first) - 8.0, y(*last) + 8.0)) {}
                @for member in members { circle.member cx=(px(bx)) cy=(px(y(*member))) r="2.4" {} }
                text.tick x=(px(bx)) y=(px(TOP - 10.0)) text-anchor="middle" { (letter.to_string()) }
            }
        };
        (drawing, WIDTH, bottom + BOTTOM)
    }

    fn row(
        &self,
        row: &Row,
        y: f64,
        x: &dyn Fn(f64) -> f64,
        (left, right): (f64, f64),
        columns: &[f64],
    ) -> Markup {
        let (raised, grave) = row.checks;
        let class = if row.baseline { "name base" } else { "name" };
        html! {
            line.row x1=(px(left)) x2=(px(right)) y1=(px(y)) y2=(px(y)) {}
            text class=(class) x=(px(left - 10.0)) y=(px(y + 4.0)) text-anchor="end" { (shortened(&row.name, NAME)) }
            @if raised > 0 {
                text class=(if grave { "check grave" } else { "check" }) x="4" y=(px(y + 4.0)) {
                    @if grave { "▲" } @else { "△" } (raised)
                }
            }
            (self.dots(row, y, x))
            @for (text, column) in row.text.iter().zip(columns) {
                text.value x=(px(*column)) y=(px(y + 4.0)) text-anchor="end" { (text) }
            }
        }
    }

    /// Draws the values of a row.
    fn dots(&self, row: &Row, y: f64, x: &dyn Fn(f64) -> f64) -> Markup {
        html! {
            g class=(row.look.class()) {
                @if let Some((low, high)) = row.interval {
                    path.interval d=(interval(x(low), x(high), y)) {}
                }
                @for (at, (value, label)) in row.trials.iter().enumerate() {
                    (mark::trial(row.look, (x(*value), y + spread(at, row.trials.len())), label))
                }
                (mark::value(row.look, (x(row.value.0), y), 6.0, &row.value.1))
            }
            @for (value, corrected, label) in &row.foreign {
                (mark::foreign((x(*value), y), *corrected, label))
            }
        }
    }

    /// The same for a telephone: names and values above their dots. The groups are letters, in the
    /// order of the brackets.
    pub fn narrow(&self) -> (Markup, f64, f64) {
        let bottom = TOP + NARROW_ROW * self.rows.len() as f64;
        let (left, right) = (8.0, NARROW - 8.0);
        let x = |value: f64| self.scale.place(value, left + 6.0, right - 6.0);
        let groups = self.groups();
        let letters = |at: usize| {
            let own = groups.iter().filter(|group| group.3.contains(&at));
            let own: String = own.map(|group| group.0).collect();
            if own.is_empty() {
                own
            } else {
                format!(" [{own}]")
            }
        };
        let drawing = html! {
            @for tick in self.scale.ticks(4) {
                line.grid x1=(px(x(tick))) x2=(px(x(tick))) y1=(px(TOP)) y2=(px(bottom)) {}
                text.tick x=(px(x(tick))) y=(px(bottom + 16.0)) text-anchor="middle" { ((self.tick)(tick)) }
            }
            line.axis x1=(px(left)) x2=(px(right)) y1=(px(bottom)) y2=(px(bottom)) {}
            text.label x=(px(NARROW / 2.0)) y=(px(bottom + 34.0)) text-anchor="middle" {
                (self.axis)
                @if self.scale.leaves_zero_out() { " (not from zero)" }
            }
            @if let Some(rule) = self.rule { (line(x(rule), bottom)) }
            @for (at, row) in self.rows.iter().enumerate() {
                @let top = TOP + NARROW_ROW * at as f64;
                text class=(if row.baseline { "name base" } else { "name" }) x=(px(left)) y=(px(top + 15.0)) {
                    (shortened(&row.name, NARROW_NAME)) (letters(at))
                    @if row.checks.0 > 0 { tspan class=(if row.checks.1 { "check grave" } else { "check" }) {
                        @if row.checks.1 { " ▲" } @else { " △" } (row.checks.0)
                    } }
                }
                text.value x=(px(right)) y=(px(top + 15.0)) text-anchor="end" { (row.text.join(" ")) }
                line.row x1=(px(left)) x2=(px(right)) y1=(px(top + 31.0)) y2=(px(top + 31.0)) {}
                (self.dots(row, top + 31.0, &x))
            }
        };
        (drawing, NARROW, bottom + 42.0)
    }

    /// Each group of two or more: its letter, its first and last row, and all of them.
    fn groups(&self) -> Vec<(char, usize, usize, Vec<usize>)> {
        let mut letters: Vec<char> = self
            .rows
            .iter()
            .flat_map(|row| row.groups.chars())
            .collect();
        letters.sort_unstable();
        letters.dedup();
        letters
            .into_iter()
            .filter(|letter| letter.is_alphabetic())
            .filter_map(|letter| {
                let has = |at: &usize| self.rows[*at].groups.contains(letter);
                let members: Vec<usize> = (0..self.rows.len()).filter(has).collect();
                match members[..] {
                    [first, .., last] => Some((letter, first, last, members)),
                    _ => None,
                }
            })
            .collect()
    }
}

/// Trials lie a little above and below each other, so that equal ones are seen as several.
fn spread(at: usize, of: usize) -> f64 {
    match of {
        0 | 1 => 0.0,
        of => 14.0 * (((at * 7) % of) as f64 / (of - 1) as f64 - 0.5),
    }
}

fn line(x: f64, bottom: f64) -> Markup {
    html! { path.rule d=(format!("M{} {}V{}", px(x), px(TOP), px(bottom))) {} }
}

fn interval(low: f64, high: f64, y: f64) -> String {
    format!(
        "M{} {}v8M{} {}v8M{} {}H{}",
        px(low),
        px(y - 4.0),
        px(high),
        px(y - 4.0),
        px(low),
        px(y),
        px(high)
    )
}

fn bracket(x: f64, from: f64, to: f64) -> String {
    format!("M{} {}h-4V{}h4", px(x), px(from), px(to))
}

//! Cost of a request, part by part: for two servers, where they differ; for one, where the cost goes.

use super::rows::{Row, Rows};
use super::text::plain;
use super::{Align, Chart, ChartKind, Table, name};
use crate::scale::Scale;
use crate::series::SeriesStyle;
use prony_report::show;
use prony_report::why::{self, signed};
use prony_stats::Estimate;
use prony_verdict::why::{Against, Anatomy, Difference, ServerAnatomy};

/// Parts that are drawn at most, besides the whole: more of them are too small to be told apart.
const PARTS: usize = 14;

/// All that an anatomy has: one for each server that is held against the first, or for one by itself.
pub(super) fn charts(anatomy: &Anatomy) -> Vec<Chart> {
    let sides = anatomy.sides.iter().filter_map(of_one);
    let differences = anatomy.differences.iter();
    match anatomy.differences.is_empty() {
        true => sides.collect(),
        false => differences
            .filter_map(|against| of_two(anatomy, against))
            .collect(),
    }
}

/// Where a server differs from the first.
pub(crate) fn of_two(anatomy: &Anatomy, against: &Against) -> Option<Chart> {
    let base = anatomy.sides.first()?.name.as_str();
    let whole = ("CPU time".to_owned(), against.cpu.as_ref()?);
    let parts = against.parts.iter().take(PARTS);
    let parts = parts.map(|(part, difference)| (why::name(part), difference));
    let mut table = Table::new([
        ("per request", Align::Left),
        (base, Align::Right),
        (&against.side, Align::Right),
        ("difference", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
    ]);
    let mut rows = Vec::new();
    for (what, found) in std::iter::once(whole).chain(parts) {
        let estimate = &found.difference;
        table.row([
            what.clone(),
            show::time(found.base),
            show::time(found.side),
            signed_time(estimate.value()),
            end(estimate.low(), signed_time),
            end(estimate.high(), signed_time),
        ]);
        rows.push(Row {
            baseline: rows.is_empty(),
            ..row(
                what,
                estimate,
                look(found),
                vec![signed_time(estimate.value()), said(found).into()],
            )
        });
    }
    let scale = Scale::linear(ends(&rows).chain([0.0]));
    Some(chart(
        &against.side,
        format!("CPU time per request: {} minus {base}", against.side),
        "A mark is the difference with its 95% CI over rounds; at the dashed line both cost the same. Parts that \
         are known to differ come first.",
        &Rows {
            rows: &rows,
            scale: &scale,
            axis: "difference, in µs per request".into(),
            tick: micros,
            rule: Some(0.0),
        },
        table,
    ))
}

/// Where a server's time goes.
pub(crate) fn of_one(side: &ServerAnatomy) -> Option<Chart> {
    if side.parts.is_empty() {
        return None;
    }
    let mut table = Table::new([
        ("per request", Align::Left),
        ("CPU time", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
    ]);
    let mut rows = Vec::new();
    for (part, cost) in side.parts.iter().take(PARTS) {
        let what = why::name(part);
        table.row([
            what.clone(),
            show::time(cost.value()),
            end(cost.low(), show::time),
            end(cost.high(), show::time),
        ]);
        let plain_look = SeriesStyle {
            colour: 0,
            shape: 0,
        };
        rows.push(row(what, cost, plain_look, vec![show::time(cost.value())]));
    }
    let scale = Scale::from_zero(ends(&rows));
    Some(chart(
        &side.name,
        format!("CPU time per request of {}", side.name),
        "A mark is what a part costs, with its 95% CI over rounds.",
        &Rows {
            rows: &rows,
            scale: &scale,
            axis: "µs per request".into(),
            tick: micros,
            rule: None,
        },
        table,
    ))
}

fn chart(side: &str, title: String, note: &str, drawn: &Rows<'_>, table: Table) -> Chart {
    let (drawing, width, height) = drawn.draw();
    Chart {
        name: name(&["why", side]),
        kind: ChartKind::Why,
        title,
        note: note.into(),
        width,
        height,
        drawing,
        narrow: Some(drawn.narrow()),
        key: Vec::new(),
        table,
    }
}

fn row(name: String, value: &Estimate, look: SeriesStyle, text: Vec<String>) -> Row {
    Row {
        baseline: false,
        look,
        trials: Vec::new(),
        value: (value.value(), format!("{name}: {}", text.join(", "))),
        interval: value.low().zip(value.high()),
        foreign: Vec::new(),
        text,
        checks: (0, false),
        groups: String::new(),
        name,
    }
}

/// All values of the rows, the ends of intervals included.
fn ends(rows: &[Row]) -> impl Iterator<Item = f64> {
    rows.iter().flat_map(|row| {
        let ends = row.interval.into_iter().flat_map(|(low, high)| [low, high]);
        ends.chain([row.value.0])
    })
}

fn look(of: &Difference) -> SeriesStyle {
    let (colour, shape) = match said(of) {
        "more" => (1, 4),
        "less" => (2, 2),
        _ => (7, 3),
    };
    SeriesStyle { colour, shape }
}

/// Direction in which a part differs: `more`, `less`, or `~` where that is not known, as in the table.
fn said(of: &Difference) -> &'static str {
    match (of.differs, of.difference.value() > 0.0) {
        (false, _) => "~",
        (true, true) => "more",
        (true, false) => "less",
    }
}

fn end(end: Option<f64>, show: fn(f64) -> String) -> String {
    end.map_or_else(|| "–".to_owned(), show)
}

fn signed_time(nanoseconds: f64) -> String {
    signed(nanoseconds, show::time)
}

/// Nanoseconds at a tick, in microseconds.
fn micros(nanoseconds: f64) -> String {
    plain(nanoseconds / 1e3).replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::anatomy::{Dissection, Dissections, Spent};
    use prony_verdict::why::anatomy;

    /// Servers in three rounds, of which each spends so many of a hundred samples in `encode`.
    fn dissected(sides: &[(&str, u64)]) -> Anatomy {
        // A sample stands for a millisecond, and a thousand requests take a hundred of them: 100 µs each.
        let spent = Spent {
            requests: 1_000.0,
            cpu_ns: 100_000_000,
        };
        let round = |encode: u64, nth: u64| Dissection {
            plain: spent,
            sampled: spent,
            requests: 1_000,
            samples: 100,
            period_ns: 1_000_000,
            stacks: [
                ("main;encode", encode + nth % 2),
                ("main;a<b>", 40),
                ("main;send", 60 - encode),
            ]
            .map(|(stack, samples)| (stack.to_owned(), samples))
            .into(),
            ..Dissection::default()
        };
        let rounds = 0..3;
        anatomy(&Dissections {
            names: sides.iter().map(|side| side.0.to_owned()).collect(),
            rate: 1_000.0,
            rounds: rounds
                .map(|nth| sides.iter().map(|side| round(side.1, nth)).collect())
                .collect(),
            ..Dissections::default()
        })
    }

    #[test]
    fn two_servers_are_held_against_each_other() {
        let all = charts(&dissected(&[("old", 10), ("new <1>", 20)]));
        assert_eq!(all.len(), 1);
        let chart = &all[0];
        assert_eq!(chart.name, "why-new-1");
        assert_eq!(chart.title, "CPU time per request: new <1> minus old");
        let drawing = chart.drawing.clone().into_string();
        assert!(
            drawing.contains("encode: +10") && drawing.contains("class=\"rule\""),
            "{drawing}"
        );
        let table = chart.table.markup("").into_string();
        assert!(
            table.contains("a&lt;b&gt;") && !table.contains("a<b>"),
            "{table}"
        );
    }

    #[test]
    fn one_server_shows_where_its_time_goes() {
        let all = charts(&dissected(&[("only", 10)]));
        assert_eq!(all.len(), 1);
        let drawing = all[0].drawing.clone().into_string();
        assert!(
            drawing.contains("send: ") && !drawing.contains("class=\"rule\""),
            "{drawing}"
        );
        assert!(!drawing.contains("does not begin at zero"));
    }

    #[test]
    fn without_samples_there_is_no_chart() {
        assert!(charts(&anatomy(&Dissections::default())).is_empty());
    }
}

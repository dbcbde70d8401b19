//! The anatomy of a request as text.

mod names;

use crate::show;
use crate::table::{Align, TextTable};
use names::short;
use prony_stats::Estimate;
use prony_verdict::why::part::CostPart;
use prony_verdict::why::{Against, Anatomy, Difference, ServerAnatomy, waits_in};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// Parts and counts that do not differ are shown until there are this many rows.
const ROWS: usize = 10;
/// More requests than this that could not be sent, as a share of those that ended, are said.
const BEHIND: f64 = 0.01;
/// Coverage outside of this range is said.
const COVERED: std::ops::RangeInclusive<f64> = 0.97..=1.03;

/// Cost of a request in a server, as `prony why` has measured it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "What a request costs a server")]
pub struct WhyReport {
    /// The server's name, command line or URL.
    pub server: String,
    /// Contract or requests that the server had to answer, in words.
    pub asked: String,
    /// Connections.
    pub connections: u32,
    /// Right answers per second as fast as they came, of which the rate is half; null when the rate was given.
    pub reached: Option<f64>,
    /// The anatomy of a request; its only side is this server.
    pub why: Anatomy,
}

/// The same as text, for a terminal of this many columns.
#[must_use]
pub fn of_server(report: &WhyReport, width: usize) -> String {
    format!("{}{}\n", text(&report.why, width), conditions(report))
}

/// How it was loaded.
#[must_use]
pub fn conditions(report: &WhyReport) -> String {
    let half = report.reached.map_or_else(String::new, |reached| {
        format!(", half of the {} that it reached", show::rate(reached))
    });
    format!(
        "asked {} over {} connections at {}{half}",
        report.asked,
        report.connections,
        show::rate(report.why.rate)
    )
}

/// For a terminal of this many columns: of two servers and more what differs, of one what it costs.
#[must_use]
pub fn text(anatomy: &Anatomy, width: usize) -> String {
    let mut out = String::new();
    for against in &anatomy.differences {
        let _ = writeln!(out, "\nWhy: {}\n", against.sentence);
        out += &table(anatomy, against, width);
    }
    if anatomy.differences.is_empty() {
        for side in &anatomy.sides {
            let _ = writeln!(out, "{}\n", capital(&side.sentence));
            out += &of_one(side).fit(width);
        }
    }
    out += "\n";
    out += &notes(anatomy);
    out
}

/// Table of the differences between one of the sides and the first.
#[must_use]
pub fn table(anatomy: &Anatomy, against: &Against, width: usize) -> String {
    let base = &anatomy.sides[0].name;
    differences(base, against).fit(width)
}

/// Notes on the data behind the figures, and on the cost of measuring them.
#[must_use]
pub fn notes(anatomy: &Anatomy) -> String {
    let mut out = String::new();
    let samples: u64 = anatomy.sides.iter().map(|side| side.samples).sum();
    let apart = match anatomy.differences.is_empty() {
        true => "",
        false => " apart from those that measure",
    };
    let _ = writeln!(
        out,
        "{} rounds at {}{apart}; {} samples of stacks",
        anatomy.rounds,
        show::rate(anatomy.rate),
        show::count(samples)
    );
    for side in &anatomy.sides {
        if side.failed > 0 {
            let _ = writeln!(
                out,
                "{} of {} requests of {} were not answered as expected: their cost is in all figures",
                show::count(side.failed),
                show::count(side.requests),
                side.name
            );
        }
        if side.unsent as f64 > BEHIND * side.requests as f64 {
            let _ = writeln!(
                out,
                "{} or the generator did not keep up with the rate: {} requests were due and not sent, and {} ended",
                side.name,
                show::count(side.unsent),
                show::count(side.requests)
            );
        }
        let changed = [
            ("sampling", &side.sampling),
            ("what [profile] of its manifest adds", &side.profile),
        ];
        for (what, cost) in changed {
            if let Some(cost) = cost {
                let cost = changed_by(cost);
                let _ = writeln!(
                    out,
                    "{what} changed the CPU time of {} by {cost}",
                    side.name
                );
            }
        }
        if let Some(coverage) = side.coverage.filter(|it| !COVERED.contains(&it.value())) {
            let _ = writeln!(
                out,
                "the samples of {} stand for {:.0}% of its CPU time; the rest is the row (not sampled)",
                side.name,
                100.0 * coverage.value()
            );
        }
        if side.lost > 0 {
            let _ = writeln!(
                out,
                "{} records of {} were lost",
                show::count(side.lost),
                side.name
            );
        }
    }
    for refused in &anatomy.refused {
        let _ = writeln!(out, "{refused}");
    }
    out
}

/// A multiple as a change: `+1.3% (−0.9 to +3.5)`.
fn changed_by(multiple: &Estimate) -> String {
    let percent = |value: f64| format!("{:+.1}", 100.0 * (value - 1.0)).replace('-', "−");
    let range = multiple.interval().map_or_else(String::new, |interval| {
        let (low, high) = (percent(interval.low()), percent(interval.high()));
        format!(" ({low} to {high})")
    });
    format!("{}%{range}", percent(multiple.value()))
}

/// A part in words, of which long names show their beginning and their end.
#[must_use]
pub fn name(part: &CostPart) -> String {
    match part {
        CostPart::Function(name) => short(name),
        CostPart::Call(name) => format!("kernel: {name}()"),
        CostPart::Kernel(name) => format!("kernel: {name}"),
        CostPart::Unsampled => "(not sampled)".to_owned(),
        CostPart::OnlyIn(server) => format!("(small functions only in {server})"),
        CostPart::Rest => "(smaller parts)".to_owned(),
    }
}

/// A wait in words.
fn waits(part: &CostPart) -> String {
    format!("waits {}", waits_in(part))
}

/// A share of 1, which may be negative.
fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share).replace('-', "−")
}

/// A server against the first: the whole, parts of it, and counts.
fn differences(base: &str, against: &Against) -> TextTable {
    let mut table = TextTable::new([
        ("per request", Align::Left),
        (base, Align::Right),
        (&against.side, Align::Right),
        ("difference", Align::Right),
        ("95% CI", Align::Left),
        ("of the whole", Align::Right),
    ]);
    if let Some(cpu) = &against.cpu {
        table.row(cells("CPU time", cpu, show::time));
    }
    for (part, row) in shown(&against.parts) {
        table.row(cells(&format!("  {}", name(part)), row, show::time));
    }
    if let Some(rest) = against.unexplained_ns {
        let mut row = [
            "  (not explained)",
            "",
            "",
            &signed(rest, show::time),
            "",
            "",
        ]
        .map(String::from);
        if let Some(cpu) = &against.cpu {
            row[5] = percent(rest / cpu.difference.value());
        }
        table.row(row);
    }
    for (count, row) in shown(&against.counts) {
        table.row(cells(count, row, plain));
    }
    for (part, row) in shown(&against.waits) {
        table.row(cells(&waits(part), row, show::time));
    }
    table
}

/// Rows that differ, and the first of the others, up to [`ROWS`] in all.
fn shown<K>(rows: &[(K, Difference)]) -> impl Iterator<Item = &(K, Difference)> {
    let differ = rows.iter().filter(|(_, row)| row.differs).count();
    rows.iter().take(differ.max(ROWS))
}

fn cells(name: &str, row: &Difference, show: fn(f64) -> String) -> [String; 6] {
    let range = |interval: prony_stats::Interval| {
        format!(
            "{} to {}",
            signed(interval.low(), show),
            signed(interval.high(), show)
        )
    };
    [
        name.to_owned(),
        show(row.base),
        show(row.side),
        match row.differs {
            true => signed(row.difference.value(), show),
            false => "~".to_owned(),
        },
        row.difference.interval().map_or_else(String::new, range),
        row.share.map_or_else(String::new, percent),
    ]
}

/// A difference with its sign.
#[must_use]
pub fn signed(value: f64, show: fn(f64) -> String) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", show(value.abs()))
}

/// The interval of a count, which may be negative if it is memory.
fn counted(value: &Estimate) -> String {
    value.interval().map_or_else(String::new, |interval| {
        format!("{} to {}", plain(interval.low()), plain(interval.high()))
    })
}

fn plain(value: f64) -> String {
    match value.abs() {
        0.0..100.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
    .replace('-', "−")
}

/// Returns the text with a capital letter at its beginning.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Table of the cost of a request in one server.
#[must_use]
pub fn of_one(side: &ServerAnatomy) -> TextTable {
    let mut table = TextTable::new([
        ("per request", Align::Left),
        (side.name.as_str(), Align::Right),
        ("95% CI", Align::Left),
        ("of the whole", Align::Right),
    ]);
    let range = |value: &Estimate, show: fn(f64) -> String| {
        value.interval().map_or_else(String::new, |interval| {
            format!(
                "{} to {}",
                show(interval.low().max(0.0)),
                show(interval.high())
            )
        })
    };
    if let Some(cpu) = &side.cpu {
        table.row([
            "CPU time".to_owned(),
            show::time(cpu.value()),
            range(cpu, show::time),
            String::new(),
        ]);
    }
    // Of all of it while stacks were sampled, which cost something.
    let sampled: f64 = side.parts.iter().map(|(_, value)| value.value()).sum();
    let (listed, others) = side.parts.split_at(side.parts.len().min(2 * ROWS));
    for (part, value) in listed {
        table.row([
            format!("  {}", name(part)),
            show::time(value.value()),
            range(value, show::time),
            percent(value.value() / sampled),
        ]);
    }
    if !others.is_empty() {
        let rest: f64 = others.iter().map(|(_, value)| value.value()).sum();
        table.row([
            format!("  ({} smaller parts)", others.len()),
            show::time(rest),
            String::new(),
            percent(rest / sampled),
        ]);
    }
    for (count, value) in side
        .counts
        .iter()
        .filter(|(_, value)| value.value().abs() >= 0.005)
    {
        table.row([
            count.clone(),
            plain(value.value()),
            counted(value),
            String::new(),
        ]);
    }
    for (part, value) in side.waits.iter().take(ROWS) {
        let time = show::time(value.value());
        table.row([waits(part), time, range(value, show::time), String::new()]);
    }
    table
}

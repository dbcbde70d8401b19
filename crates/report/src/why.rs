//! The anatomy of a request as text.

use crate::show;
use crate::table::{Align, Table};
use prony_stats::Estimate;
use prony_verdict::why::part::Part;
use prony_verdict::why::{Against, Anatomy, Body, Difference};
use std::fmt::Write;

/// Parts and counts that do not differ are shown until there are this many rows.
const ROWS: usize = 10;
/// Coverage outside of this range is said.
const COVERED: std::ops::RangeInclusive<f64> = 0.9..=1.1;

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
            let _ = write!(out, "{}", of_one(side).fit(width));
        }
    }
    out += "\n";
    out += &notes(anatomy);
    out
}

/// What one of the sides has more or less of than the first.
#[must_use]
pub fn table(anatomy: &Anatomy, against: &Against, width: usize) -> String {
    let base = &anatomy.sides[0].name;
    differences(base, against).fit(width)
}

/// What the figures rest on, and what they cost.
#[must_use]
pub fn notes(anatomy: &Anatomy) -> String {
    let mut out = String::new();
    let samples: u64 = anatomy.sides.iter().map(|side| side.samples).sum();
    let _ = writeln!(
        out,
        "{} rounds at {} apart from those that measure; {} samples of stacks",
        anatomy.rounds,
        show::rate(anatomy.rate),
        show::count(samples)
    );
    for side in &anatomy.sides {
        if let Some(cost) = &side.sampling {
            let percent = |value: f64| format!("{:+.1}", 100.0 * (value - 1.0)).replace('-', "−");
            let range = cost.interval().map_or_else(String::new, |interval| {
                format!(
                    " ({} to {})",
                    percent(interval.low()),
                    percent(interval.high())
                )
            });
            let name = &side.name;
            let cost = percent(cost.value());
            let _ = writeln!(
                out,
                "sampling changed the CPU time of {name} by {cost} %{range}"
            );
        }
        if let Some(coverage) = side.coverage.filter(|it| !COVERED.contains(&it.value())) {
            let _ = writeln!(
                out,
                "the samples of {} stand for {:.0} % of its CPU time: parts may be distorted",
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

/// A part in words.
#[must_use]
pub fn name(part: &Part) -> String {
    match part {
        Part::Function(name) => name.clone(),
        Part::Call(name) => format!("kernel: {name}()"),
        Part::Kernel(name) => format!("kernel: {name}"),
        Part::Rest => "(smaller parts)".to_owned(),
    }
}

/// A share of 1, which may be negative.
fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share).replace('-', "−")
}

/// A server against the first: the whole, parts of it, and counts.
fn differences(base: &str, against: &Against) -> Table {
    let mut table = Table::new([
        ("per request", Align::Left),
        (base, Align::Right),
        (&against.side, Align::Right),
        ("difference", Align::Right),
        ("95 % interval", Align::Left),
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
    table
}

/// Those that differ, and the first of the others.
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

fn signed(value: f64, show: fn(f64) -> String) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", show(value.abs()))
}

fn plain(value: f64) -> String {
    match value.abs() {
        0.0..100.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

/// What a request costs one server.
fn of_one(side: &Body) -> Table {
    let mut table = Table::new([
        ("per request", Align::Left),
        (side.name.as_str(), Align::Right),
        ("±95 %", Align::Right),
        ("of the whole", Align::Right),
    ]);
    let half = |value: &Estimate| {
        value
            .relative_half_width()
            .map_or_else(String::new, show::within)
    };
    let whole = side.cpu.or(side.plain_cpu);
    if let Some(cpu) = &whole {
        table.row([
            "CPU time".to_owned(),
            show::time(cpu.value()),
            half(cpu),
            String::new(),
        ]);
    }
    for (part, value) in side.parts.iter().take(2 * ROWS) {
        let share = whole.map_or(0.0, |whole| value.value() / whole.value());
        table.row([
            format!("  {}", name(part)),
            show::time(value.value()),
            half(value),
            percent(share),
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
            half(value),
            String::new(),
        ]);
    }
    table
}

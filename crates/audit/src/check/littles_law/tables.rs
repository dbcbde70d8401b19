//! Rates and mean response times in tables.

use super::{EXPLANATION, SERIOUS};
use crate::audit::Remark;
use crate::check::{Seen, of_all, remark, time};
use crate::document::{Document, Place};
use crate::figures::Figure;
use crate::load::Load;
use crate::names::words;
use crate::read::command::Command;
use crate::read::number::seconds;
use crate::table::{Row, Table};
use crate::tool::Tool;
use prony_checks::Severity;

/// A table may have rounded what it gives.
const TABLED: f64 = 1.2;
/// A sentence so few lines below a table is about it.
const BELOW: usize = 4;

/// Rates and mean response times beside each other in a table, where the load is known: from its rows, or from the
/// command line that everything was measured with.
pub(super) fn check(seen: &Seen<'_>, index: usize) -> Option<Remark> {
    let document = &seen.documents[index];
    let stated = stated(document);
    let depth = |figure: &Figure, heading: Option<u64>, table: usize| {
        let mut commands = document.commands.iter();
        let first = commands.next();
        let one = commands.all(|other| {
            let of = |c: &Command| (c.tool, c.connections(), c.pipeline(), c.rate().is_some());
            first.is_none_or(|first| of(first) == of(other))
        });
        let open = first.is_some_and(|it| it.rate().is_some() || it.tool == Tool::K6);
        (one && !open).then_some(())?;
        let own = figure.load.connections.or(heading);
        let connections = own
            .or_else(|| first?.connections())
            .or_else(|| stated_of(&stated, table))?;
        let pipeline = first.map_or(Some(1), Command::pipeline)?;
        Some(connections as f64 * pipeline as f64)
    };
    let piped = |place: &Place| {
        let texts = place.headings.iter().chain(&place.label);
        texts
            .map(|text| text.0.to_lowercase())
            .any(|text| text.contains("pipelin"))
    };
    let mut looked_at = 0;
    let mut broken = Vec::new();
    for figure in seen
        .figures
        .iter()
        .filter(|f| f.document == index && f.output.is_none())
    {
        let row = document.tables.iter().find_map(|(table, place)| {
            let row = table
                .rows
                .iter()
                .find(|row| row.cells.iter().any(|c| c.line == figure.line))?;
            (!piped(place) && row.line() == figure.line).then_some(())?;
            let heading = place
                .headings
                .last()
                .and_then(|heading| Load::parse(&heading.0));
            let heading = heading.and_then(|load| load.connections);
            let depth = depth(figure, heading, table.first)?;
            Some((table, row, depth))
        });
        let Some((table, row, depth)) = row else {
            continue;
        };
        let mean = (1..table.header.len()).find_map(|column| {
            is_mean(table.name(column)).then_some(())?;
            let cell = row.cells.get(column)?;
            seconds(&cell.text).or_else(|| Some(cell.number?.times(unit(table.name(column))?)))
        });
        let Some(mean) = mean.filter(|_| depth > 0.0) else {
            continue;
        };
        looked_at += 1;
        let ratio = figure.rate.value * mean.low() / depth;
        if ratio > TABLED {
            broken.push((figure, mean, depth, ratio));
        }
    }
    let (figure, mean, depth, ratio) = broken.iter().max_by(|a, b| a.3.total_cmp(&b.3))?;
    let text = format!(
        "{}{} by the largest factor, {ratio:.1} times: {:.0} per second of {} each are {:.0} requests in flight, of {depth:.0} \
         that the load allows, so the response times are wrong (Little's law). Trust only the rates",
        of_all(broken.len(), looked_at, "rows contradict themselves"),
        figure.system.name,
        figure.rate.value,
        time(mean.value),
        figure.rate.value * mean.value,
    );
    let severity = if *ratio >= SERIOUS {
        Severity::Serious
    } else {
        Severity::Warning
    };
    let lines = broken.iter().map(|(figure, ..)| figure.line);
    Some(remark(EXPLANATION.name, severity, document, lines, text))
}

/// The connections that lines state, each with the first line of the table that it stands near, below the heading of that; none
/// where it is said of all tables.
fn stated(document: &Document) -> Vec<(Option<usize>, u64)> {
    let above = |(table, place): &&(Table, Place), line: usize| {
        // What stands above the first heading is about everything.
        let heading = place.headings.last().map_or(0, |heading| heading.1);
        heading > 0 && (heading..table.first).contains(&line)
    };
    let below = |(table, _): &&(Table, Place), line: usize| {
        let last = table.rows.last().map_or(table.first, Row::line);
        (last..=last + BELOW).contains(&line)
    };
    let near = |line: usize| {
        let tables = || document.tables.iter();
        let found = tables().find(|table| above(table, line));
        let found = found.or_else(|| tables().find(|table| below(table, line)));
        found.map(|(table, _)| table.first)
    };
    let said = document.at_once.iter();
    said.map(|(line, connections)| (near(*line), *connections))
        .collect()
}

/// The connections of the table that begins in a line: what is stated near it, or else of all tables. None where that is not one
/// number.
fn stated_of(stated: &[(Option<usize>, u64)], first: usize) -> Option<u64> {
    let of = |table: Option<usize>| stated.iter().filter(move |(own, _)| *own == table);
    let own = of(Some(first)).next().map(|_| first);
    let mut said = of(own).map(|(_, connections)| *connections);
    let value = said.next().filter(|value| *value > 0)?;
    said.all(|other| other == value).then_some(value)
}

/// The unit of time in a column's name, in seconds: `Latency (us)`.
fn unit(name: &str) -> Option<f64> {
    let name = name.to_lowercase();
    words(&name).find_map(|word| match word {
        "ms" | "msec" | "milliseconds" => Some(1e-3),
        "us" | "µs" | "μs" | "usec" | "microseconds" => Some(1e-6),
        "s" | "sec" | "seconds" => Some(1.0),
        _ => None,
    })
}

/// Is a column one of mean response times? A percentile, the longest and the deviation are none.
fn is_mean(name: &str) -> bool {
    const TIMES: [&str; 5] = [
        "latency",
        "response time",
        "time per request",
        "time/request",
        "resp. time",
    ];
    const OTHER: [&str; 14] = [
        "p50",
        "p75",
        "p90",
        "p95",
        "p99",
        "p999",
        "max",
        "min",
        "std",
        "stdev",
        "stddev",
        "median",
        "percentile",
        "total",
    ];
    let name = name.to_lowercase();
    TIMES.iter().any(|time| name.contains(time))
        && !name.contains('%')
        && !name.contains("across")
        && !words(&name)
            .any(|word| OTHER.contains(&word) || word.starts_with(|c: char| c.is_ascii_digit()))
}

//! Figures that others have published, and how what is measured stands beside them: as published,
//! as corrected for what is known to be wrong with them, and in which order.

use crate::show;
use crate::table::{Align, TextTable};
use prony_record::Percentiles;
use prony_record::published::{Published, PublishedRow};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A cell of a run, as it is compared with what was published.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredCell<'a> {
    /// The server's label.
    pub server: &'a str,
    /// The load's label.
    pub load: &'a str,
    /// Answers per second.
    pub rate: f64,
    /// Response times of the cell.
    pub latency: &'a Percentiles,
    /// The server's CPU time per answer, in microseconds; none: unknown.
    pub cpu_us_per_request: Option<f64>,
}

/// Published figures beside measured ones.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Beside {
    /// Title of the publication.
    pub title: String,
    /// Where it stands.
    pub origin: String,
    /// On what it was measured.
    pub rig: String,
    /// Unit of the rates, counted per second.
    pub unit: String,
    /// Error in the published rates that has been corrected; null where there is none.
    pub correction: Option<String>,
    /// The server that others are compared with.
    pub baseline: String,
    /// Rows of the published table.
    pub rows: Vec<BesideRow>,
    /// How the order then and the order now agree; null with fewer than two rows to compare.
    pub order: Option<OrderAgreement>,
}

/// A published row beside what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BesideRow {
    /// Label of the row, as published.
    pub label: String,
    /// The server that stands for it.
    pub server: Option<String>,
    /// The load, when there are several.
    pub load: Option<String>,
    /// Rate as published: the mean of all its runs; null where none was published.
    pub published: Option<f64>,
    /// Rate as corrected; null where nothing had to be corrected.
    pub corrected: Option<f64>,
    /// Rate as measured here; null where it was not measured.
    pub measured: Option<f64>,
    /// Published latency in milliseconds.
    pub latency_ms: BTreeMap<String, f64>,
    /// The same figures as measured here.
    pub measured_latency_ms: BTreeMap<String, f64>,
    /// Published CPU time of the server per request, in microseconds; null where none was published.
    pub cpu_us_per_request: Option<f64>,
    /// The same as measured here; null where it was not measured or not published.
    pub measured_cpu_us_per_request: Option<f64>,
    /// The published rate (corrected where it was) as a multiple of the baseline's.
    pub ratio_then: Option<f64>,
    /// The measured rate as a multiple of the baseline's.
    pub ratio_now: Option<f64>,
    /// Published place among the compared rows of the same load, from 1; null where the row is not compared.
    pub place_then: Option<u32>,
    /// Measured place among the same rows, from 1; null where the row is not compared.
    pub place_now: Option<u32>,
    /// Remark that a reader of this row needs.
    pub note: Option<String>,
}

/// How two orders of the same servers agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OrderAgreement {
    /// Pairs of servers under the same load.
    pub pairs: u64,
    /// Pairs of which the same one was ahead then and now.
    pub same: u64,
}

impl Beside {
    /// Puts measured cells beside what was published.
    pub fn new(published: &Published, baseline: &str, measured: &[MeasuredCell<'_>]) -> Self {
        let correction = published.correction.as_ref();
        // Where all of it is of one load, it stands beside whatever was measured.
        let first = published.row.first().and_then(|row| row.load.as_deref());
        let one_load = published.row.iter().all(|row| row.load.as_deref() == first);
        let found = |row: &PublishedRow| {
            let server = row.server.as_deref()?;
            let own = || measured.iter().filter(|cell| cell.server == server);
            let fits =
                |cell: &&MeasuredCell<'_>| row.load.as_deref().is_none_or(|load| load == cell.load);
            let only = || own().next().filter(|_| one_load && own().count() == 1);
            let at_another_level = |cell: &&MeasuredCell<'_>| {
                let level = row.load.as_deref()?.strip_prefix(cell.load)?;
                level.starts_with(' ').then_some(())
            };
            let mut levels = own().filter(|cell| at_another_level(cell).is_some());
            own().find(fits).or_else(only).or_else(|| levels.next())
        };
        let then = |row: &PublishedRow| row.corrected(correction).or_else(|| row.rate());
        // The last row of a server under a load stands for it.
        let same = |a: &PublishedRow, b: &PublishedRow| a.server == b.server && a.load == b.load;
        let counts = |index: usize| {
            let row = &published.row[index];
            !published.row[index + 1..]
                .iter()
                .any(|later| same(row, later))
        };
        let compared: Vec<(usize, f64, f64)> = (0..published.row.len())
            .filter(|&index| counts(index))
            .filter_map(|index| {
                let row = &published.row[index];
                Some((index, then(row)?, found(row)?.rate))
            })
            .collect();
        let base = |load: &Option<String>| {
            compared.iter().find(|(index, ..)| {
                let row = &published.row[*index];
                row.server.as_deref() == Some(baseline) && row.load == *load
            })
        };
        let rows = published.row.iter().enumerate().map(|(index, row)| {
            let peers = || {
                compared
                    .iter()
                    .filter(|(other, ..)| published.row[*other].load == row.load)
            };
            let own = compared.iter().find(|(other, ..)| *other == index);
            let base = base(&row.load);
            BesideRow {
                label: row.label.clone(),
                server: row.server.clone(),
                load: row.load.clone(),
                published: row.rate(),
                corrected: row.corrected(correction),
                measured: found(row).map(|cell| cell.rate),
                latency_ms: row.latency_ms.clone(),
                measured_latency_ms: found(row)
                    .map(|cell| cell.latency.by_name())
                    .unwrap_or_default()
                    .into_iter()
                    .filter(|(name, _)| row.latency_ms.contains_key(name))
                    .collect(),
                cpu_us_per_request: row.cpu_us_per_request,
                measured_cpu_us_per_request: (row.cpu_us_per_request.and(found(row)))
                    .and_then(|cell| cell.cpu_us_per_request),
                ratio_then: then(row).zip(base).map(|(rate, (_, base, _))| rate / base),
                ratio_now: found(row)
                    .zip(base)
                    .map(|(cell, (_, _, base))| cell.rate / base),
                place_then: own.map(|(_, own, _)| {
                    1 + peers().filter(|(_, rate, _)| rate > own).count() as u32
                }),
                place_now: own
                    .map(|(_, _, own)| 1 + peers().filter(|(.., rate)| rate > own).count() as u32),
                note: row.note.clone(),
            }
        });
        Self {
            title: published.title.clone(),
            origin: published.origin.clone(),
            rig: published.rig.clone(),
            unit: published.unit.clone(),
            correction: correction.map(|correction| correction.why.clone()),
            baseline: baseline.to_owned(),
            rows: rows.collect(),
            order: order(published, &compared),
        }
    }

    /// The comparison as text for a terminal of `width` columns; rows of servers and loads that were not measured only
    /// with `verbose`.
    pub fn text(&self, verbose: bool, width: usize) -> String {
        let is_shown = |row: &&BesideRow| verbose || row.server.is_none() || row.measured.is_some();
        let rows: Vec<&BesideRow> = self.rows.iter().filter(is_shown).collect();
        let mut out = String::new();
        let _ = writeln!(out, "\nAs published: {} ({})", self.title, self.origin);
        let _ = writeln!(out, "{}", self.rig);
        if let Some(why) = &self.correction {
            let _ = writeln!(out, "corrected: {why}");
        }
        let _ = write!(out, "\n{}", self.table(&rows).fit(width));
        out += &costs(&rows, width);
        for row in &rows {
            if let Some(note) = &row.note {
                let load = row
                    .load
                    .as_deref()
                    .map_or(String::new(), |load| format!(", {load}"));
                let _ = writeln!(out, "{}{load}: {note}", row.label);
            }
        }
        match self.rows.len() - rows.len() {
            0 => {}
            left_out => {
                let _ = writeln!(out, "published, and not measured here: {left_out} rows");
            }
        }
        if let Some(OrderAgreement { pairs, same }) = self.order {
            let _ = writeln!(
                out,
                "\nOf {pairs} pairs of servers, {same} ({:.0}%) stand in the same order as when this was published.",
                100.0 * same as f64 / pairs as f64
            );
        }
        out
    }

    fn table(&self, rows: &[&BesideRow]) -> TextTable {
        let loads = rows.iter().any(|row| row.load.is_some());
        let corrected = rows.iter().any(|row| row.corrected.is_some());
        let unit = |what: &str| format!("{what} {}", self.unit);
        let (published, fixed, now) = (
            unit("published"),
            "as corrected".to_owned(),
            unit("measured"),
        );
        let columns = [
            (true, "row", Align::Left),
            (loads, "load", Align::Left),
            (true, "server", Align::Left),
            (true, published.as_str(), Align::Right),
            (corrected, fixed.as_str(), Align::Right),
            (true, now.as_str(), Align::Right),
            (true, "ratio then", Align::Right),
            (true, "ratio now", Align::Right),
            (true, "place then", Align::Right),
            (true, "place now", Align::Right),
        ];
        let kept = columns.iter().filter(|column| column.0);
        let keys = 1 + usize::from(loads);
        let mut table = TextTable::new(kept.map(|&(_, name, align)| (name, align))).keys(keys);
        let dash = || "–".to_owned();
        let whole =
            |rate: Option<f64>| rate.map_or_else(dash, |rate| show::count(rate.round() as u64));
        let ratio = |ratio: Option<f64>| ratio.map_or_else(dash, show::ratio);
        let place = |place: Option<u32>| place.map_or_else(dash, |place| place.to_string());
        for row in rows {
            let cells = [
                row.label.clone(),
                row.load.clone().unwrap_or_default(),
                row.server.clone().unwrap_or_else(dash),
                whole(row.published),
                whole(row.corrected),
                whole(row.measured),
                ratio(row.ratio_then),
                ratio(row.ratio_now),
                place(row.place_then),
                place(row.place_now),
            ];
            let kept = columns.iter().zip(cells).filter(|(column, _)| column.0);
            table.row(kept.map(|(_, cell)| cell));
        }
        table
    }
}

/// Published latencies and CPU times, each with the measured one behind it.
fn costs(rows: &[&BesideRow], width: usize) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in rows.iter().flat_map(|row| row.latency_ms.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let cpu = rows.iter().any(|row| row.cpu_us_per_request.is_some());
    let title = match (names.is_empty(), cpu) {
        (true, false) => return String::new(),
        (false, false) => "response times",
        (true, true) => "CPU time per request",
        (false, true) => "response times and CPU time per request",
    };
    let columns = [("row", Align::Left), ("load", Align::Left)];
    let figures = names.iter().copied().chain(cpu.then_some("CPU/request"));
    let figures = figures.map(|name| (name, Align::Right));
    let mut table = TextTable::new(columns.into_iter().chain(figures)).keys(2);
    let time = |ns: Option<f64>| ns.map_or("–".to_owned(), show::time);
    let pair = |then, now| format!("{} → {}", time(then), time(now));
    for row in rows {
        let mut cells = vec![row.label.clone(), row.load.clone().unwrap_or_default()];
        cells.extend(names.iter().map(|&name| {
            let ns = |of: &BTreeMap<String, f64>| of.get(name).map(|ms| ms * 1e6);
            pair(ns(&row.latency_ms), ns(&row.measured_latency_ms))
        }));
        let ns = |us: Option<f64>| us.map(|us| us * 1e3);
        let costs = [row.cpu_us_per_request, row.measured_cpu_us_per_request].map(ns);
        cells.extend(cpu.then(|| pair(costs[0], costs[1])));
        if !row.latency_ms.is_empty() || costs[0].is_some() {
            table.row(cells);
        }
    }
    let table = table.fit(width);
    format!("\n{title}, as published → as measured\n\n{table}")
}

/// Over all pairs of rows under the same load; equal rates agree with nothing.
fn order(published: &Published, compared: &[(usize, f64, f64)]) -> Option<OrderAgreement> {
    let mut order = OrderAgreement { pairs: 0, same: 0 };
    for (i, (a, then_a, now_a)) in compared.iter().enumerate() {
        for (b, then_b, now_b) in &compared[i + 1..] {
            if published.row[*a].load == published.row[*b].load {
                order.pairs += 1;
                order.same += u64::from((then_a - then_b) * (now_a - now_b) > 0.0);
            }
        }
    }
    (order.pairs > 0).then_some(order)
}

#[cfg(test)]
mod tests;

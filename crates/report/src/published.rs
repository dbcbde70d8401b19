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
            let fits = |cell: &&MeasuredCell<'_>| {
                cell.server == server && row.load.as_deref().is_none_or(|load| load == cell.load)
            };
            let mut own = measured.iter().filter(|cell| cell.server == server);
            let only = own.next().filter(|_| one_load && own.next().is_none());
            measured.iter().find(fits).or(only)
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

    /// The comparison as text for a terminal of `width` columns.
    pub fn text(&self, width: usize) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "\nAs published: {} ({})", self.title, self.origin);
        let _ = writeln!(out, "{}", self.rig);
        if let Some(why) = &self.correction {
            let _ = writeln!(out, "corrected: {why}");
        }
        let _ = write!(out, "\n{}", self.table().fit(width));
        out += &self.latencies(width);
        for row in &self.rows {
            if let Some(note) = &row.note {
                let load = row
                    .load
                    .as_deref()
                    .map_or(String::new(), |load| format!(", {load}"));
                let _ = writeln!(out, "{}{load}: {note}", row.label);
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

    /// Published latencies, each with the measured one behind it.
    fn latencies(&self, width: usize) -> String {
        let mut names: Vec<&str> = Vec::new();
        for name in self.rows.iter().flat_map(|row| row.latency_ms.keys()) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        if names.is_empty() {
            return String::new();
        }
        let columns = [("row", Align::Left), ("load", Align::Left)];
        let figures = names.iter().map(|&name| (name, Align::Right));
        let mut table = TextTable::new(columns.into_iter().chain(figures)).keys(2);
        for row in self.rows.iter().filter(|row| !row.latency_ms.is_empty()) {
            let mut cells = vec![row.label.clone(), row.load.clone().unwrap_or_default()];
            cells.extend(names.iter().map(|&name| {
                let time =
                    |ms: Option<&f64>| ms.map_or("–".to_owned(), |ms| show::time(ms * 1e6));
                let (then, now) = (row.latency_ms.get(name), row.measured_latency_ms.get(name));
                format!("{} → {}", time(then), time(now))
            }));
            table.row(cells);
        }
        format!(
            "\nresponse times, as published → as measured\n\n{}",
            table.fit(width)
        )
    }

    fn table(&self) -> TextTable {
        let loads = self.rows.iter().any(|row| row.load.is_some());
        let corrected = self.rows.iter().any(|row| row.corrected.is_some());
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
        for row in &self.rows {
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
mod tests {
    use super::*;
    use crate::table::UNLIMITED;
    use prony_record::published::Correction;
    use std::sync::LazyLock;

    fn row(label: &str, server: &str, rates: &[f64]) -> PublishedRow {
        PublishedRow {
            label: label.into(),
            server: Some(server.into()),
            load: None,
            rates: rates.to_vec(),
            corrected: Vec::new(),
            latency_ms: BTreeMap::new(),
            note: None,
        }
    }

    fn published(rows: Vec<PublishedRow>) -> Published {
        Published {
            title: "T".into(),
            origin: "O".into(),
            rig: "R".into(),
            unit: "echoes/s".into(),
            correction: None,
            row: rows,
        }
    }

    fn at<'a>(server: &'a str, load: &'a str, rate: f64) -> MeasuredCell<'a> {
        static LATENCY: LazyLock<Percentiles> = LazyLock::new(|| Percentiles {
            p50: Some(2_000_000),
            ..Percentiles::default()
        });
        MeasuredCell {
            server,
            load,
            rate,
            latency: &LATENCY,
        }
    }

    fn cell(server: &str, rate: f64) -> MeasuredCell<'_> {
        at(server, "c100", rate)
    }

    #[test]
    fn a_second_too_many_is_taken_out() {
        let correction = Correction {
            why: "a sleep".into(),
            requests: 1_000_000,
            too_seconds: 1.0,
        };
        // 117,036.86/s over a million echoes are 8.544 s, of which 7.544 s were echoes.
        assert!((correction.apply(117_036.86) - 132_550.0).abs() < 1.0);
        assert!((correction.apply(149_737.19) - 176_107.0).abs() < 1.0);
        let both = row("a", "a", &[117_036.86, 149_737.19]);
        assert!((both.corrected(Some(&correction)).unwrap() - 154_328.5).abs() < 1.0);
        assert_eq!(both.corrected(None), None);
    }

    #[test]
    fn a_row_of_its_own_correction() {
        let mut it = row("a", "a", &[1.0]);
        it.corrected = vec![3.0, 5.0];
        assert_eq!(it.corrected(None), Some(4.0));
    }

    #[test]
    fn orders_then_and_now() {
        let published = published(vec![
            row("a", "a", &[100.0, 120.0]),
            row("b, old", "b", &[500.0]),
            row("b", "b", &[55.0]),
            row("c", "c", &[20.0]),
            row("gone", "d", &[999.0]),
        ]);
        let now = [cell("a", 200.0), cell("b", 300.0), cell("c", 20.0)];
        let beside = Beside::new(&published, "a", &now);
        let places: Vec<_> = beside
            .rows
            .iter()
            .map(|row| (row.place_then, row.place_now))
            .collect();
        let expected = [
            (Some(1), Some(2)),
            (None, None),
            (Some(2), Some(1)),
            (Some(3), Some(3)),
            (None, None),
        ];
        assert_eq!(places, expected);
        assert_eq!(beside.rows[2].ratio_then, Some(0.5));
        assert_eq!(beside.rows[2].ratio_now, Some(1.5));
        assert_eq!(beside.rows[4].published, Some(999.0));
        assert_eq!(beside.rows[4].measured, None);
        assert_eq!(beside.order, Some(OrderAgreement { pairs: 3, same: 2 }));
        let text = beside.text(UNLIMITED);
        assert!(text.contains("Of 3 pairs of servers, 2 (67%)"), "{text}");
        assert!(
            !text.contains("as corrected") && !text.contains("load"),
            "{text}"
        );
    }

    #[test]
    fn latencies_are_shown_where_they_were_published() {
        let mut rows = vec![row("a", "a", &[10.0])];
        rows[0].latency_ms = BTreeMap::from([("p50".into(), 4.0), ("p99".into(), 9.0)]);
        let beside = Beside::new(&published(rows), "a", &[cell("a", 1.0)]);
        let text = beside.text(UNLIMITED);
        assert!(text.contains("4.00 ms → 2.00 ms"), "{text}");
        assert!(text.contains("9.00 ms → –"), "{text}");
    }

    #[test]
    fn rows_are_compared_under_their_own_load() {
        let mut rows = vec![row("a", "a", &[10.0]), row("b", "b", &[20.0])];
        rows.extend(rows.clone());
        for (row, load) in rows.iter_mut().zip(["c1", "c1", "c8", "c8"]) {
            row.load = Some(load.into());
        }
        let now = [
            at("a", "c1", 1.0),
            at("b", "c1", 2.0),
            at("a", "c8", 5.0),
            at("b", "c8", 4.0),
        ];
        let beside = Beside::new(&published(rows), "a", &now);
        assert_eq!(beside.order, Some(OrderAgreement { pairs: 2, same: 1 }));
        assert_eq!(beside.rows[3].ratio_now, Some(0.8));
        assert!(beside.text(UNLIMITED).contains("c8"));
        assert!(!beside.text(UNLIMITED).contains("response times"));
    }
}

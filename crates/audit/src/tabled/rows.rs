//! Names of a table's rows and columns, and those that only count or order them.

use super::{TableReader, is_metric};
use crate::axis::load as load_named;
use crate::load::Load;
use crate::model::{Row, Table};
use crate::names::{bare, is_run};
use crate::words::{Words, words};
use std::collections::{BTreeMap, BTreeSet};

/// Do numbers say which percentile stands below each: `50 | 90 | 95 | 99`? No load is between 95 and 100.
pub(super) fn are_percentiles(names: &[&str]) -> bool {
    let number = |name: &&str| name.trim_end_matches('%').trim().parse::<f64>().ok();
    let Some(numbers) = names.iter().map(number).collect::<Option<Vec<f64>>>() else {
        return false;
    };
    numbers.len() >= 2
        && numbers.is_sorted()
        && numbers.iter().all(|n| (0.0..=100.0).contains(n))
        && numbers.iter().any(|n| (95.0..100.0).contains(n))
}

/// Does the name of a column say that pages of a server stand in it?
pub(super) fn names_pages(name: &str) -> bool {
    const PAGES: Words = Words(
        "endpoint, endpoints, api endpoint, route, path, request, request name, operation, page, \
        ruta, rota, 接口, エンドポイント, эндпоинт",
    );
    PAGES.has(name.trim().to_lowercase().as_str())
}

/// Returns the name of each row: the texts in front of its figures. Where rows would have the same name, it includes
/// other cells that tell them apart. `None` for a row without such texts.
pub(super) fn names_of(
    reading: &TableReader<'_>,
    columns: &[usize],
    loads: &[usize],
) -> Vec<Option<String>> {
    let table = reading.table;
    let first = columns.first().copied().unwrap_or(1).max(1);
    let joined = |row: &Row, columns: &mut dyn Iterator<Item = usize>| {
        let cells = columns.filter_map(|column| row.cells.get(column));
        let texts = cells
            .map(|cell| cell.text.as_str())
            .filter(|text| !text.is_empty());
        texts.take(4).collect::<Vec<_>>().join(", ")
    };
    let names: Vec<String> = reading
        .rows
        .iter()
        .map(|row| {
            joined(
                row,
                &mut (0..first).filter(|c| !loads.contains(c) && !counts_runs(table, *c)),
            )
        })
        .collect();
    let mut often: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &names {
        *often.entry(name).or_default() += 1;
    }
    let width = table.header.len();
    let more = |row: &Row| {
        let mut others = (first..width).filter(|column| {
            let cell = row.cells.get(*column).map_or("", |cell| cell.text.as_str());
            !loads.contains(column)
                && !is_metric(table.name(*column))
                && !counts_runs(table, *column)
                && (!columns.contains(column) || bare(cell).is_some())
                && !table.name(*column).is_empty()
        });
        joined(row, &mut others)
    };
    names
        .iter()
        .zip(&reading.rows)
        .map(|(name, row)| {
            (!name.is_empty()).then_some(())?;
            let more = if often[name.as_str()] > 1 {
                more(row)
            } else {
                String::new()
            };
            Some(if more.is_empty() {
                name.clone()
            } else {
                format!("{name}, {more}")
            })
        })
        .collect()
}

/// Does a column only count runs?
fn counts_runs(table: &Table, column: usize) -> bool {
    let name = table.name(column).to_lowercase();
    column > 0 && (name == "#" || name == "no" || words(&name).any(is_run))
}

/// Do labels stand several times, most of them? In an order only a few places are shared.
fn repeat(labels: &[&str]) -> bool {
    let different: BTreeSet<&str> = labels.iter().copied().collect();
    2 * different.len() <= labels.len()
}

/// Are labels the numbers from one on, or from zero, each of them however often?
fn are_counted(labels: &[&str]) -> bool {
    let numbers: Option<BTreeSet<u64>> = labels.iter().map(|label| bare(label)).collect();
    numbers.is_some_and(|numbers| {
        let from = numbers.first().copied().unwrap_or(2);
        from <= 1
            && numbers
                .iter()
                .copied()
                .eq(from..from + numbers.len() as u64)
    })
}

/// Do the rows name systems behind the loads that they begin with: `| 50 | gin | 48802 |`, `| 50 | echo | 41104 |`?
pub(super) fn named_behind_loads(reading: &TableReader<'_>, labels: &[&str]) -> bool {
    let named = |row: &&Row| {
        let cell = row.cells.get(1);
        cell.is_some_and(|cell| {
            !cell.text.is_empty() && cell.number.is_none() && load_named("", &cell.text).is_none()
        })
    };
    repeat(labels) && reading.rows.iter().all(named)
}

/// Does a row stand beside the order: `N/A`, `-`?
fn is_unranked(label: &str) -> bool {
    matches!(
        label.to_lowercase().as_str(),
        "n/a" | "na" | "-" | "–" | "—"
    )
}

/// A table without its first column, when that only numbers what the second names.
pub(super) fn without_ranks(table: &Table) -> Option<Table> {
    let named = |row: &Row| {
        let name = row.cells.get(1).is_some_and(|cell| !cell.text.is_empty());
        name && row.number(1).is_none()
            && (crate::names::is_ordinal(row.label()) || is_unranked(row.label()))
            && load_named("", &row.cells[1].text).is_none()
    };
    let counted: Vec<&str> = table
        .rows
        .iter()
        .map(Row::label)
        .filter(|label| !is_unranked(label))
        .collect();
    // Connections are no places, and neither is what stands several times and does not count from one: it was varied.
    let is_runs = words(table.name(0)).any(is_run) || are_counted(&counted);
    let varied = Load::named(table.name(0), 0).is_some() || repeat(&counted) && !is_runs;
    let ranked = counted.len() >= 2 && !varied && table.rows.iter().all(named);
    ranked.then(|| Table {
        first: table.first,
        header: table.header.iter().skip(1).cloned().collect(),
        rows: table
            .rows
            .iter()
            .map(|row| Row {
                cells: row.cells[1..].to_vec(),
            })
            .collect(),
    })
}

//! The figures of a table, however it lays out its systems, loads and runs.

use crate::axis::{Axis, axis, load as load_named};
use crate::document::Place;
use crate::figures::{Figure, is_about_other, is_other, rate_unit, rates_in};
use crate::load::Load;
use crate::names::{System, bare, is_run, is_summary, system, words};
use crate::table::{Row, Table};
use std::collections::BTreeMap;

/// A table as it is looked at for figures.
struct Reading<'a> {
    table: &'a Table,
    rows: Vec<&'a Row>,
    place: &'a Place,
    document: usize,
    file: &'a str,
    /// What its caption, its corner or its label say that its figures are.
    unit: Option<f64>,
    all: Vec<Figure>,
}

impl Reading<'_> {
    fn add(&mut self, row: usize, column: usize, system: System, load: Load, unit: Option<f64>) {
        let row = self.rows[row];
        let Some(rate) = row.number(column).filter(|rate| rate.value > 0.0) else {
            return;
        };
        let text = row.cells[column].text.as_str();
        if ["B/s", "b/s", "bps", "Bps"]
            .iter()
            .any(|unit| text.contains(unit))
        {
            return;
        }
        let spread = |text: &str| {
            ["±", "+/-", "stdev", "margin"]
                .iter()
                .any(|word| text.contains(word))
        };
        let header = self.table.header.iter().any(|name| spread(name));
        self.all.push(Figure {
            document: self.document,
            line: row.line_of(column),
            system,
            load,
            rate: rate.times(unit.unwrap_or(1.0)),
            output: None,
            repeated: header || spread(text),
        });
    }

    fn system(&self, column: Option<&str>) -> System {
        system(self.place, column, self.file)
    }
}

/// The figures of a table: of its systems, loads and runs, however it lays them out.
pub(crate) fn of_table(table: &Table, place: &Place, document: usize, file: &str) -> Vec<Figure> {
    let unranked = without_ranks(table);
    let table = unranked.as_ref().unwrap_or(table);
    let rows: Vec<&Row> = table
        .rows
        .iter()
        .filter(|row| !is_summary(row.label()))
        .collect();
    let caption = place
        .headings
        .last()
        .map_or("", |heading| heading.0.as_str());
    let label = place.label.as_ref().map_or("", |label| label.0.as_str());
    let other = is_about_other(caption) || is_about_other(label);
    let unit = [caption, table.name(0), label]
        .into_iter()
        .find_map(rate_unit)
        .filter(|_| !other);
    let mut reading = Reading {
        table,
        rows,
        place,
        document,
        file,
        unit,
        all: Vec::new(),
    };
    let labels: Vec<&str> = reading.rows.iter().map(|row| row.label()).collect();
    let columns: Vec<usize> = table.numeric_columns();
    let columns: Vec<usize> = columns.into_iter().filter(|column| *column > 0).collect();
    match axis(table.name(0), &labels) {
        Axis::Time => {}
        Axis::Names => systems_below(&mut reading, &columns, other),
        of_rows => systems_beside(&mut reading, &columns, &of_rows, other),
    }
    reading.all
}

/// Each row is a run, or a load; each column is a system, or a quantity of what the table is of.
fn systems_beside(reading: &mut Reading<'_>, columns: &[usize], rows: &Axis, other: bool) {
    let table = reading.table;
    let load = |row: usize| match rows {
        Axis::Loads(loads) => loads.get(row).copied().unwrap_or_default(),
        _ => Load::default(),
    };
    let count = reading.rows.len();
    if table.header.is_empty() {
        // A list: all of one system.
        let (system, unit) = (reading.system(None), reading.unit);
        let known = columns.len() == 1 && !other;
        for row in (0..count).filter(|_| known) {
            reading.add(row, columns[0], system.clone(), load(row), unit);
        }
        return;
    }
    // Where one column says that it is of rates, or of something else, the others are not systems.
    let quantities = columns
        .iter()
        .any(|&column| rates_in(table.name(column)).is_some() || is_other(table.name(column)));
    for &column in columns {
        let name = table.name(column);
        if name.is_empty() || is_summary(name) {
            continue;
        }
        let (named, unit) = match rates_in(name) {
            Some(unit) => {
                // `nginx req/s` beside `node req/s`: what is left of the name.
                let several = columns
                    .iter()
                    .filter(|c| rates_in(table.name(**c)).is_some());
                (several.count() > 1, Some(unit))
            }
            None if quantities || other || is_run(name) => continue,
            None => (true, reading.unit),
        };
        let system = reading.system(named.then_some(name));
        for row in 0..count {
            reading.add(row, column, system.clone(), load(row), unit);
        }
    }
}

/// Each row is a system; columns are rates, runs of one, or loads.
fn systems_below(reading: &mut Reading<'_>, columns: &[usize], other: bool) {
    let table = reading.table;
    let names: Vec<&str> = columns.iter().map(|column| table.name(*column)).collect();
    let summary = |name: &&&str| !is_summary(name) && !is_other(name);
    let plain: Vec<&str> = names.iter().filter(summary).copied().collect();
    let across = axis(table.name(0), &plain);
    let rates: Vec<usize> = columns
        .iter()
        .copied()
        .filter(|column| rates_in(table.name(*column)).is_some())
        .collect();
    let mut picked: Vec<(usize, Load, Option<f64>)> = Vec::new();
    match (across, rates.first()) {
        (Axis::Runs, None) if plain.len() >= 2 && !other => {
            let runs = columns.iter().filter(|c| plain.contains(&table.name(**c)));
            picked.extend(runs.map(|column| (*column, Load::default(), reading.unit)));
        }
        (Axis::Loads(loads), None) if plain.len() >= 2 && reading.unit.is_some() => {
            let at = columns.iter().filter(|c| plain.contains(&table.name(**c)));
            picked.extend(
                at.zip(loads)
                    .map(|(column, load)| (*column, load, reading.unit)),
            );
        }
        // The first column of rates is the headline; several that differ in a load are all of them.
        (_, Some(&first)) => picked.push((first, Load::default(), rates_in(table.name(first)))),
        _ => {}
    }
    let loads: Vec<usize> = (1..table.header.len())
        .filter(|column| {
            !picked.iter().any(|(picked, ..)| picked == column)
                && Load::named(table.name(*column), 0).is_some()
                && !is_metric(table.name(*column))
        })
        .collect();
    let named = names_of(reading, columns, &loads);
    for (row, name) in named.iter().enumerate() {
        let Some(name) = name else { continue };
        let mut load = Load::default();
        for &column in &loads {
            let Some(cell) = reading.rows[row].cells.get(column) else {
                continue;
            };
            let own = load_named(table.name(column), &cell.text).unwrap_or_default();
            load.connections = load.connections.or(own.connections);
            load.threads = load.threads.or(own.threads);
            load.other = load.other.or(own.other);
        }
        for &(column, across, unit) in &picked {
            let load = if across == Load::default() {
                load
            } else {
                across
            };
            reading.add(row, column, reading.system(Some(name)), load, unit);
        }
    }
}

/// Is a column's name one of a quantity that was measured?
fn is_metric(name: &str) -> bool {
    rate_unit(name).is_some() || is_other(name) && Load::named(name, 0).is_none()
}

/// What each row is called: the texts in front of its figures; where rows are then called alike, also
/// what else tells them apart.
fn names_of(reading: &Reading<'_>, columns: &[usize], loads: &[usize]) -> Vec<Option<String>> {
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

/// A table without its first column, when that only numbers what the second names.
fn without_ranks(table: &Table) -> Option<Table> {
    let named = |row: &Row| {
        let name = row.cells.get(1).is_some_and(|cell| !cell.text.is_empty());
        name && row.number(1).is_none()
            && crate::names::is_ordinal(row.label())
            && load_named("", &row.cells[1].text).is_none()
    };
    let ranked = table.rows.len() >= 2 && table.rows.iter().all(named);
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

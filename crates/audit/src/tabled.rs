//! The figures of a table, however it lays out its systems, loads and runs.

use crate::axis::{Axis, axis, load as load_named};
use crate::document::Place;
use crate::figures::{Figure, is_about_other, is_other, rate_unit, rates_in};
use crate::load::Load;
use crate::names::{System, bare, is_generic, is_run, is_summary, system, words};
use crate::table::{Row, Table};
use std::collections::{BTreeMap, BTreeSet};

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
        let load = if load == Load::default() {
            in_brackets(&system.name).unwrap_or_default()
        } else {
            load
        };
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
            let text = text.to_lowercase();
            [
                "±", "+/-", "stdev", "stddev", "std dev", "std. dev", "margin",
            ]
            .iter()
            .any(|word| text.contains(word))
        };
        // That of a latency is no spread of the rate.
        let header = self.table.header.iter();
        let header = header
            .filter(|name| !is_about_other(name))
            .any(|name| spread(name));
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
        // `Average requests/second` is a quantity.
        .filter(|row| !is_summary(row.label()) || rates_in(row.label()).is_some())
        .collect();
    let caption = place
        .headings
        .last()
        .map_or("", |heading| heading.0.as_str());
    let label = place.label.as_ref().map_or("", |label| label.0.as_str());
    let other = is_about_other(caption) || is_about_other(label);
    // What stands above all of several tables may say it, too.
    let above = place.headings.iter().rev().skip(1);
    let above = above.map(|heading| heading.0.as_str());
    let unit = [caption, table.name(0), label]
        .into_iter()
        .chain(above)
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
    let names = columns.iter().map(|column| table.name(*column));
    if are_percentiles(&names.collect::<Vec<_>>()) {
        return Vec::new();
    }
    match axis(table.name(0), &labels) {
        Axis::Time => {}
        Axis::Names => systems_below(&mut reading, &columns, None, other),
        Axis::Loads(loads) if named_behind_loads(&reading, &labels) => {
            systems_below(&mut reading, &columns, Some(&loads), other);
        }
        of_rows => systems_beside(&mut reading, &columns, &of_rows, other),
    }
    reading.all
}

/// The connections that a name has in brackets: `Load test (100 VUs)`.
fn in_brackets(name: &str) -> Option<Load> {
    let (inner, _) = name.split_once('(')?.1.split_once(')')?;
    Load::parse(inner).filter(|load| load.connections.is_some())
}

/// Do numbers say which percentile stands below each: `50 | 90 | 95 | 99`? No load is between 95 and 100.
fn are_percentiles(names: &[&str]) -> bool {
    let number = |name: &&str| name.trim_end_matches('%').trim().parse::<f64>().ok();
    let Some(numbers) = names.iter().map(number).collect::<Option<Vec<f64>>>() else {
        return false;
    };
    numbers.len() >= 2
        && numbers.is_sorted()
        && numbers.iter().all(|n| (0.0..=100.0).contains(n))
        && numbers.iter().any(|n| (95.0..100.0).contains(n))
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

/// Each row is a system; columns are rates, runs of one, or loads. The first may have the loads, one for each row.
fn systems_below(
    reading: &mut Reading<'_>,
    columns: &[usize],
    first_loads: Option<&[Load]>,
    other: bool,
) {
    let table = reading.table;
    let names: Vec<&str> = columns.iter().map(|column| table.name(*column)).collect();
    let summary = |name: &&&str| !is_summary(name) && !is_other(name);
    let plain: Vec<&str> = names.iter().filter(summary).copied().collect();
    let across = axis(table.name(0), &plain);
    let rates: Vec<usize> = columns
        .iter()
        .copied()
        .filter(|column| {
            rates_in(table.name(*column)).is_some() || has_rates(&reading.rows, *column)
        })
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
        // Each column is of another page or workload: `| Server | plain text | json |`, of rates as the heading says.
        (Axis::Names, None) if is_of_workloads(reading, columns, &plain) => {
            for &column in columns {
                for row in 0..reading.rows.len() {
                    let mut system = reading.system(Some(reading.rows[row].label()));
                    system.section = format!("{} / {}", system.section, table.name(column)).into();
                    reading.add(row, column, system, Load::default(), reading.unit);
                }
            }
            return;
        }
        // The first column of rates is the headline; several that differ in a load are all of them.
        (_, Some(&first)) => {
            let unit = rates_in(table.name(first)).or(Some(1.0));
            picked.push((first, Load::default(), unit));
        }
        _ => {}
    }
    if picked.is_empty() {
        quantities_below(reading);
        return;
    }
    let mut loads: Vec<usize> = (1..table.header.len())
        .filter(|column| {
            !picked.iter().any(|(picked, ..)| picked == column)
                && Load::named(table.name(*column), 0).is_some()
                && !is_metric(table.name(*column))
        })
        .collect();
    // What stands behind the rates was measured: the server's own threads.
    let first = picked.iter().map(|(column, ..)| *column).min();
    if loads.iter().any(|column| Some(*column) < first) {
        loads.retain(|column| Some(*column) < first);
    }
    if first_loads.is_some() {
        loads.insert(0, 0);
    }
    let named = names_of(reading, columns, &loads);
    // Where rows have no label, one with a label and no figures stands above those that it is of.
    let grouped = reading.rows.iter().any(|row| row.label().is_empty());
    let mut group = String::new();
    for (row, name) in named.iter().enumerate() {
        let own = reading.rows[row];
        let figures = picked
            .iter()
            .any(|(column, ..)| own.number(*column).is_some());
        if grouped && !own.label().is_empty() && !figures {
            group = format!(" / {} (line {})", own.label(), own.line());
        }
        let Some(name) = name else { continue };
        let of_first = first_loads.and_then(|loads| loads.get(row));
        let mut load = of_first.copied().unwrap_or_default();
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
            let mut system = reading.system(Some(name));
            if !group.is_empty() {
                system.section = format!("{}{group}", system.section).into();
            }
            reading.add(row, column, system, load, unit);
        }
    }
}

/// Are all columns of figures of one kind, which the heading, and no column, names? There are several of them, and every
/// row is a system.
fn is_of_workloads(reading: &Reading<'_>, columns: &[usize], plain: &[&str]) -> bool {
    let named = |row: &&Row| {
        row.number(0).is_none() && rate_unit(row.label()).is_none() && !is_other(row.label())
    };
    reading.unit.is_some()
        && columns.len() >= 2
        && plain.len() == columns.len()
        && columns.len() + 1 == reading.table.header.len()
        && plain.iter().all(|name| {
            !name.is_empty()
                && (Load::named(name, 0).is_none() || name.contains(|c: char| c.is_ascii_digit()))
        })
        && reading.rows.iter().all(named)
}

/// Each row is a quantity, and each column a system: `| Requests/sec | 213.00 | 198.10 |`. Where one
/// column has the values, a row may say what they are of: `| Framework | gin |`.
fn quantities_below(reading: &mut Reading<'_>) {
    const NAMES: [&str; 9] = [
        "framework",
        "implementation",
        "language",
        "library",
        "name",
        "runtime",
        "server",
        "stack",
        "system",
    ];
    let table = reading.table;
    // The first row of rates is the headline.
    let headline = reading.rows.iter().position(|row| {
        let number = row.cells.iter().skip(1).any(|cell| cell.number.is_some());
        number && rates_in(row.label()).is_some()
    });
    let Some(headline) = headline else { return };
    let unit = rates_in(reading.rows[headline].label());
    let mut load = Load::default();
    let width = reading.rows[headline].cells.len();
    let named = |word: &str| NAMES.contains(&word.trim().to_lowercase().as_str());
    let own = reading.rows.iter().find(|row| named(row.label()));
    let own = own.and_then(|row| row.cells.get(1)).filter(|_| width == 2);
    for row in reading.rows.iter().filter(|_| width == 2) {
        let value = row.cells.get(1).map_or("", |cell| cell.text.as_str());
        let known = load_named(row.label(), value).unwrap_or_default();
        load.connections = load.connections.or(known.connections);
        load.threads = load.threads.or(known.threads);
    }
    for column in 1..width {
        let name = match own {
            Some(cell) => Some(cell.text.as_str()),
            None => Some(table.name(column)).filter(|name| !is_generic(name)),
        };
        if name.is_some_and(|name| is_summary(name) || is_other(name) || rates_in(name).is_some()) {
            continue;
        }
        reading.add(headline, column, reading.system(name), load, unit);
    }
}

/// Do all cells of a column say that they are rates: `60,852.48/rps`, `1,200 req/s`?
fn has_rates(rows: &[&Row], column: usize) -> bool {
    let cells = rows.iter().filter_map(|row| row.cells.get(column));
    let mut cells = cells.filter(|cell| cell.number.is_some()).peekable();
    cells.peek().is_some() && cells.all(|cell| rate_unit(&cell.text).is_some())
}

/// Is a column's name one of a quantity that was measured?
fn is_metric(name: &str) -> bool {
    let pool = words(&name.to_lowercase()).any(|word| word == "pool");
    rate_unit(name).is_some() || !pool && is_other(name) && Load::named(name, 0).is_none()
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
fn named_behind_loads(reading: &Reading<'_>, labels: &[&str]) -> bool {
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
fn without_ranks(table: &Table) -> Option<Table> {
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

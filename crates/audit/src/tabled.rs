//! The figures of a table, however it lays out its systems, loads and runs.

mod rows;

use crate::axis::{Axis, axis, load as load_named};
use crate::command::names_tool;
use crate::figures::Figure;
use crate::load::Load;
use crate::model::OutputContext;
use crate::model::{Row, Table};
use crate::names::{System, is_run, is_summary, system};
use crate::quantity::{is_about_other, is_other, is_target, rate_unit, rates_in};
use crate::words::is_generic;
use crate::words::{Words, words};
use rows::{are_percentiles, named_behind_loads, names_of, names_pages, without_ranks};

/// A table as it is looked at for figures.
struct TableReader<'a> {
    table: &'a Table,
    rows: Vec<&'a Row>,
    place: &'a OutputContext,
    document: usize,
    file: &'a str,
    /// Unit of the figures, in requests per second, as a caption, a corner, a label or a heading states it.
    unit: Option<f64>,
    /// The load that its heading or its label says: `Concurrency: 64`.
    load: Load,
    all: Vec<Figure>,
}

impl TableReader<'_> {
    fn add(&mut self, row: usize, column: usize, system: System, load: Load, unit: Option<f64>) {
        let row = self.rows[row];
        let load = if load == Load::default() {
            in_brackets(&system.name).unwrap_or(self.load)
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
        let interval = |name: &str| {
            let name = name.to_lowercase();
            ["ci95", "95% ci", "confidence"]
                .iter()
                .any(|word| name.contains(word))
        };
        let header = header || self.table.header.iter().any(|name| interval(name));
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
        let mut system = system(self.place, column, self.file);
        // `| wrk | req/s |` below `| ab | req/s |`: what has measured is no run of the other.
        let corner = self.table.name(0);
        if names_tool(corner) {
            system.section = format!("{} / {corner}", system.section).into();
        }
        system
    }

    /// The system of a row that is called so. Where the rows are pages of a server, the heading above names it.
    fn of_row(&self, name: &str) -> System {
        let mut system = self.system(Some(name));
        if names_pages(self.table.name(0)) {
            let mut headings = self.place.headings.iter().rev();
            match headings.find(|heading| Load::parse(&heading.0).is_none()) {
                Some(heading) if !is_generic(&heading.0) => {
                    let above = system.section.strip_suffix(heading.0.as_str());
                    let above = above.map(|above| above.trim_end_matches(" / "));
                    let above = above.unwrap_or(&system.section);
                    system.section = format!("{above} / {name}").into();
                    system.name = heading.0.as_str().into();
                }
                _ => system.section = format!("{} / {name}", system.section).into(),
            }
        }
        system
    }
}

/// The figures of a table: of its systems, loads and runs, however it lays them out.
pub(crate) fn of_table(
    table: &Table,
    place: &OutputContext,
    document: usize,
    file: &str,
) -> Vec<Figure> {
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
    let above = place.label.as_ref().or(place.headings.last());
    let load = above.and_then(|text| Load::parse(&text.0));
    let mut reading = TableReader {
        table,
        rows,
        place,
        document,
        file,
        unit,
        load: load.unwrap_or_default(),
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

/// Each row is a run, or a load; each column is a system, or a quantity of what the table is of.
fn systems_beside(reading: &mut TableReader<'_>, columns: &[usize], rows: &Axis, other: bool) {
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
        // `Avg TPS` may be the only rate.
        let plain =
            |c: &&usize| rates_in(table.name(**c)).is_some() && !is_summary(table.name(**c));
        let only = rates_in(name).is_some()
            && crate::names::is_mean(name)
            && !columns.iter().any(|c| plain(&c));
        if name.is_empty() || is_summary(name) && !only {
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
    reading: &mut TableReader<'_>,
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
        (_, Some(&first)) if is_plan(table, first) => return,
        (_, Some(&first)) => {
            let unit = rates_in(table.name(first)).or(Some(1.0));
            picked.push((first, Load::default(), unit));
        }
        // `Requests per second` stands above `| Framework | Mean | Stddev |`.
        (_, None) if reading.unit.is_some() && !other => {
            let mean = columns
                .iter()
                .find(|c| crate::names::is_mean(table.name(**c)));
            picked.extend(mean.map(|column| (*column, Load::default(), reading.unit)));
        }
        _ => {}
    }
    if picked.is_empty() || names_quantities(table.name(0)) {
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
        let mut worded = String::new();
        for &column in &loads {
            let Some(cell) = reading.rows[row].cells.get(column) else {
                continue;
            };
            let own = load_named(table.name(column), &cell.text);
            // `big` and `small` are loads as well, of which only the words are known.
            if own.is_none() && !cell.text.is_empty() {
                worded = format!("{worded} / {}", cell.text);
            }
            let own = own.unwrap_or_default();
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
            let mut system = reading.of_row(name);
            if !group.is_empty() || !worded.is_empty() {
                system.section = format!("{}{group}{worded}", system.section).into();
            }
            reading.add(row, column, system, load, unit);
        }
    }
}

/// Does the name of the first column say that each row is a quantity: `| Metric | Value |`?
fn names_quantities(name: &str) -> bool {
    const NAMES: Words = Words(
        "metric, metrics, measure, quantity, statistic, kpi, indicator, 指标, 指標, 지표, métrica, \
        métrique",
    );
    NAMES.has(name.trim().to_lowercase().as_str())
}

/// Does a table say what is to be sent, and for how long, and nothing that was measured? Its rates are round numbers.
fn is_plan(table: &Table, rates: usize) -> bool {
    let lasting = |name: &str| words(&name.to_lowercase()).any(|word| word == "duration");
    let measured = |column: usize| {
        let name = table.name(column);
        let other = is_other(name) && !lasting(name) && Load::named(name, 0).is_none();
        other || rates_in(name).is_some() && column != rates
    };
    let figures = || table.rows.iter().filter_map(|row| row.number(rates));
    table.header.iter().any(|name| lasting(name))
        && !(1..table.header.len()).any(measured)
        && figures().all(|rate| rate.value % 5.0 == 0.0)
}

/// Are all columns of figures of one kind, which the heading, and no column, names? There are several of them, and every
/// row is a system.
fn is_of_workloads(reading: &TableReader<'_>, columns: &[usize], plain: &[&str]) -> bool {
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
fn quantities_below(reading: &mut TableReader<'_>) {
    const NAMES: Words =
        Words("framework, implementation, language, library, name, runtime, server, stack, system");
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
    let named = |word: &str| NAMES.has(word.trim().to_lowercase().as_str());
    let own = reading.rows.iter().find(|row| named(row.label()));
    let own = own.and_then(|row| row.cells.get(1)).filter(|_| width == 2);
    for row in reading.rows.iter().filter(|_| width == 2) {
        let value = row.cells.get(1).map_or("", |cell| cell.text.as_str());
        let known = load_named(row.label(), value).unwrap_or_default();
        load.connections = load.connections.or(known.connections);
        load.threads = load.threads.or(known.threads);
    }
    let names: Vec<&str> = (1..width).map(|column| table.name(column)).collect();
    let across = match axis(table.name(0), &names) {
        Axis::Loads(loads) => loads,
        _ => Vec::new(),
    };
    for column in 1..width {
        // Each column is a load.
        if let Some(load) = across.get(column - 1).filter(|_| own.is_none()) {
            reading.add(headline, column, reading.system(None), *load, unit);
            continue;
        }
        let name = match own {
            Some(cell) => Some(cell.text.as_str()),
            None => Some(table.name(column)).filter(|name| !is_generic(name)),
        };
        let other = |name| is_summary(name) || is_other(name) || is_target(name);
        if name.is_some_and(|name| other(name) || rates_in(name).is_some()) {
            continue;
        }
        // How far the others are apart: `+18.7%`.
        let cell = reading.rows[headline].cells.get(column);
        if cell.is_some_and(|cell| cell.text.contains('%')) {
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

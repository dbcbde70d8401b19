//! Figures: every rate in the documents, with the system that reached it and the load it was under,
//! whether an output says so or a table.

use crate::axis::{Axis, axis, load as load_named};
use crate::document::{Document, Place};
use crate::load::Load;
use crate::names::{System, bare, is_run, is_summary, stem, system, words};
use crate::read::command::{Command, is_this_machine, parts_of};
use crate::read::number::Printed;
use crate::table::{Row, Table};
use crate::tool::Tool;
use std::collections::{BTreeMap, BTreeSet};

/// A rate.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    /// Which document it is of, by its place.
    pub document: usize,
    /// Its line, from 1.
    pub line: usize,
    /// What was measured.
    pub system: System,
    /// Under which load.
    pub load: Load,
    /// What is per second. A table that does not say what it is of is taken to be of this.
    pub rate: Printed,
    /// The output that it is of, by its place in the document; none for a table's.
    pub output: Option<usize>,
}

/// All figures of the documents.
pub(crate) fn figures(documents: &[Document]) -> Vec<Figure> {
    let mut all = Vec::new();
    for (index, document) in documents.iter().enumerate() {
        let file = stem(&document.name);
        let from = all.len();
        for (output, found) in document.outputs.iter().enumerate() {
            let block = &found.block;
            let Some(rate) = block.rate else { continue };
            let label = found.place.label.as_ref().and_then(|l| Load::parse(&l.0));
            let label = label.or_else(|| {
                let headings = found.place.headings.iter().rev();
                headings.map(|heading| Load::parse(&heading.0)).next()?
            });
            let command = found.command.as_ref();
            // What was really done, before what its label says.
            let load = Load {
                connections: (block.connections.map(|n| n.what))
                    .or_else(|| command.and_then(Command::connections))
                    .or_else(|| label.and_then(|load| load.connections)),
                threads: (block.threads.map(|n| n.what))
                    .or_else(|| command.and_then(Command::threads))
                    .or_else(|| label.and_then(|load| load.threads)),
                other: None,
            };
            let mut system = system(&found.place, None, &file);
            // Their rows are pages of one system, which nobody compares.
            system.unsure |= matches!(block.tool, Tool::Locust | Tool::Jmeter);
            all.push(Figure {
                document: index,
                line: rate.line,
                system,
                load,
                rate: rate.what,
                output: Some(output),
            });
        }
        by_address(document, &mut all[from..]);
        for (table, place) in &document.tables {
            all.extend(of_table(table, place, index, &file));
        }
    }
    all
}

/// Outputs of several addresses that nothing else tells apart are of several systems: two servers on
/// two ports, two pages of one.
fn by_address(document: &Document, figures: &mut [Figure]) {
    let address = |figure: &Figure| {
        let output = &document.outputs[figure.output?];
        let url = output.block.url.as_ref().map(|url| url.what.as_str());
        parts_of(url.or_else(|| output.command.as_ref()?.url())?)
    };
    let mut seen: BTreeMap<System, BTreeSet<(String, String)>> = BTreeMap::new();
    let mut hosts: BTreeMap<System, BTreeSet<String>> = BTreeMap::new();
    for figure in figures.iter() {
        if let Some((host, port, path)) = address(figure) {
            let others = seen.entry(figure.system.clone()).or_default();
            others.insert((port, path));
            // The same machine has several names.
            let host = if is_this_machine(&host) {
                String::new()
            } else {
                host
            };
            hosts.entry(figure.system.clone()).or_default().insert(host);
        }
    }
    for figure in figures {
        let system = &figure.system;
        let Some((host, port, path)) = address(figure) else {
            continue;
        };
        let several = |set: &BTreeSet<String>| set.len() > 1;
        let own = &seen[system];
        let ports: BTreeSet<String> = own.iter().map(|(port, _)| port.clone()).collect();
        let paths: BTreeSet<String> = own.iter().map(|(_, path)| path.clone()).collect();
        let mut more = Vec::new();
        // Under a heading that names a system, several machines are a finding of their own.
        let file = system.origin.rsplit('/').next().unwrap_or("");
        if several(&hosts[system]) && *system.name == *file {
            more.push(host);
        }
        if several(&ports) {
            more.push(format!("port {port}"));
        }
        if several(&paths) {
            more.push(path);
        }
        if !more.is_empty() {
            let name = format!("{}, {}", system.name, more.join(" "));
            figure.system.name = name.into();
        }
    }
}

/// Figures by what was measured and under which load: the runs of each cell.
pub(crate) fn cells(figures: &[Figure]) -> BTreeMap<(System, Load), Vec<&Figure>> {
    let mut cells: BTreeMap<(System, Load), Vec<&Figure>> = BTreeMap::new();
    for figure in figures {
        let key = (figure.system.clone(), figure.load);
        cells.entry(key).or_default().push(figure);
    }
    cells
}

/// Does a text speak of a rate, and in which unit?
pub(crate) fn rate_unit(text: &str) -> Option<f64> {
    let text = text.to_lowercase();
    const SAID: [&str; 16] = [
        "req/s",
        "reqs/s",
        "requests/s",
        "request/s",
        "requests per s",
        "req per s",
        "reqs per s",
        "request per s",
        "#/sec",
        "ops/s",
        "echoes/s",
        "answers/s",
        "responses/s",
        "replies/s",
        "transactions/s",
        "messages/s",
    ];
    const WORDS: [&str; 6] = ["rps", "qps", "tps", "throughput", "krps", "reqs"];
    let parts: Vec<&str> = words(&text).collect();
    let said = SAID.iter().any(|rate| text.contains(rate))
        || parts.iter().any(|word| WORDS[..5].contains(word));
    said.then_some(())?;
    const BYTES: [&str; 11] = [
        "mb", "kb", "mib", "kib", "gb", "bytes", "byte", "mbit", "mbps", "gbps", "kbytes",
    ];
    (!parts.iter().any(|word| BYTES.contains(word))).then_some(())?;
    let thousands = ["thousand", "kreq", "k req", "krps", "(k", "×1000", "x1000"];
    Some(if thousands.iter().any(|word| text.contains(word)) {
        1e3
    } else {
        1.0
    })
}

/// Does a text speak of something that is no rate?
pub(crate) fn is_other(text: &str) -> bool {
    let text = text.to_lowercase();
    const OTHER: [&str; 44] = [
        "ms",
        "us",
        "ns",
        "latency",
        "latencies",
        "time",
        "seconds",
        "secs",
        "sec",
        "memory",
        "mem",
        "cpu",
        "mb",
        "kb",
        "mib",
        "gb",
        "rss",
        "errors",
        "error",
        "failed",
        "failures",
        "timeouts",
        "p50",
        "p75",
        "p90",
        "p95",
        "p99",
        "p999",
        "avg",
        "mean",
        "median",
        "max",
        "min",
        "stdev",
        "stddev",
        "std",
        "deviation",
        "bytes",
        "size",
        "percent",
        "duration",
        "total",
        "count",
        "transfer",
    ];
    text.contains('%')
        || text.contains("µs")
        || text.contains("μs")
        || words(&text).any(|word| OTHER.contains(&word))
}

/// Is a column one of rates, and no deviation or longest of them?
fn rates_in(name: &str) -> Option<f64> {
    let lower = name.to_lowercase();
    let spread = words(&lower).any(|word| {
        matches!(
            word,
            "stdev" | "stddev" | "std" | "deviation" | "error" | "errors" | "failed"
        ) || matches!(
            word,
            "failures" | "failure" | "ms" | "cpu" | "memory" | "time" | "latency"
        )
    });
    if spread || name.contains('%') || name.contains('±') {
        return None;
    }
    rate_unit(name)
}

/// Is what stands above a table about something that is no rate? A machine may be called by its CPU.
fn is_about_other(caption: &str) -> bool {
    let caption = caption.to_lowercase();
    const OTHER: [&str; 8] = [
        "latency",
        "latencies",
        "ms",
        "memory",
        "rss",
        "usage",
        "utilization",
        "p99",
    ];
    words(&caption).any(|word| OTHER.contains(&word))
}

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
        self.all.push(Figure {
            document: self.document,
            line: row.line_of(column),
            system,
            load,
            rate: rate.times(unit.unwrap_or(1.0)),
            output: None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::read;

    fn seen(name: &str, text: &str) -> Vec<(String, String, f64)> {
        figures(&[read(name, text)])
            .iter()
            .map(|f| {
                let system = f.system.name.to_string();
                (system, f.load.to_string(), f.rate.value)
            })
            .collect()
    }

    fn row(system: &str, load: &str, rate: f64) -> (String, String, f64) {
        (system.into(), load.into(), rate)
    }

    #[test]
    fn runs_below_each_other() {
        let text =
            "| | A | B |\n|--|--|--|\n| 1st | 10 | 20 |\n| 2nd | 11 | 21 |\n| Ave | 1 | 2 |\n";
        let expected = [
            row("A", "any load", 10.0),
            row("A", "any load", 11.0),
            row("B", "any load", 20.0),
            row("B", "any load", 21.0),
        ];
        assert_eq!(seen("x", text), expected);
    }

    #[test]
    fn runs_beside_each_other() {
        let text = "# Requests per second\n\n| | run 1 | run 2 | mean |\n|--|--|--|--|\n| A | 10 | 11 | 10.5 |\n";
        let expected = [row("A", "any load", 10.0), row("A", "any load", 11.0)];
        assert_eq!(seen("x", text), expected);
    }

    #[test]
    fn systems_beside_metrics() {
        let text =
            "| server | connections | k req/s | p99 ms |\n|--|--|--|--|\n| A | 64 | 1.5 | 3 |\n";
        assert_eq!(seen("x", text), [row("A", "c64", 1500.0)]);
        let text = "| server | latency ms |\n|--|--|\n| A | 64 |\n";
        assert_eq!(seen("x", text), []);
    }

    #[test]
    fn ranks_are_no_runs() {
        let text = "| # | server | req/s |\n|--|--|--|\n| 1 | A | 20 |\n| 2 | B | 10 |\n";
        let expected = [row("A", "any load", 20.0), row("B", "any load", 10.0)];
        assert_eq!(seen("x", text), expected);
    }

    #[test]
    fn loads_beside_each_other() {
        let text = "# Requests per second\n\n| Concurrent Connections | 50 | 100 | 500 |\n|--|--|--|--|\n\
            | A | 10 | 20 | 30 |\n| B | 11 | 21 | 31 |\n";
        assert_eq!(seen("x", text)[1], row("A", "c100", 20.0));
        assert_eq!(
            seen("x.csv", "100,3103.62\n200,3000.11\n400,2950.5\n")[2],
            row("x", "400", 2950.5)
        );
        let text = "language,framework,req/s\ngo,gin,100\ngo,fiber,200\nrust,axum,300\n";
        assert_eq!(seen("x.csv", text)[1], row("go, fiber", "any load", 200.0));
        let text = "server,size,req/s\na,64,100\na,1024,90\nb,64,80\n";
        assert_eq!(seen("x.csv", text)[1], row("a", "1024 bytes", 90.0));
        // What does not say what it is of is not taken for rates.
        assert_eq!(
            seen(
                "x",
                "| | 50 | 100 |\n|--|--|--|\n| A | 10 | 20 |\n| B | 1 | 2 |\n"
            ),
            []
        );
        assert_eq!(rate_unit("https"), None);
        assert_eq!(rate_unit("number of requests/s"), Some(1.0));
    }

    #[test]
    fn addresses_tell_apart_what_nothing_else_does() {
        let run = |url: &str| {
            format!(
                "Running 1s test @ {url}\n  1 threads and 2 connections\nRequests/sec: 5.0\nTransfer/sec: 1KB\n\n"
            )
        };
        let two = run("http://h:8080/") + &run("http://h:8081/");
        assert_eq!(seen("x", &two)[1], row("x, port 8081", "c2", 5.0));
        let same = run("http://h:8080/") + &run("http://h:8080/");
        assert_eq!(seen("x", &same)[1], row("x", "c2", 5.0));
    }

    #[test]
    fn loads_beside_systems() {
        let text = "| Connections | A | B |\n|--|--|--|\n| 1 | 10 | 20 |\n| 8 | 11 | 21 |\n";
        assert_eq!(seen("x", text)[1], row("A", "c8", 11.0));
        let text = "*Just \"it\":*\n\nc1-t1: 10\nc4-t4: 20\nc8-t8: 30\n";
        assert_eq!(seen("x", text)[2], row("Just \"it\"", "c8 t8", 30.0));
    }

    #[test]
    fn names_of_systems() {
        let text = "# Bench\n## Results - Execution 1\n### A\n\
            Running 1s test @ http://h/\n  1 threads and 2 connections\nRequests/sec: 5.0\nTransfer/sec: 1KB\n";
        assert_eq!(seen("x", text), [row("A", "c2", 5.0)]);
        let text = "Requests/sec: 5.0\n";
        assert_eq!(seen("x", text), [row("x", "any load", 5.0)]);
    }
}

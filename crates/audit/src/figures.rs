//! Figures: every rate in the documents, with the system that reached it and the load it was under,
//! whether an output says so or a table.

use crate::document::{Document, Place};
use crate::load::Load;
use crate::read::number::Printed;
use crate::table::{Row, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// What was measured, by the headings above.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct System {
    /// The headings and labels, in short: `Go (1), GOMAXPROCS=3 ./server`.
    pub name: Arc<str>,
    /// The headings above the one that names it, where what is compared stands together.
    pub section: Arc<str>,
}

/// All figures of the documents.
pub(crate) fn figures(documents: &[Document]) -> Vec<Figure> {
    let mut all = Vec::new();
    for (index, document) in documents.iter().enumerate() {
        let file = stem(&document.name);
        for (output, found) in document.outputs.iter().enumerate() {
            let block = &found.block;
            let Some(rate) = block.rate else { continue };
            let label = found.place.label.as_ref().and_then(|l| Load::parse(&l.0));
            let command = found.command.as_ref();
            // What was really done, before what its label says.
            let load = Load {
                connections: (block.connections.map(|n| n.what))
                    .or_else(|| command.and_then(super::read::command::Command::connections))
                    .or_else(|| label.and_then(|load| load.connections)),
                threads: (block.threads.map(|n| n.what))
                    .or_else(|| command.and_then(super::read::command::Command::threads))
                    .or_else(|| label.and_then(|load| load.threads)),
            };
            all.push(Figure {
                document: index,
                line: rate.line,
                system: system(&found.place, None, &file),
                load,
                rate: rate.what,
                output: Some(output),
            });
        }
        for (table, place) in &document.tables {
            of_table(table, place, index, &file, &mut all);
        }
    }
    all
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

/// The name of what was measured: the innermost heading that does not only count, with the label
/// when that is not a load.
fn system(place: &Place, column: Option<&str>, file: &str) -> System {
    let label = place
        .label
        .as_ref()
        .map(|label| label.0.as_str())
        .filter(|label| Load::parse(label).is_none() && !is_ordinal(label));
    let mut headings: Vec<&str> = place
        .headings
        .iter()
        .map(|heading| heading.0.as_str())
        .filter(|heading| !counts(heading))
        .collect();
    let name = match (column, headings.pop(), label) {
        (Some(column), heading, _) => {
            headings.extend(heading);
            column.to_owned()
        }
        (None, Some(heading), Some(label)) => format!("{heading}, {label}"),
        (None, Some(heading), None) => heading.to_owned(),
        (None, None, Some(label)) => label.to_owned(),
        (None, None, None) => file.to_owned(),
    };
    System {
        name: name.into(),
        section: headings.join(" / ").into(),
    }
}

/// Does a heading only say which run it is: `Results - Execution 2`?
fn counts(heading: &str) -> bool {
    let words: Vec<&str> = words(heading).collect();
    words.iter().enumerate().any(|(at, word)| {
        is_run(word)
            && (words.get(at + 1).is_some_and(|n| is_number(n))
                || at > 0 && (is_number(words[at - 1]) || is_ordinal(words[at - 1])))
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit()) && word.len() <= 4
}

/// Words for one of several runs.
fn is_run(word: &str) -> bool {
    const WORDS: [&str; 9] = [
        "run",
        "execution",
        "round",
        "trial",
        "iteration",
        "attempt",
        "repetition",
        "pass",
        "take",
    ];
    WORDS.iter().any(|run| word.eq_ignore_ascii_case(run))
}

/// `1st`, `#2`, `run 3`, `4`.
pub(crate) fn is_ordinal(text: &str) -> bool {
    let mut parts = words(text);
    let (Some(first), second, None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let numbered = |word: &str| {
        let digits = word.trim_start_matches('r').trim_start_matches('R');
        let bare = ["st", "nd", "rd", "th"]
            .iter()
            .find_map(|ending| digits.strip_suffix(ending))
            .unwrap_or(digits);
        !bare.is_empty() && is_number(bare)
    };
    match second {
        None => numbered(first),
        Some(second) => is_run(first) && numbered(second) || numbered(first) && is_run(second),
    }
}

/// Does a row or column sum others up?
pub(crate) fn is_mean(label: &str) -> bool {
    let first = words(label).next().unwrap_or("").to_lowercase();
    matches!(
        first.as_str(),
        "ave" | "avg" | "average" | "mean" | "averages"
    )
}

/// Does a row or column sum others up in some other way?
pub(crate) fn is_summary(label: &str) -> bool {
    let first = words(label).next().unwrap_or("").to_lowercase();
    is_mean(label)
        || matches!(
            first.as_str(),
            "median"
                | "best"
                | "worst"
                | "max"
                | "min"
                | "maximum"
                | "minimum"
                | "total"
                | "sum"
                | "stdev"
                | "stddev"
                | "sd"
                | "cv"
                | "geomean"
                | "spread"
        )
}

/// Does a text speak of a rate, and in which unit?
fn rate_unit(text: &str) -> Option<f64> {
    let text = text.to_lowercase();
    const RATES: [&str; 16] = [
        "req/s",
        "reqs/s",
        "requests/s",
        "request/s",
        "requests per second",
        "req per sec",
        "rps",
        "qps",
        "tps",
        "ops/s",
        "throughput",
        "#/sec",
        "req/sec",
        "echoes/s",
        "answers/s",
        "responses/s",
    ];
    RATES.iter().any(|rate| text.contains(rate)).then_some(())?;
    let bytes = ["mb", "kb", "mib", "gb", "byte", "bit"]
        .iter()
        .any(|unit| text.contains(unit));
    (!bytes).then_some(())?;
    let thousands = ["thousand", "kreq", "k req", "krps", "(k", "×1000", "x1000"];
    Some(if thousands.iter().any(|word| text.contains(word)) {
        1e3
    } else {
        1.0
    })
}

/// Does a text speak of something that is no rate?
fn is_other(text: &str) -> bool {
    let text = text.to_lowercase();
    let words: Vec<&str> = words(&text).collect();
    const OTHER: [&str; 20] = [
        "ms", "us", "latency", "time", "seconds", "secs", "memory", "cpu", "mb", "kb", "rss",
        "errors", "p50", "p90", "p95", "p99", "stdev", "bytes", "size", "percent",
    ];
    OTHER.iter().any(|other| words.contains(other))
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

/// The figures of a table: of its systems, loads and runs, however it lays them out.
fn of_table(table: &Table, place: &Place, document: usize, file: &str, all: &mut Vec<Figure>) {
    let unranked = without_ranks(table);
    let table = unranked.as_ref().unwrap_or(table);
    let columns = table.numeric_columns();
    let rows: Vec<&Row> = table
        .rows
        .iter()
        .filter(|row| !is_summary(row.label()))
        .collect();
    let caption = place
        .headings
        .last()
        .map_or("", |heading| heading.0.as_str());
    let unit = rate_unit(caption)
        .or_else(|| rate_unit(table.name(0)))
        .or_else(|| rate_unit(place.label.as_ref().map_or("", |label| label.0.as_str())));
    let mut add = |row: &Row, column: usize, system: System, load: Load, unit: Option<f64>| {
        let Some(rate) = row.number(column).filter(|rate| rate.value > 0.0) else {
            return;
        };
        all.push(Figure {
            document,
            line: row.line_of(column),
            system,
            load,
            rate: rate.times(unit.unwrap_or(1.0)),
            output: None,
        });
    };
    let all_rows = |test: fn(&Row) -> bool| rows.len() >= 2 && rows.iter().all(|row| test(row));
    let by_run = all_rows(|row| is_ordinal(row.label()));
    let by_load = all_rows(|row| load_of(row).is_some());
    let data = columns.iter().copied().filter(|column| *column > 0);
    if by_load && table.header.is_empty() {
        // A list: all of one system.
        let system = system(place, None, file);
        for row in &rows {
            let load = load_of(row).unwrap_or_default();
            add(row, 1, system.clone(), load, unit);
        }
        return;
    }
    let loads_named = is_load_name(table.name(0));
    if by_run || by_load || loads_named {
        // Each column is a system, each row a run of it or a load.
        for column in data.filter(|column| !is_other(table.name(*column))) {
            let name = table.name(column);
            if name.is_empty() || is_summary(name) || is_about_other(caption) {
                continue;
            }
            for row in &rows {
                let load = if by_load {
                    load_of(row).unwrap_or_default()
                } else if loads_named {
                    Load {
                        connections: row.number(0).map(|n| n.value as u64),
                        threads: None,
                    }
                } else {
                    Load::default()
                };
                // A column of rates belongs to what the table is of.
                let (column_name, unit) = match rate_unit(name) {
                    Some(unit) => (None, Some(unit)),
                    None => (Some(name), unit),
                };
                add(row, column, system(place, column_name, file), load, unit);
            }
        }
        return;
    }
    // Each row is a system; columns are rates, or runs of one.
    let connections = (1..table.header.len()).find(|column| is_load_name(table.name(*column)));
    let runs = data
        .clone()
        .filter(|column| is_ordinal(table.name(*column)));
    let runs: Vec<usize> = runs.collect();
    let rates = data.filter_map(|column| Some((column, rate_unit(table.name(column))?)));
    let picked: Vec<(usize, Option<f64>)> = if runs.len() >= 2 && !is_about_other(caption) {
        runs.into_iter().map(|column| (column, unit)).collect()
    } else {
        // The first column of rates is the headline.
        rates
            .take(1)
            .map(|(column, unit)| (column, Some(unit)))
            .collect()
    };
    for row in rows {
        let load = Load {
            connections: connections
                .and_then(|column| row.number(column))
                .map(|n| n.value as u64),
            threads: None,
        };
        if row.label().is_empty() {
            continue;
        }
        for &(column, unit) in &picked {
            add(
                row,
                column,
                system(place, Some(row.label()), file),
                load,
                unit,
            );
        }
    }
}

/// A table without its first column, when that only numbers what the second names.
fn without_ranks(table: &Table) -> Option<Table> {
    let named = |row: &Row| {
        let name = row.cells.get(1).is_some_and(|cell| !cell.text.is_empty());
        name && row.number(1).is_none() && is_ordinal(row.label())
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

fn load_of(row: &Row) -> Option<Load> {
    Load::parse(row.label())
}

/// Is a column about how many connections there were?
fn is_load_name(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut parts = words(&name);
    let first = parts.next().unwrap_or("");
    matches!(
        first,
        "connections" | "concurrency" | "clients" | "conns" | "conn" | "concurrent"
    )
}

/// A file's name without folders, ending and number: `run/play-2.txt` is one of several `play`.
fn stem(name: &str) -> String {
    let file = name.rsplit('/').next().unwrap_or(name);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let bare = stem
        .trim_end_matches(|c: char| c.is_ascii_digit())
        .trim_end_matches(['-', '_', '.', ' ']);
    if bare.is_empty() { stem } else { bare }.to_owned()
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
        assert_eq!(seen("x", text), []);
        assert_eq!(stem("a/wrk-2.txt"), "wrk");
        assert_eq!(stem("1.txt"), "1");
        for ordinal in ["1st", "#2", "run 3", "4", "Round 2", "r1", "3rd run"] {
            assert!(is_ordinal(ordinal), "{ordinal}");
        }
        for other in ["A", "node 18", "", "run", "c64", "2024-01-01", "1 2 3"] {
            assert!(!is_ordinal(other), "{other}");
        }
        assert!(counts("Results - Execution 2") && counts("2nd run") && !counts("Go (1)"));
    }
}

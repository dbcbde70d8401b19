//! Figures: every rate in the documents, with the system that reached it and the load it was under,
//! whether an output says so or a table.

use crate::document::Document;
use crate::load::{Kind, Load};
use crate::names::{System, stem, system, words};
use crate::read::command::{Command, is_this_machine, parts_of};
use crate::read::number::Printed;
use crate::tabled::of_table;
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
    /// Its spread is given, so it is of several runs, or samples.
    pub repeated: bool,
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
                // Runs at two rates are not runs of one load.
                other: (block.asked.map(|n| n.what))
                    .or_else(|| command.and_then(Command::rate))
                    .map(|rate| (Kind::Rate, rate.round() as u64)),
            };
            let mut system = system(&found.place, None, &file);
            // Their rows are pages of one system: they are not compared with each other.
            system.unsure |= matches!(block.tool, Tool::Locust | Tool::Jmeter);
            all.push(Figure {
                document: index,
                line: rate.line,
                system,
                load,
                rate: rate.what,
                output: Some(output),
                repeated: false,
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
        let mut section = system.section.clone();
        if several(&paths) {
            // Pages of one server are not compared with each other.
            section = format!("{section}{path}").into();
            more.push(path);
        }
        if !more.is_empty() {
            let name = format!("{}, {}", system.name, more.join(" "));
            figure.system.name = name.into();
            figure.system.section = section;
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
pub(crate) fn rates_in(name: &str) -> Option<f64> {
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
    // What stands in brackets says how it was counted: `req/s (% of the first)`.
    let bare = name.split('(').next().unwrap_or(name);
    if spread || bare.contains('%') || name.contains('±') {
        return None;
    }
    rate_unit(name)
}

/// Is what stands above a table about something that is no rate? A machine may be called by its CPU.
pub(crate) fn is_about_other(caption: &str) -> bool {
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
    fn bytes_per_second_are_no_rates() {
        let text = "# Throughput\n\n| size | a | b |\n|--|--|--|\n| 4 B | 1.3 GB/s | 1.2 GB/s |\n| 16 B | 2.9 GB/s | 3.5 GB/s |\n";
        assert_eq!(seen("x", text), []);
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
        let rates = |r: u32| format!("    wrk2 -R{r} -c2 http://h/\n{}", run("http://h/"));
        let figures = seen("x", &(rates(2000) + &rates(4000)));
        assert_eq!(
            (figures[0].1.as_str(), figures[1].1.as_str()),
            ("c2 2000/s", "c2 4000/s")
        );
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

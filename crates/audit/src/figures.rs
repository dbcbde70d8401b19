//! Figures: every rate in the documents, with the system that reached it and the load it was under,
//! whether an output says so or a table.

use crate::apart::{by_endpoint, tell_apart};
use crate::document::{Document, Place};
use crate::load::{Kind, Load};
use crate::names::{System, is_generic, stem, system, words};
use crate::read::command::Command;
use crate::read::number::Printed;
use crate::tabled::of_table;
use crate::tool::Tool;
use std::collections::BTreeMap;

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
                // Runs at two rates are not runs of one load. vegeta prints the rate that it reached.
                other: (command.and_then(Command::rate))
                    .or_else(|| block.asked.map(|n| n.what))
                    .map(|rate| (Kind::Rate, rate.round() as u64)),
            };
            let mut system = system(&found.place, None, &file);
            if matches!(block.tool, Tool::Locust | Tool::Jmeter | Tool::Hyperfoil) {
                // Their rows are pages: each is compared with the same page of others, if headings name these.
                match (found.place.headings.last(), &block.name) {
                    (Some(heading), Some(page)) if !is_generic(&heading.0) => {
                        system.section = format!("{} / {}", system.section, page.what).into();
                        system.name = heading.0.as_str().into();
                    }
                    _ => system.unsure = true,
                }
            }
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
        tell_apart(document, &mut all[from..]);
        let mut again = Repeated::default();
        for (table, place) in &document.tables {
            let mut found = of_table(table, place, index, &file);
            if let Some(line) = again.line(place) {
                for figure in &mut found {
                    let section = format!("{} (line {line})", figure.system.section);
                    figure.system.section = section.into();
                }
            }
            all.extend(found);
        }
        by_endpoint(&mut all[from..]);
    }
    all
}

/// Headings that stand twice below the same ones: what is below the second is of something else than what is below the
/// first, whatever that is.
#[derive(Default)]
struct Repeated(BTreeMap<(Vec<usize>, String), usize>);

impl Repeated {
    /// The line of the innermost heading, if another one was called the same.
    fn line(&mut self, place: &Place) -> Option<usize> {
        let (own, above) = place.headings.split_last()?;
        let above = above.iter().map(|heading| heading.1).collect();
        let first = *self.0.entry((above, own.0.clone())).or_insert(own.1);
        (first != own.1).then_some(own.1)
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
    /// The same in the languages in which results are published most.
    const ELSEWHERE: [&str; 14] = [
        "초당",
        "每秒请求",
        "每秒處理",
        "每秒处理",
        "毎秒",
        "秒間リクエスト",
        "запросов/с",
        "запросов в сек",
        "anfragen pro s",
        "anfragen/s",
        "requêtes par s",
        "requêtes/s",
        "requisições por s",
        "peticiones por s",
    ];
    const WORDS: [&str; 6] = ["rps", "qps", "tps", "throughput", "krps", "reqs"];
    let parts: Vec<&str> = words(&text).collect();
    let said = SAID
        .iter()
        .chain(&ELSEWHERE)
        .any(|rate| text.contains(rate))
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
    fn loads_in_brackets() {
        let text = "| Metric | Baseline (5 VUs) | Load test (100 VUs) |\n|--|--|--|\n\
            | Requests per second | 57.2 | 48.1 |\n| Mean ms | 24 | 848 |\n";
        let expected = [
            row("Baseline (5 VUs)", "c5", 57.2),
            row("Load test (100 VUs)", "c100", 48.1),
        ];
        assert_eq!(seen("x", text), expected);
    }

    #[test]
    fn labels_that_stand_once_for_several_rows() {
        let text = "| framework | runtime | req/s |\n|--|--|--|\n| **alpha** | node | 10 |\n|  | bun | 20 |\n\
            | beta | node | 30 |\n| | bun | 40 |\n";
        let names: Vec<String> = seen("x", text).into_iter().map(|row| row.0).collect();
        assert_eq!(
            names,
            ["alpha, node", "alpha, bun", "beta, node", "beta, bun"]
        );
    }

    #[test]
    fn rows_below_a_row_that_names_them() {
        let text = "| Query | server | req/s |\n|--|--|--|\n| 1 | posts |\n|| A | 20 |\n|| B | 10 |\n\
            | 2 | greetings |\n|| A | 200 |\n|| B | 100 |\n";
        let figures = figures(&[read("x", text)]);
        let sections: std::collections::BTreeSet<&str> =
            figures.iter().map(|f| &*f.system.section).collect();
        assert_eq!((figures.len(), sections.len()), (4, 2));
        assert!(
            figures
                .iter()
                .all(|f| ["A", "B"].contains(&&*f.system.name))
        );
    }

    #[test]
    fn loads_in_front_of_systems_are_no_ranks() {
        for (name, loads) in [("Connections", ["c50", "c100"]), ("Rows", ["50", "100"])] {
            let text = format!(
                "| {name} | server | req/s | min |\n|--|--|--|--|\n\
                 | 50 | A | 20 | 1 |\n| 50 | B | 10 | 1 |\n| 100 | A | 21 | 1 |\n| 100 | B | 11 | 1 |\n"
            );
            let expected = [
                row("A", loads[0], 20.0),
                row("B", loads[0], 10.0),
                row("A", loads[1], 21.0),
                row("B", loads[1], 11.0),
            ];
            assert_eq!(seen("x", &text), expected);
        }
        // Runs in front of systems are dropped as places are.
        let text = "| Run | server | req/s |\n|--|--|--|\n| 1 | A | 20 |\n| 1 | B | 10 |\n| 2 | A | 21 |\n| 2 | B | 11 |\n";
        let rows: Vec<_> = seen("x", text);
        assert!(
            rows.iter().all(|(_, load, _)| load == "any load"),
            "{rows:?}"
        );
        // Two in the first place.
        let text =
            "| # | server | req/s |\n|--|--|--|\n| 1 | A | 20 |\n| 1 | B | 20 |\n| 3 | C | 10 |\n";
        let names: Vec<String> = seen("x", text).into_iter().map(|row| row.0).collect();
        assert_eq!(names, ["A", "B", "C"]);
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
    fn a_command_in_a_block_of_its_own_is_of_the_blocks_below() {
        let siege = |rate: f64| {
            format!(
                "```\nTransactions: 200 hits\nElapsed time: 3.2 secs\nTransaction rate: {rate} trans/sec\n```\n"
            )
        };
        let text = format!(
            "# One\n\n```\nsiege -c 100 http://h/\n```\n\na\n{}\nb\n{}\n# Two\n\nc\n{}",
            siege(62.5),
            siege(120.5),
            siege(70.5)
        );
        let expected = [
            row("One, a", "c100", 62.5),
            row("One, b", "c100", 120.5),
            row("Two, c", "any load", 70.5),
        ];
        assert_eq!(seen("x", &text), expected);
    }

    #[test]
    fn quantities_below_each_other() {
        let text = "| Metric | nginx | caddy |\n|--|--|--|\n| Requests/sec | 200 | 100 |\n\
            | p99 (ms) | 3 | 4 |\n| CPU % | 50 | 60 |\n";
        let expected = [
            row("nginx", "any load", 200.0),
            row("caddy", "any load", 100.0),
        ];
        assert_eq!(seen("x", text), expected);
        let text = "| Param | Value |\n|--|--|\n| Framework | gin |\n| Connections | 64 |\n\
            | Requests/sec | 213.00 |\n| Memory, MiB | 119 |\n";
        assert_eq!(seen("x", text), [row("gin", "c64", 213.0)]);
        let text = "## gin\n\n| Metric | Value |\n|--|--|\n| Requests/sec | 213.00 |\n\
            | Mean latency | 4.2 ms |\n";
        assert_eq!(seen("x", text), [row("gin", "any load", 213.0)]);
    }

    #[test]
    fn loads_beside_systems() {
        let text = "| Connections | A | B |\n|--|--|--|\n| 1 | 10 | 20 |\n| 8 | 11 | 21 |\n";
        assert_eq!(seen("x", text)[1], row("A", "c8", 11.0));
        let text = "*Just \"it\":*\n\nc1-t1: 10\nc4-t4: 20\nc8-t8: 30\n";
        assert_eq!(seen("x", text)[2], row("Just \"it\"", "c8 t8", 30.0));
    }

    #[test]
    fn a_script_says_what_it_starts() {
        let run = |name: &str| {
            format!(
                "####\nStarting test for {name}\n####\nCmd: /bin/sh -c serve --worker-connections 1000 --bind 0.0.0.0:80 main:app\n\
                 This is ApacheBench, Version 2.3\nConcurrency Level: 10\nRequests per second: 50.5 [#/sec] (mean)\n"
            )
        };
        let names: Vec<String> = seen("x", &(run("alpha") + &run("beta")))
            .into_iter()
            .map(|row| row.0)
            .collect();
        assert_eq!(names, ["alpha", "beta"]);
    }

    #[test]
    fn a_label_with_an_id_stands_for_all_that_follows() {
        let id = "9ec46445a2d59749fb377d86343eebb1556f03d74c01a413872ae0f2637310da";
        let run = |tasks: u32| {
            format!(
                "Running 10s test @ http://h:5000\n  2 threads and {tasks} connections\nRequests/sec: 50.5\nTransfer/sec: 1KB\n\
                 Number of Errors:       0\n"
            )
        };
        let group = |name: &str| {
            format!(
                "Benchmarking {name} with {id}\n\n{}{}{id}\n",
                run(2),
                run(8)
            )
        };
        let found = seen("x", &(group("alpha") + &group("beta")));
        let named: Vec<(&str, &str)> = found
            .iter()
            .map(|(name, load, _)| (&**name, &**load))
            .collect();
        let expected = [
            ("Benchmarking alpha", "c2 t2"),
            ("Benchmarking alpha", "c8 t2"),
            ("Benchmarking beta", "c2 t2"),
            ("Benchmarking beta", "c8 t2"),
        ];
        assert_eq!(named, expected);
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

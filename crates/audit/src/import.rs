//! The figures of texts, as rows that can be kept and shown beside measurements.

use crate::check::sleep_in_window::{SLEEP, slept};
use crate::figures::{Figure, cells, figures};
use crate::load::Load;
use crate::model::Tool;
use crate::model::{Document, ToolOutput};
use crate::read::read;
use prony_stats::summary::average;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Figures that were read from texts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// Title of the texts: the first heading, or the files' names.
    pub title: String,
    /// The texts' names.
    pub origin: String,
    /// The command lines that were used.
    pub rig: String,
    /// Unit of the rates: `requests/s`, or `echoes/s`.
    pub unit: String,
    /// Correction of an error that all rates have; null when there is none.
    pub correction: Option<Correction>,
    /// The rows.
    pub rows: Vec<FigureRow>,
}

/// Rates that were divided by too long a time: a rate of r over n requests was really
/// n / (n / r − too many seconds).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Correction {
    /// Cause of the error, in words.
    pub why: String,
    /// Requests in each run.
    pub requests: u64,
    /// Seconds in the timed part that do not belong there.
    pub too_seconds: f64,
}

/// The runs of one system under one load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FigureRow {
    /// Name of the system, with its section where several systems have that name.
    pub label: String,
    /// The load, as prony labels loads; null when it is not known.
    pub load: Option<String>,
    /// Requests per second, each run.
    pub rates: Vec<f64>,
    /// Response times in milliseconds of the only run: `mean`, `max`, `p50`, `p99` and the like.
    /// Empty with several: means of percentiles are no figures.
    pub latency_ms: BTreeMap<String, f64>,
    /// Failures, and mean response times that cannot be; null when there are none.
    pub note: Option<String>,
}

/// At most this many command lines are named.
const NAMED: usize = 4;

/// Reads texts, each with its name, for their figures. A table whose header does not say what is
/// per second is taken at its word when it lists runs or loads of systems.
pub fn import(texts: &[(String, String)]) -> Figures {
    let documents: Vec<Document> = texts.iter().map(|(name, text)| read(name, text)).collect();
    let figures = figures(&documents);
    let cells = cells(&figures);
    let names: BTreeMap<&str, BTreeSet<&str>> = cells.keys().fold(
        BTreeMap::new(),
        |mut names: BTreeMap<&str, BTreeSet<&str>>, (system, _)| {
            names
                .entry(&system.name)
                .or_default()
                .insert(&system.section);
            names
        },
    );
    let mut rows: Vec<(usize, usize, FigureRow)> = cells
        .iter()
        .map(|((system, load), runs)| {
            // The same name in two sections needs both to be told apart.
            let label = if names[&*system.name].len() > 1 && !system.section.is_empty() {
                let section = system.section.rsplit(" / ").next().unwrap_or("");
                format!("{}, {section}", system.name)
            } else {
                system.name.to_string()
            };
            let load = (*load != Load::default()).then(|| load.to_string());
            let row = row(label, load, runs, &documents);
            (runs[0].document, runs[0].line, row)
        })
        .collect();
    rows.sort_by_key(|(document, line, _)| (*document, *line));
    let origin: Vec<&str> = documents
        .iter()
        .map(|document| document.name.as_str())
        .collect();
    let commands = documents.iter().flat_map(|document| &document.commands);
    let commands: BTreeSet<String> = commands.map(ToString::to_string).collect();
    let rig = match commands.len() {
        0 => "how it was measured is not said".to_owned(),
        n if n <= NAMED => commands.into_iter().collect::<Vec<_>>().join("; "),
        n => format!("{n} different command lines"),
    };
    let title = documents.iter().find_map(|document| {
        let places = document.outputs.iter().map(|output| &output.place);
        let places = places.chain(document.tables.iter().map(|(_, place)| place));
        let first = places.filter_map(|place| place.headings.first()).next()?;
        Some(first.0.clone())
    });
    Figures {
        title: title.unwrap_or_else(|| origin.join(", ")),
        origin: origin.join(", "),
        rig,
        unit: unit(&documents, &figures).to_owned(),
        correction: correction(&documents, &figures),
        rows: rows.into_iter().map(|(.., row)| row).collect(),
    }
}

/// Every figure's output; none when one of them stands in a table.
fn outputs<'a>(
    documents: &'a [Document],
    figures: &[Figure],
) -> Option<Vec<(&'a Document, &'a ToolOutput)>> {
    let outputs = figures.iter().map(|figure| {
        let document = &documents[figure.document];
        Some((document, &document.outputs[figure.output?]))
    });
    outputs.collect()
}

fn unit(documents: &[Document], figures: &[Figure]) -> &'static str {
    let echoes = outputs(documents, figures).is_some_and(|outputs| {
        let mut tools = outputs.iter().map(|(_, output)| output.block.tool);
        tools.all(|tool| tool == Tool::EchoClient)
    });
    if echoes { "echoes/s" } else { "requests/s" }
}

/// The second that the echo benchmark's client sleeps, when all figures have it in them, and all are
/// of the same number of requests.
fn correction(documents: &[Document], figures: &[Figure]) -> Option<Correction> {
    let outputs = outputs(documents, figures)?;
    let requests: Option<BTreeSet<u64>> = outputs
        .into_iter()
        .map(|(document, output)| slept(document, output))
        .collect();
    let requests: Vec<u64> = requests?.into_iter().collect();
    let [requests] = requests[..] else {
        return None;
    };
    Some(Correction {
        why: "each thread of the client sleeps for 1 s inside the timed part".to_owned(),
        requests,
        too_seconds: SLEEP,
    })
}

fn row(label: String, load: Option<String>, runs: &[&Figure], documents: &[Document]) -> FigureRow {
    let outputs = runs
        .iter()
        .filter_map(|run| Some(&documents[run.document].outputs[run.output?]));
    let outputs: Vec<&ToolOutput> = outputs.collect();
    let latency_ms = match outputs.as_slice() {
        [only] if runs.len() == 1 => latency(only),
        _ => BTreeMap::new(),
    };
    let failed: u64 = outputs
        .iter()
        .flat_map(|output| &output.block.errors)
        .map(|error| error.what.count)
        .fold(0, u64::saturating_add);
    let rates: Vec<f64> = runs.iter().map(|run| run.rate.value).collect();
    FigureRow {
        label,
        load,
        note: note(failed, &outputs),
        latency_ms,
        rates,
    }
}

/// Describes the facts that a reader of a row has to know: failures, and means that cannot be.
fn note(failed: u64, outputs: &[&ToolOutput]) -> Option<String> {
    let mut notes = Vec::new();
    match failed {
        0 => {}
        1 => notes.push("1 request failed".to_owned()),
        n => notes.push(format!("{n} requests failed")),
    }
    let impossible = outputs.iter().any(|output| output.impossible_mean());
    if impossible {
        notes.push("its mean response time is impossible (Little's law)".to_owned());
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn latency(output: &ToolOutput) -> BTreeMap<String, f64> {
    let latency = &output.block.latency;
    let ms = |seconds: f64| (seconds * 1e9).round() / 1e6;
    let mut by_name = BTreeMap::new();
    for (name, time) in [("mean", latency.mean), ("max", latency.max)] {
        by_name.extend(time.map(|time| (name.to_owned(), ms(time.what.value))));
    }
    let percentiles = latency.percentiles.iter();
    by_name.extend(percentiles.map(|(p, time)| (format!("p{p}"), ms(time.what.value))));
    by_name
}

impl FigureRow {
    /// The mean of its rates.
    pub fn rate(&self) -> Option<f64> {
        average(&self.rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_become_rows() {
        // 8 in flight at 11 per second take 0.7 s each at most.
        let run = |c: u32, rate: f64| {
            format!(
                "Running 1m test @ http://h/\n  2 threads and {c} connections\n  \
                 Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                 Latency     2.50ms  300.00us   3.90ms   90.00%\n  \
                 Latency Distribution\n     99%    3.00ms\n  \
                 Socket errors: connect 0, read 5, write 0, timeout 0\n\
                 Requests/sec:  {rate:.2}\nTransfer/sec:      5.00MB\n\n"
            )
        };
        let text = format!(
            "# Echo\n\n## A\n{}{}\n## B\n{}\n",
            run(8, 10.0),
            run(8, 11.0),
            run(16, 30.0)
        );
        let figures = import(&[("x.md".into(), text)]);
        assert_eq!(
            (figures.title.as_str(), figures.origin.as_str()),
            ("Echo", "x.md")
        );
        let rows: Vec<_> = figures
            .rows
            .iter()
            .map(|row| {
                (
                    row.label.as_str(),
                    row.load.as_deref(),
                    row.rates.as_slice(),
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("A", Some("c8 t2"), [10.0, 11.0].as_slice()),
                ("B", Some("c16 t2"), &[30.0])
            ]
        );
        assert_eq!(figures.rows[0].latency_ms.len(), 0);
        assert_eq!(figures.rows[1].latency_ms["p99"], 3.0);
        assert_eq!(figures.rows[1].latency_ms["mean"], 2.5);
        assert_eq!(figures.rows[0].note.as_deref(), Some("10 requests failed"));
        assert_eq!(figures.rows[0].rate(), Some(10.5));
    }

    #[test]
    fn what_differs_is_not_put_together() {
        let run = |url: &str, ms: &str| {
            format!(
                "me@box:~/wrk$ ./wrk -c8 -t2 -d60s {url}\nRunning 1m test @ {url}\n  2 threads and 8 connections\n  \
                 Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                 Latency     {ms}  300.00us   2.90s   90.00%\n  \
                 60000 requests in 1.00m, 5.00MB read\nRequests/sec:  1000.00\nTransfer/sec:      5.00MB\n\n"
            )
        };
        let text = run("http://h:81/", "2.50ms") + &run("http://h:82/", "900.00ms");
        let figures = import(&[("x.txt".into(), text)]);
        let rows: Vec<_> = figures
            .rows
            .iter()
            .map(|row| (row.label.as_str(), row.load.as_deref()))
            .collect();
        assert_eq!(
            rows,
            [("x, port 81", Some("c8 t2")), ("x, port 82", Some("c8 t2"))]
        );
        let notes: Vec<_> = figures.rows.iter().map(|row| row.note.as_deref()).collect();
        assert_eq!(
            notes,
            [
                None,
                Some("its mean response time is impossible (Little's law)")
            ]
        );
    }

    #[test]
    fn the_echo_clients_second_is_to_be_taken_out() {
        let text = "    ./client -c50 -o2 -h10000 far\n\n# A\n\n    Throughput: 117036.86 [#/sec]\n\n\
            # B\n\n    Throughput: 149737.19 [#/sec]\n";
        let figures = import(&[("x.md".into(), text.to_owned())]);
        assert_eq!(figures.unit, "echoes/s");
        let correction = figures.correction.unwrap();
        assert_eq!(
            (correction.requests, correction.too_seconds),
            (1_000_000, 1.0)
        );
        // prony's client has an honest clock, and a table may be of anything.
        let honest = text.replace("./client", "prony echo-client");
        let figures = import(&[("x.md".into(), honest)]);
        assert_eq!(
            (figures.unit.as_str(), figures.correction),
            ("echoes/s", None)
        );
        let table = "| | req/s |\n|--|--|\n| C | 5.5 |\n";
        let figures = import(&[("x.md".into(), format!("{text}\n{table}"))]);
        assert_eq!(
            (figures.unit.as_str(), figures.correction),
            ("requests/s", None)
        );
        assert_eq!(figures.rows.len(), 3);
    }
}

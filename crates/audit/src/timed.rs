//! Tables of response times without rates: what is compared in them.
//!
//! Such a table is laid out as one of rates is, so its first column, or row, of times is read as if it were of those.

use crate::document::{Document, Place};
use crate::figures::{Figure, rate_unit};
use crate::names::{is_summary, names_software, stem, words};
use crate::read::number::seconds;
use crate::table::{Row, Table};
use crate::tabled::of_table;

/// What is compared by its times, in tables without a rate; the rate of each is its time, in whichever unit.
pub(crate) fn timed(documents: &[Document]) -> Vec<Figure> {
    let mut all = Vec::new();
    for (index, document) in documents.iter().enumerate() {
        if document.sampled {
            continue;
        }
        let file = stem(&document.name);
        // That something was loaded, and how, is what makes a duration one of a load test.
        let loaded = !document.outputs.is_empty()
            || !document.commands.is_empty()
            || !document.stated.is_empty()
            || !document.targets.is_empty()
            || !document.at_once.is_empty();
        let read = |(table, place): &(Table, Place)| {
            let table = as_rates(table, place, loaded)?;
            let mut found = of_table(&table, place, index, &file);
            // The items of a list may all be of one thing. Names of software are not, nor is what the text compares.
            for figure in &mut found {
                let loose = document.is_loose(figure.line);
                figure.system.unsure |= loose && !names_software(&figure.system.name);
            }
            Some(found)
        };
        all.extend(document.tables.iter().filter_map(read).flatten());
    }
    all
}

/// A table of times, as one of rates: with its first column or row of times, and none of the others.
fn as_rates(table: &Table, place: &Place, loaded: bool) -> Option<Table> {
    let of_rates = |text: &str| rate_unit(text).is_some();
    let label = place
        .label
        .as_ref()
        .into_iter()
        .chain(place.headings.last());
    let rates = table.header.iter().any(|name| of_rates(name))
        || table.rows.iter().any(|row| of_rates(row.label()))
        || table
            .rows
            .iter()
            .flat_map(|row| &row.cells)
            .any(|cell| of_rates(&cell.text))
        || label.into_iter().any(|text| of_rates(&text.0));
    (!rates).then_some(())?;
    if table.rows.iter().any(|row| is_spread(row.label()))
        || table.header.iter().any(|name| is_spread(name))
    {
        return None;
    }
    let numeric = table.numeric_columns();
    let asking = table.rows.iter().filter(|row| names_requests(row.label()));
    let asked = loaded || asking.count() >= 2;
    let columns: Vec<usize> = (1..table.header.len().max(1))
        .filter(|column| {
            let name = table.name(*column);
            is_time(name, loaded)
                || asked
                    && numeric.contains(column)
                    && has_times(table, *column)
                    && !is_startup(name)
        })
        .collect();
    if let Some(first) = columns.iter().find(|column| numeric.contains(column)) {
        // What is not a time may be a load, a name, or the number of a run.
        let kept: Vec<usize> = (0..table.header.len())
            .filter(|column| {
                column == first
                    || !is_time(table.name(*column), true) && !is_summary(table.name(*column))
            })
            .collect();
        let name = |column: &usize| match column == first {
            true => AS_RATE.to_owned(),
            false => table.name(*column).to_owned(),
        };
        let row = |row: &Row| Row {
            cells: kept
                .iter()
                .filter_map(|column| row.cells.get(*column).cloned())
                .collect(),
        };
        return Some(Table {
            first: table.first,
            header: kept.iter().map(name).collect(),
            rows: table.rows.iter().map(row).collect(),
        });
    }
    // Each row is a quantity, and each column a system.
    let first = table
        .rows
        .iter()
        .position(|row| is_time(row.label(), loaded))?;
    let mut rows = vec![table.rows[first].clone()];
    rows[0].cells[0].text = AS_RATE.to_owned();
    (table.header.len() >= 3 && !columns.contains(&1)).then(|| Table {
        first: table.first,
        header: table.header.clone(),
        rows,
    })
}

/// Do all figures of a column have units of time?
fn has_times(table: &Table, column: usize) -> bool {
    let cells = table.rows.iter().filter_map(|row| row.cells.get(column));
    let mut cells = cells.filter(|cell| cell.number.is_some()).peekable();
    cells.peek().is_some() && cells.all(|cell| seconds(&cell.text).is_some())
}

/// Does a label name something that is asked over a network: `REST add`, `gRPC add`?
fn names_requests(label: &str) -> bool {
    const NAMES: [&str; 8] = [
        "rest",
        "grpc",
        "http",
        "https",
        "http/2",
        "graphql",
        "websocket",
        "rpc",
    ];
    let label = label.to_lowercase();
    words(&label).any(|word| NAMES.contains(&word))
}

/// What a column of rates may be called.
const AS_RATE: &str = "req/s";

/// Does a name say that a figure is of several runs, or of a benchmark that repeats what it measures?
fn is_spread(name: &str) -> bool {
    const WORDS: [&str; 12] = [
        "±",
        "ci95",
        "stdev",
        "stddev",
        "std",
        "deviation",
        "iterations",
        "allocated",
        "gen0",
        "rounds",
        "runs",
        "rme",
    ];
    let name = name.to_lowercase();
    name.contains('±') || name.contains('σ') || words(&name).any(|word| WORDS.contains(&word))
}

/// How long a server takes to start, or a program to build, is another matter, and so is how long it was to be loaded.
fn is_startup(name: &str) -> bool {
    const OTHER: [&str; 19] = [
        "start",
        "startup",
        "boot",
        "build",
        "compile",
        "cold",
        "uptime",
        "cpu",
        "test",
        "duration",
        "durée",
        "duración",
        "duração",
        "dauer",
        "ramp",
        "warmup",
        "timeout",
        "interval",
        "period",
    ];
    let name = name.to_lowercase();
    words(&name).any(|word| OTHER.contains(&word))
}

/// Is a figure of this name a response time; or, of something that was loaded, how long it took?
fn is_time(name: &str, loaded: bool) -> bool {
    const SAID: [&str; 27] = [
        "latency",
        "latencies",
        "response time",
        "resp time",
        "resp. time",
        "time per request",
        "time/request",
        "ms/req",
        "percentile",
        "latencia",
        "latência",
        "latence",
        "latenz",
        "tiempo de respuesta",
        "tiempo medio",
        "tempo de resposta",
        "tempo médio",
        "temps de réponse",
        "temps moyen",
        "antwortzeit",
        "время ответа",
        "задержка",
        "响应时间",
        "平均时间",
        "延迟",
        "応答時間",
        "レイテンシ",
    ];
    const PERCENTILES: [&str; 9] = [
        "p50", "p75", "p90", "p95", "p99", "p999", "ttfb", "rtt", "응답",
    ];
    const TOOK: [&str; 13] = [
        "time",
        "elapsed",
        "seconds",
        "secs",
        "sec",
        "ms",
        "tiempo",
        "tempo",
        "temps",
        "zeit",
        "время",
        "耗时",
        "時間",
    ];
    let name = name.to_lowercase();
    let has = |names: &[&str]| words(&name).any(|word| names.contains(&word));
    let said = SAID.iter().any(|said| name.contains(said)) || has(&PERCENTILES);
    !name.contains('%') && (said || loaded && has(&TOOK) && !is_startup(&name))
}

#[cfg(test)]
mod tests {
    use crate::check::testing::of;

    #[test]
    fn systems_by_their_response_times() {
        let table = "# Latency\n\n| server | p50 | p99 |\n|--|--|--|\n| a | 12 ms | 30 ms |\n| b | 15 ms | 31 ms |\n";
        assert_eq!(of("too-few-runs", table)[0].lines, [5, 6]);
        // Quantities below each other.
        let turned =
            "| | a | b |\n|--|--|--|\n| Avg latency (ms) | 12 | 15 |\n| p99 (ms) | 30 | 31 |\n";
        assert_eq!(of("too-few-runs", turned)[0].lines, [3]);
        // Runs, a spread, and a harness that repeats.
        let runs = "| server | latency |\n|--|--|\n| a | 12 ms |\n| a | 13 ms |\n| a | 12 ms |\n| b | 15 ms |\n";
        assert_eq!(of("too-few-runs", runs), []);
        let spread = table.replace("p99", "stddev");
        assert_eq!(of("too-few-runs", &spread), []);
        let harness = format!("Measured with Criterion.\n\n{table}");
        assert_eq!(of("too-few-runs", &harness), []);
    }

    #[test]
    fn durations_of_what_was_loaded() {
        let list = "- **Python (httpx)**: 0.9377s\n- **Rust (reqwest)**: 0.1834s\n";
        assert_eq!(of("too-few-runs", list), []);
        let loaded = format!("Requests to http://localhost:8000/ one after another:\n\n{list}");
        assert_eq!(of("too-few-runs", &loaded)[0].lines, [3, 4]);
        assert_eq!(of("co-located", &loaded)[0].lines, [1]);
        let scenarios = "wrk -t4 -c10 http://10.0.0.2/\n\n| Scénario | Durée |\n|--|--|\n| read | 30 min |\n| write | 30 min |\n";
        assert_eq!(of("too-few-runs", scenarios), []);
        let settings = "wrk -t4 -c10 http://10.0.0.2/\n\n- Duration: 30s\n- Warm-up: 5s\n";
        assert_eq!(of("too-few-runs", settings), []);
    }

    #[test]
    fn times_that_only_their_units_tell() {
        let text = "|  Method\t| Local\t| Far\t|\n|---\t|---\t|---\t\n| REST add\t| 2.747 ms\t| 288.2 ms\t|\n| gRPC add\t| 0.407 ms\t| 146.1 ms\t|\n";
        assert_eq!(of("too-few-runs", text)[0].lines, [3, 4]);
        let other = text.replace("REST", "alpha").replace("gRPC", "beta");
        assert_eq!(of("too-few-runs", &other), []);
    }
}

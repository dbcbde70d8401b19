//! Hyperfoil: the table of its command line, its `total.csv`, and the JSON of a whole run.

use super::{At, Block, Found, Tool, at};
use crate::read::json::{line_of, number};
use crate::read::lines::{Lines, is_fence};
use crate::read::number::{Printed, count, leading, seconds, whole};
use serde_json::Value;

/// CSV and JSON times are in nanoseconds.
const NS: f64 = 1e-9;
/// Begin and end are in milliseconds.
const MS: f64 = 1e-3;
/// More phases and metrics than this are not read.
const ROWS: usize = 1_000;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let line = lines.get(start);
    if line.starts_with("Phase,Metric,Start,End,Requests,Responses,") {
        return csv(lines, start);
    }
    (line.starts_with("PHASE ") && line.contains(" METRIC ")).then_some(())?;
    table(lines, start)
}

/// A row of columns that at least two spaces keep apart. Where the terminal is narrow, header and rows
/// go on in further lines, which are indented, and a rule stands below each.
fn table(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let goes_on = |i: usize| lines.get(i).starts_with("    ");
    let is_rule = |i: usize| {
        let line = lines.get(i);
        line.len() > 20 && line.bytes().all(|b| b == b'-')
    };
    let mut next = start;
    let row = |next: &mut usize| -> Vec<(usize, String)> {
        let mut cells: Vec<(usize, String)> = Vec::new();
        loop {
            let line = lines.get(*next).split("  ").map(str::trim);
            let line = line.filter(|cell| !cell.is_empty());
            cells.extend(line.map(|cell| (*next, cell.to_owned())));
            *next += 1;
            if !goes_on(*next) || cells.len() > 100 {
                break;
            }
        }
        if is_rule(*next) {
            *next += 1;
        }
        cells
    };
    let header = row(&mut next);
    let mut blocks = Vec::new();
    while next < lines.len() && blocks.len() < ROWS {
        if lines.get(next).is_empty() || is_fence(lines.get(next)) {
            break;
        }
        let mut after = next;
        let cells = row(&mut after);
        if cells.len() != header.len() {
            break;
        }
        next = after;
        blocks.extend(of_row(&header, &cells));
    }
    found(blocks, next)
}

fn of_row(header: &[(usize, String)], cells: &[(usize, String)]) -> Option<Block> {
    let mut block = Block::new(Tool::Hyperfoil, cells[0].0);
    block.last = cells.last()?.0 + 1;
    block.name = at(cells[0].0, name(&cells[0].1, &cells[1].1));
    for ((_, column), (i, cell)) in header.iter().zip(cells) {
        let i = *i;
        let n = || whole(cell).unwrap_or(0);
        let time = || seconds(cell).and_then(|time| at(i, time));
        match column.as_str() {
            "THROUGHPUT" => {
                let rate = cell.strip_suffix(" req/s").and_then(count);
                block.rate = rate.and_then(|rate| at(i, rate));
            }
            "REQUESTS" => block.requests = whole(cell).and_then(|n| at(i, n)),
            "MEAN" => block.latency.mean = time(),
            "MAX" => block.latency.max = time(),
            "INVALID" | "4xx" | "5xx" => block.fail(i, column.as_str(), n(), false),
            "TIMEOUTS" => block.fail(i, "time-outs", n(), true),
            "ERRORS" => block.fail(i, "errors", n(), false),
            column => {
                let p = column
                    .strip_prefix('p')
                    .and_then(leading)
                    .map(|(p, _)| p.value);
                let time = p.zip(time()).filter(|(p, _)| *p < 100.0);
                block.latency.percentiles.extend(time);
            }
        }
    }
    // Invalid answers are those of a status that was not wanted, as a rule: they failed once.
    block.overlap = true;
    // Of no requests it prints zeros.
    if block.requests.is_some_and(|requests| requests.what == 0) {
        block.latency = super::Latency::default();
    }
    Some(block)
}

/// A phase has several metrics; `<none>` where it has none of its own.
fn name(phase: &str, metric: &str) -> String {
    match metric {
        "" | "<none>" => phase.to_owned(),
        metric => format!("{phase}, {metric}"),
    }
}

/// A single row needs no name.
fn found(mut blocks: Vec<Block>, next: usize) -> Option<Found> {
    if let [only] = blocks.as_mut_slice() {
        only.name = None;
    }
    blocks.retain(Block::says_something);
    Some(Found {
        suite: blocks.len() > super::SUITE,
        blocks,
        next,
    })
}

fn csv(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let names: Vec<&str> = lines.get(start).split(',').collect();
    let mut blocks = Vec::new();
    let mut next = start + 1;
    while next < lines.len() && blocks.len() < ROWS {
        let cells: Vec<&str> = lines.get(next).split(',').collect();
        if cells.len() + 2 < names.len() || cells.len() < 10 {
            break;
        }
        let cell = |name: &str| {
            let column = names.iter().position(|column| *column == name)?;
            count(cells.get(column)?)
        };
        let n = |name: &str| cell(name).map_or(0.0, |n| n.value);
        let mut block = Block::new(Tool::Hyperfoil, next);
        block.name = at(next, name(cells[0], cells[1]));
        let lasted = (n("End") - n("Start")) * MS;
        counted(&mut block, next, n("Responses"), lasted);
        let time = |column: &str| at(next, Printed::exact(cell(column)?.value * NS));
        if block.requests.is_some_and(|n| n.what > 0) {
            block.latency.min = time("Min");
            block.latency.mean = time("Mean");
            block.latency.max = time("Max");
            for column in &names {
                let p = column.strip_prefix('p').and_then(count).map(|p| p.value);
                let time = p.zip(time(column)).filter(|(p, _)| *p < 100.0);
                block.latency.percentiles.extend(time);
            }
        }
        failed(&mut block, next, |how| {
            // An extension's column bears its name before its own.
            let own = names.iter().find(|column| {
                let own = column.rsplit('.').next().unwrap_or("");
                own.eq_ignore_ascii_case(how) || own.ends_with(how)
            });
            own.map_or(0.0, |column| n(column))
        });
        blocks.push(block);
        next += 1;
    }
    found(blocks, next)
}

/// Answers in the time from the first request to the last answer, in whole milliseconds.
fn counted(block: &mut Block, i: usize, responses: f64, lasted: f64) {
    block.requests = at(i, responses as u64);
    if lasted > 0.0 {
        let half = 0.5 * MS;
        block.seconds = at(
            i,
            Printed {
                value: lasted,
                half,
            },
        );
        block.rate = at(i, Printed::exact(responses / lasted));
    }
}

/// What went wrong, by the names that CSV and JSON share.
fn failed(block: &mut Block, i: usize, n: impl Fn(&str) -> f64) {
    block.overlap = true;
    for (how, called, late) in [
        ("invalid", "invalid answers", false),
        ("4xx", "4xx", false),
        ("5xx", "5xx", false),
    ] {
        block.fail(i, called, n(how) as u64, late);
    }
    for (how, called, late) in [
        ("connectionErrors", "connection errors", false),
        ("requestTimeouts", "time-outs", true),
        ("internalErrors", "internal errors", false),
    ] {
        block.lose(i, called, n(how) as u64, late);
    }
}

/// A block for each phase and metric of a run, without those that only warmed up.
pub(super) fn read_json(
    lines: &Lines<'_>,
    start: usize,
    next: usize,
    value: &Value,
) -> Option<Found> {
    let stats = value.get("stats")?.as_array()?;
    let first = stats.first()?.get("total")?.get("summary")?;
    first.get("meanResponseTime")?;
    let mut blocks = Vec::new();
    let mut line = start;
    for entry in stats.iter().take(ROWS) {
        line = line_of(lines, line + 1, next, "summary");
        let (Some(total), false) = (entry.get("total"), is_warmup(entry)) else {
            continue;
        };
        let Some(summary) = total.get("summary") else {
            continue;
        };
        let mut block = Block::new(Tool::Hyperfoil, line);
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or("");
        block.name = at(line, name(text("name"), text("metric")));
        let n = |key: &str| number(summary, &[key]).unwrap_or(0.0);
        let lasted = (n("endTime") - n("startTime")) * MS;
        counted(&mut block, line, n("responseCount"), lasted);
        let time = |nanoseconds: f64| at(line, Printed::exact(nanoseconds * NS));
        if n("responseCount") > 0.0 {
            block.latency.min = time(n("minResponseTime"));
            block.latency.mean = time(n("meanResponseTime"));
            block.latency.max = time(n("maxResponseTime"));
            let listed = summary
                .get("percentileResponseTime")
                .and_then(Value::as_object);
            for (p, value) in listed.into_iter().flatten() {
                let p = count(p).map(|p| p.value).filter(|p| *p < 100.0);
                let time: Option<At<Printed>> = value.as_f64().and_then(time);
                block.latency.percentiles.extend(p.zip(time));
            }
            block
                .latency
                .percentiles
                .sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        failed(&mut block, line, |how| {
            let status = number(summary, &["extensions", "http", &format!("status_{how}")]);
            number(summary, &[how]).or(status).unwrap_or(0.0)
        });
        blocks.push(block);
    }
    found(blocks, next)
}

fn is_warmup(entry: &Value) -> bool {
    entry.get("isWarmup").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str, text: &str) -> Vec<String> {
        let audit = crate::audit(&[(name.into(), text.into())]);
        audit.remarks.into_iter().map(|r| r.finding.name).collect()
    }

    const TABLE: &str = "Total stats from run 0001\n\
        PHASE   METRIC  THROUGHPUT       REQUESTS  MEAN     STD_DEV  MAX       p50      p90      p99       p99.9     p99.99    TIMEOUTS  ERRORS  BLOCKED  2xx     3xx  4xx  5xx  CACHE\n\
        main    home      20.00k req/s    600000   1.20 ms  1.00 ms  30.00 ms  1.00 ms  2.00 ms   8.00 ms  20.00 ms  30.00 ms         0       0     0 ns  600000    0    0    0      0\n\
        main    other    499.50 req/s      14985  1.20 s    1.00 ms   3.00 s   1.00 s   2.00 s    2.50 s    2.80 s    3.00 s         20       5     0 ns   14960    0    0   25      0\n\n";

    #[test]
    fn the_table_of_the_command_line() {
        let found = read(&Lines::new(TABLE), 1).unwrap();
        assert_eq!((found.blocks.len(), found.next), (2, 4));
        let [home, other] = found.blocks.try_into().unwrap();
        assert_eq!(
            (home.rate.unwrap().what.value, home.errors.len()),
            (20_000.0, 0)
        );
        assert_eq!(other.name.clone().unwrap().what, "main, other");
        assert_eq!(
            (other.latency.mean.unwrap().what.value, other.timed_out()),
            (1.2, 20)
        );
        assert_eq!(other.latency.percentiles.len(), 5);
        assert_eq!(names("h.txt", TABLE), ["errors"]);
        let fine = TABLE
            .replace("20       5", "0       0")
            .replace(" 25  ", "  0  ");
        assert_eq!(names("h.txt", &fine), [""; 0]);
        let changed = fine.replace("2.00 ms   8.00 ms", "9.00 ms   8.00 ms");
        assert_eq!(names("h.txt", &changed), ["percentile-order"]);
    }

    #[test]
    fn of_a_narrow_terminal() {
        let rule = "-".repeat(40);
        let text = format!(
            "PHASE  METRIC  THROUGHPUT     REQUESTS\n               MEAN           p99\n{rule}\n\
            main   home    100.00 req/s       3000\n                     1.50 ms   9.00 ms\n{rule}\n"
        );
        let found = read(&Lines::new(&text), 0).unwrap();
        let block = &found.blocks[0];
        assert_eq!((found.next, block.name.is_none()), (6, true));
        assert_eq!(block.latency.percentile(99.0).unwrap().line, 5);
    }

    #[test]
    fn csv_and_json_of_a_run() {
        let csv = "Phase,Metric,Start,End,Requests,Responses,Mean,StdDev,Min,p50.0,p90.0,p99.0,p99.9,p99.99,Max,ConnectionErrors,RequestTimeouts,InternalErrors,Invalid,BlockedTime,http.2xx,http.5xx,MinSessions,MaxSessions\n\
            main,home,1700000000000,1700000030000,600010,600000,1200000,900000,90000,1000000,2000000,8000000,20000000,30000000,31000000,0,0,0,0,0,600000,0,1,64\n";
        let found = read(&Lines::new(csv), 0).unwrap();
        let block = &found.blocks[0];
        assert_eq!(
            (block.rate.unwrap().what.value, block.errors.len()),
            (20_000.0, 0)
        );
        assert_eq!(block.latency.percentiles.len(), 5);
        assert_eq!(names("total.csv", csv), [""; 0]);
        let changed = csv.replace(",0,0,0,0,0,600000,0,", ",0,700,0,0,0,599300,0,");
        assert_eq!(names("total.csv", &changed), ["errors"]);
        let entry = |name: &str, warmup: bool| {
            serde_json::json!({"name": name, "metric": "home", "isWarmup": warmup, "total": {"summary": {
                "startTime": 1_700_000_000_000_u64, "endTime": 1_700_000_030_000_u64, "minResponseTime": 90_000,
                "meanResponseTime": 1_200_000, "maxResponseTime": 31_000_000, "requestCount": 600_010,
                "responseCount": 600_000, "invalid": 40, "connectionErrors": 0, "requestTimeouts": 0, "internalErrors": 0,
                "percentileResponseTime": {"50.0": 1_000_000, "90.0": 2_000_000, "99.0": 8_000_000},
                "extensions": {"http": {"status_4xx": 0, "status_5xx": 40}}}}})
        };
        let run = serde_json::json!({"version": "0.27", "failures": [], "stats": [entry("rampUp", true), entry("main", false)]});
        let text = serde_json::to_string_pretty(&run).unwrap();
        let document = crate::read("all.json", &text);
        let block = &document.outputs[0].block;
        assert_eq!((document.outputs.len(), block.errors.len()), (1, 2));
        // An invalid answer and its status are one failure.
        assert!((block.failed_share() - 40.0 / 600_000.0).abs() < 1e-12);
        assert_eq!(names("all.json", &text), ["errors"]);
    }
}

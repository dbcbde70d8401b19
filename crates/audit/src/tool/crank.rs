//! crank, which drives wrk, bombardier and others: its tables, `crank compare`, and its JSON.

use super::{At, Block, Found, Tool, at};
use crate::read::json::line_of;
use crate::read::lines::Lines;
use crate::read::number::{Printed, count, leading};
use serde_json::Value;

/// More rows than this has no job.
const ROWS: usize = 200;
/// More results than this are not in one table.
const COLUMNS: usize = 40;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let line = lines.get(start).trim();
    if line.starts_with('|') {
        return table(lines, start);
    }
    // Before it drew tables, a value behind each name.
    let listed = line.starts_with("Requests:")
        && (start + 1..start + 4).any(|i| lines.get(i).trim().starts_with("Bad responses:"));
    listed.then_some(())?;
    let mut block = Block::new(Tool::Crank, start);
    let last = super::walk(lines, start, |i, line| match super::pair(line) {
        Some((name, value)) if figure(&mut block, i, name, value) => super::Step::Taken,
        _ => super::Step::Over,
    });
    super::finish(block, last)
}

/// A row for each measure, and a column for each result: `| Requests/sec | 123,456 |`.
fn table(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let rule = lines.get(start + 1).trim();
    let is_rule =
        rule.contains("--") && rule.bytes().all(|b| matches!(b, b'|' | b'-' | b' ' | b':'));
    is_rule.then_some(())?;
    let mut next = start + 2;
    while lines.get(next).trim().starts_with('|') && next < start + ROWS {
        next += 1;
    }
    let first = |i: usize| cells(lines.get(i)).into_iter().next().unwrap_or("");
    let rows = || (start + 2..next).map(first);
    // Names that only its load jobs have together.
    let mine = rows().any(|name| matches!(name, "Requests/sec" | "Max RPS" | "RPS"))
        && rows().any(|name| name == "Bad responses" || name.starts_with("Mean latency ("));
    mine.then_some(())?;
    let header = cells(lines.get(start));
    let mut blocks = Vec::new();
    for (column, name) in header.iter().enumerate().take(COLUMNS).skip(1) {
        let mut block = Block::new(Tool::Crank, start);
        block.last = next;
        block.name = at(start, (*name).to_owned()).filter(|name| !name.what.is_empty());
        for i in start + 2..next {
            let cells = cells(lines.get(i));
            if let Some(value) = cells.get(column) {
                figure(&mut block, i, cells[0], value);
            }
        }
        if block.says_something() {
            blocks.push(block);
        }
    }
    Some(Found {
        blocks,
        next,
        suite: false,
    })
}

fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|').map(str::trim).collect()
}

/// Takes a measure that is known; `Mean latency (ms)` has its unit behind it.
fn figure(block: &mut Block, i: usize, name: &str, value: &str) -> bool {
    let Some(n) = count(value) else {
        return false;
    };
    let unit = match name.rsplit_once('(') {
        Some((_, "us)" | "µs)")) => 1e-6,
        _ => 1e-3,
    };
    let time = || at(i, n.times(unit)).filter(|time| time.what.value > 0.0);
    match name.split(" (").next().unwrap_or(name) {
        "Requests/sec" if name == "Requests/sec" => block.rate = at(i, n),
        // What old versions call the most is the mean of the whole run.
        "Max RPS" | "RPS" if block.rate.is_none() => block.rate = at(i, n),
        "Requests" => block.requests = at(i, n.value as u64),
        "Bad responses" => block.fail(i, "bad responses", n.value as u64, false),
        "Socket errors" => block.lose(i, "socket errors", n.value as u64, false),
        "Mean latency" => block.latency.mean = time(),
        "Max latency" => block.latency.max = time(),
        name => {
            let p = name.strip_prefix("Latency ").and_then(leading);
            let Some((p, "th" | "st" | "nd" | "rd")) = p else {
                return ["Read throughput", "First Request", "Duration", "Errors"]
                    .iter()
                    .any(|known| name.starts_with(known));
            };
            block
                .latency
                .percentiles
                .extend(time().map(|time| (p.value, time)));
        }
    }
    true
}

/// `jobs` → job → `results`, whose names are the same whatever the job drives: `http/rps/mean`.
pub(super) fn read_json(
    lines: &Lines<'_>,
    start: usize,
    next: usize,
    value: &Value,
) -> Option<Block> {
    let results = value.get("jobResults").unwrap_or(value);
    let jobs = results.get("jobs")?.as_object()?;
    let (job, rate) = jobs.values().find_map(|job| {
        let rate = measure(job, "rps/mean").or_else(|| measure(job, "rps/max"))?;
        Some((job, rate))
    })?;
    let mut block = Block::new(Tool::Crank, start);
    let line = |key: &str| {
        let own = line_of(lines, start, next, &format!("http/{key}"));
        // Older jobs have names of their own.
        let suffix = format!("/{key}\"");
        let older = || (start..next).find(|i| lines.get(*i).contains(&suffix));
        if own == start {
            older().unwrap_or(start)
        } else {
            own
        }
    };
    // It rounds neither, but adds the rates of several clients.
    block.rate = at(line("rps/mean"), Printed::exact(rate));
    let requests = measure(job, "requests").filter(|n| *n > 0.0);
    block.requests = requests.and_then(|n| at(line("requests"), n as u64));
    let time = |key: &str| -> Option<At<Printed>> {
        let ms = measure(job, key).filter(|ms| *ms > 0.0)?;
        at(line(key), Printed::exact(ms * 1e-3))
    };
    block.latency.mean = time("latency/mean");
    block.latency.max = time("latency/max");
    for (key, p) in [
        ("latency/50", 50.0),
        ("latency/75", 75.0),
        ("latency/90", 90.0),
        ("latency/95", 95.0),
        ("latency/99", 99.0),
    ] {
        block
            .latency
            .percentiles
            .extend(time(key).map(|time| (p, time)));
    }
    let bad = measure(job, "requests/badresponses").or_else(|| measure(job, "errors/badresponses"));
    block.fail(
        line("requests/badresponses"),
        "bad responses",
        bad.unwrap_or(0.0) as u64,
        false,
    );
    let lost = measure(job, "requests/errors").or_else(|| measure(job, "errors/socketerrors"));
    block.lose(
        line("requests/errors"),
        "socket errors",
        lost.unwrap_or(0.0) as u64,
        false,
    );
    variables(&mut block, lines, start, next, job);
    Some(block)
}

/// A result of a job under its common name, or the one of a job of its own: `wrk/rps/mean`.
fn measure(job: &Value, key: &str) -> Option<f64> {
    let results = job.get("results")?.as_object()?;
    let common = results.get(&format!("http/{key}")).and_then(Value::as_f64);
    common.or_else(|| {
        let own = results.iter().find(|(name, _)| {
            let behind = name.split_once('/').map(|(_, behind)| behind);
            behind == Some(key)
        });
        own?.1.as_f64()
    })
}

/// The load, as the scenario sets it.
fn variables(block: &mut Block, lines: &Lines<'_>, start: usize, next: usize, job: &Value) {
    let variable = |key: &str| {
        let value = job.get("variables")?.get(key)?;
        value.as_f64().or_else(|| value.as_str()?.parse().ok())
    };
    let n = |key: &str| {
        let n = variable(key).filter(|n| *n >= 1.0)?;
        at(line_of(lines, start, next, key), n as u64)
    };
    let planned = variable("duration").filter(|s| *s > 0.0);
    block.planned = planned.and_then(|s| at(line_of(lines, start, next, "duration"), s));
    let asked = variable("rate").filter(|rate| *rate > 0.0);
    block.asked = asked.and_then(|rate| at(line_of(lines, start, next, "rate"), rate));
    let script = job.get("variables").and_then(|v| v.get("script")?.as_str());
    let piped = script.is_some_and(|script| script.contains("pipeline"));
    block.pipeline = n("pipeline").or_else(|| n("streams"));
    // A script decides how many are in flight on each connection.
    if !piped || block.pipeline.is_some() {
        block.connections = n("connections");
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tool, one};

    const TABLE: &str = "| load                   |            |\n| ---------------------- | ---------- |\n\
        | Max CPU Usage (%)      | 88         |\n| Requests               | 6,000,120  |\n| Bad responses          | 0          |\n\
        | Latency 50th (ms)      | 0.61       |\n| Latency 90th (ms)      | 0.95       |\n| Latency 99th (ms)      | 1.90       |\n\
        | Mean latency (ms)      | 0.64       |\n| Max latency (ms)       | 21.90      |\n\
        | Requests/sec           | 400,008    |\n| Requests/sec (max)     | 431,112    |\n| Read throughput (MB/s) | 60.21      |\n";

    fn names(name: &str, text: &str) -> Vec<String> {
        let audit = crate::audit(&[(name.into(), text.into())]);
        audit.remarks.into_iter().map(|r| r.finding.name).collect()
    }

    #[test]
    fn the_table_of_a_load() {
        let application = "| application           |     |\n| --------------------- | --- |\n| Max CPU Usage (%)     | 99  |\n\
            | Max Working Set (MB)  | 152 |\n| Build Time (ms)       | 3,009 |\n\n";
        let text = format!("{application}{TABLE}\n");
        let block = one(&text);
        assert_eq!((block.tool, block.first, block.last), (Tool::Crank, 7, 19));
        assert_eq!(block.rate.unwrap().what.value, 400_008.0);
        assert_eq!(block.requests.unwrap().what, 6_000_120);
        assert_eq!(block.latency.percentiles.len(), 3);
        assert_eq!(names("c.md", &text), [""; 0]);
        let changed = text.replace("| 1.90 ", "| 0.90 ");
        assert_eq!(names("c.md", &changed), ["percentile-order"]);
        let changed = text.replace(
            "Bad responses          | 0 ",
            "Bad responses          | 90,000 ",
        );
        assert_eq!(names("c.md", &changed), ["errors"]);
    }

    #[test]
    fn two_results_side_by_side() {
        let text = "| load              | base    | after   |         |\n| ----------------- | ------- | ------- | ------- |\n\
            | Requests          | 600,120 | 612,400 |  +2.05% |\n| Bad responses     |       0 |       0 |         |\n\
            | Mean latency (ms) |    0.64 |    0.62 |  -3.13% |\n| Requests/sec      |  40,008 |  40,826 |  +2.04% |\n";
        let document = crate::read("c.md", text);
        let called: Vec<_> = document
            .outputs
            .iter()
            .map(|output| output.block.name.as_ref().unwrap().what.as_str())
            .collect();
        assert_eq!(called, ["base", "after"]);
        assert_eq!(names("c.md", text), ["too-few-runs"]);
    }

    #[test]
    fn an_old_list() {
        let text = "## Benchmark:\nRequests:             557,601\nBad responses:        0\nMean latency (us):    2,288\n\
            Max latency (us):     556,000\nMax RPS:              221,956\n\n";
        let block = one(text);
        assert_eq!(
            (block.tool, block.requests.unwrap().what),
            (Tool::Crank, 557_601)
        );
        assert!((block.latency.mean.unwrap().what.value - 2.288e-3).abs() < 1e-9);
    }

    #[test]
    fn its_json() {
        let run = serde_json::json!({"returnCode": 0, "jobResults": {"jobs": {
            "application": {"results": {"benchmarks/cpu": 99.0}, "metadata": []},
            "load": {"results": {"http/rps/mean": 400_008.0, "http/requests": 6_000_120, "http/requests/badresponses": 0,
                "http/latency/mean": 0.62, "http/latency/max": 21.9, "http/latency/50": 0.61, "http/latency/99": 1.9},
                "variables": {"connections": 256, "duration": 15, "warmup": 15}}}}});
        let text = serde_json::to_string_pretty(&run).unwrap();
        let block = crate::read("c.json", &text).outputs[0].block.clone();
        assert_eq!(
            (block.tool, block.connections.unwrap().what),
            (Tool::Crank, 256)
        );
        assert_eq!(names("c.json", &text), [""; 0]);
        let changed = text.replace("\"http/latency/mean\": 0.62", "\"http/latency/mean\": 1.62");
        assert_eq!(names("c.json", &changed), ["littles-law"]);
        // Sixteen on each connection can be.
        let piped = changed.replace("\"warmup\": 15", "\"warmup\": 15, \"pipeline\": 16");
        assert_eq!(names("c.json", &piped), [""; 0]);
        let own = text.replace("http/", "wrk/");
        assert_eq!(crate::read("c.json", &own).outputs.len(), 1);
    }
}

//! weighttp: 0.3 and 0.4 as text, 0.5 as JSON behind the same beginning.

use super::object::Object;
use super::{FoundBlocks, LineRole, at, finish, walk};
use crate::model::{At, Block, Tool};
use crate::text::json::Finder;
use crate::text::lines::Lines;
use crate::text::number::{Printed, count, leading, seconds, whole};

/// JSON times are in microseconds.
const US: f64 = 1e-6;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let line = lines.get(start).trim();
    if !(line.starts_with("weighttp") && line.contains("webserver benchmarking tool"))
        && finished(line).is_none()
    {
        return None;
    }
    let mut block = Block::new(Tool::Weighttp, start);
    let mut json = None;
    let last = walk(lines, start, |i, line| {
        if line == "{" {
            json = Some(i);
            return LineRole::Over;
        }
        take(&mut block, i, line)
    });
    if let Some(json) = json {
        let rest = lines.from(json);
        // The object is the last thing in the output: it is read once, here.
        let (value, next) = Finder::new(rest.len()).object(lines, json)?;
        let mut found = read_json(&Object {
            lines,
            start: json,
            next,
            value: &value,
        })?;
        (found.first, found.connections) = (block.first, block.connections);
        found.threads = block.threads;
        return finish(found, next - 1);
    }
    finish(block, last)
}

fn take(block: &mut Block, i: usize, line: &str) -> LineRole {
    if let Some((time, rate)) = finished(line) {
        block.seconds = time.and_then(|time| at(i, time));
        block.rate = at(i, rate);
    } else if line.starts_with("spawning thread #") {
        // `spawning thread #1: 334 concurrent requests, 33334 total requests`, for each thread
        let more = line
            .split_once(": ")
            .and_then(|(_, rest)| rest.split_once(" concurrent requests"))
            .and_then(|(n, _)| whole(n));
        let sum = |before: Option<At<u64>>, more| before.map_or(0, |n| n.what).saturating_add(more);
        if let Some(more) = more {
            block.connections = at(i, sum(block.connections, more));
            block.threads = at(i, sum(block.threads, 1));
        }
    } else if let Some(counts) = line.strip_prefix("requests:") {
        for (n, how) in counted(counts) {
            match how {
                "done" => block.requests = at(i, n),
                "failed" | "errored" => block.fail(i, how, n, false),
                _ => {}
            }
        }
    } else if let Some(counts) = line.strip_prefix("status codes:") {
        for (n, how) in counted(counts).filter(|(_, how)| matches!(*how, "4xx" | "5xx")) {
            block.fail(i, how, n, false);
        }
    } else if line.starts_with("traffic:") {
        return LineRole::Last;
    } else if !(line.starts_with("progress:")
        || line.starts_with("starting benchmark")
        || line.starts_with("weighttp") && i + 1 == block.first)
    {
        return LineRole::Unknown;
    }
    LineRole::Taken
}

/// `finished in 1 sec, 70 millisec and 47 microsec, 186907 req/s, 25553 kbyte/s`
fn finished(line: &str) -> Option<(Option<Printed>, Printed)> {
    let rest = line
        .strip_prefix("finished in ")?
        .strip_suffix(" kbyte/s")?;
    let (rest, _traffic) = rest.rsplit_once(", ")?;
    let (time, rate) = rest.strip_suffix(" req/s")?.rsplit_once(", ")?;
    let time = seconds(&time.replace(" and ", " ").replace(',', " "));
    Some((time, count(rate)?))
}

/// `200000 2xx, 0 3xx` as numbers and words.
fn counted(text: &str) -> impl Iterator<Item = (u64, &str)> {
    text.split(',').filter_map(|part| {
        let (n, how) = part.trim().split_once(' ')?;
        Some((whole(n)?, how))
    })
}

pub(super) fn read_json(json: &Object<'_>) -> Option<Block> {
    json.get(&["reqs_per_sec"])?;
    let mut block = json.block(Tool::Weighttp);
    // It rounds to whole numbers.
    let rounded = |path: &[&str], unit: f64| {
        let value = json.number(path)?;
        at(json.line(path), Printed { value, half: 0.5 }.times(unit))
    };
    block.rate = rounded(&["reqs_per_sec"], 1.0);
    block.seconds = json.figure(&["secs_elapsed"], 1.0);
    block.requests = json.whole(&["request_counts", "retired"]);
    for path in [
        ["response_counts", "fail"],
        ["response_counts", "errs"],
        ["status_codes", "4xx"],
        ["status_codes", "5xx"],
    ] {
        block.fail(json.line(&path), path[1], json.count(&path), false);
    }
    let time = |key| rounded(&["response_times", key], US);
    block.latency.mean = time("avg");
    block.latency.min = time("0%");
    block.latency.max = time("100%");
    for key in ["50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%"] {
        let p = leading(key).map_or(0.0, |(p, _)| p.value);
        block.latency.add(p, time(key));
    }
    block.connect_max = rounded(&["connect_times", "100%"], US);
    Some(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_has_three_parts() {
        let (time, rate) =
            finished("finished in 1 sec, 70 millisec and 47 microsec, 186907 req/s, 25553 kbyte/s")
                .unwrap();
        assert!((time.unwrap().value - 1.070_047).abs() < 1e-9);
        assert_eq!(rate.value, 186_907.0);
        assert_eq!(
            finished("finished in 5.00s, 176256.20 req/s, 23.53MB/s"),
            None
        );
    }
}

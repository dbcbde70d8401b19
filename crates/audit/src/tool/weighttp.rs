//! weighttp: 0.3 and 0.4 as text, 0.5 as JSON behind the same beginning.

use super::{Found, Step, at, finish, walk};
use crate::model::{At, Block, Tool};
use crate::text::json::{Finder, line_of, number};
use crate::text::lines::Lines;
use crate::text::number::{Printed, count, leading, seconds, whole};
use serde_json::Value;

/// JSON times are in microseconds.
const US: f64 = 1e-6;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
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
            return Step::Over;
        }
        take(&mut block, i, line)
    });
    if let Some(json) = json {
        let rest = lines.from(json);
        // The object is the last thing in the output: it is read once, here.
        let (value, next) = Finder::new(rest.len()).object(lines, json)?;
        let mut found = read_json(lines, json, next, &value)?;
        (found.first, found.connections) = (block.first, block.connections);
        found.threads = block.threads;
        return finish(found, next - 1);
    }
    finish(block, last)
}

fn take(block: &mut Block, i: usize, line: &str) -> Step {
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
        return Step::Last;
    } else if !(line.starts_with("progress:")
        || line.starts_with("starting benchmark")
        || line.starts_with("weighttp") && i + 1 == block.first)
    {
        return Step::Unknown;
    }
    Step::Taken
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

pub(super) fn read_json(
    lines: &Lines<'_>,
    start: usize,
    next: usize,
    value: &Value,
) -> Option<Block> {
    value.get("reqs_per_sec")?;
    let line = |key| line_of(lines, start, next, key);
    let mut block = Block::new(Tool::Weighttp, start);
    let get = |path: &[&str]| number(value, path);
    block.rate = get(&["reqs_per_sec"]).and_then(|n| {
        at(
            line("reqs_per_sec"),
            Printed {
                value: n,
                half: 0.5,
            },
        )
    });
    block.seconds =
        get(&["secs_elapsed"]).and_then(|n| at(line("secs_elapsed"), Printed::exact(n)));
    block.requests =
        get(&["request_counts", "retired"]).and_then(|n| at(line("retired"), n as u64));
    for (group, how) in [
        ("response_counts", "fail"),
        ("response_counts", "errs"),
        ("status_codes", "4xx"),
        ("status_codes", "5xx"),
    ] {
        block.fail(
            line(how),
            how,
            get(&[group, how]).unwrap_or(0.0) as u64,
            false,
        );
    }
    let times = line("response_times");
    let inside = |key: &str| line_of(lines, times, next, key);
    let time = |key: &str| {
        let printed = Printed {
            value: get(&["response_times", key])?,
            half: 0.5,
        };
        at(inside(key), printed.times(US))
    };
    block.latency.mean = time("avg");
    block.latency.min = time("0%");
    block.latency.max = time("100%");
    for key in ["50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%"] {
        let p = leading(key).map(|(p, _)| p.value);
        block.latency.percentiles.extend(p.zip(time(key)));
    }
    block.connect_max = get(&["connect_times", "100%"]).and_then(|n| {
        let at_line = line_of(lines, line("connect_times"), next, "100%");
        at(
            at_line,
            Printed {
                value: n,
                half: 0.5,
            }
            .times(US),
        )
    });
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

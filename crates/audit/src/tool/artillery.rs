//! Artillery's summary, in the form of version 2 (`http.codes.200: … 900`) and in that of version 1
//! (`Summary report @ …`). What it reports on the way is left out.

use super::{Block, Found, Step, Tool, at, finish, walk};
use crate::read::json::{line_of, number};
use crate::read::lines::Lines;
use crate::read::number::{Printed, leading};
use serde_json::Value;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let line = lines.get(start).trim();
    let take = if line.starts_with("http.codes.")
        || line.starts_with("http.request_rate:")
        || line.starts_with("http.requests:")
    {
        artillery
    } else if line.starts_with("Summary report @") || line.starts_with("Report @") {
        first_version
    } else {
        return None;
    };
    let mut block = Block::new(Tool::Artillery, start);
    let last = walk(lines, start, |i, line| take(&mut block, i, line));
    if line.starts_with("Report @") {
        // What it reports on the way is a part of the summary.
        return finish(Block::new(Tool::Artillery, start), last);
    }
    finish(block, last)
}

/// Counts of answers are `404: 3`, and those of errors `ETIMEDOUT: 3`.
fn first_version(block: &mut Block, i: usize, line: &str) -> Step {
    let Some((key, value)) = line.split_once(':') else {
        return Step::Unknown;
    };
    let (key, value) = (key.trim(), value.trim());
    let number = leading(value).map(|(n, _)| n);
    let n = number.map_or(0, |n| n.value as u64);
    match key {
        _ if key.starts_with("Summary report @") || key.starts_with("Report @") => {
            return if i + 1 > block.first {
                Step::Over
            } else {
                Step::Taken
            };
        }
        "Requests completed" => block.requests = at(i, n),
        "Mean response/sec" | "RPS sent" => block.rate = number.and_then(|n| at(i, n)),
        "Elapsed time" | "Scenarios launched" | "Scenarios completed" | "Scenarios created" => {}
        "Response time (msec)" | "Request latency" | "Scenario counts" | "Codes" | "Errors" => {}
        "min" | "max" | "median" | "p95" | "p99" => return time(block, i, key, value),
        code if code.len() == 3 && code.bytes().all(|b| b.is_ascii_digit()) => {
            if code.starts_with(['4', '5']) {
                block.fail(i, format!("status {code}"), n, false);
            }
        }
        error if error.starts_with('E') && error.bytes().all(|b| b.is_ascii_uppercase()) => {
            block.lose(i, error.to_owned(), n, error.contains("TIMEDOUT"));
        }
        // `0: 500 (100%)`, of the scenarios.
        _ if value.ends_with("%)") => {}
        _ => return Step::Unknown,
    }
    Step::Taken
}

/// A time in milliseconds: the first of each name is that of requests, what follows is of sessions.
fn time(block: &mut Block, i: usize, key: &str, value: &str) -> Step {
    let ms = leading(value).and_then(|(n, _)| at(i, n.times(1e-3)));
    let latency = &mut block.latency;
    match key {
        "min" if latency.min.is_none() => latency.min = ms,
        "max" if latency.max.is_none() => latency.max = ms,
        "mean" if latency.mean.is_none() => latency.mean = ms,
        "median" | "p95" | "p99" => {
            let p = match key {
                "median" => 50.0,
                "p95" => 95.0,
                _ => 99.0,
            };
            if latency.percentile(p).is_none() {
                latency.percentiles.extend(ms.map(|time| (p, time)));
            }
        }
        _ => {}
    }
    Step::Taken
}

/// The summary of version 1 as JSON: `"scenariosCompleted": 180, "requestsCompleted": 900, "latency": { … }`.
pub(super) fn read_json(
    lines: &Lines<'_>,
    start: usize,
    next: usize,
    value: &Value,
) -> Option<Block> {
    let value = value.get("aggregate").unwrap_or(value);
    value.get("scenariosCompleted")?;
    let requests = value.get("requestsCompleted")?.as_u64()?;
    let line = |key: &str| line_of(lines, start, next, key);
    let mut block = Block::new(Tool::Artillery, start);
    block.requests = at(line("requestsCompleted"), requests);
    let rate = number(value, &["rps", "mean"]).filter(|rate| *rate > 0.0);
    block.rate = rate.and_then(|rate| at(line("rps"), Printed::exact(rate)));
    let from = line("latency");
    for key in ["min", "max", "mean", "median", "p95", "p99"] {
        if let Some(ms) = number(value, &["latency", key]) {
            time(
                &mut block,
                line_of(lines, from, next, key),
                key,
                &ms.to_string(),
            );
        }
    }
    let counted = |of: &str| {
        let counts = value.get(of).and_then(Value::as_object);
        let counts = counts.into_iter().flatten();
        let counts = counts.filter_map(|(key, n)| Some((key.clone(), n.as_u64()?)));
        counts.collect::<Vec<_>>()
    };
    for (code, n) in counted("codes") {
        if code.starts_with(['4', '5']) {
            block.fail(line(&code), format!("status {code}"), n, false);
        }
    }
    for (how, n) in counted("errors") {
        let late = how.contains("TIMEDOUT");
        block.lose(line(&how), how, n, late);
    }
    Some(block)
}

fn artillery(block: &mut Block, i: usize, line: &str) -> Step {
    let Some((key, value)) = line.split_once(':') else {
        return Step::Unknown;
    };
    let key = key.trim().trim_end_matches('.');
    let value = value.trim().trim_start_matches('.').trim();
    let n = || leading(value).map(|(n, _)| n);
    if let Some(code) = key.strip_prefix("http.codes.") {
        if code.starts_with(['4', '5']) {
            block.fail(
                i,
                format!("status {code}"),
                n().map_or(0, |n| n.value as u64),
                false,
            );
        }
        return Step::Taken;
    }
    if let Some(how) = key.strip_prefix("errors.") {
        let late = how.contains("TIMEDOUT") || how.contains("ETIMEDOUT");
        block.lose(i, how.to_owned(), n().map_or(0, |n| n.value as u64), late);
        return Step::Taken;
    }
    match key {
        "http.requests" => {
            if block.requests.is_some() {
                return Step::Over;
            }
            block.requests = n().and_then(|n| at(i, n.value as u64));
        }
        "http.request_rate" => block.rate = n().and_then(|n| at(i, n)),
        "http.response_time" | "http.responses" | "http.downloaded_bytes" => {}
        "min" | "max" | "mean" | "median" | "p95" | "p99" => return time(block, i, key, value),
        "vusers.session_length" => return Step::Last,
        key if key.starts_with("vusers.") || key.starts_with("http.") => {}
        _ => return Step::Unknown,
    }
    Step::Taken
}

#[cfg(test)]
mod tests {
    use super::super::{Tool, one};

    #[test]
    fn both_versions() {
        let block = one(
            "http.codes.200: ......... 900\nhttp.codes.503: ......... 100\nhttp.request_rate: ..... 100/sec\n\
            http.requests: ........... 1000\nhttp.response_time:\n  min: ....... 1\n  max: ....... 88\n  mean: ...... 4.5\n  \
            median: .... 4\n  p95: ....... 9\n  p99: ....... 30\nerrors.ETIMEDOUT: ...... 5\n",
        );
        assert_eq!((block.tool, block.timed_out()), (Tool::Artillery, 5));
        assert_eq!(block.latency.percentile(99.0).unwrap().what.value, 0.03);
        let block = one(
            "Report @ 01:18:24(-0500) 2020-03-05\nElapsed time: 20 seconds\n  Requests completed:  395\n  RPS sent: 39.8\n\n\
             All virtual users finished\nSummary report @ 01:19:05(-0500) 2020-03-05\n  Scenarios launched:  1500\n  \
             Scenarios completed: 1079\n  Requests completed:  1079\n  Mean response/sec: 11.5\n  Response time (msec):\n    \
             min: 3141.1\n    max: 112796.2\n    median: 36190.1\n    p95: 79000\n    p99: 108498\n  Scenario counts:\n    \
             0: 1500 (100%)\n  Codes:\n    200: 396\n    502: 683\n  Errors:\n    ESOCKETTIMEDOUT: 421\n",
        );
        assert_eq!((block.first, block.timed_out()), (7, 421));
        assert_eq!(block.rate.unwrap().what.value, 11.5);
        assert_eq!(block.latency.percentile(99.0).unwrap().what.value, 108.498);
        let failed: u64 = block.errors.iter().map(|error| error.what.count).sum();
        assert_eq!((block.requests.unwrap().what, failed), (1_079, 1_104));
    }
}

//! zrk: its summary as text, and as JSON. Its first version printed what wrk2 prints.

use super::{Block, Found, Step, Tool, at, finish, pair, walk};
use crate::read::json::{line_of, number};
use crate::read::lines::Lines;
use crate::read::number::{Printed, count, leading, percent, seconds, whole};
use serde_json::Value;

/// JSON times are in microseconds.
const US: f64 = 1e-6;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let line = lines.get(start).trim();
    (is_progress(line) || totals(line).is_some()).then_some(())?;
    let mut block = Block::new(Tool::Zrk, start);
    let mut last = start;
    // A run may last for hours, with a line each second.
    while is_progress(lines.get(last).trim()) && is_progress(lines.get(last + 1).trim()) {
        last += 1;
    }
    let last = walk(lines, last, |i, line| take(&mut block, i, line));
    finish(block, last)
}

/// `[   1.0s]   170281 req/s 31.50MiB/s  p50=207us …`
fn is_progress(line: &str) -> bool {
    line.starts_with('[')
        && line.contains("s]")
        && line.contains(" req/s ")
        && line.contains("p50=")
}

/// Requests, time and rate of `500000 requests in 10.00s, 62.50MiB read  ·  50000 req/s  ·  6.25MiB/s`.
fn totals(line: &str) -> Option<(u64, Printed, Printed)> {
    let (requests, rest) = line.split_once(" requests in ")?;
    let (time, rest) = rest.split_once(", ")?;
    let mut parts = rest.split('·').map(str::trim);
    parts.next()?.ends_with(" read").then_some(())?;
    let rate = parts.next()?.strip_suffix(" req/s")?;
    Some((whole(requests)?, seconds(time)?, count(rate)?))
}

fn take(block: &mut Block, i: usize, line: &str) -> Step {
    if is_progress(line) {
        let another = block.rate.is_some();
        return if another { Step::Over } else { Step::Taken };
    }
    if let Some((requests, time, rate)) = totals(line) {
        if block.rate.is_some() {
            return Step::Over;
        }
        block.requests = at(i, requests);
        block.seconds = at(i, time);
        block.rate = at(i, rate);
        return Step::Taken;
    }
    if line.starts_with("latency (coordinated-omission") || line.starts_with("Detailed Percentile")
    {
        return Step::Taken;
    }
    if let Some((key, value)) = pair(line) {
        let n = whole(value.split(' ').next().unwrap_or("")).unwrap_or(0);
        match key {
            "non-2xx/3xx" => block.fail(i, "not 2xx or 3xx", n, false),
            "socket errors" => {
                for part in value.split(", ") {
                    if let Some((how, n)) = part.split_once(' ') {
                        block.lose(i, how, whole(n).unwrap_or(0), how == "timeout");
                    }
                }
            }
            "3xx (redirect)" | "deadline misses" | "peak schedule lag" => {}
            _ => return Step::Unknown,
        }
        return Step::Taken;
    }
    // `p99    1.20ms`, `max    9.10ms`, and of the spectrum `99.9000%  5.10ms`.
    let mut words = line.split_whitespace();
    let (Some(name), Some(time), None) = (words.next(), words.next(), words.next()) else {
        return Step::Unknown;
    };
    let Some(time) = seconds(time).and_then(|time| at(i, time)) else {
        return Step::Unknown;
    };
    let p = name
        .strip_prefix('p')
        .and_then(leading)
        .map(|(p, _)| p.value);
    match (name, p.or_else(|| percent(name))) {
        ("max", _) => block.latency.max = Some(time),
        (_, Some(p)) if p > 0.0 && p < 100.0 && block.latency.percentile(p).is_none() => {
            block.latency.percentiles.push((p, time));
        }
        (_, Some(_)) => {}
        _ => return Step::Unknown,
    }
    Step::Taken
}

pub(super) fn read_json(
    lines: &Lines<'_>,
    start: usize,
    next: usize,
    value: &Value,
) -> Option<Block> {
    value.get("zrk_version")?;
    let times = value.get("latency_us")?;
    let line = |key: &str| line_of(lines, start, next, key);
    let mut block = Block::new(Tool::Zrk, start);
    let url = value
        .get("target")
        .and_then(|target| target.get("url")?.as_str());
    block.url = url.and_then(|url| at(line("url"), url.to_owned()));
    let connections = number(value, &["config", "connections"]);
    block.connections = connections.and_then(|n| at(line("connections"), n as u64));
    let planned = number(value, &["config", "duration_s"]);
    block.planned = planned.and_then(|n| at(line("config"), n));
    let asked = number(value, &["target_rate"]).filter(|rate| *rate > 0.0);
    block.asked = asked.and_then(|n| at(line("target_rate"), n));
    block.requests = number(value, &["requests"]).and_then(|n| at(line("requests"), n as u64));
    let printed = |key: &str, half: f64| {
        let value = number(value, &[key])?;
        // A key of the same name stands in what was asked for.
        let below = line_of(lines, line("config") + 1, next, key);
        at(below, Printed { value, half })
    };
    block.seconds = printed("duration_s", 0.5e-3);
    block.rate = printed("achieved_rate", 0.5e-2);
    let place = line("latency_us");
    let time = |key: &str, half: f64| {
        let us = number(times, &[key]).filter(|us| *us > 0.0)?;
        let printed = Printed {
            value: us * US,
            half: half * US,
        };
        at(line_of(lines, place, next, key), printed)
    };
    block.latency.min = time("min", 0.5);
    block.latency.mean = time("mean", 0.05);
    block.latency.max = time("max", 0.5);
    for (key, p) in [
        ("p50", 50.0),
        ("p75", 75.0),
        ("p90", 90.0),
        ("p99", 99.0),
        ("p99_9", 99.9),
        ("p99_99", 99.99),
    ] {
        let time = time(key, 0.5).map(|time| (p, time));
        block.latency.percentiles.extend(time);
    }
    let errors = line("errors");
    for key in ["connect", "read", "write", "timeout"] {
        let lost = number(value, &["errors", key]).unwrap_or(0.0);
        block.lose(errors, key, lost as u64, key == "timeout");
    }
    let failed = number(value, &["errors", "non_2xx_3xx"]).unwrap_or(0.0);
    block.fail(errors, "not 2xx or 3xx", failed as u64, false);
    Some(block)
}

#[cfg(test)]
mod tests {
    use super::super::{Tool, one};

    const TEXT: &str = "[   1.0s]    50012 req/s 6.25MiB/s  p50=207us p99=1.20ms p99.9=4.10ms max=9.10ms  errs=0\n\
        [  10.0s]    49998 req/s 6.25MiB/s  p50=207us p99=1.20ms p99.9=4.10ms max=9.10ms  errs=0\n\n  \
        500000 requests in 10.00s, 62.50MiB read  ·  50000 req/s  ·  6.25MiB/s\n  \
        latency (coordinated-omission corrected)\n    p50    207us\n    p75    300us\n    p90    420us\n    \
        p99    1.20ms\n    p99.9  4.10ms\n    max    9.10ms\n";

    fn names(name: &str, text: &str) -> Vec<String> {
        let audit = crate::audit(&[(name.into(), text.into())]);
        audit.remarks.into_iter().map(|r| r.finding.name).collect()
    }

    #[test]
    fn the_summary() {
        let text = format!(
            "{TEXT}\n  Detailed Percentile spectrum:\n      0.0000%  90us\n     99.9900%  5.20ms\n    \
            100.0000%  9.10ms\n  non-2xx/3xx: 4\n  \
            socket errors: connect 0, read 3, write 0, timeout 2\n  peak schedule lag: 1.20ms\n"
        );
        let block = one(&text);
        assert_eq!((block.tool, block.first, block.last), (Tool::Zrk, 1, 19));
        assert_eq!(block.requests.unwrap().what, 500_000);
        assert_eq!(block.rate.unwrap().what.value, 50_000.0);
        assert_eq!(block.latency.percentiles.len(), 6);
        assert_eq!(block.timed_out(), 2);
        assert_eq!(names("z.txt", &text), ["errors"]);
        assert_eq!(crate::read("z.txt", &text).unread, []);
    }

    #[test]
    fn what_was_changed_is_seen() {
        assert_eq!(names("z.txt", TEXT), [""; 0]);
        let changed = TEXT.replace("50000 req/s", "61000 req/s");
        assert_eq!(names("z.txt", &changed), ["ratio-disagrees"]);
        let changed = TEXT.replace("p99    1.20ms", "p99    0.12ms");
        assert_eq!(names("z.txt", &changed), ["percentile-order"]);
    }

    #[test]
    fn its_json() {
        let text = "{\n  \"zrk_version\": \"2.0.0\",\n  \"target\": { \"url\": \"http://10.0.0.2:80/\", \"method\": \"GET\" },\n  \
            \"config\": { \"connections\": 100, \"launched\": 100, \"duration_s\": 30.000, \"target_rate\": 2000 },\n  \
            \"duration_s\": 30.001,\n  \"requests\": 60000,\n  \"bytes\": 7200000,\n  \"achieved_rate\": 1999.93,\n  \
            \"target_rate\": 2000,\n  \"latency_us\": {\n    \"min\": 90, \"mean\": 320.5, \"stdev\": 80.0, \"max\": 9100,\n    \
            \"p50\": 300, \"p75\": 350, \"p90\": 420, \"p99\": 1200, \"p99_9\": 4100, \"p99_99\": 5200\n  },\n  \
            \"status_codes\": { \"2xx\": 60000 },\n  \"errors\": { \"connect\": 0, \"read\": 0, \"timeout\": 0, \"non_2xx_3xx\": 0 }\n}\n";
        assert_eq!(names("z.json", text), [""; 0]);
        let block = crate::read("z.json", text).outputs[0].block.clone();
        assert_eq!(
            (block.seconds.unwrap().line, block.rate.unwrap().line),
            (5, 8)
        );
        assert_eq!(block.latency.percentiles.len(), 6);
        let changed = text.replace("1999.93", "2999.93");
        assert_eq!(names("z.json", &changed), ["ratio-disagrees"]);
    }
}

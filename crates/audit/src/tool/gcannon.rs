//! gcannon, the generator of `HttpArena`: what it prints, and its JSON.

use super::{Block, Found, Step, Tool, at, finish, pair, walk};
use crate::read::json::{line_of, number};
use crate::read::lines::Lines;
use crate::read::number::{Printed, count, leading, seconds, whole};
use serde_json::Value;

/// JSON times are in microseconds.
const US: f64 = 1e-6;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let line = lines.get(start).trim();
    let banner = line.starts_with("gcannon ") && pair(lines.get(start + 1)).is_some_and(is_target);
    (banner || is_header(line)).then_some(())?;
    let mut block = Block::new(Tool::Gcannon, start);
    let mut expected = '2';
    let last = walk(lines, start, |i, line| {
        take(&mut block, &mut expected, i, line)
    });
    finish(block, last)
}

fn is_target((key, _): (&str, &str)) -> bool {
    key == "Target"
}

/// wrk prints a deviation where this has percentiles.
fn is_header(line: &str) -> bool {
    line.starts_with("Thread Stats") && line.contains(" p50 ") && line.contains(" p99")
}

fn take(block: &mut Block, expected: &mut char, i: usize, line: &str) -> Step {
    if line.starts_with("gcannon ") || is_header(line) {
        let again = block.latency.mean.is_some() || line.starts_with('g') && i + 1 > block.first;
        return if again { Step::Over } else { Step::Taken };
    }
    if let Some(times) = line.strip_prefix("Latency ") {
        let times: Vec<_> = times.split_whitespace().map(seconds).collect();
        if let [Some(mean), rest @ ..] = times.as_slice() {
            // Of nothing it prints zeros.
            block.latency.mean = at(i, *mean).filter(|mean| mean.what.value > 0.0);
            let rest = rest.iter().zip([50.0, 90.0, 99.0, 99.9]);
            let some = block.latency.mean.is_some();
            let rest = rest.filter_map(|(time, p)| Some((p, at(i, (*time)?)?)));
            block.latency.percentiles.extend(rest.filter(|_| some));
        }
        return Step::Taken;
    }
    if let Some((sent, rest)) = line.split_once(" in ")
        && let Some((time, answered)) = rest.split_once(", ")
        && (sent.ends_with(" requests") || sent.ends_with(" frames sent"))
    {
        let answered = answered.split(' ').next().and_then(whole);
        block.requests = answered.and_then(|n| at(i, n));
        block.seconds = seconds(time).and_then(|time| at(i, time));
        return Step::Taken;
    }
    let Some((key, value)) = pair(line) else {
        return Step::Unknown;
    };
    let first = || leading(value).map(|(n, _)| n);
    let n = || first().and_then(|n| at(i, n.value as u64));
    match key {
        "Target" => block.url = at(i, format!("http://{value}")),
        "Threads" => block.threads = n(),
        "Conns" => block.connections = n(),
        "Pipeline" => block.pipeline = n(),
        "Expected" => *expected = value.chars().next().unwrap_or('2'),
        "Duration" => block.planned = seconds(value).and_then(|time| at(i, time.value)),
        "Throughput" => {
            let rate = value.strip_suffix(" req/s").and_then(count);
            block.rate = rate.and_then(|rate| at(i, rate));
        }
        "Status codes" => {
            for part in value.split(", ") {
                if let Some((class @ ("4xx" | "5xx" | "other"), n)) = part.split_once('=')
                    && !class.starts_with(*expected)
                {
                    block.fail(i, class, whole(n).unwrap_or(0), false);
                }
            }
        }
        "Latency samples" => block.latency.samples = n(),
        "Errors" => {
            for part in value.split(", ") {
                if let Some((how, n)) = part.split_once(' ') {
                    block.lose(i, how, whole(n).unwrap_or(0), how == "timeout");
                }
            }
        }
        "Req/conn"
        | "Templates"
        | "Bandwidth"
        | "WS upgrades"
        | "WS frames"
        | "Reconnects"
        | "Latency overflow (>5s)"
        | "WARNING"
        | "Per-template"
        | "Per-template-ok" => {}
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
    number(value, &["pipeline_depth"])?;
    let times = value.get("latency_us")?;
    let line = |key: &str| line_of(lines, start, next, key);
    let n = |key: &str| number(value, &[key]).and_then(|n| at(line(key), n as u64));
    let figure = |key: &str| number(value, &[key]).and_then(|n| at(line(key), Printed::exact(n)));
    let mut block = Block::new(Tool::Gcannon, start);
    let target = value.get("target").and_then(Value::as_str);
    block.url = target.and_then(|target| at(line("target"), format!("http://{target}")));
    block.connections = n("connections");
    block.threads = n("threads");
    block.pipeline = n("pipeline_depth");
    block.planned = number(value, &["duration_sec"]).and_then(|s| at(line("duration_sec"), s));
    block.seconds = figure("elapsed_sec").map(|mut at| {
        at.what.half = 0.5e-3;
        at
    });
    block.requests = n("responses");
    block.rate = figure("rps");
    let place = line("latency_us");
    let time = |key: &str| {
        let us = number(times, &[key]).filter(|us| *us > 0.0)?;
        let printed = Printed {
            value: us * US,
            half: 0.5 * US,
        };
        at(line_of(lines, place, next, key), printed)
    };
    block.latency.mean = time("avg");
    for (key, p) in [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p999", 99.9)] {
        block.latency.percentiles.extend(time(key).map(|t| (p, t)));
    }
    for key in ["4xx", "5xx", "other"] {
        let failed = number(value, &["status", key]).unwrap_or(0.0);
        block.fail(line("status"), key, failed as u64, false);
    }
    for key in ["connect", "read", "timeout"] {
        let lost = number(value, &["errors", key]).unwrap_or(0.0);
        block.lose(line("errors"), key, lost as u64, key == "timeout");
    }
    Some(block)
}

#[cfg(test)]
mod tests {
    use super::super::{Tool, one};

    const TEXT: &str = "gcannon v2.5.1 [CQE]\n  Target:    10.0.0.2:8080/json\n  Threads:   8\n  \
        Conns:     512 (64/thread)\n  Pipeline:  16\n  Req/conn:  unlimited (keep-alive)\n  Expected:  200\n  \
        Duration:  10s\n\n\n  Thread Stats   Avg      p50      p90      p99    p99.9\n    \
        Latency   8.10ms   7.70ms   12.5ms   14.9ms   19.1ms\n\n  \
        10000400 requests in 10.00s, 10000000 responses\n  Throughput: 1.00M req/s\n  Bandwidth:  72.36MB/s\n  \
        Status codes: 2xx=10000000, 3xx=0, 4xx=0, 5xx=0\n  Latency samples: 10000000 / 10000000 responses (100.0%)\n";

    #[test]
    fn what_is_printed() {
        let more = "  Reconnects: 3\n  Errors: connect 0, read 5, timeout 2\n";
        let text = format!("{}{more}", TEXT.replace("5xx=0", "5xx=9, other=1"));
        let block = one(&text);
        assert_eq!(
            (block.tool, block.first, block.last),
            (Tool::Gcannon, 1, 20)
        );
        assert_eq!(block.url.unwrap().what, "http://10.0.0.2:8080/json");
        assert_eq!(
            (
                block.connections.unwrap().what,
                block.pipeline.unwrap().what
            ),
            (512, 16)
        );
        assert_eq!(block.requests.unwrap().what, 10_000_000);
        assert_eq!(block.rate.unwrap().what.value, 1e6);
        assert_eq!(block.latency.percentiles.len(), 4);
        let errors: Vec<_> = block.errors.iter().map(|e| e.what.count).collect();
        assert_eq!(errors, [9, 1, 5, 2]);
        // A server that is to answer 404 does not fail.
        let block = one(&TEXT
            .replace("Expected:  200", "Expected:  404")
            .replace("2xx=10000000", "2xx=0")
            .replace("4xx=0", "4xx=10000000"));
        assert_eq!(block.errors, []);
    }

    fn names(name: &str, text: &str) -> Vec<String> {
        let audit = crate::audit(&[(name.into(), text.into())]);
        audit.remarks.into_iter().map(|r| r.finding.name).collect()
    }

    #[test]
    fn what_was_changed_is_seen() {
        assert_eq!(names("g.txt", TEXT), [""; 0]);
        // 1,000,000/s × 16.2 ms are 16,200 in flight, of 8,192.
        let changed = TEXT.replace("Latency   8.10ms", "Latency   16.2ms");
        assert!(names("g.txt", &changed).contains(&"littles-law".to_owned()));
        let changed = TEXT.replace("1.00M", "1.40M");
        assert_eq!(names("g.txt", &changed), ["ratio-disagrees"]);
        let changed = TEXT.replace("14.9ms", "11.9ms");
        assert_eq!(names("g.txt", &changed), ["percentile-order"]);
    }

    #[test]
    fn its_json() {
        let text = "{\n  \"version\": \"2.5.1\",\n  \"target\": \"10.0.0.2:8080/\",\n  \"mode\": \"http\",\n  \
            \"connections\": 64,\n  \"threads\": 2,\n  \"pipeline_depth\": 1,\n  \"duration_sec\": 10,\n  \
            \"elapsed_sec\": 10.000,\n  \"requests\": 400010,\n  \"responses\": 400000,\n  \"rps\": 40000.00,\n  \
            \"latency_us\": {\n    \"avg\": 1590,\n    \"p50\": 1500,\n    \"p90\": 2100,\n    \"p99\": 3900,\n    \
            \"p999\": 5000,\n    \"samples\": 400000\n  },\n  \"status\": {\n    \"2xx\": 399000,\n    \"5xx\": 1000\n  },\n  \
            \"errors\": {\n    \"connect\": 0,\n    \"read\": 0,\n    \"timeout\": 0\n  },\n  \"reconnects\": 0\n}\n";
        assert_eq!(names("g.json", text), ["errors"]);
        let clean = text.replace("1000\n", "0\n");
        assert_eq!(names("g.json", &clean), [""; 0]);
        let changed = clean.replace("\"avg\": 1590", "\"avg\": 3590");
        assert_eq!(names("g.json", &changed), ["littles-law"]);
    }
}

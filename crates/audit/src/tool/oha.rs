//! oha's JSON. Its text is nearly hey's: see `hey.rs`.

use super::at;
use super::hey::failure;
use crate::model::{Block, Tool};
use crate::text::json::{line_of, number};
use crate::text::lines::Lines;
use crate::text::number::{Printed, leading};
use serde_json::Value;

/// At most this many entries of a map are read: more than there are percentiles, statuses or errors.
const KEYS: usize = 64;

pub(super) fn read_json(
    lines: &Lines<'_>,
    start: usize,
    next: usize,
    value: &Value,
) -> Option<Block> {
    let summary = value.get("summary")?;
    summary.get("requestsPerSec")?;
    let mut block = Block::new(Tool::Oha, start);
    let get = |key| {
        let value = number(summary, &[key])?;
        at(line_of(lines, start, next, key), Printed::exact(value))
    };
    block.rate = get("requestsPerSec");
    block.seconds = get("total");
    block.latency.mean = get("average");
    block.latency.min = get("fastest");
    block.latency.max = get("slowest");
    let percentiles = line_of(lines, start, next, "latencyPercentiles");
    if let Some(Value::Object(map)) = value.get("latencyPercentiles") {
        for (key, time) in map.iter().take(KEYS) {
            let p = key.strip_prefix('p').and_then(leading);
            let time = time.as_f64().filter(|time| time.is_finite());
            if let Some(((p, ""), time)) = p.zip(time) {
                let line = line_of(lines, percentiles, next, key);
                let time = at(line, Printed::exact(time));
                block.latency.percentiles.extend(time.map(|t| (p.value, t)));
            }
        }
    }
    block
        .latency
        .percentiles
        .sort_by(|a, b| a.0.total_cmp(&b.0));
    let dialup = line_of(lines, start, next, "DNSDialup");
    block.connect_max = number(value, &["details", "DNSDialup", "slowest"]).and_then(|time| {
        let line = line_of(lines, dialup, next, "slowest");
        at(line, Printed::exact(time))
    });
    let codes = line_of(lines, start, next, "statusCodeDistribution");
    for (code, n) in counts(value, "statusCodeDistribution") {
        let line = line_of(lines, codes, next, code);
        let sum = block.requests.map_or(0, |requests| requests.what);
        block.requests = at(codes, sum.saturating_add(n));
        if code.starts_with(['4', '5']) {
            block.fail(line, format!("status {code}"), n, false);
        }
    }
    let errors = line_of(lines, start, next, "errorDistribution");
    for (text, n) in counts(value, "errorDistribution") {
        failure(&mut block, line_of(lines, errors, next, text), text, n);
    }
    Some(block)
}

fn counts<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = (&'a str, u64)> {
    let map = value.get(key).and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .take(KEYS)
        .filter_map(|(text, n)| Some((text.as_str(), n.as_u64()?)))
}

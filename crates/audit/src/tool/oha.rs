//! oha's JSON. Its text is nearly hey's: see `hey.rs`.

use super::at;
use super::hey::failure;
use super::object::Object;
use crate::model::{Block, Tool};
use crate::text::number::{Printed, leading};

pub(super) fn read_json(json: &Object<'_>) -> Option<Block> {
    json.get(&["summary", "requestsPerSec"])?;
    let mut block = json.block(Tool::Oha);
    let summary = |key| json.figure(&["summary", key], 1.0);
    block.rate = summary("requestsPerSec");
    block.seconds = summary("total");
    block.latency.mean = summary("average");
    block.latency.min = summary("fastest");
    block.latency.max = summary("slowest");
    for (key, time, line) in json.numbers(&["latencyPercentiles"]) {
        if let Some((p, "")) = key.strip_prefix('p').and_then(leading) {
            block.latency.add(p.value, at(line, Printed::exact(time)));
        }
    }
    block.latency.sort();
    block.connect_max = json.figure(&["details", "DNSDialup", "slowest"], 1.0);
    let codes = json.line(&["statusCodeDistribution"]);
    for (code, n, line) in json.numbers(&["statusCodeDistribution"]) {
        let sum = block.requests.map_or(0, |requests| requests.what);
        block.requests = at(codes, sum.saturating_add(n as u64));
        if code.starts_with(['4', '5']) {
            block.fail(line, format!("status {code}"), n as u64, false);
        }
    }
    for (text, n, line) in json.numbers(&["errorDistribution"]) {
        failure(&mut block, line, text, n as u64);
    }
    Some(block)
}

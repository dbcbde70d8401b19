//! Results of whole suites: `TechEmpower`'s and `HttpArena`'s JSON. Each framework's run under each
//! load is an output of wrk, or of gcannon.

use super::{At, Block, Found, Tool, at};
use crate::read::json::number;
use crate::read::number::{Printed, seconds};
use serde_json::Value;

/// More runs than this are not read.
const RUNS: usize = 20_000;

pub(super) fn read_json(start: usize, next: usize, value: &Value) -> Option<Found> {
    let blocks = techempower(start, value).or_else(|| arena(start, value))?;
    Some(Found {
        suite: blocks.len() > 1,
        blocks,
        next,
    })
}

/// `rawData` → test → framework → a run for each level of concurrency.
fn techempower(start: usize, value: &Value) -> Option<Vec<Block>> {
    let raw = value.get("rawData")?.as_object()?;
    let levels = |key: &str| -> Vec<u64> {
        let levels = value.get(key).and_then(Value::as_array);
        levels
            .into_iter()
            .flatten()
            .filter_map(Value::as_u64)
            .collect()
    };
    let (plain, pipelined) = (
        levels("concurrencyLevels"),
        levels("pipelineConcurrencyLevels"),
    );
    let planned = number(value, &["duration"]);
    let mut blocks = Vec::new();
    for (test, frameworks) in raw {
        // Plain text is asked for sixteen times at once on each connection.
        let (levels, depth) = match test.as_str() {
            "plaintext" if !pipelined.is_empty() => (&pipelined, 16),
            _ => (&plain, 1),
        };
        for (name, runs) in frameworks.as_object().into_iter().flatten() {
            for (n, run) in runs.as_array().into_iter().flatten().enumerate() {
                if blocks.len() >= RUNS {
                    break;
                }
                let mut block = Block::new(Tool::Wrk, start);
                let place = |what| {
                    Some(At {
                        what,
                        line: start + 1,
                    })
                };
                let requests = number(run, &["totalRequests"]).filter(|n| *n > 0.0);
                let Some(requests) = requests else { continue };
                let stamps = number(run, &["endTime"]).zip(number(run, &["startTime"]));
                let took = stamps
                    .map(|(end, begin)| end - begin)
                    .filter(|took| *took > 0.0);
                let Some(took) = planned.or(took) else {
                    continue;
                };
                block.name = at(start, format!("{name} ({test})"));
                block.requests = at(start, requests as u64);
                block.rate = place(Printed::exact(requests / took));
                block.connections = levels.get(n).and_then(|level| at(start, *level));
                block.pipeline = at(start, depth);
                let time = |key: &str| seconds(run.get(key)?.as_str()?).and_then(place);
                block.latency.mean = time("latencyAvg");
                block.latency.max = time("latencyMax");
                for (key, late) in [
                    ("connect", false),
                    ("read", false),
                    ("write", false),
                    ("timeout", true),
                ] {
                    let n = number(run, &[key]).unwrap_or(0.0);
                    block.lose(start, key, n as u64, late);
                }
                for key in ["4xx", "5xx"] {
                    block.fail(start, key, number(run, &[key]).unwrap_or(0.0) as u64, false);
                }
                blocks.push(block);
            }
        }
    }
    (!blocks.is_empty()).then_some(blocks)
}

/// A list of runs, each with `framework`, `connections`, `rps`, and latencies as wrk prints them.
fn arena(start: usize, value: &Value) -> Option<Vec<Block>> {
    let runs = value
        .as_array()
        .or_else(|| value.get("results")?.as_array())?;
    let mut blocks = Vec::new();
    for run in runs.iter().take(RUNS) {
        let name = run.get("framework").or_else(|| run.get("name"))?.as_str()?;
        let rate = number(run, &["rps"]).or_else(|| number(run, &["requests_per_second"]))?;
        let mut block = Block::new(Tool::Gcannon, start);
        let place = |what| {
            Some(At {
                what,
                line: start + 1,
            })
        };
        block.name = at(start, name.to_owned());
        block.rate = place(Printed::exact(rate));
        block.connections = number(run, &["connections"]).and_then(|n| at(start, n as u64));
        block.pipeline = at(
            start,
            number(run, &["pipeline"]).map_or(1, |n| n.max(1.0) as u64),
        );
        let duration = run.get("duration");
        let planned =
            duration.and_then(|d| d.as_f64().or_else(|| Some(seconds(d.as_str()?)?.value)));
        block.seconds = planned.and_then(|s| place(Printed::exact(s)));
        let time = |keys: [&str; 2]| {
            let text = keys.iter().find_map(|key| run.get(*key)?.as_str())?;
            seconds(text).and_then(place)
        };
        block.latency.mean = time(["avg_latency", "latency_avg"]);
        block.latency.max = time(["max_latency", "latency_max"]);
        block
            .latency
            .percentiles
            .extend(time(["p99_latency", "latency_p99"]).map(|time| (99.0, time)));
        for key in ["status_4xx", "status_5xx"] {
            block.fail(start, key, number(run, &[key]).unwrap_or(0.0) as u64, false);
        }
        blocks.push(block);
    }
    (!blocks.is_empty()).then_some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_suite() {
        let value = serde_json::json!({
            "duration": 15, "concurrencyLevels": [16, 32], "pipelineConcurrencyLevels": [256],
            "rawData": {
                "json": {"a": [
                    {"latencyAvg": "1.00ms", "latencyMax": "9.00ms", "totalRequests": 150_000},
                    {"latencyAvg": "2.00ms", "latencyMax": "9.00ms", "totalRequests": 300_000, "5xx": 7},
                ]},
                "plaintext": {"b": [{"latencyAvg": "40.00ms", "totalRequests": 1_500_000}]},
            },
        });
        let found = read_json(0, 9, &value).unwrap();
        assert_eq!((found.blocks.len(), found.suite), (3, true));
        let second = &found.blocks[1];
        assert_eq!(second.name.as_ref().unwrap().what, "a (json)");
        assert_eq!(
            (
                second.connections.unwrap().what,
                second.rate.unwrap().what.value
            ),
            (32, 20_000.0)
        );
        assert_eq!(second.errors[0].what.count, 7);
        assert_eq!(found.blocks[2].pipeline.unwrap().what, 16);
    }

    #[test]
    fn a_list_of_runs() {
        let text = "[\n  {\"framework\": \"a\", \"rps\": 90000, \"avg_latency\": \"1.10ms\", \"p99_latency\": \"3ms\",\n\
            \"connections\": 100, \"pipeline\": 1, \"duration\": \"5s\", \"status_5xx\": 3},\n\
            {\"framework\": \"b\", \"rps\": 40000, \"avg_latency\": \"9.10ms\", \"connections\": 100}\n]\n";
        let document = crate::read("x.json", text);
        assert_eq!((document.outputs.len(), document.suite), (2, true));
        let block = &document.outputs[0].block;
        assert_eq!((block.tool, block.errors[0].what.count), (Tool::Gcannon, 3));
        let audit = crate::audit(&[("x.json".into(), text.into())]);
        assert_eq!(audit.suites[0].systems.len(), 2, "{audit:?}");
    }
}

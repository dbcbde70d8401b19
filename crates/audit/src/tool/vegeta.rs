//! vegeta: `report` as text and as JSON.

use super::object::Object;
use super::{FoundBlocks, LineRole, at, finish, walk};
use crate::model::{Block, Tool};
use crate::text::lines::Lines;
use crate::text::number::{Printed, count, leading, percent, seconds, whole};

/// JSON times are in nanoseconds.
const NS: f64 = 1e-9;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let line = lines.get(start).trim();
    (line.starts_with("Requests") && line.contains("[total")).then_some(())?;
    let mut block = Block::new(Tool::Vegeta, start);
    let mut errors = None;
    let last = walk(lines, start, |i, line| {
        // The set of errors ends it: one in each line, and none behind an empty one.
        match errors {
            Some(before) if i == before + 1 && !line.starts_with(['#', '`', '$']) => {
                errors = Some(i);
                return LineRole::Taken;
            }
            Some(_) => return LineRole::Over,
            None if line.starts_with("Error Set:") => {
                errors = Some(i);
                return LineRole::Taken;
            }
            None => {}
        }
        take(&mut block, i, line)
    });
    finish(block, last)
}

fn take(block: &mut Block, i: usize, line: &str) -> LineRole {
    // `Latencies     [min, mean, 50, 90, 95, 99, max]  1ms, …`
    let Some((name, (columns, values))) = line.split_once('[').and_then(|(name, rest)| {
        let columns = rest.split_once(']')?;
        Some((name, columns))
    }) else {
        return LineRole::Unknown;
    };
    let columns = columns.split(',').map(str::trim);
    let values: Vec<&str> = values.split(',').map(str::trim).collect();
    let pairs: Vec<(&str, &str)> = columns.zip(values.iter().copied()).collect();
    match name.trim() {
        "Requests" if block.requests.is_some() => return LineRole::Over,
        "Requests" => {
            for (column, value) in pairs {
                match column {
                    "total" => block.requests = whole(value).and_then(|n| at(i, n)),
                    "rate" => block.asked = count(value).and_then(|n| at(i, n.value)),
                    // Older versions have the rate here, and no throughput.
                    _ => block.rate = count(value).and_then(|n| at(i, n)),
                }
            }
            if block.rate.is_none() {
                block.rate = block.asked.and_then(|n| at(i, Printed::exact(n.what)));
            }
        }
        "Duration" => {
            let attack = pairs.iter().find(|(column, _)| *column == "attack");
            let time = attack.and_then(|(_, value)| seconds(value));
            block.seconds = time.and_then(|time| at(i, time));
        }
        "Latencies" => {
            for (column, value) in pairs {
                let Some(time) = seconds(value).and_then(|time| at(i, time)) else {
                    continue;
                };
                match column {
                    "min" => block.latency.min = Some(time),
                    "mean" => block.latency.mean = Some(time),
                    "max" => block.latency.max = Some(time),
                    p => {
                        let p = leading(p).map(|(p, _)| (p.value, time));
                        block.latency.percentiles.extend(p);
                    }
                }
            }
        }
        "Success" => {
            let share = values.first().and_then(|share| percent(share));
            if let (Some(share), Some(requests)) = (share, block.requests) {
                let failed = requests.what as f64 * (1.0 - share / 100.0);
                block.fail(i, "failed", failed.round() as u64, false);
            }
        }
        "Status Codes" | "Bytes In" | "Bytes Out" => {}
        _ => return LineRole::Unknown,
    }
    LineRole::Taken
}

pub(super) fn read_json(json: &Object<'_>) -> Option<Block> {
    json.get(&["latencies", "99th"])?;
    let mut block = json.block(Tool::Vegeta);
    block.requests = json.whole(&["requests"]);
    block.asked = json
        .number(&["rate"])
        .and_then(|n| at(json.line(&["rate"]), n));
    let rate = json.figure(&["throughput"], 1.0);
    block.rate = rate.or_else(|| json.figure(&["rate"], 1.0));
    block.seconds = json.figure(&["duration"], NS);
    let time = |key| json.figure(&["latencies", key], NS);
    block.latency.min = time("min");
    block.latency.mean = time("mean");
    block.latency.max = time("max");
    for (key, p) in [
        ("50th", 50.0),
        ("90th", 90.0),
        ("95th", 95.0),
        ("99th", 99.0),
    ] {
        block.latency.add(p, time(key));
    }
    if let (Some(share), Some(requests)) = (json.number(&["success"]), block.requests) {
        let failed = requests.what as f64 * (1.0 - share);
        let line = json.line(&["success"]);
        block.fail(line, "failed", failed.round() as u64, false);
    }
    Some(block)
}

#[cfg(test)]
mod tests {
    use super::super::one;
    use crate::model::Tool;

    #[test]
    fn a_report() {
        let block = one(
            "Requests      [total, rate, throughput]         1000, 100.10, 95.09\n\
            Duration      [total, attack, wait]             9.995s, 9.99s, 4.9ms\n\
            Latencies     [min, mean, 50, 90, 95, 99, max]  1.1ms, 2.5ms, 2.1ms, 4ms, 5ms, 9.5ms, 31ms\n\
            Bytes In      [total, mean]                     13000, 13.00\n\
            Success       [ratio]                           95.00%\n\
            Status Codes  [code:count]                      200:950  503:50\nError Set:\n503 Service Unavailable\n",
        );
        assert_eq!(
            (block.tool, block.requests.unwrap().what),
            (Tool::Vegeta, 1000)
        );
        assert_eq!(
            (block.rate.unwrap().what.value, block.asked.unwrap().what),
            (95.09, 100.10)
        );
        assert_eq!(block.errors[0].what.count, 50);
        assert_eq!(block.latency.percentile(99.0).unwrap().what.value, 9.5e-3);
        assert_eq!(block.seconds.unwrap().what.value, 9.99);
        assert_eq!(block.last, 8);
    }

    #[test]
    fn what_follows_the_errors_is_no_part_of_them() {
        let text = |name: &str| {
            format!(
                "### {name}\n\n`echo GET http://10.0.0.2/ | vegeta attack -rate=100/s | vegeta report`\n\n\
                Requests      [total, rate, throughput]  1000, 100.10, 95.09\n\
                Duration      [total, attack, wait]      9.995s, 9.99s, 4.9ms\n\
                Success       [ratio]                    95.00%\nError Set:\n503 Service Unavailable\n\n"
            )
        };
        let document = crate::read("v.md", &(text("one") + &text("two")));
        let names: Vec<_> = document
            .outputs
            .iter()
            .map(|output| output.place.headings[0].0.as_str())
            .collect();
        assert_eq!(
            (names.as_slice(), document.commands.len()),
            (["one", "two"].as_slice(), 2)
        );
    }
}

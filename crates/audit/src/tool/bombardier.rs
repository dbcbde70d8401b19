//! bombardier: its text, and its JSON.

use super::object::Object;
use super::{FoundBlocks, LineRole, at, finish, walk};
use crate::model::{Block, Tool};
use crate::text::lines::Lines;
use crate::text::number::{Printed, count, leading, percent, seconds, whole};
use serde_json::Value;

/// JSON times are in microseconds.
const US: f64 = 1e-6;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let line = lines.get(start).trim();
    let header = line.starts_with("Statistics") && line.contains("Avg") && line.contains("Stdev");
    if !line.starts_with("Bombarding ") && !header {
        return None;
    }
    let mut block = Block::new(Tool::Bombardier, start);
    let last = walk(lines, start, |i, line| take(&mut block, i, line));
    finish(block, last)
}

fn take(block: &mut Block, i: usize, line: &str) -> LineRole {
    let words: Vec<&str> = line.split_whitespace().collect();
    if let Some(rest) = line.strip_prefix("Bombarding ") {
        if i + 1 > block.first {
            return LineRole::Over;
        }
        // `http://host for 10s using 125 connection(s)`, `… with 1000 request(s) using …`
        block.url = words.get(1).and_then(|url| at(i, (*url).to_owned()));
        let n = rest
            .split(" using ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        block.connections = n.and_then(whole).and_then(|n| at(i, n));
        let time = rest
            .split(" for ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        block.planned = time.and_then(seconds).and_then(|time| at(i, time.value));
    } else if words.first() == Some(&"Reqs/sec") {
        block.rate = words.get(1).and_then(|n| count(n)).and_then(|n| at(i, n));
    } else if words.first() == Some(&"Latency") && words.len() >= 4 {
        block.latency.mean = seconds(words[1]).and_then(|time| at(i, time));
        block.latency.max = seconds(words[3]).and_then(|time| at(i, time));
    } else if words.len() == 2 && percent(words[0]).is_some() {
        let time = seconds(words[1]).and_then(|time| at(i, time));
        block
            .latency
            .percentiles
            .extend(percent(words[0]).zip(time));
    } else if line.starts_with("1xx - ") || line.starts_with("others - ") {
        for part in line.split(',') {
            let Some((class, n)) = part.trim().split_once(" - ") else {
                continue;
            };
            let n = whole(n).unwrap_or(0);
            match class {
                "4xx" | "5xx" => block.fail(i, class, n, false),
                "others" => block.lose(i, "other errors", n, false),
                _ => {}
            }
            if class != "others" {
                let sum = block.requests.map_or(0, |requests| requests.what);
                block.requests = at(i, sum.saturating_add(n));
            }
        }
    } else if words.first() == Some(&"Throughput:") {
        return LineRole::Last;
    } else if line.contains("timeout") && leading(words.last().unwrap_or(&"")).is_some() {
        // `timeout - 12`: among the others of the line before.
        let n = words.last().and_then(|n| whole(n)).unwrap_or(0);
        if let Some(others) = block
            .errors
            .iter_mut()
            .find(|e| e.what.how == "other errors")
        {
            others.what.count = others.what.count.saturating_sub(n);
        }
        block.errors.retain(|error| error.what.count > 0);
        block.lose(i, "timeout", n, true);
    } else if !(words.first() == Some(&"Statistics")
        || line.starts_with("Latency Distribution")
        || line.starts_with("HTTP codes:")
        || line.starts_with("Errors:")
        || line.starts_with("Done!")
        || line.starts_with('[')
        || line.contains("connection") && line.contains(" - "))
    {
        return LineRole::Unknown;
    }
    LineRole::Taken
}

/// `-o json`: everything in one line, unless something has set it in several.
pub(super) fn read_json(json: &Object<'_>) -> Option<Block> {
    json.get(&["result", "req2xx"])?;
    let mut block = json.block(Tool::Bombardier);
    let number = |path: &[&str]| at(json.line(path), json.number(path)?);
    block.url = json.text(&["spec", "url"]);
    block.connections = json.whole(&["spec", "numberOfConnections"]);
    block.planned = number(&["spec", "testDurationSeconds"]);
    block.asked = number(&["spec", "rate"]);
    let figure = |path: &[&str], unit: f64| {
        let figure = json.figure(&[&["result"], path].concat(), unit);
        figure.filter(|figure| figure.what.value > 0.0)
    };
    let count = |key: &str| json.count(&["result", key]);
    let line = |key: &str| json.line(&["result", key]);
    block.seconds = figure(&["timeTakenSeconds"], 1.0);
    let classes = ["req1xx", "req2xx", "req3xx", "req4xx", "req5xx"];
    let requests = classes.iter().map(|class| count(class)).sum();
    block.requests = at(line("req2xx"), requests);
    block.rate = figure(&["rps", "mean"], 1.0);
    block.latency.mean = figure(&["latency", "mean"], US);
    block.latency.max = figure(&["latency", "max"], US);
    for (p, time, line) in json.numbers(&["result", "latency", "percentiles"]) {
        if let Some(p) = whole(p) {
            block
                .latency
                .add(p as f64, at(line, Printed::exact(time * US)));
        }
    }
    for class in ["req4xx", "req5xx"] {
        block.fail(line(class), &class[3..], count(class), false);
    }
    // What is among the others is listed once more, by what it was.
    let mut others = count("others");
    for error in json.items(&["result", "errors"]) {
        let how = error.get("description").and_then(Value::as_str);
        let count = error.get("count").and_then(Value::as_u64).unwrap_or(0);
        if how.is_some_and(is_timeout) {
            others = others.saturating_sub(count);
            block.lose(line("errors"), "timeout", count, true);
        }
    }
    block.lose(line("others"), "other errors", others, false);
    Some(block)
}

fn is_timeout(how: &str) -> bool {
    how.contains("timeout") || how.contains("timed out")
}

#[cfg(test)]
mod tests {
    use super::super::one;
    use crate::model::Tool;
    use prony_checks::CheckId;

    #[test]
    fn its_json() {
        let text = "{\"spec\":{\"numberOfConnections\":125,\"testType\":\"timed\",\"testDurationSeconds\":10,\
            \"method\":\"GET\",\"url\":\"http://10.0.0.2:8080/\",\"body\":\"\",\"stream\":false,\"timeoutSeconds\":2,\
            \"client\":\"fasthttp\"},\"result\":{\"bytesRead\":1000,\"bytesWritten\":10,\"timeTakenSeconds\":10.0021,\
            \"req1xx\":0,\"req2xx\":500000,\"req3xx\":0,\"req4xx\":0,\"req5xx\":0,\"others\":0,\
            \"latency\":{\"mean\":2480.5,\"stddev\":900.1,\"max\":40100,\
            \"percentiles\":{\"50\":2200,\"75\":2600,\"90\":3300,\"95\":4100,\"99\":9100}},\
            \"rps\":{\"mean\":50010.5,\"stddev\":3000.1,\"max\":61000,\"percentiles\":{\"50\":50000.000000}}}}\n";
        let names = |text: &str| -> Vec<CheckId> {
            let audit = crate::audit(&[("b.json".into(), text.into())]);
            audit.remarks.into_iter().map(|r| r.finding.name).collect()
        };
        let block = crate::read("b.json", text).outputs[0].block.clone();
        assert_eq!(
            (block.tool, block.connections.unwrap().what),
            (Tool::Bombardier, 125)
        );
        assert_eq!(block.rate.unwrap().what.value, 50_010.5);
        assert_eq!(block.latency.percentiles.len(), 5);
        assert_eq!(names(text), []);
        let late = "\"others\":700,\"errors\":[{\"description\":\"dialing to the given TCP address timed out\",\"count\":700}]";
        let text = text.replace("\"others\":0", late);
        assert_eq!(names(&text), [CheckId::TimeOutsMissing, CheckId::Errors]);
        let text = text.replace("\"mean\":2480.5", "\"mean\":248000.5");
        assert!(names(&text).contains(&CheckId::LittlesLaw));
        assert!(names(&text).contains(&CheckId::PercentileOrder));
    }

    #[test]
    fn statistics_and_codes() {
        let block = one(
            "Bombarding http://10.0.0.2:8080 for 10s using 125 connection(s)\n\
            [=====================] 10s\nDone!\nStatistics        Avg      Stdev        Max\n  \
            Reqs/sec     50000.12    4000.50   61000.00\n  Latency        2.49ms     1.20ms   120.33ms\n  \
            Latency Distribution\n     50%     2.20ms\n     99%     9.10ms\n  HTTP codes:\n    \
            1xx - 0, 2xx - 499000, 3xx - 0, 4xx - 0, 5xx - 900\n    others - 100\n  Errors:\n    \
            timeout - 60\n  Throughput:    10.10MB/s\nbehind\n",
        );
        assert_eq!((block.tool, block.last), (Tool::Bombardier, 15));
        assert_eq!(
            (
                block.connections.unwrap().what,
                block.requests.unwrap().what
            ),
            (125, 499_900)
        );
        assert_eq!(block.latency.percentile(99.0).unwrap().what.value, 9.1e-3);
        assert_eq!(block.timed_out(), 60);
        let errors: Vec<_> = block.errors.iter().map(|e| e.what.count).collect();
        assert_eq!(errors, [900, 40, 60]);
    }
}

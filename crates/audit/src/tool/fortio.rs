//! fortio: what it prints, and the JSON file of a run.

use super::object::Object;
use super::{FoundBlocks, LineRole, at, finish, walk};
use crate::model::{At, Block, Tool};
use crate::text::json::{line_of, number};
use crate::text::lines::Lines;
use crate::text::number::{Printed, count, leading, seconds, whole};
use crate::words::Words;
use serde_json::Value;

/// From the first percentile to the last line there are no more lines than this.
const ENDING: usize = 20;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let line = lines.get(start).trim();
    let begins = line.starts_with("Fortio ") && line.contains(" running at ")
        || line.starts_with("Starting at ") && line.contains(" qps with ")
        || line.starts_with("Aggregated Function Time : count ")
        || line.starts_with("All done ") && line.ends_with(" qps")
        // The end of an output, as it is often kept.
        || line.starts_with("# target ")
            && (start + 1..start + ENDING).any(|i| lines.get(i).trim().starts_with("All done "));
    begins.then_some(())?;
    let mut block = Block::new(Tool::Fortio, start);
    let last = walk(lines, start, |i, line| take(&mut block, i, line));
    finish(block, last)
}

fn take(block: &mut Block, i: usize, line: &str) -> LineRole {
    let words: Vec<&str> = line.split_whitespace().collect();
    let behind = |name: &str| {
        let place = words.iter().position(|word| *word == name)?;
        words.get(place + 1).copied()
    };
    let figure = |name: &str| behind(name).and_then(float).and_then(|n| at(i, n));
    if line.starts_with("Fortio ") {
        if i + 1 > block.first {
            return LineRole::Over;
        }
        block.url = words
            .last()
            .filter(|word| word.contains("://"))
            .and_then(|url| at(i, (*url).to_owned()));
        asked(block, i, behind("at"));
    } else if line.starts_with("Starting at ") {
        if block.latency.mean.is_some() {
            return LineRole::Over;
        }
        // `Starting at 500 qps with 4 thread(s) …`, each with a connection; `at max qps` is no rate.
        asked(block, i, behind("at"));
        block.connections = behind("with").and_then(whole).and_then(|n| at(i, n));
    } else if let Some(rest) = line.strip_prefix("Ended after ") {
        let time = rest.split(' ').next().and_then(seconds);
        block.seconds = time.and_then(|time| at(i, time));
        // Its last line says it again, where it is there.
        let rate = rest.rsplit_once("qps=").and_then(|(_, rate)| count(rate));
        block.rate = rate.and_then(|rate| at(i, rate));
    } else if line.starts_with("Aggregated Function Time") {
        // What stands before it is of the time that fortio slept.
        block.latency.percentiles.clear();
        block.requests = behind("count").and_then(whole).and_then(|n| at(i, n));
        block.latency.mean = figure("avg");
        block.latency.min = figure("min");
        block.latency.max = figure("max");
    } else if line.starts_with("Connection time") {
        block.connect_max = figure("max");
    } else if let Some(rest) = line.strip_prefix("# target ") {
        // Sleep times before it and times of connecting behind it are listed in the same way. Where the output begins
        // here there are neither.
        let kept = block.first <= i + 1 && block.url.is_none() && block.seconds.is_none();
        let own = block.latency.mean.is_some() || kept && block.connections.is_none();
        if own
            && block.connect_max.is_none()
            && let Some((p, time)) = rest.split_once("% ")
            && let (Some(p), Some(time)) = (count(p), float(time))
        {
            let time = at(i, time).map(|time| (p.value, time));
            block.latency.percentiles.extend(time);
        }
    } else if let Some(rest) = line.strip_prefix("Code ") {
        let (code, rest) = rest.trim_start().split_once(' ').unwrap_or((rest, ""));
        let n = rest.trim_start_matches([':', ' ']).split(' ').next();
        failed(block, i, code, n.and_then(whole).unwrap_or(0));
    } else if line.starts_with("All done ") {
        let rate = words.iter().rev().nth(1).and_then(|n| count(n));
        block.rate = rate.and_then(|n| at(i, n));
        if block.latency.mean.is_none() && line.contains(" ms avg") {
            let mean = words.iter().position(|word| *word == "ms");
            let mean = mean.and_then(|ms| float(words[ms - 1]));
            block.latency.mean = mean.and_then(|n| at(i, n.times(1e-3)));
        }
        if block.requests.is_none() {
            block.requests = words.get(2).and_then(|n| whole(n)).and_then(|n| at(i, n));
        }
        return LineRole::Last;
    } else if line.starts_with("Sockets used: ") {
        let would = line.split("would be ").nth(1);
        let would = would.and_then(|n| whole(n.trim_end_matches(')')));
        block.connections = would.and_then(|n| at(i, n)).or(block.connections);
    } else if !is_known(line, words.first().copied().unwrap_or("")) {
        return LineRole::Unknown;
    }
    LineRole::Taken
}

/// The rate that was asked for; `0` and `max` are none.
fn asked(block: &mut Block, i: usize, rate: Option<&str>) {
    let rate = rate.and_then(count).filter(|n| n.value > 0.0);
    block.asked = rate.and_then(|n| at(i, n.value)).or(block.asked);
}

/// Every answer is under its code; -1 is an error of the socket, a time-out among them.
fn failed(block: &mut Block, i: usize, code: &str, n: u64) {
    let how = match code {
        "-1" => "socket errors".to_owned(),
        code if code.starts_with(['2', '3']) => return,
        code => format!("status {code}"),
    };
    block.fail(i, how, n, false);
}

fn is_known(line: &str, first: &str) -> bool {
    const WORDS: Words = Words(
        "Error cases, Uniform, IP addresses, Response, Jitter, Sleep times, WARNING, Successfully \
        wrote, Total Bytes, Aggregated Sleep",
    );
    WORDS.begin(line)
        || line.starts_with(['#', '>', '[', '-', '{'])
        || line.contains(" : ")
        // A time: what it logs.
        || first.contains(':') && first.starts_with(|c: char| c.is_ascii_digit())
}

/// A number as Go prints one: `0.00022`, `1.6e-05`.
fn float(text: &str) -> Option<Printed> {
    let (number, rest) = leading(text.trim())?;
    let Some(power) = rest.strip_prefix('e') else {
        return rest.is_empty().then_some(number);
    };
    let power: i32 = power.parse().ok()?;
    ((-30..30).contains(&power)).then(|| number.times(10_f64.powi(power)))
}

pub(super) fn read_json(json: &Object<'_>) -> Option<Block> {
    const TIMES: &str = "DurationHistogram";
    json.get(&[TIMES])?;
    json.number(&["ActualQPS"])?;
    let mut block = json.block(Tool::Fortio);
    block.rate = json.figure(&["ActualQPS"], 1.0);
    let lasted = json.figure(&["ActualDuration"], 1e-9);
    block.seconds = lasted.filter(|lasted| lasted.what.value > 0.0);
    let rate = json.get(&["RequestedQPS"]).and_then(Value::as_str);
    asked(&mut block, json.line(&["RequestedQPS"]), rate);
    block.connections = json.whole(&["NumThreads"]);
    let url = json.text(&["URL"]);
    block.url = url.or_else(|| json.text(&["Destination"]));
    block.requests = json.whole(&[TIMES, "Count"]);
    // Of nothing it writes zeros.
    if block.requests.is_some_and(|requests| requests.what > 0) {
        let time = |key| json.figure(&[TIMES, key], 1.0);
        block.latency.min = time("Min");
        block.latency.mean = time("Avg");
        block.latency.max = time("Max");
        let mut own = json.line(&[TIMES, "Percentiles"]);
        for one in json.items(&[TIMES, "Percentiles"]) {
            let of = |key| number(one, &[key]);
            let Some((p, time)) = of("Percentile").zip(of("Value")) else {
                continue;
            };
            // Each in lines of its own, unless everything is in one.
            if own + 1 < json.next {
                own = line_of(json.lines, own + 1, json.next, "Value");
            }
            block.latency.add(p, at(own, Printed::exact(time)));
        }
    }
    let connect = json.figure(&["ConnectionStats", "Max"], 1.0);
    let connect = connect.filter(|time| time.what.value > 0.0);
    block.connect_max = connect.map(|time| At {
        line: json.line(&["ConnectionStats"]) + 1,
        ..time
    });
    let size = json.number(&["Sizes", "Avg"]).filter(|size| *size > 0.0);
    let place = json.line(&["Sizes"]);
    block.response_bytes = size.and_then(|size| at(place, Printed::exact(size)));
    for (code, n, line) in json.numbers(&["RetCodes"]) {
        // gRPC's and TCP's codes are words.
        if !matches!(code, "SERVING" | "OK") {
            failed(&mut block, line, code, n as u64);
        }
    }
    Some(block)
}

#[cfg(test)]
mod tests {
    use super::super::one;
    use super::*;
    use prony_checks::CheckId;

    fn near(found: Option<At<Printed>>, expected: f64) {
        let found = found.unwrap().what.value;
        assert!((found - expected).abs() < 1e-12, "{found}");
    }

    #[test]
    fn what_is_printed() {
        let block = one(
            "Fortio 1.66.0 running at 500 queries per second, 2->2 procs, for 4s: http://10.0.0.2/e\n\
            14:00:01.000 r1 [INF] httprunner.go:121> Starting http test\n\
            Starting at 500 qps with 4 thread(s) [gomax 2] for 4s : 500 calls each (total 2000)\n\
            Ended after 4.001s : 2000 calls. qps=499.88\n\
            Aggregated Function Time : count 2000 avg 0.00022 +/- 0.0002 min 1.6e-05 max 0.0111 sum 0.44\n\
            # target 50% 0.0005\n# target 99% 0.000995\nError cases : count 2 avg 0.0002 +/- 0 min 0 max 0 sum 0\n\
            # Socket and IP used for each connection:\n\
            Connection time (s) : count 9 avg 0.0002 +/- 0.0001 min 0.0001 max 1.0004 sum 0.002\n\
            # target 99% 1.0004\n\
            Sockets used: 9 (for perfect keepalive, would be 4)\nCode  -1 : 1 (0.1 %)\nCode 200 : 1998 (99.9 %)\n\
            Code 503 : 1 (0.1 %)\n\
            All done 2000 calls (plus 4 warmup) 0.220 ms avg, 499.9 qps\n",
        );
        assert_eq!(
            (block.tool, block.last, block.connections.unwrap().what),
            (Tool::Fortio, 16, 4)
        );
        let errors: Vec<_> = block.errors.iter().map(|e| e.what.how.as_str()).collect();
        assert_eq!(errors, ["socket errors", "status 503"]);
        assert_eq!(block.asked.unwrap().what, 500.0);
        assert_eq!(block.latency.percentiles.len(), 2);
        near(block.rate, 499.9);
        near(block.seconds, 4.001);
        near(block.latency.min, 1.6e-5);
        near(block.connect_max, 1.0004);
    }

    #[test]
    fn what_it_slept_is_no_response_time() {
        let block = one(
            "Fortio 1.66.0 running at 5000 queries per second, 2->2 procs, for 1m0s: http://10.0.0.2/\n\
            Aggregated Sleep Time : count 299992 avg 8.8e-05 +/- 0.002 min -0.03 max 0.001 sum 26.6\n\
            # target 50% 0.000453102\nWARNING 8.58% of sleep were falling behind\n\
            Aggregated Function Time : count 300000 avg 0.000946 +/- 0.00079 min 0.00051 max 0.029 sum 283.8\n\
            # target 50% 0.00081\nAll done 300000 calls (plus 4 warmup) 0.946 ms avg, 4999.9 qps\n",
        );
        assert_eq!(block.latency.percentiles.len(), 1);
        near(block.latency.percentile(50.0), 0.00081);
    }

    const JSON: &str = "{\n  \"RunType\": \"HTTP\",\n  \"RequestedQPS\": \"max\",\n  \"ActualQPS\": 5000,\n  \
        \"ActualDuration\": 10000000000,\n  \"NumThreads\": 8,\n  \"Version\": \"1.66.0\",\n  \
        \"DurationHistogram\": {\n    \"Count\": 50000,\n    \"Min\": 0.0002,\n    \"Max\": 0.031,\n    \
        \"Sum\": 75,\n    \"Avg\": 0.0015,\n    \"Percentiles\": [\n      {\n        \"Percentile\": 50,\n        \
        \"Value\": 0.0012\n      },\n      {\n        \"Percentile\": 99,\n        \"Value\": 0.009\n      }\n    ]\n  },\n  \
        \"RetCodes\": {\n    \"200\": 49990,\n    \"503\": 10\n  },\n  \"Sizes\": { \"Avg\": 120 },\n  \
        \"URL\": \"http://10.0.0.2/\"\n}\n";

    #[test]
    fn the_file_of_a_run() {
        let document = crate::read("fortio.json", JSON);
        let block = &document.outputs[0].block;
        assert_eq!((block.tool, block.asked), (Tool::Fortio, None));
        assert_eq!(block.connections.unwrap().what, 8);
        assert_eq!(block.errors[0].what.count, 10);
        let p99 = block.latency.percentile(99.0).unwrap();
        assert_eq!((p99.what.value, p99.line), (0.009, 21));
        assert_eq!(block.latency.mean.unwrap().line, 13);
        near(block.seconds, 10.0);
        assert_eq!(
            crate::read("x.json", "{\"ActualQPS\": 1}\n").outputs.len(),
            0
        );
    }

    #[test]
    fn an_impossible_mean() {
        let names = |text: &str| -> Vec<CheckId> {
            let audit = crate::audit(&[("fortio.json".into(), text.into())]);
            audit.remarks.into_iter().map(|r| r.finding.name).collect()
        };
        let clean = JSON.replace("\"503\": 10", "\"204\": 10");
        assert_eq!(names(&clean), []);
        let changed = clean.replace("\"Avg\": 0.0015", "\"Avg\": 0.0045");
        assert_eq!(names(&changed), [CheckId::LittlesLaw]);
        let changed = clean.replace("\"ActualQPS\": 5000", "\"ActualQPS\": 5900");
        assert_eq!(names(&changed), [CheckId::RatioDisagrees]);
    }

    #[test]
    fn an_output_without_its_last_line() {
        let block = one(
            "Starting at 100 qps with 1 thread(s) [gomax 16] for 30s : 3000 calls each (total 3000)\n\
            Ended after 30.024556007s : 291 calls. qps=9.6921\n",
        );
        assert_eq!(block.asked.unwrap().what, 100.0);
        assert!((block.rate.unwrap().what.value - 9.6921).abs() < 1e-9);
    }
}

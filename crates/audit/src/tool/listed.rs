//! Tools that end with a short list of `name: value` lines: siege, fortio, ghz, rewrk, Gatling and
//! Artillery.

use super::{Block, Found, Step, Tool, at, finish, walk};
use crate::read::lines::Lines;
use crate::read::number::{Printed, count, leading, percent, seconds, whole};

type Take = fn(&mut Block, usize, &str) -> Step;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let line = lines.get(start).trim();
    let lower = |i: usize| lines.get(i).trim().to_lowercase();
    let (tool, take): (Tool, Take) = if is_siege(line) {
        (Tool::Siege, siege)
    } else if line.starts_with("Fortio ") && line.contains(" running at ")
        || line.starts_with("Aggregated Function Time : count ")
        || line.starts_with("All done ") && line.ends_with(" qps")
    {
        (Tool::Fortio, fortio)
    } else if line == "Summary:" && (start + 1..start + 5).any(|i| lower(i).starts_with("count:")) {
        (Tool::Ghz, ghz)
    } else if line.starts_with("Beginning round ") || line == "Latencies:" {
        (Tool::Rewrk, rewrk)
    } else if line.starts_with("---- Global Information ---")
        || line.starts_with("> request count ")
    {
        (Tool::Gatling, gatling)
    } else if line.starts_with("http.codes.")
        || line.starts_with("http.request_rate:")
        || line.starts_with("http.requests:")
    {
        (Tool::Artillery, artillery)
    } else {
        return None;
    };
    let mut block = Block::new(tool, start);
    let last = walk(lines, start, |i, line| take(&mut block, i, line));
    // Of a rate alone nothing else says which tool it is of.
    let known = tool != Tool::Rewrk || block.rate.is_some() && block.latency.mean.is_some();
    known.then(|| finish(block, last))?
}

/// `Transactions:  20553 hits`, and siege's JSON, `"transactions": 20553,`.
fn is_siege(line: &str) -> bool {
    line.starts_with("Transactions:") && line.ends_with("hits")
        || line.ends_with("\"transactions\":")
        || line.contains("\"transactions\":\t")
}

fn siege(block: &mut Block, i: usize, line: &str) -> Step {
    let line = line
        .trim_start_matches(['{', '\t', ' '])
        .trim_end_matches(',');
    let Some((key, value)) = line.split_once(':') else {
        return if line == "}" {
            Step::Last
        } else {
            Step::Unknown
        };
    };
    let key = key
        .trim()
        .trim_matches('"')
        .replace('_', " ")
        .to_lowercase();
    let n = leading(value.trim()).map(|(n, _)| n);
    let place = |n: Option<Printed>| n.and_then(|n| at(i, n));
    match key.as_str() {
        "transactions" if block.requests.is_some() => return Step::Over,
        "transactions" => block.requests = n.and_then(|n| at(i, n.value as u64)),
        "elapsed time" => block.seconds = place(n),
        "transaction rate" => block.rate = place(n),
        // Seconds, or milliseconds where it says so.
        "response time" => {
            let ms = value.contains("ms");
            block.latency.mean = place(n.map(|n| if ms { n.times(1e-3) } else { n }));
        }
        "longest transaction" => {
            let ms = value.contains(" ms");
            block.latency.max = place(n.map(|n| if ms { n.times(1e-3) } else { n }));
        }
        "failed transactions" => {
            let failed = n.map_or(0, |n| n.value as u64);
            block.lose(i, "failed", failed, false);
        }
        "shortest transaction" => return Step::Taken,
        "availability"
        | "data transferred"
        | "throughput"
        | "concurrency"
        | "successful transactions" => {}
        _ => return Step::Unknown,
    }
    Step::Taken
}

fn fortio(block: &mut Block, i: usize, line: &str) -> Step {
    let words: Vec<&str> = line.split_whitespace().collect();
    let behind = |name: &str| {
        let place = words.iter().position(|word| *word == name)?;
        words.get(place + 1).copied()
    };
    if line.starts_with("Fortio ") {
        if i + 1 > block.first {
            return Step::Over;
        }
        block.url = words
            .last()
            .filter(|word| word.contains("://"))
            .and_then(|url| at(i, (*url).to_owned()));
        let asked = behind("at").and_then(count).filter(|n| n.value > 0.0);
        block.asked = asked.and_then(|n| at(i, n.value));
    } else if line.starts_with("Aggregated Function Time") {
        // What stands before it is of the time that fortio slept.
        block.latency.percentiles.clear();
        block.requests = behind("count").and_then(whole).and_then(|n| at(i, n));
        let time = |name: &str| behind(name).and_then(count).and_then(|n| at(i, n));
        block.latency.mean = time("avg");
        block.latency.min = time("min");
        block.latency.max = time("max");
    } else if let Some(rest) = line.strip_prefix("# target ") {
        if block.latency.mean.is_some()
            && let Some((p, time)) = rest.split_once("% ")
            && let (Some(p), Some(time)) = (count(p), count(time))
        {
            block
                .latency
                .percentiles
                .extend(at(i, time).map(|time| (p.value, time)));
        }
    } else if let Some(rest) = line.strip_prefix("Code ") {
        let code = rest.split(' ').next().unwrap_or("");
        let n = rest
            .split(" : ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        if code != "200" && !code.starts_with(['2', '3']) {
            let late = code == "-1";
            block.fail(
                i,
                format!("status {code}"),
                n.and_then(whole).unwrap_or(0),
                false,
            );
            let _ = late;
        }
    } else if line.starts_with("All done ") {
        let rate = words.iter().rev().nth(1).and_then(|n| count(n));
        block.rate = rate.and_then(|n| at(i, n));
        if block.requests.is_none() {
            block.requests = words.get(2).and_then(|n| whole(n)).and_then(|n| at(i, n));
        }
        return Step::Last;
    } else if line.starts_with("Sockets used: ") {
        let n = words.get(2).and_then(|n| whole(n));
        let kept = line.contains("perfect keepalive").then_some(n).flatten();
        let would = line
            .split("would be ")
            .nth(1)
            .and_then(|n| whole(n.trim_end_matches(')')));
        block.connections = would.or(kept).and_then(|n| at(i, n));
    } else if !(line.starts_with(['#', '>', '[', '-'])
        || [
            "Starting",
            "Ended",
            "Error cases",
            "Uniform",
            "IP addresses",
            "Response",
            "Jitter",
        ]
        .iter()
        .any(|word| line.starts_with(word))
        || line.contains(" : ")
        || words.first().is_some_and(|word| {
            word.contains(':') && word.starts_with(|c: char| c.is_ascii_digit())
        }))
    {
        return Step::Unknown;
    }
    Step::Taken
}

fn ghz(block: &mut Block, i: usize, line: &str) -> Step {
    if line == "Summary:" {
        return if i + 1 > block.first {
            Step::Over
        } else {
            Step::Taken
        };
    }
    if let Some((p, time)) = line.split_once(" % in ") {
        let p = leading(p.trim()).map(|(p, _)| p.value);
        let time = seconds(time).and_then(|time| at(i, time));
        block
            .latency
            .percentiles
            .extend(p.zip(time).filter(|(p, _)| *p > 0.0));
        return Step::Taken;
    }
    if let Some((code, n)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let n = n.split_whitespace().next().and_then(whole).unwrap_or(0);
        if !code.is_empty() && code.chars().all(char::is_alphabetic) && code != "OK" {
            let late = code == "DeadlineExceeded";
            block.fail(i, code.to_owned(), n, late);
        }
        return Step::Taken;
    }
    let Some((key, value)) = super::pair(line) else {
        let bar = line.contains('[') && leading(line).is_some();
        return if bar { Step::Taken } else { Step::Unknown };
    };
    let time = || seconds(value).and_then(|time| at(i, time));
    match key {
        "Count" => block.requests = whole(value).and_then(|n| at(i, n)),
        "Total" => block.seconds = time(),
        "Slowest" => block.latency.max = time(),
        "Fastest" => block.latency.min = time(),
        "Average" => block.latency.mean = time(),
        "Requests/sec" => block.rate = count(value).and_then(|n| at(i, n)),
        "Name"
        | "Response time histogram"
        | "Latency distribution"
        | "Status code distribution"
        | "Error distribution" => {}
        _ => return Step::Unknown,
    }
    Step::Taken
}

fn rewrk(block: &mut Block, i: usize, line: &str) -> Step {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.first().copied() {
        Some("Beginning") if i + 1 > block.first => return Step::Over,
        Some("Benchmarking") => {
            let n = words.get(1).and_then(|n| whole(n));
            block.connections = n.and_then(|n| at(i, n));
            block.url = words
                .iter()
                .find(|w| w.contains("://"))
                .and_then(|url| at(i, (*url).to_owned()));
        }
        Some("Latencies:" | "Requests:") | Some("Beginning") => {}
        Some("Avg") => {}
        Some("Total:") if line.contains("Req/Sec:") => {
            // `Total:  1999 Req/Sec: 100.5`, under `Requests:`
            block.requests = words.get(1).and_then(|n| whole(n)).and_then(|n| at(i, n));
            let rate = words.iter().position(|word| *word == "Req/Sec:");
            block.rate = rate
                .and_then(|r| count(words.get(r + 1)?))
                .and_then(|n| at(i, n));
        }
        Some("Transfer:") => {}
        // The last: `Total: 120 MB  Transfer Rate: …`, under `Transfer:`.
        Some("Total:") => return Step::Last,
        Some(first) => {
            // Four times: mean, deviation, least, most.
            let times: Vec<Printed> = words.iter().filter_map(|word| seconds(word)).collect();
            if times.len() == 4 && words.len() == 4 {
                block.latency.mean = at(i, times[0]);
                block.latency.min = at(i, times[2]);
                block.latency.max = at(i, times[3]);
            } else if let (Some(p), Some(time)) =
                (percent(first), words.last().and_then(|t| seconds(t)))
            {
                block
                    .latency
                    .percentiles
                    .extend(at(i, time).map(|time| (p, time)));
            } else if !line.starts_with(['+', '|']) {
                return Step::Unknown;
            }
        }
        None => {}
    }
    Step::Taken
}

fn gatling(block: &mut Block, i: usize, line: &str) -> Step {
    if line.starts_with("---- Response Time Distribution") || line.starts_with("---- Errors") {
        return Step::Taken;
    }
    let Some(rest) = line.strip_prefix("> ") else {
        let edge = line.starts_with("====") || line.starts_with("----");
        return if edge { Step::Taken } else { Step::Unknown };
    };
    // `> request count   1000 (OK=990   KO=10   )`, or with columns between bars since 3.13.
    let value = rest.find(|c: char| c.is_ascii_digit() && !rest.starts_with(c));
    let numbers: Vec<Printed> = rest
        .split(['(', '|', ' ', ')'])
        .filter(|part| !part.ends_with(':'))
        .filter_map(|part| count(part.trim_start_matches("OK=").trim_start_matches("KO=")))
        .collect();
    let place = |n: Option<&Printed>| n.and_then(|n| at(i, *n));
    let ms = |n: Option<&Printed>| n.and_then(|n| at(i, n.times(1e-3)));
    if rest.starts_with("request count") {
        if block.requests.is_some() {
            return Step::Over;
        }
        block.requests = numbers.first().and_then(|n| at(i, n.value as u64));
        let failed = numbers.get(2).map_or(0, |n| n.value as u64);
        block.fail(i, "KO", failed, false);
    } else if rest.starts_with("min response time") {
        block.latency.min = ms(numbers.first());
    } else if rest.starts_with("max response time") {
        block.latency.max = ms(numbers.first());
    } else if rest.starts_with("mean response time") {
        block.latency.mean = ms(numbers.first());
    } else if let Some(p) = rest.strip_prefix("response time ") {
        let p = leading(p).map(|(p, _)| p.value);
        let time = ms(numbers.first());
        block.latency.percentiles.extend(p.zip(time));
    } else if rest.starts_with("mean requests/sec") || rest.starts_with("mean throughput") {
        block.rate = place(numbers.first());
    } else if value.is_none() {
        return Step::Unknown;
    }
    Step::Taken
}

fn artillery(block: &mut Block, i: usize, line: &str) -> Step {
    let Some((key, value)) = line.split_once(':') else {
        return Step::Unknown;
    };
    let key = key.trim().trim_end_matches('.');
    let value = value.trim().trim_start_matches('.').trim();
    let n = || leading(value).map(|(n, _)| n);
    let ms = || n().and_then(|n| at(i, n.times(1e-3)));
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
        // Artillery 1 and 2 list the times below their name.
        "min" if block.latency.min.is_none() => block.latency.min = ms(),
        "max" if block.latency.max.is_none() => block.latency.max = ms(),
        "mean" if block.latency.mean.is_none() => block.latency.mean = ms(),
        "median" if block.latency.percentile(50.0).is_none() => {
            block
                .latency
                .percentiles
                .extend(ms().map(|time| (50.0, time)));
        }
        "p95" if block.latency.percentile(95.0).is_none() => {
            block
                .latency
                .percentiles
                .extend(ms().map(|time| (95.0, time)));
        }
        "p99" if block.latency.percentile(99.0).is_none() => {
            block
                .latency
                .percentiles
                .extend(ms().map(|time| (99.0, time)));
        }
        "min" | "max" | "mean" | "median" | "p95" | "p99" => {}
        "vusers.session_length" => return Step::Last,
        key if key.starts_with("vusers.") || key.starts_with("http.") => {}
        _ => return Step::Unknown,
    }
    Step::Taken
}

#[cfg(test)]
mod tests {
    use super::super::{Tool, one};

    fn near(found: Option<super::super::At<super::Printed>>, expected: f64) {
        let found = found.unwrap().what.value;
        assert!(
            (found - expected).abs() < 1e-9 * expected.max(1.0),
            "{found}"
        );
    }

    #[test]
    fn both_forms_of_siege() {
        for text in [
            "Transactions:\t\t       20553 hits\nAvailability:\t\t       99.90 %\nElapsed time:\t\t        2.46 secs\n\
             Response time:\t\t        0.01 secs\nTransaction rate:\t     8354.88 trans/sec\nConcurrency:\t\t       18.94\n\
             Successful transactions:       20553\nFailed transactions:\t          20\nLongest transaction:\t        0.05\n",
            "{\t\"transactions\":\t\t\t       20553,\n\t\"availability\":\t\t\t       99.90,\n\t\"elapsed_time\":\t\t\t        2.46,\n\
             \t\"response_time\":\t\t        0.01,\n\t\"transaction_rate\":\t\t     8354.88,\n\t\"failed_transactions\":\t\t          20,\n\
             \t\"longest_transaction\":\t\t        0.05\n}\n",
        ] {
            let block = one(text);
            assert_eq!(
                (block.tool, block.requests.unwrap().what),
                (Tool::Siege, 20_553)
            );
            near(block.rate, 8354.88);
            near(block.latency.mean, 0.01);
            assert_eq!(block.errors[0].what.count, 20);
        }
    }

    #[test]
    fn fortio_and_ghz() {
        let block = one(
            "Fortio 1.66.0 running at 500 queries per second, 2->2 procs, for 4s: http://10.0.0.2/e\n\
            Aggregated Function Time : count 2000 avg 0.00022 +/- 0.0002 min 1.6e-05 max 0.0111 sum 0.44\n\
            # target 50% 0.0005\n# target 99% 0.000995\nError cases : count 2 avg 0.0002 +/- 0 min 0 max 0 sum 0\n\
            Sockets used: 9 (for perfect keepalive, would be 4)\nCode 200 : 1998 (99.9 %)\nCode 503 : 2 (0.1 %)\n\
            All done 2000 calls (plus 4 warmup) 0.220 ms avg, 499.9 qps\n",
        );
        assert_eq!(
            (block.tool, block.connections.unwrap().what),
            (Tool::Fortio, 4)
        );
        assert_eq!(
            (block.asked.unwrap().what, block.errors[0].what.count),
            (500.0, 2)
        );
        near(block.rate, 499.9);
        let block = one(
            "Summary:\n  Count:\t200\n  Total:\t181.57 ms\n  Slowest:\t69.60 ms\n  Fastest:\t26.09 ms\n  \
            Average:\t32.01 ms\n  Requests/sec:\t1101.53\n\nResponse time histogram:\n  26.093 [1]  |\n\n\
            Latency distribution:\n  10 % in 28.48 ms\n  99 % in 65.67 ms\n\nStatus code distribution:\n  \
            [OK]   198 responses\n  [Unavailable]   2 responses\n",
        );
        assert_eq!((block.tool, block.errors[0].what.count), (Tool::Ghz, 2));
        near(block.latency.percentile(99.0), 0.06567);
    }

    #[test]
    fn what_fortio_slept_is_no_response_time() {
        let block = one(
            "Fortio 1.66.0 running at 5000 queries per second, 2->2 procs, for 1m0s: http://10.0.0.2/\n\
            Aggregated Sleep Time : count 299992 avg 8.8e-05 +/- 0.002 min -0.03 max 0.001 sum 26.6\n\
            # target 50% 0.000453102\nWARNING 8.58% of sleep were falling behind\n\
            Aggregated Function Time : count 300000 avg 0.000946 +/- 0.00079 min 0.00051 max 0.029 sum 283.8\n\
            # target 50% 0.00081\nAll done 300000 calls (plus 4 warmup) 0.946 ms avg, 4999.9 qps\n",
        );
        assert_eq!(block.latency.percentiles.len(), 1);
        assert_eq!(block.latency.percentile(50.0).unwrap().what.value, 0.00081);
    }

    #[test]
    fn rewrk_gatling_artillery() {
        let block = one(
            "Beginning round 1...\nBenchmarking 256 connections @ http://10.0.0.2/ for 10 second(s)\n  \
            Latencies:\n    Avg      Stdev    Min      Max      \n    2.60ms   0.53ms   0.22ms   19.51ms  \n  \
            Requests:\n    Total:  983203  Req/Sec: 98345.52\n  Transfer:\n    Total: 120 MB Transfer Rate: 12 MB/Sec\n",
        );
        assert_eq!(
            (block.tool, block.connections.unwrap().what),
            (Tool::Rewrk, 256)
        );
        near(block.rate, 98_345.52);
        near(block.latency.max, 0.01951);
        let block = one(
            "---- Global Information --------\n> request count    1000 (OK=990    KO=10    )\n\
            > min response time      3 (OK=3      KO=5     )\n> max response time    900 (OK=900    KO=20    )\n\
            > mean response time    40 (OK=41     KO=9     )\n> std deviation    12 (OK=12     KO=1     )\n\
            > response time 50th percentile    35 (OK=35     KO=8     )\n> response time 99th percentile   400 (OK=410    KO=20    )\n\
            > mean requests/sec    33.333 (OK=33      KO=0.333 )\n",
        );
        assert_eq!(
            (block.tool, block.errors[0].what.count),
            (Tool::Gatling, 10)
        );
        near(block.latency.percentile(99.0), 0.4);
        near(block.rate, 33.333);
        let block = one(
            "http.codes.200: ......... 900\nhttp.codes.503: ......... 100\nhttp.request_rate: ..... 100/sec\n\
            http.requests: ........... 1000\nhttp.response_time:\n  min: ....... 1\n  max: ....... 88\n  mean: ...... 4.5\n  \
            median: .... 4\n  p95: ....... 9\n  p99: ....... 30\nerrors.ETIMEDOUT: ...... 5\n",
        );
        assert_eq!((block.tool, block.timed_out()), (Tool::Artillery, 5));
        near(block.latency.percentile(99.0), 0.03);
    }
}

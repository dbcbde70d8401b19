//! Tools that end with a short list of `name: value` lines: siege, ghz, rewrk and Gatling.

use super::{FoundBlocks, LineRole, at, finish, walk};
use crate::model::{Block, Tool};
use crate::text::lines::Lines;
use crate::text::number::{Printed, bytes, count, leading, percent, seconds, whole};

type Take = fn(&mut Block, usize, &str) -> LineRole;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let line = lines.get(start).trim();
    let lower = |i: usize| lines.get(i).trim().to_lowercase();
    // Of siege people keep two lines.
    let kept = line.starts_with("Response time:")
        && lines.get(start + 1).trim().starts_with("Transaction rate:")
        || line.starts_with("Transaction rate:") && line.ends_with("trans/sec");
    let (tool, take): (Tool, Take) = if is_siege(line) || kept {
        (Tool::Siege, siege)
    } else if line == "Summary:" && (start + 1..start + 5).any(|i| lower(i).starts_with("count:")) {
        (Tool::Ghz, ghz)
    } else if line.starts_with("Beginning round ") || line == "Latencies:" {
        (Tool::Rewrk, rewrk)
    } else if line.starts_with("---- Global Information ---")
        || line.starts_with("> request count ")
    {
        (Tool::Gatling, gatling)
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

fn siege(block: &mut Block, i: usize, line: &str) -> LineRole {
    let line = line
        .trim_start_matches(['{', '\t', ' '])
        .trim_end_matches(',');
    let Some((key, value)) = line.split_once(':') else {
        return if line == "}" {
            LineRole::Last
        } else {
            LineRole::Unknown
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
        "transactions" if block.requests.is_some() || block.rate.is_some() => {
            return LineRole::Over;
        }
        "transaction rate" if block.rate.is_some() => return LineRole::Over,
        "response time" if block.latency.mean.is_some() => return LineRole::Over,
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
        "shortest transaction" => return LineRole::Taken,
        "availability"
        | "data transferred"
        | "throughput"
        | "concurrency"
        | "successful transactions" => {}
        _ => return LineRole::Unknown,
    }
    LineRole::Taken
}

fn ghz(block: &mut Block, i: usize, line: &str) -> LineRole {
    if line == "Summary:" {
        return if i + 1 > block.first {
            LineRole::Over
        } else {
            LineRole::Taken
        };
    }
    if let Some((p, time)) = line.split_once(" % in ") {
        let p = leading(p.trim()).map(|(p, _)| p.value);
        let time = seconds(time).and_then(|time| at(i, time));
        block
            .latency
            .percentiles
            .extend(p.zip(time).filter(|(p, _)| *p > 0.0));
        return LineRole::Taken;
    }
    if let Some((code, n)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let n = n.split_whitespace().next().and_then(whole).unwrap_or(0);
        if !code.is_empty() && code.chars().all(char::is_alphabetic) && code != "OK" {
            let late = code == "DeadlineExceeded";
            block.fail(i, code.to_owned(), n, late);
        }
        return LineRole::Taken;
    }
    let Some((key, value)) = super::pair(line) else {
        let bar = line.contains('[') && leading(line).is_some();
        return if bar {
            LineRole::Taken
        } else {
            LineRole::Unknown
        };
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
        _ => return LineRole::Unknown,
    }
    LineRole::Taken
}

fn rewrk(block: &mut Block, i: usize, line: &str) -> LineRole {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.first().copied() {
        Some("Beginning") if i + 1 > block.first => return LineRole::Over,
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
        Some("Total:") => {
            let all = words.get(1..3).and_then(|words| bytes(&words.join(" ")));
            if let (Some(all), Some(requests)) = (all, block.requests) {
                let each = all.times((requests.what as f64).recip());
                block.response_bytes = at(i, each);
            }
            return LineRole::Last;
        }
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
                block.latency.add(p, at(i, time));
            } else if !line.starts_with(['+', '|']) {
                return LineRole::Unknown;
            }
        }
        None => {}
    }
    LineRole::Taken
}

fn gatling(block: &mut Block, i: usize, line: &str) -> LineRole {
    if line.starts_with("---- Response Time Distribution") || line.starts_with("---- Errors") {
        return LineRole::Taken;
    }
    let Some(rest) = line.strip_prefix("> ") else {
        let edge = line.starts_with("====") || line.starts_with("----");
        return if edge {
            LineRole::Taken
        } else {
            LineRole::Unknown
        };
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
            return LineRole::Over;
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
        return LineRole::Unknown;
    }
    LineRole::Taken
}

#[cfg(test)]
mod tests {
    use super::super::one;
    use crate::model::Tool;

    fn near(found: Option<crate::model::At<super::Printed>>, expected: f64) {
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
    fn two_lines_of_siege() {
        let block = one("  Response time:\t 14.92 secs\n  Transaction rate:\t 28.60 trans/sec\n");
        assert_eq!(block.tool, Tool::Siege);
        near(block.rate, 28.6);
        near(block.latency.mean, 14.92);
    }

    #[test]
    fn ghz() {
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
    fn rewrk_and_gatling() {
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
        assert_eq!(block.response_bytes.unwrap().what.value.round(), 128.0);
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
    }
}

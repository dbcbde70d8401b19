//! ApacheBench.

use super::{FoundBlocks, LineRole, at, finish, pair, walk};
use crate::model::{Block, Tool};
use crate::text::lines::Lines;
use crate::text::number::{count, leading, whole};

/// ab prints times in milliseconds.
const MS: f64 = 1e-3;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let line = lines.get(start).trim();
    let begins = line.starts_with("This is ApacheBench")
        || line.starts_with("Server Software:")
        || line.starts_with("Server Hostname:")
        || line.starts_with("Concurrency Level:")
        || line.starts_with("Requests per second:") && line.contains("[#/sec]")
        || line.starts_with("Time taken for tests:") && line.contains("seconds")
        || line.starts_with("Complete requests:")
        || line.starts_with("Total transferred:") && line.ends_with("bytes")
        || line.starts_with("Percentage of the requests served within a certain time");
    if !begins {
        return None;
    }
    let mut block = Block::new(Tool::Ab, start);
    let mut address = AbAddress::default();
    let last = walk(lines, start, |i, line| {
        take(&mut block, &mut address, i, line)
    });
    if let (Some(host), line) = (address.host, address.line) {
        let port = address
            .port
            .map_or(String::new(), |port| format!(":{port}"));
        let url = format!("http://{host}{port}{}", address.path.unwrap_or_default());
        block.url = at(line, url);
    }
    finish(block, last)
}

/// The parts of the address, which ab prints one by one.
#[derive(Default)]
struct AbAddress {
    host: Option<String>,
    port: Option<String>,
    path: Option<String>,
    line: usize,
}

fn take(block: &mut Block, address: &mut AbAddress, i: usize, line: &str) -> LineRole {
    let again = match pair(line).map(|(key, _)| key) {
        Some("Requests per second" | "Failed requests" | "Total transferred") => {
            block.rate.is_some()
        }
        Some("Time taken for tests") => block.seconds.is_some() || block.rate.is_some(),
        Some("Concurrency Level" | "Server Software" | "Server Hostname") => {
            block.connections.is_some() || block.rate.is_some()
        }
        Some("Complete requests") => block.requests.is_some() || block.rate.is_some(),
        _ if line.starts_with("Percentage of the requests")
            || line.starts_with("Connection Times") =>
        {
            !block.latency.percentiles.is_empty()
        }
        _ => line.starts_with("This is ApacheBench"),
    };
    if again && i + 1 > block.first {
        return LineRole::Over;
    }
    if let Some((p, rest)) = line.split_once("% ") {
        // `99%      5`, ` 100%     35 (longest request)`
        let time = rest.trim().trim_end_matches("(longest request)").trim();
        let (Some(p), Some(time)) = (whole(p), count(time)) else {
            return LineRole::Unknown;
        };
        let time = time.times(MS);
        if p == 100 {
            block.latency.max = at(i, time);
            return LineRole::Last;
        }
        block
            .latency
            .percentiles
            .extend(at(i, time).map(|t| (p as f64, t)));
        return LineRole::Taken;
    }
    if let Some(rest) = line.strip_prefix("Total of ") {
        let n = rest.strip_suffix(" requests completed").and_then(whole);
        block.requests = block.requests.or_else(|| at(i, n?));
        return if n.is_some() {
            LineRole::Last
        } else {
            LineRole::Unknown
        };
    }
    let Some((key, value)) = pair(line) else {
        let known = [
            "This is",
            "Copyright",
            "Licensed",
            "Benchmarking",
            "Completed",
            "Finished",
        ]
        .iter()
        .chain(&[
            "Connection Times",
            "Percentage of the requests",
            "min ",
            "WARNING",
        ])
        .any(|word| line.starts_with(word));
        return if known {
            LineRole::Taken
        } else {
            LineRole::Unknown
        };
    };
    let number = || leading(value).map(|(number, _)| number);
    match key {
        // It gave up: `apr_socket_recv: Connection reset by peer (104)`, and says how many it had.
        _ if key.starts_with("apr_") => {
            let how = value.split(" (").next().unwrap_or(value);
            block.lose(i, how, 1, how.contains("timeout"));
        }
        "Server Hostname" => {
            address.host = Some(value.to_owned());
            address.line = i;
        }
        "Server Port" => address.port = Some(value.to_owned()),
        "Document Path" => address.path = Some(value.to_owned()),
        "Concurrency Level" => block.connections = whole(value).and_then(|n| at(i, n)),
        "Time taken for tests" => block.seconds = number().and_then(|n| at(i, n)),
        "Complete requests" => block.requests = whole(value).and_then(|n| at(i, n)),
        "Failed requests" => block.fail(i, "failed", whole(value).unwrap_or(0), false),
        "Write errors" => block.fail(i, "write", whole(value).unwrap_or(0), false),
        "Non-2xx responses" => block.fail(i, "not 2xx", whole(value).unwrap_or(0), false),
        // `(Connect: 0, Receive: 0, Length: 5, Exceptions: 0)`, in words behind the count.
        "(Connect" => detail(block, line),
        "Requests per second" => match number() {
            Some(rate) => block.rate = at(i, rate),
            None => block.odd(i, value),
        },
        "Connect" => {
            block.connect_max = column(value, 4).and_then(|n| at(i, n.times(MS)));
        }
        "Total" => {
            // The mean of what was measured. `Time per request` is none: it is concurrency × time ÷
            // requests, whatever the requests took.
            block.latency.min = column(value, 0).and_then(|n| at(i, n.times(MS)));
            block.latency.mean = column(value, 1).and_then(|n| at(i, n.times(MS)));
            block.latency.max = column(value, 4).and_then(|n| at(i, n.times(MS)));
        }
        "Document Length" => {
            block.response_bytes = number().filter(|n| n.value > 0.0).and_then(|n| at(i, n));
        }
        // Only with -k.
        "Keep-Alive requests" => block.kept = whole(value).and_then(|n| at(i, n)),
        "Server Software" | "Total transferred" | "HTML transferred" | "Total body sent"
        | "Time per request" | "Transfer rate" | "Processing" | "Waiting" | "SSL/TLS Protocol"
        | "TLS Server Name" | "Server Temp Key" => {}
        _ => return LineRole::Unknown,
    }
    LineRole::Taken
}

/// A column of `min  mean[+/-sd] median   max`.
fn column(value: &str, index: usize) -> Option<crate::text::number::Printed> {
    count(value.split_whitespace().nth(index)?)
}

/// Says how the failed requests of the line before failed.
fn detail(block: &mut Block, line: &str) {
    let inner = line.trim_matches(['(', ')']);
    let kinds: Vec<&str> = inner
        .split(", ")
        .filter(|kind| !kind.ends_with(": 0"))
        .collect();
    if let Some(failed) = block
        .errors
        .iter_mut()
        .rev()
        .find(|e| e.what.how == "failed")
    {
        failed.what.how = format!("failed ({})", kinds.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::super::one;
    use prony_checks::CheckId;

    #[test]
    fn a_run_that_it_gave_up() {
        let text = "This is ApacheBench, Version 2.3 <$Revision: 1843412 $>\n\nBenchmarking 10.0.0.2 (be patient)\n\
            Completed 1000 requests\nCompleted 2000 requests\n\
            apr_socket_recv: Connection reset by peer (104)\nTotal of 2788 requests completed\n";
        let block = one(text);
        assert_eq!(block.requests.map(|n| (n.what, n.line)), Some((2788, 7)));
        let error = &block.errors[0];
        assert_eq!(
            (error.line, &*error.what.how),
            (6, "Connection reset by peer")
        );
        assert!(error.what.uncounted && !error.what.timed_out);
    }

    #[test]
    fn a_run_whose_answers_differ_in_length() {
        let block = one(
            "Server Software:        thin\nServer Hostname:        10.0.0.2\n\
            Server Port:            8000\n\nDocument Path:          /hoge\n\
            Document Length:        38 bytes\n\nConcurrency Level:      2000\n\
            Time taken for tests:   3.070 seconds\nComplete requests:      8000\n\
            Failed requests:        7\n   (Connect: 0, Receive: 0, Length: 7, Exceptions: 0)\n\
            Requests per second:    2605.86 [#/sec] (mean)\n\
            Time per request:       767.500 [ms] (mean)\n\
            Time per request:       0.384 [ms] (mean, across all concurrent requests)\n\n\
            Connection Times (ms)\n              min  mean[+/-sd] median   max\n\
            Connect:        0  312 912.1      4    3018\n\
            Total:          9  701 950.0    402    3069\n\n\
            Percentage of the requests served within a certain time (ms)\n  50%    402\n  \
            99%   3044\n 100%   3069 (longest request)\nafter\n",
        );
        assert_eq!(
            block.url.as_ref().unwrap().what,
            "http://10.0.0.2:8000/hoge"
        );
        assert_eq!(block.connections.unwrap().what, 2000);
        let near = |time: f64, expected: f64| (time - expected).abs() < 1e-9;
        assert!(near(block.connect_max.unwrap().what.value, 3.018));
        assert_eq!(block.connect_max.unwrap().line, 19);
        assert!(near(block.latency.mean.unwrap().what.value, 0.701));
        assert!(near(
            block.latency.percentile(99.0).unwrap().what.value,
            3.044
        ));
        assert_eq!(block.latency.max.unwrap().line, 25);
        assert_eq!(block.errors[0].what.how, "failed (Length: 7)");
        assert_eq!((block.first, block.last), (1, 25));
    }

    #[test]
    fn two_outputs_without_their_heads() {
        let text = |max: u32| {
            format!(
                "Connection Times (ms)\nmin mean[+/-sd] median max\nConnect: 1 5 2.6 5 11\nTotal: 86 1080 558.8 1131 {max}\n\
                 Percentage of the requests served within a certain time (ms)\n50% 1131\n99% {max}\n"
            )
        };
        let both = format!(
            "Server Hostname:  a\n{}http://b/\nHostname: b\n{}",
            text(1938),
            text(1710)
        );
        let found = crate::check::testing::of(CheckId::PercentileOrder, &both);
        assert_eq!(found, []);
    }

    #[test]
    fn labels_above_lines_of_bytes() {
        let text = "Apache mod_php\n\nTotal transferred: 3470000 bytes\n\n HTML transferred: 120000 bytes\n\n\
            Requests per second: 2395.73 [#/sec] (mean)\n\n Time per request: 4.174 [ms] (mean)\n\n\n\
            NginX PHP-FPM\n\nTotal transferred: 1590000 bytes\n\n HTML transferred: 120000 bytes\n\n\
            Requests per second: 5166.39 [#/sec] (mean)\n\n Time per request: 1.936 [ms] (mean)\n";
        assert_eq!(
            crate::check::testing::of(CheckId::TooFewRuns, text)[0].lines,
            [7, 18]
        );
    }
}

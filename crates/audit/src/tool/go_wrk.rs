//! go-wrk.
//!
//! It begins as wrk does and ends with lines of its own. Its rate is the requests divided by the mean time that its
//! connections were busy with those that succeeded: time that was lost on failures is in neither.

use super::{Block, Found, Step, Tool, at, finish, pair, walk};
use crate::read::lines::Lines;
use crate::read::number::{count, leading, seconds, whole};

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let (time, url) = lines
        .get(start)
        .trim()
        .strip_prefix("Running ")?
        .split_once(" test @ ")?;
    let connections = routines(lines.get(start + 1))?;
    let mut block = Block::new(Tool::GoWrk, start);
    block.planned = seconds(time).and_then(|time| at(start, time.value));
    block.url = at(start, url.to_owned());
    block.connections = at(start + 1, connections);
    let last = walk(lines, start + 2, |i, line| take(&mut block, i, line));
    finish(block, last)
}

/// `512 goroutine(s) running concurrently`
fn routines(line: &str) -> Option<u64> {
    whole(
        line.trim()
            .strip_suffix(" goroutine(s) running concurrently")?,
    )
}

fn take(block: &mut Block, i: usize, line: &str) -> Step {
    if line.starts_with("Running ") {
        return Step::Over;
    }
    if let Some((requests, rest)) = line.split_once(" requests in ") {
        block.requests = whole(requests).and_then(|n| at(i, n));
        let time = rest.split(',').next().and_then(seconds);
        block.seconds = time.and_then(|time| at(i, time));
        return Step::Taken;
    }
    let Some((key, value)) = pair(line) else {
        return Step::Unknown;
    };
    let time = || seconds(value).and_then(|time| at(i, time));
    match key {
        "Requests/sec" if block.rate.is_some() => return Step::Over,
        "Requests/sec" => block.rate = count(value).and_then(|rate| at(i, rate)),
        "Avg Req Time" => block.latency.mean = time(),
        "Fastest Request" => block.latency.min = time(),
        "Slowest Request" => block.latency.max = time(),
        "Number of Errors" => block.lose(i, "errors", whole(value).unwrap_or(0), false),
        "Error Counts" => kinds(block, i, value),
        "Transfer/sec" | "Overall Requests/sec" | "Overall Transfer/sec" | "stddev" => {}
        key => match leading(key) {
            Some((p, "%")) => {
                let time = time().map(|time| (p.value, time));
                block.latency.percentiles.extend(time);
            }
            _ => return Step::Unknown,
        },
    }
    Step::Taken
}

/// `net/http: timeout awaiting response headers=3471, EOF=2`: the errors by kind, in place of their number.
fn kinds(block: &mut Block, i: usize, counts: &str) {
    let counts: Vec<(&str, u64)> = counts
        .split(',')
        .filter_map(|count| count.trim().rsplit_once('='))
        .filter_map(|(how, n)| Some((how, whole(n)?)))
        .collect();
    let known = counts
        .iter()
        .fold(0, |sum: u64, (_, n)| sum.saturating_add(*n));
    let all = block
        .errors
        .iter()
        .fold(0, |sum: u64, e| sum.saturating_add(e.what.count));
    block.errors.clear();
    for (how, n) in counts {
        let how_lower = how.to_lowercase();
        let late = how_lower.contains("timeout") || how_lower.contains("deadline exceeded");
        block.lose(i, how, n, late);
    }
    block.lose(i, "errors", all.saturating_sub(known), false);
}

#[cfg(test)]
mod tests {
    use super::super::{Tool, one};

    #[test]
    fn what_stands_behind_its_rates() {
        let text = "Running 10s test @ http://10.0.0.2/\n  64 goroutine(s) running concurrently\n\
            9000 requests in 8.5s, 1.20MB read\nRequests/sec:\t\t1058.82\nTransfer/sec:\t\t144.56KB\n\
            Overall Requests/sec:\t900.00\nOverall Transfer/sec:\t122.88KB\nFastest Request:\t210µs\n\
            Avg Req Time:\t\t60.444ms\nSlowest Request:\t1.2s\nNumber of Errors:\t25\n\
            Error Counts:\t\tnet/http: timeout awaiting response headers=20,EOF=4\n\
            50%:\t\t55.1ms\n99%:\t\t310ms\nstddev:\t\t40.2ms\n";
        let block = one(text);
        assert_eq!(
            (block.tool, block.connections.unwrap().what, block.last),
            (Tool::GoWrk, 64, 15)
        );
        assert_eq!(block.rate.unwrap().what.value, 1058.82);
        assert_eq!(block.requests.unwrap().what, 9_000);
        assert!((block.latency.mean.unwrap().what.value - 0.060_444).abs() < 1e-12);
        assert_eq!(block.latency.percentile(99.0).unwrap().line, 14);
        let errors: Vec<_> = block
            .errors
            .iter()
            .map(|e| (e.what.count, e.what.timed_out, e.what.uncounted))
            .collect();
        assert_eq!(
            errors,
            [(20, true, true), (4, false, true), (1, false, true)]
        );
        // As containers print it, each line behind the name of one.
        let prefixed: Vec<String> = text
            .lines()
            .map(|line| format!("bench-1  | {line}"))
            .collect();
        let block = one(&prefixed.join("\n"));
        assert_eq!((block.tool, block.timed_out()), (Tool::GoWrk, 20));
    }
}

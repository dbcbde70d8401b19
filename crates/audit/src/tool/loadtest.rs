//! loadtest, of npm: its lines as they are, or behind the time and the level of a log.

use super::{Block, Found, Step, Tool, at, finish, pair, walk};
use crate::read::lines::Lines;
use crate::read::number::{count, leading, seconds, whole};

/// What it was to do stands within so many lines above what it did.
const NEAR: usize = 14;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let first = bare(lines.get(start));
    let begins = first.starts_with("Target URL:") || first.starts_with("Completed requests:");
    begins.then_some(())?;
    let said = |text: &str, i: usize| bare(lines.get(i)).starts_with(text);
    let done = (start..start + NEAR).find(|i| said("Completed requests:", *i))?;
    (done..done + 3).find(|i| said("Total errors:", *i))?;
    let mut block = Block::new(Tool::Loadtest, start);
    let last = walk(lines, start, |i, line| {
        take(&mut block, i, bare(line), i >= done)
    });
    finish(block, last)
}

/// A line without what a log puts in front of it: `[Mon Feb 27 2023 14:50:26 GMT+0800] INFO `.
fn bare(line: &str) -> &str {
    let line = line.trim();
    let rest = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .map_or(line, |(_, rest)| rest);
    rest.strip_prefix("INFO").map_or(rest, str::trim_start)
}

/// `done` says whether a line is of what it did, or of what it was to do.
fn take(block: &mut Block, i: usize, line: &str, done: bool) -> Step {
    if line.is_empty() || line.starts_with("Percentage of ") {
        return Step::Taken;
    }
    // `  99%      16 ms`, `100%   30 ms (longest request)`
    if let Some((p, time)) = line.split_once('%').filter(|_| done) {
        let p = leading(p.trim()).map(|(p, _)| p.value);
        let time = time.split('(').next().and_then(|time| seconds(time.trim()));
        let (Some(p), Some(time)) = (p, time) else {
            return Step::Unknown;
        };
        if p >= 100.0 {
            block.latency.max = at(i, time);
        } else {
            let percentile = at(i, time).map(|time| (p, time));
            block.latency.percentiles.extend(percentile);
        }
        return Step::Taken;
    }
    let Some((key, value)) = pair(line) else {
        return Step::Unknown;
    };
    match (key, done) {
        ("Target URL", _) if block.requests.is_some() => return Step::Over,
        ("Target URL", _) => block.url = at(i, value.to_owned()),
        ("Concurrency level" | "Concurrent clients", false) => {
            block.connections = whole(value).and_then(|n| at(i, n));
        }
        ("Requests per second" | "Target rps", false) => {
            let rate = count(value).filter(|rate| rate.value > 0.0);
            block.asked = rate.and_then(|rate| at(i, rate.value));
        }
        ("Max requests" | "Max time (s)" | "Agent" | "Running on cores", _) => {}
        ("Completed requests", _) if block.requests.is_some() => return Step::Over,
        ("Completed requests", _) => block.requests = whole(value).and_then(|n| at(i, n)),
        ("Total errors", true) => {
            block.fail(i, "errors", whole(value).unwrap_or(0), false);
        }
        ("Total time", true) => block.seconds = seconds(value).and_then(|time| at(i, time)),
        ("Requests per second" | "Effective rps" | "Mean rps", true) => {
            block.rate = count(value).and_then(|rate| at(i, rate));
        }
        ("Mean latency", true) => {
            block.latency.mean = seconds(value).and_then(|time| at(i, time));
        }
        // ` -1:   10 errors`
        (code, true) if whole(code.trim_start_matches('-')).is_some() => {}
        _ => return Step::Unknown,
    }
    Step::Taken
}

#[cfg(test)]
mod tests {
    use super::super::{Tool, one};

    const TEXT: &str = "Target URL:          http://10.0.0.2/\nMax requests:        5000\nConcurrency level:   30\n\
        Agent:               none\nRequests per second: 350\n\nCompleted requests:  5000\nTotal errors:        10\n\
        Total time:          26.152 s\nRequests per second: 191\nMean latency:        145.1 ms\n\n\
        Percentage of the requests served within a certain time\n  50%      130 ms\n  99%      412 ms\n \
        100%      630 ms (longest request)\n\n  -1:   10 errors\n";

    #[test]
    fn as_it_is_and_in_a_log() {
        let logged: Vec<String> = TEXT
            .lines()
            .map(|line| format!("[Mon Feb 27 2023 14:50:26 GMT+0800 (China)] INFO {line}\n"))
            .collect();
        for text in [TEXT.to_owned(), logged.concat()] {
            let block = one(&text);
            assert_eq!((block.tool, block.first), (Tool::Loadtest, 1));
            assert_eq!(block.connections.unwrap().what, 30);
            assert_eq!(block.asked.unwrap().what, 350.0);
            assert_eq!(block.rate.unwrap().what.value, 191.0);
            assert_eq!(block.requests.unwrap().what, 5000);
            assert_eq!(block.errors[0].what.count, 10);
            assert_eq!(block.latency.mean.unwrap().what.value, 0.1451);
            let p99 = block.latency.percentile(99.0).unwrap().what.value;
            assert!((p99 - 0.412).abs() < 1e-9, "{p99}");
            assert_eq!(block.latency.max.unwrap().what.value, 0.63);
            assert_eq!(block.url.as_ref().unwrap().what, "http://10.0.0.2/");
        }
    }
}

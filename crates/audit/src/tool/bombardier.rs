//! bombardier: its text.

use super::{Block, Found, Step, Tool, at, finish, walk};
use crate::read::lines::Lines;
use crate::read::number::{count, leading, percent, seconds, whole};

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let line = lines.get(start).trim();
    let header = line.starts_with("Statistics") && line.contains("Avg") && line.contains("Stdev");
    if !line.starts_with("Bombarding ") && !header {
        return None;
    }
    let mut block = Block::new(Tool::Bombardier, start);
    let last = walk(lines, start, |i, line| take(&mut block, i, line));
    finish(block, last)
}

fn take(block: &mut Block, i: usize, line: &str) -> Step {
    let words: Vec<&str> = line.split_whitespace().collect();
    if let Some(rest) = line.strip_prefix("Bombarding ") {
        if i + 1 > block.first {
            return Step::Over;
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
        return Step::Last;
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
        return Step::Unknown;
    }
    Step::Taken
}

#[cfg(test)]
mod tests {
    use super::super::{Tool, one};

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

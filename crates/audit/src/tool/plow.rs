//! plow.

use super::{Block, Found, Step, Tool, at, finish, walk};
use crate::read::lines::Lines;
use crate::read::number::{Printed, count, leading, seconds, whole};

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let begins = lines.get(start).trim() == "Summary:"
        && lines.get(start + 1).trim_start().starts_with("Elapsed ");
    begins.then_some(())?;
    let mut block = Block::new(Tool::Plow, start);
    let mut part = Part::Summary;
    let last = walk(lines, start, |i, line| take(&mut block, &mut part, i, line));
    finish(block, last)
}

#[derive(Clone, PartialEq)]
enum Part {
    Summary,
    Errors,
    Statistics,
    /// The percentages that stand above the times, once they are read.
    Percentiles(Vec<f64>),
    Histogram,
}

fn take(block: &mut Block, part: &mut Part, i: usize, line: &str) -> Step {
    let next = match line {
        "Summary:" if i + 1 > block.first => return Step::Over,
        "Summary:" => Some(Part::Summary),
        "Error:" | "Errors:" => Some(Part::Errors),
        "Latency Percentile:" => Some(Part::Percentiles(Vec::new())),
        "Latency Histogram:" => Some(Part::Histogram),
        _ if line.starts_with("Statistics ") => Some(Part::Statistics),
        _ => None,
    };
    if let Some(next) = next {
        *part = next;
        return Step::Taken;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let known = match part {
        Part::Summary => summary(block, i, &words),
        // `12  "dial tcp: connection refused"`
        Part::Errors => {
            let n = words.first().and_then(|n| whole(n));
            if let Some(n) = n {
                let how: String = words[1..].join(" ").chars().take(80).collect();
                let late = how.contains("timeout");
                block.lose(i, how, n, late);
            }
            n.is_some()
        }
        Part::Statistics => statistics(block, i, &words),
        Part::Percentiles(at_these) if at_these.is_empty() => {
            let percent = |word: &&str| Some(leading(word.strip_prefix('P')?)?.0.value);
            *at_these = words.iter().filter_map(percent).collect();
            !at_these.is_empty()
        }
        Part::Percentiles(at_these) => {
            let times = words.iter().map(|word| seconds(word));
            let pairs = at_these.iter().zip(times);
            let found = pairs.filter_map(|(p, time)| Some((*p, at(i, time?)?)));
            block.latency.percentiles.extend(found);
            true
        }
        Part::Histogram => words.last().is_some_and(|word| word.ends_with('%')),
    };
    if known { Step::Taken } else { Step::Unknown }
}

fn summary(block: &mut Block, i: usize, words: &[&str]) -> bool {
    let [key, value] = words else { return false };
    match *key {
        "Elapsed" => block.seconds = seconds(value).and_then(|time| at(i, time)),
        "Count" => block.requests = whole(value).and_then(|n| at(i, n)),
        "RPS" => block.rate = count(value).and_then(|rate| at(i, rate)),
        "4xx" | "5xx" => block.fail(i, *key, whole(value).unwrap_or(0), false),
        "1xx" | "2xx" | "3xx" | "Reads" | "Writes" => {}
        _ => return false,
    }
    true
}

/// `Latency   80.234ms  432.616ms  124.708ms  1.799811s`: least, mean, deviation, most.
fn statistics(block: &mut Block, i: usize, words: &[&str]) -> bool {
    if words.first() == Some(&"Latency") {
        let times: Vec<Option<Printed>> = words[1..].iter().map(|word| seconds(word)).collect();
        if let [min, mean, _, max] = times.as_slice() {
            let place = |time: Option<Printed>| time.and_then(|time| at(i, time));
            block.latency.min = place(*min);
            block.latency.mean = place(*mean);
            block.latency.max = place(*max);
        }
    }
    matches!(words.first(), Some(&"Latency" | &"RPS"))
}

#[cfg(test)]
mod tests {
    use super::super::{Tool, one};

    #[test]
    fn plow_with_errors() {
        let block = one(
            "Summary:\n  Elapsed       1m30s\n  Count        90000\n    2xx        89988\n    5xx           12\n  \
             RPS       1000.000\n  Reads    0.629MB/s\n  Writes   0.077MB/s\n\nError:\n       3  \"timeout\"\n\n\
             Statistics    Min       Mean      StdDev       Max\n  Latency   80.25ms  432.5ms  124.708ms  1.75s\n  \
             RPS       833.48    1003.59     30.78     1279.48\n\nLatency Percentile:\n  \
             P50           P75      P99.9\n  406.5ms  458.449ms  1.5s\n\nLatency Histogram:\n  \
             132.155ms     95   0.07%\n\nbehind\n",
        );
        assert_eq!((block.tool, block.last), (Tool::Plow, 22));
        assert_eq!(block.seconds.unwrap().what.value, 90.0);
        assert_eq!(block.requests.unwrap().what, 90_000);
        assert_eq!(block.rate.unwrap().what.value, 1000.0);
        assert_eq!((block.errors[0].what.count, block.timed_out()), (12, 3));
        assert_eq!(block.latency.mean.unwrap().what.value, 0.4325);
        assert_eq!(block.latency.max.unwrap().what.value, 1.75);
        assert_eq!(block.latency.percentile(99.9).unwrap().what.value, 1.5);
    }
}

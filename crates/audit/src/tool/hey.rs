//! hey, and oha's text, which is nearly the same.

use super::{FoundBlocks, LineRole, at, finish, pair, walk};
use crate::model::{Block, Tool};
use crate::text::lines::Lines;
use crate::text::number::{Printed, count, leading, seconds, whole};

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let line = lines.get(start).trim();
    // A script may have cut its first line off.
    let cut = line.starts_with("Total:")
        && line.ends_with("secs")
        && lines.get(start + 1).trim().starts_with("Slowest:");
    if line != "Summary:" && !cut {
        return None;
    }
    let mut block = Block::new(Tool::Hey, start);
    let mut part = Section::Summary;
    let mut other = false;
    let last = walk(lines, start, |i, line| {
        // ghz begins in the same way, and counts.
        other |= part == Section::Summary && line.starts_with("Count:");
        take(&mut block, &mut part, i, line)
    });
    if other {
        return None;
    }
    finish(block, last)
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Section {
    Summary,
    Histogram,
    Distribution,
    /// Distribution of something else: of the time to the first byte.
    OtherDistribution,
    Details,
    Status,
    Errors,
}

fn take(block: &mut Block, part: &mut Section, i: usize, line: &str) -> LineRole {
    let heading = match line {
        "Summary:" if i + 1 > block.first => return LineRole::Over,
        "Latency distribution:" | "Response time distribution:" => Some(Section::Distribution),
        _ if line.starts_with("Details (") => Some(Section::Details),
        "Status code distribution:" => Some(Section::Status),
        "Error distribution:" => Some(Section::Errors),
        _ if line.ends_with("istogram:") => Some(Section::Histogram),
        _ if line.ends_with(" distribution:") => Some(Section::OtherDistribution),
        _ => None,
    };
    if let Some(heading) = heading {
        *part = heading;
        return LineRole::Taken;
    }
    if line == "Summary:" {
        return LineRole::Taken;
    }
    let known = match part {
        Section::Summary => summary(block, i, line),
        Section::Histogram => line.contains(']') && leading(line).is_some(),
        Section::OtherDistribution => percentile(line).is_some(),
        // hey prints `0% in 0.0000 secs` for a percentile that it has no sample for.
        Section::Distribution => percentile(line).is_some_and(|(p, time)| {
            if p <= 0.0 {
                return true;
            }
            block.latency.add(p, at(i, time));
            true
        }),
        Section::Details => details(block, i, line),
        Section::Status => status(block, i, line),
        Section::Errors => error(block, i, line),
    };
    if known {
        LineRole::Taken
    } else {
        LineRole::Unknown
    }
}

fn summary(block: &mut Block, i: usize, line: &str) -> bool {
    let Some((key, value)) = pair(line) else {
        return false;
    };
    match key {
        "Success rate" => block.tool = Tool::Oha,
        "Total" => block.seconds = seconds(value).and_then(|time| at(i, time)),
        "Slowest" => block.latency.max = seconds(value).and_then(|time| at(i, time)),
        "Fastest" => block.latency.min = seconds(value).and_then(|time| at(i, time)),
        "Average" => match seconds(value) {
            Some(time) => block.latency.mean = at(i, time),
            None if value.contains("NaN") => {}
            None => block.odd(i, value),
        },
        "Requests/sec" => match count(value) {
            Some(rate) => block.rate = at(i, rate),
            None => block.odd(i, value),
        },
        "Size/request" => {
            // oha counts what came: 0 is an empty body. Of hey it is one of unknown length.
            let some = |n: Printed| n.value > 0.0 || block.tool == Tool::Oha;
            let bytes =
                leading(value).filter(|(n, unit)| some(*n) && matches!(unit.trim(), "bytes" | "B"));
            block.response_bytes = bytes.and_then(|(n, _)| at(i, n));
        }
        "Total data" | "Size/sec" => {}
        _ => return false,
    }
    true
}

/// `99% in 0.0024 secs`, `99.90% in 12.5 ms`
fn percentile(line: &str) -> Option<(f64, Printed)> {
    let (p, time) = line.split_once("% in ")?;
    let (p, rest) = leading(p)?;
    rest.is_empty().then_some(())?;
    Some((p.value, seconds(time)?))
}

/// `DNS+dialup:  0.0001 secs, 0.0000 secs, 3.0175 secs`: average, fastest, slowest.
fn details(block: &mut Block, i: usize, line: &str) -> bool {
    let Some((key, value)) = pair(line) else {
        return false;
    };
    let slowest = || value.split(',').nth(2).and_then(seconds);
    if key == "DNS+dialup" {
        block.connect_max = slowest().and_then(|time| at(i, time));
    }
    // Where asking for the address took most of it, no SYN was late.
    if key == "DNS-lookup"
        && let Some((lookup, both)) = slowest().zip(block.connect_max)
        && lookup.value > 0.5 * both.what.value
    {
        block.connect_max = None;
    }
    key == "DNS+dialup" || key == "DNS-lookup" || key.starts_with("req") || key.starts_with("resp")
}

/// `[200] 250440 responses`
fn status(block: &mut Block, i: usize, line: &str) -> bool {
    let Some((code, n)) = bracketed(line) else {
        return false;
    };
    let n = whole(n.trim_end_matches("responses")).unwrap_or(0);
    if code >= 400 {
        block.fail(i, format!("status {code}"), n, false);
    }
    let sum = block.requests.map_or(0, |requests| requests.what);
    block.requests = at(i, sum.saturating_add(n));
    true
}

/// `[12] Get http://…: context deadline exceeded`
fn error(block: &mut Block, i: usize, line: &str) -> bool {
    let Some((n, text)) = bracketed(line) else {
        return false;
    };
    failure(block, i, text, n);
    true
}

/// An error in words. Requests that the end of the run cut off did not fail.
pub(super) fn failure(block: &mut Block, i: usize, text: &str, n: u64) {
    let lower = text.to_lowercase();
    if lower.contains("aborted due to deadline") {
        return;
    }
    let timed_out = ["timeout", "timed out", "deadline exceeded"]
        .iter()
        .any(|word| lower.contains(word));
    let short: String = text.chars().take(80).collect();
    block.lose(i, short, n, timed_out);
}

fn bracketed(line: &str) -> Option<(u64, &str)> {
    let (number, rest) = line.strip_prefix('[')?.split_once(']')?;
    Some((whole(number)?, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::super::one;
    use crate::model::Tool;

    #[test]
    fn hey_with_errors() {
        let block = one(
            "Summary:\n  Total:\t5.0005 secs\n  Slowest:\t0.0175 secs\n  \
            Fastest:\t0.0000 secs\n  Average:\t0.0004 secs\n  Requests/sec:\t50083.3193\n\n\
            Response time histogram:\n  0.000 [1]\t|\n  0.002 [246716]\t|■■\n\n\
            Latency distribution:\n  50% in 0.0002 secs\n  99% in 0.0024 secs\n\n\
            Details (average, fastest, slowest):\n  \
            DNS+dialup:\t0.0000 secs, 0.0000 secs, 3.0175 secs\n  \
            resp read:\t0.0000 secs, 0.0000 secs, 0.0166 secs\n\n\
            Status code distribution:\n  [200]\t250430 responses\n  [503]\t10 responses\n\n\
            Error distribution:\n  [7]\tGet \"http://x/\": context deadline exceeded\n\nbehind\n",
        );
        assert_eq!(block.tool, Tool::Hey);
        assert_eq!(block.requests.unwrap().what, 250_440);
        assert_eq!(block.connect_max.unwrap().what.value, 3.0175);
        assert_eq!(block.errors[0].what.how, "status 503");
        assert_eq!(block.timed_out(), 7);
        assert_eq!(block.latency.percentile(99.0).unwrap().what.value, 0.0024);
        assert_eq!(block.last, 25);
    }

    #[test]
    fn a_slow_name_is_no_slow_connection() {
        let text = |lookup: &str| {
            format!(
                "Summary:\n  Total:\t19.9 secs\n  Slowest:\t19.4 secs\n  Average:\t7.4 secs\n  Requests/sec:\t10.05\n\n\
                 Details (average, fastest, slowest):\n  DNS+dialup:   5.57 secs, 0.03 secs, 3.10 secs\n  \
                 DNS-lookup:   5.43 secs, 0.03 secs, {lookup} secs\n"
            )
        };
        assert!(one(&text("0.01")).connect_max.is_some());
        assert!(one(&text("3.00")).connect_max.is_none());
    }
}

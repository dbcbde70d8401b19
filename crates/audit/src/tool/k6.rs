//! k6: the summary that ends a run, as text, and as JSON (`--summary-export`, `handleSummary`).

use super::object::Object;
use super::{FoundBlocks, LineRole, at, finish, walk};
use crate::model::{Block, Tool};
use crate::text::lines::Lines;
use crate::text::number::{Printed, count, leading, percent, seconds, whole};

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    metric(lines.get(start).trim())?;
    let mut block = Block::new(Tool::K6, start);
    let mut seen = PendingValues::default();
    let last = walk(lines, start, |i, line| {
        seen.take(i, line);
        take(&mut block, i, line)
    });
    // `http_reqs` has the rate. Of another protocol only its iterations are counted.
    if block.requests.is_none()
        && let (Some(count), Some((rate, _))) = (seen.iterations, block.iterations)
    {
        block.requests = Some(count);
        block.rate = Some(rate);
        block.iterations = block.iterations.filter(|(_, took)| took.value > 0.0);
    }
    // A request may fail several checks, and its status as well.
    block.overlap = true;
    if let (Some((share, i)), Some(requests)) = (seen.failed_checks, block.requests) {
        let counted = seen.checks.filter(|(_, all)| *all == requests.what);
        let failed = counted.map_or_else(
            || (requests.what as f64 * share / 100.0).round() as u64,
            |(failed, _)| failed,
        );
        block.fail(i, format!("checks failed for {share} %"), failed, false);
    }
    finish(block, last)
}

/// Values whose meaning only the end of the output shows.
#[derive(Default)]
struct PendingValues {
    iterations: Option<crate::model::At<u64>>,
    /// The share of the checks that failed, in percent, and the index of its line.
    failed_checks: Option<(f64, usize)>,
    /// How many checks failed, and how many there were.
    checks: Option<(u64, u64)>,
}

impl PendingValues {
    fn take(&mut self, i: usize, line: &str) {
        let Some((name, value)) = metric(line) else {
            return;
        };
        let first = value.split_whitespace().next().unwrap_or("");
        match name {
            "iterations" if self.iterations.is_none() => {
                self.iterations = whole(first).and_then(|n| at(i, n));
            }
            // `95.00% ✓ 190 ✗ 10` before version 1, two lines since.
            "checks" | "checks_failed" if self.failed_checks.is_none() => {
                let share = percent(first).map(|share| match name {
                    "checks" => ((100.0 - share) * 100.0).round() / 100.0,
                    _ => share,
                });
                self.failed_checks = share.filter(|share| *share > 0.0).map(|share| (share, i));
                self.checks = checks(value);
            }
            _ => {}
        }
    }
}

/// How many checks failed, of how many: `95.00% ✓ 190 ✗ 10`, `5.00% 10 out of 200`.
fn checks(value: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = value.split_whitespace().collect();
    match words.as_slice() {
        [_, "✓", passed, "✗", failed] => {
            let (passed, failed) = (whole(passed)?, whole(failed)?);
            Some((failed, passed.checked_add(failed)?))
        }
        [_, failed, "out", "of", all] => Some((whole(failed)?, whole(all)?)),
        _ => None,
    }
}

fn take(block: &mut Block, i: usize, line: &str) -> LineRole {
    let Some((name, value)) = metric(line) else {
        let known = [
            "✓",
            "✗",
            "█",
            "↳",
            "HTTP",
            "EXECUTION",
            "NETWORK",
            "CUSTOM",
            "WEBSOCKET",
            "GRPC",
        ]
        .iter()
        .any(|word| line.starts_with(word));
        return if known {
            LineRole::Taken
        } else {
            LineRole::Unknown
        };
    };
    match name {
        "http_reqs" => {
            if block.rate.is_some() {
                return LineRole::Over;
            }
            let mut words = value.split_whitespace();
            block.requests = words.next().and_then(whole).and_then(|n| at(i, n));
            let rate = words.next().and_then(|rate| rate.strip_suffix("/s"));
            block.rate = rate.and_then(count).and_then(|rate| at(i, rate));
        }
        "http_req_duration" | "grpc_req_duration" => {
            for part in value.split_whitespace() {
                let Some((key, time)) = part.split_once('=') else {
                    continue;
                };
                match seconds(time) {
                    // A number among times, where the script asks for it.
                    None if key == "count" && whole(time).is_some() => {}
                    None => block.odd(i, part),
                    Some(time) => duration(block, i, key, time),
                }
            }
        }
        "iterations" => {
            let rate = value
                .split_whitespace()
                .nth(1)
                .and_then(|rate| rate.strip_suffix("/s"));
            if let Some(rate) = rate.and_then(count).and_then(|rate| at(i, rate)) {
                let took = block
                    .iterations
                    .map_or(Printed::exact(0.0), |(_, took)| took);
                block.iterations = Some((rate, took));
            }
        }
        "iteration_duration" => {
            let mean = value
                .split_whitespace()
                .find_map(|part| part.strip_prefix("avg="));
            if let Some(mean) = mean.and_then(seconds) {
                let rate = block.iterations.map(|(rate, _)| rate);
                let none = crate::model::At {
                    what: Printed::exact(0.0),
                    line: i + 1,
                };
                block.iterations = Some((rate.unwrap_or(none), mean));
            }
        }
        "http_req_connecting" => {
            let max = value
                .split_whitespace()
                .find_map(|part| part.strip_prefix("max="));
            block.connect_max = max.and_then(seconds).and_then(|time| at(i, time));
        }
        "http_req_failed" => {
            // `0.50% ✓ 9 ✗ 1791` before version 1, `0.50% 9 out of 1800` since.
            let mut words = value.split_whitespace().filter(|word| *word != "✓");
            let share = words.next().and_then(percent).unwrap_or(0.0);
            let n = words.next().and_then(whole).unwrap_or(0);
            if share > 0.0 {
                block.fail(i, "failed", n, false);
            }
        }
        "vus_max" => {
            let n = value.split_whitespace().next().and_then(whole);
            block.connections = n.and_then(|n| at(i, n));
        }
        _ => {}
    }
    LineRole::Taken
}

fn duration(block: &mut Block, i: usize, key: &str, time: Printed) {
    let latency = &mut block.latency;
    match key {
        "avg" => latency.mean = at(i, time),
        "min" => latency.min = at(i, time),
        "med" => latency.percentiles.extend(at(i, time).map(|t| (50.0, t))),
        "max" => latency.max = at(i, time),
        _ => {
            let p = key.strip_prefix("p(").and_then(|p| p.strip_suffix(')'));
            let p = p.and_then(leading).map(|(p, _)| p.value);
            latency.percentiles.extend(p.zip(at(i, time)));
        }
    }
}

/// `http_reqs......................: 180 4.36938/s`
fn metric(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(": ")?;
    let bare = name.trim_end_matches('.');
    let dots = name.len() - bare.len();
    let word = !bare.is_empty()
        && bare
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let tagged = bare.starts_with("{ ") && bare.ends_with('}');
    // A person may have written it down without the dots.
    let own = dots == 0 && matches!(bare, "http_reqs" | "iterations" | "http_req_failed");
    ((dots >= 3 || own) && (word || tagged)).then_some((bare, value.trim()))
}

pub(super) fn read_json(json: &Object<'_>) -> Option<Block> {
    // The data of handleSummary has the figures of a metric one level deeper.
    let path = |name: &'static str| {
        let deep = json.get(&["metrics", name, "values"]).is_some();
        let path = ["metrics", name, "values"];
        path[..if deep { 3 } else { 2 }].to_vec()
    };
    let own = |name, key| [path(name), vec![key]].concat();
    json.get(&path("http_reqs"))?;
    let mut block = json.block(Tool::K6);
    let place = json.line(&["http_reqs"]);
    let rate = json.number(&own("http_reqs", "rate"));
    block.rate = rate.and_then(|n| at(place, Printed::exact(n)));
    let count = json.number(&own("http_reqs", "count"));
    block.requests = count.and_then(|n| at(place, n as u64));
    for (key, ms, line) in json.numbers(&path("http_req_duration")) {
        duration(&mut block, line, key, Printed::exact(ms * 1e-3));
    }
    block.latency.sort();
    let connecting = json.number(&own("http_req_connecting", "max"));
    let line = json.line(&["http_req_connecting"]);
    block.connect_max = connecting.and_then(|ms| at(line, Printed::exact(ms * 1e-3)));
    // A rate metric passes when it is true: here, when a request failed.
    let failed = json.count(&own("http_req_failed", "passes"));
    block.fail(json.line(&["http_req_failed"]), "failed", failed, false);
    Some(block)
}

#[cfg(test)]
mod tests {
    use super::super::one;

    #[test]
    fn both_forms_of_failures() {
        for failed in ["0.50%  ✓ 9        ✗ 1791", "0.50%  9 out of 1800"] {
            let block = one(&format!(
                "     data_received..................: 1.3 MB 31 kB/s\n     \
                 http_req_connecting............: avg=20.51ms min=0s med=0s max=1.1s p(90)=1ms\n     \
                 http_req_duration..............: avg=144.56ms min=104.11ms med=110.47ms \
                 max=1.14s p(90)=203.54ms p(95)=215.95ms\n       \
                 {{ expected_response:true }}...: avg=1ms min=1ms med=1ms max=1ms p(90)=1ms\n     \
                 http_req_failed................: {failed}\n     \
                 http_reqs......................: 1800 43.6938/s\n     \
                 vus_max........................: 20     min=20     max=20\n"
            ));
            assert_eq!(block.requests.unwrap().what, 1800);
            assert_eq!(block.errors[0].what.count, 9, "{failed}");
            assert_eq!(block.latency.percentiles.len(), 3);
            assert_eq!(block.latency.mean.unwrap().what.value, 0.14456);
            assert_eq!(block.connect_max.unwrap().what.value, 1.1);
            assert!((block.lasted().unwrap() - 41.2).abs() < 0.1);
        }
    }

    #[test]
    fn checks_that_failed() {
        let text = |checks: &str, iterations: u32| {
            format!(
                "     {checks}\n     iteration_duration...: avg=47.37ms p(99)=132.59ms max=356.28ms\n     \
                 iterations...........: {iterations} 10468.147453/s\n"
            )
        };
        let before = "checks...............: 99.86% ✓ 316363       ✗ 423";
        let since = "checks_failed........: 0.14%  423 out of 316786";
        for checks in [before, since] {
            let block = one(&text(checks, 316_786));
            assert_eq!(block.errors[0].what.count, 423, "{checks}");
        }
        // Where an iteration has several of them only the share says how many failed.
        let block = one(&text(before, 158_393));
        assert_eq!(block.errors[0].what.count, 222);
    }

    #[test]
    fn a_line_without_its_dots() {
        let block = one("http_reqs: 40086  4008.039954/s\nhttp_req_duration - median: 2.43ms\n");
        assert_eq!(block.requests.unwrap().what, 40_086);
        assert!((block.rate.unwrap().what.value - 4_008.039_954).abs() < 1e-6);
    }
}

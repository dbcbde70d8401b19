//! wrk and wrk2.
//!
//! wrk2 prints what wrk does, and `Thread calibration` lines, finer percentiles and a spectrum.

use super::{FoundBlocks, LineRole, at, finish, walk};
use crate::model::{Block, Tool};
use crate::text::lines::{Lines, is_fence};
use crate::text::number::{Printed, bytes, count, leading, percent, seconds, whole};

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let line = lines.get(start).trim();
    // go-wrk begins and ends in the same way, and counts otherwise.
    if running(line).is_some() && lines.get(start + 1).contains("goroutine(s)") {
        let end = (start..lines.len())
            .find(|i| lines.get(*i).trim().is_empty() || is_fence(lines.get(*i)));
        return Some(FoundBlocks {
            blocks: Vec::new(),
            next: end.unwrap_or(lines.len()),
        });
    }
    // Its first lines, or, where a script has cut them off, any that only it prints.
    let cut = line.starts_with("Requests/sec:")
        || line.starts_with("Socket errors: connect ")
        || line.starts_with("Latency ")
            && line
                .split_whitespace()
                .nth(3)
                .is_some_and(|c| seconds(c).is_some())
        || requests_in(line).is_some();
    let begins = running(line).is_some() || threads(line).is_some() || is_header(line);
    if !begins && !cut {
        return None;
    }
    let mut block = Block::new(Tool::Wrk, start);
    if line.strip_prefix("Requests/sec:").is_some_and(is_heys) {
        block.tool = Tool::Hey;
    }
    let mut part = Section::Head;
    let last = walk(lines, start, |i, line| take(&mut block, &mut part, i, line));
    // autocannon begins in the same way.
    if block.connections.is_none() && block.rate.is_none() && block.requests.is_none() {
        block.latency = crate::model::Latency::default();
    }
    timeouts(&mut block);
    if let Some((bytes, requests)) = read_in(lines, &block)
        && requests > 0.0
    {
        let line = block.requests.map_or(block.first, |requests| requests.line);
        block.response_bytes = Some(crate::model::At {
            what: bytes.times(requests.recip()),
            line,
        });
    } else if let (Some(each), None) = (each_of_transfer(lines.get(last), &block), block.requests) {
        // Of an output that was cut to its last two lines.
        block.response_bytes = super::at(last, each);
    }
    finish(block, last)
}

/// The bytes of each answer, from bytes and answers per second.
fn each_of_transfer(line: &str, block: &Block) -> Option<Printed> {
    let rate = block.rate?.what.value;
    let all = bytes(line.trim().strip_prefix("Transfer/sec:")?.trim())?;
    (rate > 0.0).then(|| all.times(rate.recip()))
}

/// hey prints its rate with four decimals, and under the same name.
fn is_heys(rate: &str) -> bool {
    rate.trim()
        .rsplit_once('.')
        .is_some_and(|(_, decimals)| decimals.len() == 4)
}

/// wrk counts an answer that took longer than the time-out as one, and leaves it out of the
/// distribution: nothing in that is longer. Its versions before 4 counted what was waiting.
fn timeouts(block: &mut Block) {
    let longest = block.latency.max.map(|max| max.what.low());
    let late = longest.is_some_and(|max| max > crate::command::WRK_TIMEOUT);
    for error in &mut block.errors {
        if error.what.timed_out && block.tool == Tool::Wrk {
            error.what.uncounted = late;
        }
    }
}

/// The bytes and the requests of `2285670 requests in 1.00m, 667.01MB read`.
fn read_in(lines: &Lines<'_>, block: &Block) -> Option<(Printed, f64)> {
    let requests = block.requests?;
    let line = without_remark(lines.get(requests.line - 1).trim());
    let (_, read) = line.rsplit_once(", ")?;
    Some((bytes(read.strip_suffix(" read")?)?, requests.what as f64))
}

/// Part of an output, by the percentiles that it lists.
#[derive(PartialEq, Eq)]
enum Section {
    Head,
    /// The distribution that counts.
    Distribution,
    /// wrk2's list of hundreds of percentiles: the short one says enough.
    Spectrum,
    /// wrk2's second distribution: times without the waiting before a request was sent.
    Uncorrected,
}

/// A line without what its reader was told about it: `timeout 8 (Socket错误: …)`, `1.67s （最大值）`.
fn without_remark(line: &str) -> &str {
    let line = line.split('（').next().unwrap_or(line);
    let line = match line.find(" (") {
        Some(at) if !line.starts_with("Latency Distribution") => &line[..at],
        _ => line,
    };
    line.trim_end()
}

fn take(block: &mut Block, part: &mut Section, i: usize, line: &str) -> LineRole {
    let line = without_remark(line);
    if let Some((time, url)) = running(line) {
        if i + 1 > block.first {
            return LineRole::Over;
        }
        block.planned = seconds(time).and_then(|time| at(i, time.value));
        block.url = at(i, url.to_owned());
    } else if let Some((threads, connections)) = threads(line) {
        if block.connections.is_some() {
            return LineRole::Over;
        }
        block.threads = at(i, threads);
        block.connections = at(i, connections);
    } else if line.starts_with("Thread calibration:") {
        block.tool = Tool::Wrk2;
    } else if is_header(line) {
    } else if let Some(rest) = line.strip_prefix("Latency Distribution") {
        *part = if rest.contains("Uncorrected") {
            Section::Uncorrected
        } else {
            Section::Distribution
        };
        if rest.contains("HdrHistogram") {
            block.tool = Tool::Wrk2;
        }
    } else if line.starts_with("Detailed Percentile spectrum") {
        block.tool = Tool::Wrk2;
        if *part == Section::Distribution {
            *part = Section::Spectrum;
        }
    } else if let Some(rest) = line.strip_prefix("Latency ") {
        if block.latency.mean.is_some() || block.rate.is_some() {
            return LineRole::Over;
        }
        thread_stats(block, i, rest, true);
    } else if let Some(rest) = line.strip_prefix("Req/Sec ") {
        thread_stats(block, i, rest, false);
    } else if line.starts_with("#[") {
        if *part != Section::Uncorrected
            && let Some((_, samples)) = line.split_once("Total count")
        {
            let samples = samples.trim_matches([' ', '=', ']']);
            block.latency.samples = whole(samples).and_then(|n| at(i, n));
        }
    } else if line.starts_with("-----") || is_spectrum(line) {
    } else if let Some(rate) =
        (line.strip_prefix("Requests/sec:")).or_else(|| line.strip_prefix("Req/sec:"))
    {
        if block.rate.is_some() {
            return LineRole::Over;
        }
        // A script may have printed more behind it.
        let rate = rate.trim().split("  ").next().unwrap_or(rate);
        match count(rate) {
            Some(rate) => block.rate = at(i, rate),
            None => block.odd(i, rate.trim()),
        }
    } else if line.starts_with("Transfer/sec:") {
        return LineRole::Last;
    } else if let Some(counts) = line.strip_prefix("Socket errors:") {
        socket_errors(block, i, counts);
    } else if let Some(n) = line.strip_prefix("Non-2xx or 3xx responses:") {
        block.fail(i, "not 2xx or 3xx", whole(n).unwrap_or(0), false);
    } else if let Some((requests, time)) = requests_in(line) {
        if block.requests.is_some() || block.rate.is_some() {
            return LineRole::Over;
        }
        block.requests = at(i, requests);
        block.seconds = seconds(time).and_then(|time| at(i, time));
    } else if let Some((p, time)) = percentile(line) {
        if *part == Section::Distribution && time.value > 0.0 {
            block.latency.add(p, at(i, time));
        }
    } else {
        return LineRole::Unknown;
    }
    LineRole::Taken
}

/// `Running 1m test @ http://host/`
fn running(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("Running ")?.split_once(" test @ ")
}

/// `16 threads and 400 connections`
fn threads(line: &str) -> Option<(u64, u64)> {
    let line = line.strip_suffix(" connections")?;
    let (threads, connections) = line.split_once(" threads and ")?;
    Some((whole(threads)?, whole(connections)?))
}

fn is_header(line: &str) -> bool {
    line.starts_with("Thread Stats") && line.contains("Stdev")
}

/// `   11.14ms   10.51ms 268.47ms   97.55%`: of threads, so the maximum of all is the maximum.
fn thread_stats(block: &mut Block, i: usize, rest: &str, latency: bool) {
    let cells: Vec<&str> = rest.split_whitespace().collect();
    for (column, cell) in cells.iter().take(4).enumerate() {
        let good = match (column, latency) {
            (3, _) => percent(cell).is_some(),
            (_, true) => seconds(cell).is_some(),
            (_, false) => count(cell).is_some(),
        };
        // wrk prints -nan% of nothing, and a unit may be lost on the way to a page.
        let bare = leading(cell).is_some_and(|(_, rest)| rest.is_empty());
        if !good && !cell.contains("nan") && !bare {
            block.odd(i, cell);
        }
    }
    if latency {
        let time = |column: usize| cells.get(column).and_then(|cell| seconds(cell));
        // Of nothing it prints zeros.
        if time(2).is_some_and(|max| max.value > 0.0) {
            block.latency.mean = time(0).and_then(|time| at(i, time));
            block.latency.max = time(2).and_then(|time| at(i, time));
        }
    }
}

/// `connect 0, read 594, write 0, timeout 0`
fn socket_errors(block: &mut Block, i: usize, counts: &str) {
    for part in counts.split(',') {
        if let Some((how, n)) = part.trim().split_once(' ') {
            block.lose(i, how, whole(n).unwrap_or(0), how == "timeout");
        }
    }
}

/// `2285670 requests in 1.00m, 667.01MB read`
fn requests_in(line: &str) -> Option<(u64, &str)> {
    let (requests, rest) = line.split_once(" requests in ")?;
    let (time, read) = rest.split_once(", ")?;
    read.ends_with(" read").then_some(())?;
    Some((whole(requests)?, time))
}

/// `99%    0.91ms`, `99.000%   11.18ms`
fn percentile(line: &str) -> Option<(f64, Printed)> {
    let (p, time) = line.split_once('%')?;
    let (p, rest) = leading(p)?;
    rest.is_empty().then_some(())?;
    Some((p.value, seconds(time)?))
}

/// `0.921     0.000000            1         1.00`
fn is_spectrum(line: &str) -> bool {
    let cells: Vec<&str> = line.split_whitespace().take(5).collect();
    cells.first() == Some(&"Value")
        || cells.len() == 4
            && cells[..3]
                .iter()
                .all(|cell| leading(cell).is_some_and(|(_, rest)| rest.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::super::one;
    use super::*;

    #[test]
    fn go_wrk_is_another_tool() {
        let text = "Running 10s test @ http://h/\n  256 goroutine(s) running concurrently\n\
            6120 requests in 3.204s, 4.61MB read\nRequests/sec:\t\t1910.11\nTransfer/sec:\t\t1.44MB\n";
        let document = crate::read("x", text);
        assert_eq!((document.outputs.len(), document.unread.len()), (0, 1));
    }

    #[test]
    fn wrk_with_everything_that_can_go_wrong() {
        let block = one("Running 2m test @ http://gate:9000/weather/x\n  \
            32 threads and 128 connections\n  \
            Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
            Latency    88.12ms  193.84ms   1.84s    89.97%\n    \
            Req/Sec     1.53k   692.11     3.88k    64.44%0.\n  \
            Latency Distribution\n     50%    1.30ms\n     99%  920.85ms\n  \
            5748978 requests in 2.00m, 794.98MB read\n  \
            Socket errors: connect 0, read 2, write 0, timeout 24\n  \
            Non-2xx or 3xx responses: 3\n\
            Requests/sec:  47885.84\nTransfer/sec:      6.62MB\n");
        assert_eq!(block.tool, Tool::Wrk);
        assert_eq!((block.first, block.last), (1, 13));
        assert_eq!(
            block.url.as_ref().unwrap().what,
            "http://gate:9000/weather/x"
        );
        assert_eq!(block.connections.unwrap().what, 128);
        assert_eq!(block.threads.unwrap().what, 32);
        assert_eq!(block.planned.unwrap().what, 120.0);
        assert_eq!(block.requests.unwrap().what, 5_748_978);
        assert_eq!(block.rate.unwrap().what.value, 47885.84);
        assert_eq!(block.rate.unwrap().line, 12);
        assert!((block.latency.mean.unwrap().what.value - 0.08812).abs() < 1e-9);
        assert_eq!(block.latency.max.unwrap().what.value, 1.84);
        assert_eq!(block.latency.percentiles.len(), 2);
        assert_eq!(block.latency.percentile(99.0).unwrap().line, 8);
        assert_eq!(block.timed_out(), 24);
        let errors: Vec<_> = block
            .errors
            .iter()
            .map(|e| (e.what.how.as_str(), e.what.count, e.line))
            .collect();
        let expected = [
            ("read", 2, 10),
            ("timeout", 24, 10),
            ("not 2xx or 3xx", 3, 11),
        ];
        assert_eq!(errors, expected);
        assert_eq!(block.garbled.len(), 1);
        assert_eq!(
            (block.garbled[0].what.as_str(), block.garbled[0].line),
            ("64.44%0.", 5)
        );
    }

    #[test]
    fn remarks_behind_figures() {
        let block = one(
            "Running 1m test @ http://10.0.0.2/ （一分钟）\n  12 threads and 400 connections (12 个线程)\n  \
            Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency    84.21ms  141.90ms   1.61s    92.31%\n  \
            78112 requests in 1.00m, 14.49MB read （共 78112 个请求）\n  \
            Socket errors: connect 157, read 1540, write 7, timeout 8 (连接错误 157)\n  \
            Non-2xx or 3xx responses: 18820 (78112 个请求中)\nRequests/sec:   1299.80  （每秒）\nTransfer/sec:    246.94KB\n",
        );
        assert_eq!(block.url.as_ref().unwrap().what, "http://10.0.0.2/");
        assert_eq!(block.connections.unwrap().what, 400);
        assert_eq!(block.requests.unwrap().what, 78_112);
        assert_eq!(block.rate.unwrap().what.value, 1299.80);
        let errors: Vec<u64> = block.errors.iter().map(|e| e.what.count).collect();
        assert_eq!(errors, [157, 1540, 7, 8, 18_820]);
        assert!(block.response_bytes.is_some() && block.garbled.is_empty());
    }

    #[test]
    fn a_new_run_ends_the_one_before() {
        let text = "Running 1s test @ http://a/\n  1 threads and 1 connections\n\
            Requests/sec:  5.00\nRunning 1s test @ http://b/\nRequests/sec:  6.00\n";
        let lines = Lines::new(text);
        let found = super::read(&lines, 0).unwrap();
        assert_eq!(
            (found.next, found.blocks[0].rate.unwrap().what.value),
            (3, 5.0)
        );
        assert!(super::read(&lines, 3).is_some());
    }

    #[test]
    fn words_are_no_output() {
        for text in [
            "Running this test @ home\n",
            "Latency 3ms\n",
            "Running 5s test @ x\n",
        ] {
            let found = super::read(&Lines::new(text), 0);
            assert!(found.is_none_or(|found| found.blocks.is_empty()), "{text}");
        }
    }
}

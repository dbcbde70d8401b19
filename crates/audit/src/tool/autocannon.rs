//! autocannon: its tables, and `--json`.

use super::object::Object;
use super::{FoundBlocks, at};
use crate::model::{Block, Tool};
use crate::text::lines::Lines;
use crate::text::number::{Printed, count, leading, seconds, whole};

/// JSON times are in milliseconds.
const MS: f64 = 1e-3;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let line = lines.get(start).trim();
    let running = line
        .strip_prefix("Running ")
        .is_some_and(|rest| rest.contains(" @ "));
    let drawn = line.starts_with('┌') || cells_of(line).is_some_and(|cells| cells[0] == "Stat");
    if !running && !drawn {
        return None;
    }
    // Its tables, or its last line, within the next few lines: wrk begins in the same way.
    let mine = (start..start + 8).any(|i| {
        let line = lines.get(i);
        let old = line.starts_with("Stat ") && line.contains("Avg") && line.contains("Stdev");
        (old || line.contains("│ Stat")
            || line.starts_with("Stat │")
            || line.contains("connections with") && line.contains("pipelining"))
            && !line.contains("threads and")
    });
    mine.then_some(())?;
    let mut block = Block::new(Tool::Autocannon, start);
    let mut last = start;
    let mut header: Vec<String> = Vec::new();
    let mut unknown = 0;
    for i in start..lines.len() {
        let line = lines.get(i).trim();
        // Tables alone may be followed by those of the next run.
        let next = line.starts_with("Running ")
            || line.starts_with('#') && !line.starts_with("# of samples")
            || block.latency.mean.is_some() && is_latency(line);
        if i > start && next || unknown > super::PATIENCE {
            break;
        }
        if crate::text::lines::is_fence(line) {
            break;
        }
        if take(&mut block, &mut header, i, line) {
            last = i;
            unknown = 0;
        } else if !line.is_empty() {
            unknown += 1;
        }
        if line.contains(" requests in ") && line.contains(" read") {
            // Errors stand behind it.
            last = errors(&mut block, lines, i + 1).unwrap_or(last);
            // Of requests that failed it has read nothing, or something else.
            if block.errors.is_empty() {
                block.response_bytes = each_of(line).and_then(|bytes| at(i, bytes));
            }
            break;
        }
    }
    // It says how many requests are in flight only where there are several; tables alone do not tell.
    if let (Some(connections), None) = (block.connections, block.pipeline) {
        block.pipeline = Some(crate::model::At {
            what: 1,
            ..connections
        });
    }
    super::finish(block, last)
}

/// The bytes of each answer, of `338k requests in 20.02s, 50.6 MB read`: in powers of 1000.
fn each_of(line: &str) -> Option<Printed> {
    let (requests, rest) = line.split_once(" requests in ")?;
    let requests = count(requests).filter(|n| n.value > 0.0)?;
    let (_, read) = rest.rsplit_once(", ")?;
    // A title may follow.
    let (read, _) = read.split_once(" read")?;
    let (bytes, unit) = leading(read)?;
    let factor = match unit.trim() {
        "B" => 1.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return None,
    };
    Some(bytes.times(factor / requests.value))
}

fn take(block: &mut Block, header: &mut Vec<String>, i: usize, line: &str) -> bool {
    if let Some(rest) = line.strip_prefix("Running ") {
        if let Some((time, url)) = rest.split_once(" test @ ") {
            block.planned = seconds(time).and_then(|time| at(i, time.value));
            // `-T`: `Running 5s test @ http://localhost:3004 (express)`.
            let titled = url.strip_suffix(')').and_then(|it| it.split_once(" ("));
            let (url, title) = titled.map_or((url, None), |(url, title)| (url, Some(title)));
            block.url = at(i, url.to_owned());
            block.name = title.and_then(|title| at(i, title.to_owned()));
        } else if let Some((_, url)) = rest.split_once(" @ ") {
            block.url = at(i, url.to_owned());
        }
        return true;
    }
    if let Some((n, rest)) = line.split_once(" connections") {
        block.connections = whole(n).and_then(|n| at(i, n));
        if let Some(rest) = rest.strip_prefix(" with ") {
            let depth = rest.split_whitespace().next().and_then(whole);
            block.pipeline = depth.and_then(|n| at(i, n)).or(block.pipeline);
        }
        return true;
    }
    if let Some(cells) = cells_of(line) {
        match cells.first().copied() {
            Some("Stat" | "Percentile") => {
                *header = cells.iter().map(|cell| (*cell).to_owned()).collect();
            }
            Some("Latency") => {
                for (name, cell) in header.iter().zip(&cells).skip(1) {
                    latency(block, i, name, cell);
                }
            }
            Some("Req/Sec") => {
                let mean = header.iter().position(|name| name == "Avg");
                let rate = mean.and_then(|mean| in_locale(&cells, cells.get(mean)?));
                block.rate = rate.and_then(|rate| at(i, rate));
            }
            // `--renderLatencyTable`: a percentile and its milliseconds.
            Some(p) => {
                if let (Some(p), Some(ms)) = (whole_or_part(p), cells.get(1).and_then(|c| count(c)))
                {
                    let known = block.latency.percentile(p).is_some();
                    if !known && p > 0.0 && p < 100.0 {
                        let time = at(i, ms.times(MS)).map(|time| (p, time));
                        block.latency.percentiles.extend(time);
                    }
                }
            }
            None => {}
        }
        return true;
    }
    // Before its tables were drawn: mean, deviation, maximum.
    if let Some(times) = line.strip_prefix("Latency (ms)") {
        let mut times = times
            .split_whitespace()
            .map(|time| count(time).map(|n| n.times(MS)));
        block.latency.mean = times.next().flatten().and_then(|time| at(i, time));
        block.latency.max = times.nth(1).flatten().and_then(|time| at(i, time));
        return true;
    }
    if let Some(rates) = line.strip_prefix("Req/Sec ") {
        let mean = rates.split_whitespace().next().and_then(count);
        block.rate = mean.and_then(|rate| at(i, rate));
        return true;
    }
    if let Some((requests, rest)) = line.split_once(" requests in ") {
        // Rounded to thousands, from there on.
        if let Some(n) = count(requests).filter(|n| n.half <= 0.5) {
            block.requests = at(i, n.value as u64);
        }
        let time = rest.split(',').next().and_then(seconds);
        block.seconds = time.and_then(|time| at(i, time));
        return true;
    }
    line.starts_with(['┌', '├', '└'])
        || line.starts_with("Req/Bytes counts")
        || line.starts_with("# of samples")
        || line.starts_with("Stat ")
        || line.starts_with("Bytes/Sec ")
}

/// The cells of a row of its tables; a page may have lost the lines around them.
fn cells_of(line: &str) -> Option<Vec<&str>> {
    const ROWS: [&str; 5] = ["Stat", "Latency", "Req/Sec", "Bytes/Sec", "Percentile"];
    let bare = || {
        let (name, _) = line.split_once('│')?;
        ROWS.contains(&name.trim()).then_some(())
    };
    (line.starts_with('│') || bare().is_some()).then_some(())?;
    Some(line.trim_matches('│').split('│').map(str::trim).collect())
}

/// Is a row the head of the table of response times?
fn is_latency(line: &str) -> bool {
    cells_of(line).is_some_and(|cells| cells[0] == "Stat" && cells.contains(&"Max"))
}

/// A rate as it prints it, which is the way of where it runs: in a row in which a comma stands before the last digits,
/// `87.916,8` and `87 916,8` are 87916.8.
fn in_locale(row: &[&str], rate: &str) -> Option<Printed> {
    let decimals = |cell: &&str| {
        let digits = cell.rsplit_once(',').map(|(_, digits)| digits);
        digits.is_some_and(|d| (1..=2).contains(&d.len()) && d.bytes().all(|b| b.is_ascii_digit()))
    };
    if !row.iter().any(decimals) {
        return count(rate);
    }
    let digits = rate.chars().filter(|c| *c != '.' && !c.is_whitespace());
    let digits: String = digits.map(|c| if c == ',' { '.' } else { c }).collect();
    count(&digits)
}

fn whole_or_part(text: &str) -> Option<f64> {
    let (n, rest) = leading(text)?;
    rest.is_empty().then_some(n.value)
}

fn latency(block: &mut Block, i: usize, name: &str, cell: &str) {
    let Some(time) = seconds(cell).and_then(|time| at(i, time)) else {
        return;
    };
    match name {
        "Avg" => block.latency.mean = Some(time),
        "Max" => block.latency.max = Some(time),
        name => {
            if let Some((p, "%")) = leading(name) {
                block.latency.percentiles.push((p.value, time));
            }
        }
    }
}

/// `0 2xx responses, 9 non 2xx responses`, `12 errors (10 timeouts)`: behind the count of requests.
fn errors(block: &mut Block, lines: &Lines<'_>, from: usize) -> Option<usize> {
    // From a thousand on in thousands: `41k errors (0 timeouts)`.
    let rounded = |text: &str| count(text).map_or(0, |n| n.value as u64);
    let mut last = None;
    for i in from.saturating_sub(6)..from + 3 {
        let line = lines.get(i).trim();
        if let Some((_, rest)) = line.split_once(" 2xx responses, ") {
            let n = rest.split(" non 2xx").next().map_or(0, rounded);
            block.fail(i, "not 2xx", n, false);
        } else if let Some((n, rest)) = line.split_once(" errors (") {
            let n = rounded(n);
            let late = rest.split(" timeouts").next().map_or(0, rounded);
            block.lose(i, "errors", n.saturating_sub(late), false);
            block.lose(i, "timeouts", late, true);
        } else {
            continue;
        }
        last = Some(i.max(from - 1));
    }
    last
}

pub(super) fn read_json(json: &Object<'_>) -> Option<Block> {
    // Its results are also kept in parts, as `requests` and `latency`.
    if json.get(&["pipelining"]).is_none() {
        json.number(&["requests", "p97_5"])?;
        json.number(&["latency", "p97_5"])?;
    }
    json.get(&["requests"]).and(json.get(&["latency"]))?;
    let mut block = json.block(Tool::Autocannon);
    let requests = json.line(&["requests"]);
    let average = json.number(&["requests", "average"]);
    block.rate = average.and_then(|n| at(requests, Printed::exact(n)));
    let total = json.number(&["requests", "total"]);
    block.requests = total.and_then(|n| at(requests, n as u64));
    block.seconds = json.figure(&["duration"], 1.0);
    block.connections = json.whole(&["connections"]);
    block.pipeline = json.whole(&["pipelining"]);
    block.url = json.text(&["url"]);
    let place = json.line(&["latency"]);
    // It rounds its samples to whole milliseconds.
    let ms = |key: &str| {
        let half = if key == "average" { 0.005 } else { 0.5 };
        let value = json.number(&["latency", key])?;
        at(place, Printed { value, half }.times(MS))
    };
    block.latency.mean = ms("average");
    block.latency.max = ms("max");
    for (key, p) in [
        ("p50", 50.0),
        ("p75", 75.0),
        ("p90", 90.0),
        ("p99", 99.0),
        ("p99_9", 99.9),
    ] {
        block.latency.add(p, ms(key));
    }
    let line = |key| json.line(&[key]);
    let (errors, late) = (json.count(&["errors"]), json.count(&["timeouts"]));
    block.fail(line("non2xx"), "not 2xx", json.count(&["non2xx"]), false);
    block.lose(line("errors"), "errors", errors.saturating_sub(late), false);
    block.lose(line("timeouts"), "timeouts", late, true);
    Some(block)
}

#[cfg(test)]
mod tests {
    use super::super::one;
    use crate::model::Tool;

    #[test]
    fn before_its_tables_were_drawn() {
        let block = one(
            "Running 5s test @ http://10.0.0.2:3000/small\n100 connections with 10 pipelining factor\n\n\
            Stat         Avg     Stdev   Max\nLatency (ms) 9.17    33.28   757\n\
            Req/Sec      10700.4 2661.33 12487\nBytes/Sec    10 MB   2.49 MB 12.1 MB\n\n53k requests in 5s, 50.1 MB read\n",
        );
        assert_eq!(
            (block.tool, block.pipeline.unwrap().what),
            (Tool::Autocannon, 10)
        );
        assert_eq!(block.rate.unwrap().what.value, 10_700.4);
        assert!((block.latency.mean.unwrap().what.value - 0.00917).abs() < 1e-12);
        assert!((block.latency.max.unwrap().what.value - 0.757).abs() < 1e-12);
    }

    #[test]
    fn titles() {
        let block = one(
            "Running 5s test @ http://localhost:3004 (express)\n100 connections\n\n\
            Stat         Avg     Stdev   Max\nLatency (ms) 4.15    11.56   218.03\n\
            Req/Sec      23472.8 3568.24 25550\n\n117k requests in 5s, 25.4 MB read (express)\n",
        );
        assert_eq!(block.name.unwrap().what, "express");
        assert_eq!(block.url.unwrap().what, "http://localhost:3004");
        assert!((block.response_bytes.unwrap().what.value - 217.1).abs() < 0.1);
    }

    #[test]
    fn rates_and_errors_as_they_are_printed_elsewhere() {
        let text = |rates: &str| {
            format!(
                "Running 10s test @ http://10.0.0.2:3000\n10 connections\n\n\
                 │ Stat      │ 1%     │ 50%    │ Avg      │ Stdev  │ Min   │\n│ Req/Sec   │ {rates} │\n\n\
                 512k requests in 10.2s, 21.7 MB read\n41k errors (2k timeouts)\n"
            )
        };
        for (rates, value) in [
            ("70.015 │ 77.271 │ 77.012,8 │ 493,47 │ 7.560", 77_012.8),
            ("70.015 │ 77.271 │ 77.012 │ 493,47 │ 7.560", 77_012.0),
            (
                "70 015 │ 77 271 │ 77\u{202f}012,8 │ 493,4 │ 7 560",
                77_012.8,
            ),
            ("70,015 │ 77,271 │ 77,012.8 │ 493.47 │ 7,560", 77_012.8),
            ("70,015 │ 77,271 │ 77,012 │ 493.47 │ 7,560", 77_012.0),
        ] {
            let block = one(&text(rates));
            assert_eq!(block.rate.unwrap().what.value, value, "{rates}");
            let errors: Vec<u64> = block.errors.iter().map(|e| e.what.count).collect();
            assert_eq!(errors, [39_000, 2_000]);
        }
    }

    #[test]
    fn rows_without_the_lines_around_them() {
        let run = |ms: &str, rate: &str| {
            format!(
                "Stat │ 2.5% │ 50% │ 97.5% │ 99% │ Avg │ Stdev │ Max │\n\n\
                 Latency │ 131 ms │ 452 ms │ 741 ms │ 880 ms │ {ms} ms │ 133 ms │ 1108 ms │\n\n---\n\n\
                 Stat │ 1% │ 2.5% │ 50% │ 97.5% │ Avg │ Stdev │ Min │\n\n\
                 Req/Sec │ 902 │ 902 │ 2341 │ 2610 │ {rate} │ 318.40 │ 902 │\n\n"
            )
        };
        let text = run("431.72", "2304.11") + &run("420.05", "2377.46");
        let lines = super::Lines::new(&text);
        let first = super::read(&lines, 0).unwrap();
        let second = super::read(&lines, first.next + 1).unwrap();
        let rates: Vec<f64> = [first, second]
            .iter()
            .map(|found| found.blocks[0].rate.unwrap().what.value)
            .collect();
        assert_eq!(rates, [2304.11, 2377.46]);
    }

    #[test]
    fn tables_and_pipelining() {
        let block = one(
            "Running 10s test @ http://10.0.0.2:3000\n10 connections with 8 pipelining factor\n\n\
            ┌─────────┬──────┬──────┬───────┬──────┬─────────┬─────────┬───────┐\n\
            │ Stat    │ 2.5% │ 50%  │ 97.5% │ 99%  │ Avg     │ Stdev   │ Max   │\n\
            ├─────────┼──────┼──────┼───────┼──────┼─────────┼─────────┼───────┤\n\
            │ Latency │ 0 ms │ 1 ms │ 3 ms  │ 4 ms │ 1.25 ms │ 0.48 ms │ 35 ms │\n\
            └─────────┴──────┴──────┴───────┴──────┴─────────┴─────────┴───────┘\n\
            ┌───────────┬─────────┬─────────┬─────────┬─────────┬─────────┬─────────┬─────────┐\n\
            │ Stat      │ 1%      │ 2.5%    │ 50%     │ 97.5%   │ Avg     │ Stdev   │ Min     │\n\
            ├───────────┼─────────┼─────────┼─────────┼─────────┼─────────┼─────────┼─────────┤\n\
            │ Req/Sec   │ 30,015  │ 30,015  │ 40,063  │ 41,023  │ 39,200  │ 1,300   │ 30,004  │\n\
            └───────────┴─────────┴─────────┴─────────┴─────────┴─────────┴─────────┴─────────┘\n\n\
            Req/Bytes counts sampled once per second.\n# of samples: 10\n\n\
            390k 2xx responses, 12 non 2xx responses\n392k requests in 10.01s, 61 MB read\n7 errors (5 timeouts)\n",
        );
        assert_eq!((block.tool, block.response_bytes), (Tool::Autocannon, None));
        let each = |line: &str| super::each_of(line).map(|bytes| bytes.value.round());
        assert_eq!(each("338k requests in 20.02s, 50.6 MB read"), Some(150.0));
        assert_eq!(each("10 requests in 1.02s, 9.54 kB read"), Some(954.0));
        assert_eq!(each("0 requests in 1.02s, 0 B read"), None);
        assert_eq!(
            (
                block.connections.unwrap().what,
                block.pipeline.unwrap().what
            ),
            (10, 8)
        );
        assert_eq!(block.rate.unwrap().what.value, 39_200.0);
        assert!((block.latency.mean.unwrap().what.value - 0.00125).abs() < 1e-12);
        assert_eq!(block.latency.percentile(99.0).unwrap().line, 7);
        let errors: Vec<_> = block
            .errors
            .iter()
            .map(|e| (e.what.count, e.what.uncounted))
            .collect();
        assert_eq!(errors, [(12, false), (2, true), (5, true)]);
        assert_eq!((block.timed_out(), block.last), (5, 20));
    }
}

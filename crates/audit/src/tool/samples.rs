//! CSV files of whole runs: `JMeter`'s samples and its summary, Locust's statistics.

use super::{FoundBlocks, at};
use crate::model::{At, Block, Tool};
use crate::text::lines::Lines;
use crate::text::number::{Printed, count, percent, whole};
use std::collections::BTreeMap;

/// Both give times in milliseconds.
const MS: f64 = 1e-3;
/// At most this many names are told apart in a file.
const NAMES: usize = 200;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let header = lines.get(start);
    let names: Vec<&str> = cells(header);
    let column = |name: &str| names.iter().position(|cell| *cell == name);
    if column("timeStamp").is_some() && column("elapsed").is_some() {
        return samples(lines, start, &names);
    }
    if column("Request Count").is_some() && column("Requests/s").is_some() {
        return rows(lines, start, &names, Tool::Locust);
    }
    // JMeter's aggregate and summary reports.
    let aggregate = column("Label").is_some()
        && (column("# Samples").is_some() || column("#Samples").is_some())
        && column("Throughput").is_some();
    aggregate.then(|| rows(lines, start, &names, Tool::Jmeter))?
}

fn cells(line: &str) -> Vec<&str> {
    let mut quoted = false;
    line.split(|c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
    .map(|cell| cell.trim().trim_matches('"'))
    .collect()
}

/// Samples of one name, summed up.
#[derive(Default)]
struct Sampled {
    first: usize,
    times: Vec<f64>,
    failed: u64,
    from: f64,
    to: f64,
    connect: f64,
    threads: u64,
}

/// A line for each request: they become a run of each label.
fn samples(lines: &Lines<'_>, start: usize, names: &[&str]) -> Option<FoundBlocks> {
    let column = |name: &str| names.iter().position(|cell| *cell == name);
    let (stamp, elapsed) = (column("timeStamp")?, column("elapsed")?);
    let (label, success) = (column("label"), column("success"));
    let (connect, threads) = (column("Connect"), column("allThreads"));
    let mut by_label: BTreeMap<String, Sampled> = BTreeMap::new();
    let mut next = start + 1;
    while next < lines.len() {
        let cells = cells(lines.get(next));
        let n = |column: usize| count(cells.get(column)?).map(|n| n.value);
        let (Some(from), Some(took)) = (n(stamp), n(elapsed)) else {
            break;
        };
        let label = label
            .and_then(|label| cells.get(label))
            .copied()
            .unwrap_or("");
        if by_label.len() < NAMES || by_label.contains_key(label) {
            let sampled = by_label.entry(label.to_owned()).or_default();
            if sampled.times.is_empty() {
                (sampled.first, sampled.from) = (next, from);
            }
            sampled.from = sampled.from.min(from);
            sampled.to = sampled.to.max(from + took);
            sampled.times.push(took * MS);
            let connect = connect.and_then(n).unwrap_or(0.0) * MS;
            sampled.connect = sampled.connect.max(connect);
            sampled.threads = sampled
                .threads
                .max(threads.and_then(n).unwrap_or(0.0) as u64);
            let ok = success.and_then(|success| cells.get(success)).copied();
            sampled.failed += u64::from(ok == Some("false"));
        }
        next += 1;
    }
    let several = by_label.len() > 1;
    let blocks = by_label
        .into_iter()
        .filter_map(|(label, sampled)| block_of(&label, sampled, several, next));
    let blocks: Vec<Block> = blocks.collect();
    (!blocks.is_empty()).then_some(FoundBlocks { blocks, next })
}

fn block_of(label: &str, mut sampled: Sampled, several: bool, next: usize) -> Option<Block> {
    sampled.times.sort_by(f64::total_cmp);
    let i = sampled.first;
    let mut block = Block::new(Tool::Jmeter, i);
    block.last = if several { i + 1 } else { next };
    block.name = at(i, label.to_owned()).filter(|_| several && !label.is_empty());
    // Whole milliseconds.
    let time = |seconds: f64| Printed {
        value: seconds,
        half: 0.5 * MS,
    };
    let n = sampled.times.len();
    let lasted = (sampled.to - sampled.from) * MS;
    block.requests = at(i, n as u64);
    block.seconds = at(i, Printed::exact(lasted));
    block.rate = (lasted > 0.0).then(|| at(i, Printed::exact(n as f64 / lasted)))?;
    block.connections = at(i, sampled.threads).filter(|n| n.what > 0 && !several);
    let mean = sampled.times.iter().sum::<f64>() / n as f64;
    block.latency.mean = at(i, time(mean));
    block.latency.min = at(i, time(sampled.times[0]));
    block.latency.max = at(i, time(sampled.times[n - 1]));
    for p in [50.0, 90.0, 99.0] {
        // What prony works out itself has enough samples, or is left out.
        if n as f64 * (1.0 - p / 100.0) >= 10.0 {
            let rank = (n as f64 * p / 100.0).ceil() as usize;
            let value = time(sampled.times[rank.clamp(1, n) - 1]);
            block.latency.add(p, at(i, value));
        }
    }
    block.connect_max = at(i, time(sampled.connect)).filter(|at| at.what.value > 0.0);
    block.fail(i, "failed", sampled.failed, false);
    Some(block)
}

/// A row for each name, and one for all of them.
fn rows(lines: &Lines<'_>, start: usize, names: &[&str], tool: Tool) -> Option<FoundBlocks> {
    let column = |wanted: &[&str]| names.iter().position(|cell| wanted.contains(cell));
    let name = column(&["Name", "Label"])?;
    let requests = column(&["Request Count", "# Samples", "#Samples"])?;
    let rate = column(&["Requests/s", "Throughput"])?;
    let failures = column(&["Failure Count"]);
    let error_share = column(&["Error %"]);
    let mean = column(&["Average Response Time", "Average"]);
    let (least, most) = (
        column(&["Min Response Time", "Min"]),
        column(&["Max Response Time", "Max"]),
    );
    let size = column(&["Average Content Size"]);
    let mut found: Vec<Block> = Vec::new();
    let mut next = start + 1;
    while next < lines.len() && found.len() < NAMES {
        let cells = cells(lines.get(next));
        let n = |column: usize| count(cells.get(column)?);
        let value = |column: usize| cells.get(column).copied().unwrap_or("");
        let Some(count_of) = whole(value(requests)) else {
            break;
        };
        let mut block = Block::new(tool, next);
        let ms = |column: Option<usize>| at(next, n(column?)?.times(MS));
        block.name = at(next, value(name).to_owned());
        block.requests = at(next, count_of);
        let per_second = value(rate).trim_end_matches("/sec");
        block.rate = count(per_second).and_then(|n| at(next, n));
        if let Some(rest) = value(rate).strip_suffix("/min") {
            block.rate = count(rest).and_then(|n| at(next, n.times(1.0 / 60.0)));
        }
        block.latency.mean = ms(mean);
        block.latency.min = ms(least);
        block.latency.max = ms(most);
        for (at_column, header) in names.iter().enumerate() {
            let p = percent(header.split(' ').next().unwrap_or(""));
            if let Some((p, time)) = p
                .filter(|p| *p < 100.0 && *p > 0.0)
                .zip(ms(Some(at_column)))
                && *header != "Error %"
            {
                block.latency.percentiles.push((p, time));
            }
        }
        let share = error_share.and_then(|column| percent(value(column)));
        let failed = failures
            .and_then(|column| whole(value(column)))
            .or_else(|| share.map(|share| (count_of as f64 * share / 100.0).round() as u64));
        block.fail(next, "failed", failed.unwrap_or(0), false);
        block.response_bytes = size
            .and_then(n)
            .filter(|n| n.value > 0.0)
            .and_then(|n| at(next, n));
        found.push(block);
        next += 1;
    }
    // Of one name there is a row for all of them as well, with the same figures.
    let is_total = |block: &Block| {
        let name = block
            .name
            .as_ref()
            .map(|name: &At<String>| name.what.as_str());
        matches!(name, Some("Aggregated" | "TOTAL" | "Total"))
    };
    if found.len() == 2 {
        found.truncate(1);
        found[0].name = None;
    } else {
        found.retain(|block| !is_total(block));
    }
    (!found.is_empty()).then_some(FoundBlocks {
        blocks: found,
        next,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_jmeter() {
        let mut text =
            "timeStamp,elapsed,label,responseCode,success,allThreads,Connect\n".to_owned();
        for n in 0..1_000_u64 {
            let ok = n % 100 != 0;
            text += &format!(
                "{},{},home,{},{ok},4,1\n",
                1_700_000_000_000 + 10 * n,
                20 + n % 10,
                if ok { 200 } else { 500 }
            );
        }
        let found = read(&Lines::new(&text), 0).unwrap();
        let block = &found.blocks[0];
        assert_eq!((found.blocks.len(), found.next), (1, 1_001));
        assert_eq!(
            (
                block.requests.unwrap().what,
                block.connections.unwrap().what
            ),
            (1_000, 4)
        );
        assert_eq!(
            (block.errors[0].what.count, block.failed_share()),
            (10, 0.01)
        );
        assert!((block.rate.unwrap().what.value - 1_000.0 / 10.019).abs() < 1e-9);
        assert!((block.latency.percentile(90.0).unwrap().what.value - 0.028).abs() < 1e-12);
    }

    #[test]
    fn statistics_of_locust() {
        let text = "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,\
            Min Response Time,Max Response Time,Average Content Size,Requests/s,Failures/s,50%,99%,100%\n\
            GET,/a,3000,0,4,5.5,1,90,12,300.5,0,4,20,90\nGET,/b,1000,50,4,6.5,1,80,12,100.5,5,4,30,80\n\
            ,Aggregated,4000,50,4,5.7,1,90,12,401,5,4,25,90\n";
        let found = read(&Lines::new(text), 0).unwrap();
        assert_eq!((found.blocks.len(), found.next), (2, 4));
        let b = &found.blocks[1];
        assert_eq!(
            (
                b.name.as_ref().unwrap().what.as_str(),
                b.errors[0].what.count
            ),
            ("/b", 50)
        );
        assert_eq!(b.latency.percentiles.len(), 2);
        let one = text.replace("GET,/b,1000,50,4,6.5,1,80,12,100.5,5,4,30,80\n", "");
        let found = read(&Lines::new(&one), 0).unwrap();
        assert_eq!(
            (found.blocks.len(), found.blocks[0].name.is_none()),
            (1, true)
        );
    }
}

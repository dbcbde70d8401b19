//! Locust: the tables that it prints. Its CSV files are read with those of `JMeter`.

use super::{FoundBlocks, at};
use crate::model::{At, Block, Tool};
use crate::text::lines::{Lines, is_fence};
use crate::text::number::{Printed, count, leading, percent, whole};

/// Length of a millisecond, in seconds: Locust prints times in milliseconds.
const MS: f64 = 1e-3;
/// At most this many rows are read of a table.
const ROWS: usize = 200;
/// The tables of one run follow each other within this many lines.
const REACH: usize = 400;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let header = CsvHeader::of(lines.get(start)).filter(|header| header.column("Avg").is_some())?;
    let (mut blocks, mut next) = rows(lines, start, &header);
    // While it runs it prints the same table again and again: the last of them counts.
    if superseded(lines, next, &blocks) {
        blocks.clear();
    } else {
        next = percentiles(lines, next, &mut blocks).unwrap_or(next);
    }
    finish(blocks, next)
}

/// The names of the columns behind that of the name.
struct CsvHeader(Vec<String>);

impl CsvHeader {
    /// Parses the header `Type  Name  # reqs  # fails | Avg …`, and those of older tables without a type or bars.
    fn of(line: &str) -> Option<Self> {
        let line = line.trim();
        (line.starts_with("Type ") || line.starts_with("Name ")).then_some(())?;
        line.contains("# reqs").then_some(())?;
        let joined = line.replace("# ", "#").replace('|', " ");
        let columns = joined.split_whitespace().skip_while(|word| *word != "Name");
        Some(Self(columns.skip(1).map(str::to_owned).collect()))
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|column| column == name)
    }

    /// The name of a row, with its method, and the cells of its columns.
    fn row<'a>(&self, line: &'a str) -> Option<(String, Vec<&'a str>)> {
        let words: Vec<&str> = line
            .split(['|', ' ', '\t'])
            .filter(|word| !word.is_empty())
            .collect();
        let name = words.len().checked_sub(self.0.len())?;
        let cells = words[name..].to_vec();
        let figures = cells.iter().all(|cell| leading(cell).is_some());
        figures.then(|| (words[..name].join(" "), cells))
    }
}

/// `--------|-----|----`, and older tables without bars.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() > 20 && line.bytes().all(|b| matches!(b, b'-' | b'|' | b' '))
}

fn rows(lines: &Lines<'_>, start: usize, header: &CsvHeader) -> (Vec<Block>, usize) {
    let mut blocks = Vec::new();
    let mut next = start + 1;
    while next < lines.len() && blocks.len() < ROWS {
        let line = lines.get(next);
        if !is_rule(line) {
            let Some((name, cells)) = header.row(line) else {
                // Older tables leave cells of their last row empty.
                next += usize::from(!blocks.is_empty() && line.trim_start().starts_with("Total "));
                break;
            };
            blocks.extend(block_of(next, name, header, &cells));
        }
        next += 1;
    }
    (blocks, next)
}

fn block_of(i: usize, name: String, header: &CsvHeader, cells: &[&str]) -> Option<Block> {
    let cell = |column: &str| cells.get(header.column(column)?).copied();
    let ms = |column: &str| at(i, count(cell(column)?)?.times(MS));
    let mut block = Block::new(Tool::Locust, i);
    let requests = cell("#reqs").and_then(whole)?;
    block.name = at(i, name);
    block.requests = at(i, requests);
    block.rate = cell("req/s").and_then(count).and_then(|rate| at(i, rate));
    // `50(1.25%)`
    let failed = cell("#fails")
        .and_then(leading)
        .map_or(0.0, |(n, _)| n.value);
    block.fail(i, "failed", failed as u64, false);
    // Of nothing it prints zeros.
    if requests > 0 {
        block.latency.mean = ms("Avg").map(cut_off);
        block.latency.min = ms("Min").map(cut_off);
        block.latency.max = ms("Max").map(cut_off);
        let median = ms("Med").or_else(|| ms("Median"));
        block
            .latency
            .percentiles
            .extend(median.map(|time| (50.0, time)));
    }
    Some(block)
}

/// Adds half a millisecond, because Locust cuts decimals off: 7 ms are any time from 7 to 8.
fn cut_off(mut time: At<Printed>) -> At<Printed> {
    time.what.value += 0.5 * MS;
    time
}

fn is_total(block: &Block) -> bool {
    let name = block.name.as_ref().map(|name| name.what.as_str());
    matches!(
        name,
        Some("Aggregated" | "Total" | "None Total" | "None Aggregated")
    )
}

/// The requests of all rows: as the row for all of them says, which older tables leave half empty, or their sum.
fn in_all(blocks: &[Block]) -> Option<u64> {
    let requests = |block: &Block| block.requests.map(|requests| requests.what);
    match blocks.iter().find(|block| is_total(block)) {
        Some(total) => requests(total),
        None => blocks.iter().map(requests).sum(),
    }
}

/// Does a later table of the same run follow?
fn superseded(lines: &Lines<'_>, next: usize, blocks: &[Block]) -> bool {
    let Some(before) = in_all(blocks) else {
        return false;
    };
    for i in next..lines.len().min(next + REACH) {
        let line = lines.get(i);
        // Another run begins with another command line.
        if is_fence(line) || line.trim_start().starts_with(['$', '#']) || line.contains("locust -")
        {
            return false;
        }
        if line.contains("Response time percentiles") {
            return false;
        }
        if let Some(header) = CsvHeader::of(line).filter(|header| header.column("Avg").is_some()) {
            let (later, _) = rows(lines, i, &header);
            return in_all(&later).is_some_and(|after| after >= before);
        }
    }
    false
}

/// The table of percentiles that follows at the end of a run; the index of the line behind it.
fn percentiles(lines: &Lines<'_>, from: usize, blocks: &mut [Block]) -> Option<usize> {
    let begin = (from..lines.len().min(from + 8)).find_map(|i| {
        let header = CsvHeader::of(lines.get(i))?;
        header.column("99%").is_some().then_some((i, header))
    });
    let (begin, header) = begin?;
    let mut next = begin + 1;
    while next < lines.len() && next <= begin + ROWS {
        let line = lines.get(next);
        if !is_rule(line) {
            let Some((name, cells)) = header.row(line) else {
                break;
            };
            let own = |block: &&mut Block| {
                let own = block.name.as_ref().map(|at| at.what.as_str());
                own == Some(&name)
            };
            if let Some(block) = blocks.iter_mut().find(own) {
                block.latency.percentiles.clear();
                for (column, cell) in header.0.iter().zip(cells) {
                    let p = percent(column).filter(|p| *p < 100.0);
                    // Rounded to two digits from 100 ms on: no contradiction to what is exact.
                    let time = count(cell).map(|ms| rounded(ms).times(MS));
                    let time = time.and_then(|time| at(next, time));
                    block.latency.percentiles.extend(p.zip(time));
                }
            }
        }
        next += 1;
    }
    Some(next)
}

/// Locust rounds times to two digits before it counts them.
fn rounded(ms: Printed) -> Printed {
    let half = match ms.value {
        value if value < 100.0 => 0.5,
        value => 0.5 * 10_f64.powf(value.log10().floor() - 1.0),
    };
    Printed { half, ..ms }
}

fn finish(mut blocks: Vec<Block>, next: usize) -> Option<FoundBlocks> {
    for block in &mut blocks {
        block.last = block.first;
    }
    // Of one name there is a row for all of them as well, with the same figures.
    if let [only, total] = blocks.as_mut_slice()
        && is_total(total)
    {
        only.name = None;
        blocks.truncate(1);
    } else if blocks.len() > 1 {
        blocks.retain(|block| !is_total(block));
    }
    blocks.retain(Block::says_something);
    Some(FoundBlocks { blocks, next })
}

#[cfg(test)]
mod tests {
    use prony_checks::CheckId;

    fn table(requests: [u64; 2], rate: &str) -> String {
        let rule = "--------|--------------|-------|-------------|-------|-------|-------|-------|--------|-----------";
        format!(
            "Type     Name              # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s\n{rule}\n\
            GET      /a b             {:7}     0(0.00%) |      7       1     106      4 | {rate}        0.00\n\
            POST     /c               {:7}     2(0.05%) |     12       2     300      9 |  100.50        0.05\n{rule}\n         \
            Aggregated       {:7}     2(0.01%) |      9       1     300      5 |  1100.50       0.05\n\n",
            requests[0],
            requests[1],
            requests[0] + requests[1]
        )
    }

    fn last() -> String {
        let rule = "--------|--------------|--------|------|------|------|------|------|------|------|------|------|------|------";
        format!(
            "{}Response time percentiles (approximated)\n\
            Type     Name         50%    66%    75%    80%    90%    95%    98%    99%  99.9% 99.99%   100% # reqs\n{rule}\n\
            GET      /a b           4      6      8      9     12     17     30     41     90    106    110  30000\n\
            POST     /c             9     11     12     14     20     31     60    110    290    300    300   4000\n{rule}\n         \
            Aggregated     5      7      9     10     14     20     40     60    200    300    300  34000\n\n",
            table([30_000, 4_000], "1000.00")
        )
    }

    #[test]
    fn the_last_of_several_tables() {
        let text = format!("{}{}", table([3_000, 400], "990.00"), last());
        let document = crate::read("l.txt", &text);
        let blocks: Vec<_> = document
            .outputs
            .iter()
            .map(|output| &output.block)
            .collect();
        assert_eq!((blocks.len(), document.tables.len()), (2, 0));
        assert_eq!(blocks[0].name.as_ref().unwrap().what, "GET /a b");
        assert_eq!(
            (blocks[0].requests.unwrap().what, blocks[0].first),
            (30_000, 10)
        );
        assert_eq!(blocks[1].latency.percentile(99.0).unwrap().what.value, 0.11);
        assert_eq!(blocks[1].errors[0].what.count, 2);
        // Another run is another output.
        let runs = format!("{}$ locust --headless\n{}", last(), last());
        assert_eq!(crate::read("l.txt", &runs).outputs.len(), 4);
    }

    #[test]
    fn the_last_of_several_older_tables() {
        let rule = "-".repeat(80);
        let table = |n: u32| {
            format!(
                " Name                  # reqs      # fails     Avg     Min     Max  |  Median   req/s\n{rule}\n \
                 GET /a                  {n}     0(0.00%)      20      10     120  |      18   50.10\n{rule}\n \
                 Total                   {n}     0(0.00%)                                    50.10\n\n"
            )
        };
        let requests = |text: &str| -> Vec<u64> {
            let document = crate::read("l.txt", text);
            let requests = document.outputs.iter().filter_map(|o| o.block.requests);
            requests.map(|requests| requests.what).collect()
        };
        assert_eq!(requests(&(table(19) + &table(78) + &table(1169))), [1169]);
        // It begins to count anew when all of its users are there.
        assert_eq!(
            requests(&(table(900) + &table(78) + &table(169))),
            [900, 169]
        );
    }

    #[test]
    fn an_older_table() {
        let text = " Name                  # reqs      # fails     Avg     Min     Max  |  Median   req/s\n\
            -----------------------------------------------------------------------------------\n \
            GET /a                  1000     0(0.00%)      20      10     120  |      18   50.10\n\
            -----------------------------------------------------------------------------------\n \
            Total                   1000     0(0.00%)                                    50.10\n\n";
        let document = crate::read("l.txt", text);
        let block = &document.outputs[0].block;
        assert_eq!(
            (document.outputs.len(), block.rate.unwrap().what.value),
            (1, 50.1)
        );
        let median = block.latency.percentile(50.0).unwrap().what.value;
        assert!((median - 0.018).abs() < 1e-9);
    }

    #[test]
    fn what_is_wrong_in_it() {
        let names = |text: &str| -> Vec<CheckId> {
            let audit = crate::audit(&[("l.txt".into(), text.into())]);
            audit.remarks.into_iter().map(|r| r.finding.name).collect()
        };
        assert_eq!(names(&last()), [CheckId::Errors]);
        let fine = last()
            .replace("2(0.05%)", "0(0.00%)")
            .replace("2(0.01%)", "0(0.00%)");
        assert_eq!(names(&fine), []);
        let changed = fine.replace("31     60    110", "31     60     50");
        assert_eq!(names(&changed), [CheckId::PercentileOrder]);
    }
}

//! The summary that a script of its own prints, or a person writes: lines of `name: value` or `name = 'value'`, in several
//! languages. It needs a rate and two other figures that are known, or how many requests there were, how many failed and how
//! long they took, so that a setting or a sentence is none.

mod names;
mod quantity;

use super::{Block, Found, Step, Tool, at, finish, walk};
use crate::read::json::line_of;
use crate::read::lines::Lines;
use crate::read::number::{Printed, leading, seconds};
use crate::table::Table;
use quantity::{What, named, quantity};
use serde_json::Value;

/// A summary has so many figures that are known; one of them is the rate.
const LEAST: usize = 3;
/// And so many other lines, of settings and the like, between two of them.
const BETWEEN: usize = 2;
/// It is no longer than this.
const LINES: usize = 40;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
    quantity(lines.get(start))?;
    let mut summary = Summary::new(start);
    let mut between = 0;
    let last = walk(lines, start, |i, line| {
        if i > start + LINES {
            return Step::Over;
        }
        let Some((what, value, name)) = quantity(line) else {
            // A line of dashes or a title stands between parts.
            between += 1;
            return if between > BETWEEN {
                Step::Over
            } else {
                Step::Unknown
            };
        };
        between = 0;
        summary.add(i, what, value, name)
    });
    finish(summary.block()?, last)
}

/// The summaries that the columns of a table are, each of whose rows is a quantity: `| Total requests | 200 |`.
pub(crate) fn of_table(table: &Table) -> Vec<Block> {
    let columns = 1..table.header.len();
    let columns = columns.filter(|column| !crate::names::is_target(table.name(*column)));
    let aims = table.header.iter().any(|name| crate::names::is_aim(name));
    let block = |column: usize| {
        let first = table.rows.first()?.line();
        let mut summary = Summary::new(first - 1);
        for row in &table.rows {
            let cell = row.cells.get(column)?;
            if let Some((what, value, name)) = named(row.label(), &cell.text) {
                summary.add(cell.line - 1, what, value, name);
            }
        }
        let mut block = summary.block()?;
        // Beside aims it may be what a service keeps to, unless requests were counted.
        (block.requests.is_some() || !aims).then_some(())?;
        block.tabled = true;
        block.last = table.rows.last()?.line();
        let name = table.name(column);
        block.name = Some(name)
            .filter(|name| table.header.len() > 2 && !name.is_empty())
            .and_then(|name| at(table.first - 1, name.to_owned()));
        Some(block)
    };
    columns.filter_map(block).collect()
}

/// The summary that a JSON object of a script's own is: `"totalRequests": 11090`, also one level deeper.
pub(super) fn read_json(
    lines: &Lines<'_>,
    start: usize,
    next: usize,
    value: &Value,
) -> Option<Block> {
    let object = value.as_object()?;
    let mut summary = Summary::new(start);
    let inner = object.values().filter_map(Value::as_object).flatten();
    for (key, value) in object.iter().chain(inner).take(KEYS) {
        let Some(number) = value.as_f64().filter(|n| n.is_finite()) else {
            continue;
        };
        if let Some((what, value, name)) = named(key, &number.to_string()) {
            summary.add(line_of(lines, start, next, key), what, value, name);
        }
    }
    let mut block = summary.block()?;
    block.keyed = true;
    Some(block)
}

/// No object of results has more keys.
const KEYS: usize = 200;

/// A summary as it is read.
struct Summary {
    block: Block,
    /// How many figures are known.
    known: usize,
    /// It says how many failed, or did not.
    judged: bool,
    /// The share that failed, and what it is called.
    share: Option<super::At<(String, String)>>,
}

impl Summary {
    fn new(start: usize) -> Self {
        Self {
            block: Block::new(Tool::Script, start),
            known: 0,
            judged: false,
            share: None,
        }
    }

    fn add(&mut self, i: usize, what: What, value: String, name: String) -> Step {
        let step = take(&mut self.block, i, what, &value, &name);
        if what == What::Share && self.share.is_none() {
            self.share = at(i, (value, name));
        }
        self.known += usize::from(step == Step::Taken);
        self.judged |= matches!(what, What::Failed | What::Share | What::Success);
        step
    }

    /// What was read, if it is enough.
    fn block(mut self) -> Option<Block> {
        if let Some(share) = self.share.filter(|_| self.block.errors.is_empty()) {
            failed(
                &mut self.block,
                share.line - 1,
                &share.what.0,
                &share.what.1,
            );
        }
        let latency = &self.block.latency;
        let timed = latency.mean.is_some() || !latency.percentiles.is_empty();
        let enough =
            self.block.rate.is_some() || self.block.requests.is_some() && self.judged && timed;
        (self.known >= LEAST && enough).then_some(self.block)
    }
}

fn take(block: &mut Block, i: usize, what: What, value: &str, name: &str) -> Step {
    let number = leading(value.trim_start_matches(['~', '≈']));
    let whole = || {
        number
            .map(|(n, _)| n.value)
            .filter(|n| n.fract() == 0.0 && *n >= 0.0)
            .map(|n| n as u64)
    };
    let time = || duration(value, name);
    // What is said twice is of another run.
    let again = match what {
        What::Requests => block.requests.is_some(),
        What::Rate => block.rate.is_some() && block.requests.is_none(),
        What::Mean => block.latency.mean.is_some() && block.rate.is_some(),
        What::Url => block.rate.is_some(),
        _ => false,
    };
    if again {
        return Step::Over;
    }
    match what {
        What::Requests => block.requests = whole().and_then(|n| at(i, n)),
        What::Failed => block.fail(i, "failed", whole().unwrap_or(0), false),
        What::TimedOut => block.fail(i, "timed out", whole().unwrap_or(0), true),
        What::Rate if block.rate.is_none() => {
            let thousands = number.is_some_and(|(_, rest)| rest.starts_with(['k', 'K']));
            block.rate = number.and_then(|(n, _)| at(i, if thousands { n.times(1e3) } else { n }));
        }
        What::Lasted => block.seconds = time().and_then(|time| at(i, time)),
        What::Mean if block.latency.mean.is_none() => {
            block.latency.mean = time().and_then(|time| at(i, time));
        }
        What::Least if block.latency.min.is_none() => {
            block.latency.min = time().and_then(|time| at(i, time));
        }
        What::Most if block.latency.max.is_none() => {
            block.latency.max = time().and_then(|time| at(i, time));
        }
        What::Percentile(p) if block.latency.percentile(p).is_none() => {
            block
                .latency
                .percentiles
                .extend(time().and_then(|time| Some((p, at(i, time)?))));
        }
        What::Connections => block.connections = whole().and_then(|n| at(i, n)),
        What::Url => block.url = at(i, value.to_owned()),
        What::Success if block.errors.is_empty() => {
            if let (Some((rate, "%")), Some(requests)) = (number, block.requests) {
                let lost = requests.what as f64 * (1.0 - rate.value / 100.0);
                block.fail(i, "failed", lost.round() as u64, false);
            }
        }
        _ => {}
    }
    Step::Taken
}

/// A time with its unit, or with that of its name: `avg (ms)`, `avg_ms`.
fn duration(value: &str, name: &str) -> Option<Printed> {
    let value = value.split(" (").next().unwrap_or(value).trim();
    if let Some(time) = seconds(value) {
        return Some(time);
    }
    let (number, rest) = leading(value)?;
    rest.is_empty().then_some(())?;
    let unit = crate::names::words(name).find_map(|word| match word {
        "ms" => Some(1e-3),
        "us" | "µs" | "μs" => Some(1e-6),
        "s" | "sec" | "secs" | "seconds" => Some(1.0),
        _ => None,
    });
    Some(number.times(unit?))
}

/// The share that failed becomes a number of requests. Without a sign it may be a fraction: that of which makes whole requests.
fn failed(block: &mut Block, i: usize, value: &str, name: &str) {
    let (Some(requests), Some((n, rest))) = (block.requests, leading(value)) else {
        return;
    };
    let requests = requests.what as f64;
    let lost = if rest.trim_start().starts_with('%') {
        requests * n.value / 100.0
    } else {
        let is_whole = |lost: f64| (lost - lost.round()).abs() <= requests * n.half.min(1e-4);
        match (
            n.value < 1.0 && is_whole(requests * n.value),
            is_whole(requests * n.value / 100.0),
        ) {
            (true, false) => requests * n.value,
            (false, true) if name.contains('%') => requests * n.value / 100.0,
            _ => return,
        }
    };
    if lost.round() >= 1.0 && lost <= requests {
        block.fail(i, "failed", lost.round() as u64, false);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tool, one};

    #[test]
    fn a_summary_of_a_script() {
        let block = one(
            "**Results**\n\n- Total requests: 5,000\n- Failed: 12\n- Duration: 2.25 s\n- Requests/sec: 2222.2\n\
            - Avg latency: 21.5 ms\n- P99 latency (ms): 80\n",
        );
        assert_eq!((block.tool, block.first, block.last), (Tool::Script, 3, 8));
        assert_eq!(block.requests.unwrap().what, 5_000);
        assert_eq!(block.errors[0].what.count, 12);
        assert!((block.latency.mean.unwrap().what.value - 0.0215).abs() < 1e-9);
        assert!((block.latency.percentile(99.0).unwrap().what.value - 0.08).abs() < 1e-9);
        assert_eq!(block.rate.unwrap().line, 6);
    }

    #[test]
    fn values_in_quotes_and_shares() {
        let block = one(
            "Sample = '500'\nAvg = '20917'\nmin = '820'\nError % = '0.046'\nthroughput = '10.37'\n",
        );
        // 0.046 % of 500 would be a part of a request.
        assert_eq!(block.errors[0].what.count, 23);
        let block = one("Requests: 400\nThroughput: 88 req/s\nError rate: 1.5%\n");
        assert_eq!(block.errors[0].what.count, 6);
    }

    #[test]
    fn two_summaries_and_settings() {
        let text = "Requests: 400\nErrors: 0\nRPS: 88\n\nRequests: 500\nErrors: 0\nRPS: 99\n";
        let document = crate::read("x", text);
        assert_eq!(document.outputs.len(), 2);
        let document = crate::read("x", "Connections: 100\nDuration: 30s\nThreads: 4\n");
        assert_eq!(document.outputs.len(), 0);
    }

    #[test]
    fn tables_of_quantities() {
        let text = "## Users\n\n| Metric | Value | Target |\n|--|--|--|\n| **Total Requests** | 200 | - |\n\
            | **p99 Response Time** | 34.66ms | 50ms |\n| **Throughput** | **1,203.96 req/sec** | 100 req/sec |\n\
            | **Total Time** | 0.17s | - |\n| Error Rate | 2.5% | < 5% |\n";
        let document = crate::read("x", text);
        let [output] = &document.outputs[..] else {
            panic!("{document:?}");
        };
        assert_eq!((output.block.first, output.block.last), (5, 9));
        assert_eq!(output.block.requests.unwrap().what, 200);
        assert_eq!(output.block.errors[0].what.count, 5);
        // The figures are the table's.
        let names = crate::audit(&[("x".to_owned(), text.to_owned())]).remarks;
        let names: Vec<&str> = names
            .iter()
            .map(|remark| remark.finding.name.as_str())
            .collect();
        assert_eq!(names, ["errors", "too-short", "too-few-samples"]);
    }

    #[test]
    fn json_of_a_script() {
        let text = "[\n  {\n    \"test\": \"x\",\n    \"totalRequests\": 11090,\n    \"failedRequests\": 10153,\n    \"metrics\": {\n      \
            \"avgResponseTimeMs\": 192.4,\n      \"requestsPerSecond\": 549.49\n    }\n  }\n]\n";
        let document = crate::read("x", text);
        let block = &document.outputs[0].block;
        assert_eq!(
            (block.requests.unwrap().what, block.errors[0].what.count),
            (11_090, 10_153)
        );
        assert_eq!(block.errors[0].line, 5);
    }
}

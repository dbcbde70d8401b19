//! `too-few-samples`: percentiles of requests that are hardly there.

use super::{CheckInput, UnnamedFinding, note, of_all, raise, requests};
use crate::model::{At, Tool};
use crate::model::{Document, ToolOutput};
use crate::model::{Row, Table};
use crate::quantity::counts_requests;
use crate::text::number::{Printed, leading};
use prony_checks::{CheckId, Explanation, Severity};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::TooFewSamples,
    cause: "A percentile was taken from so few requests that a handful of them decide it, or a rate from so few that it says nothing.",
    evidence: "Outputs with fewer than 100 requests; a 99th percentile above which fewer than ten requests lie; in outputs and tables, finer percentiles above which there is hardly a tenth of a request.",
    remedy: "Make more requests: ten divided by what lies above the percentile, 1,000 for p99.",
};

/// A rate of fewer requests says little.
const FEW: f64 = 100.0;
/// A percentile with fewer samples above it is decided by chance.
const ABOVE: f64 = 10.0;
/// Fewest samples above a percentile beyond p99: with fewer, nothing is known of the percentile. Tools print some of
/// these whatever the number of requests, so that more is no finding.
const HARDLY: f64 = 0.1;
/// The finest percentile that is looked at. wrk2 prints a finer one, of however few requests.
const FINEST: f64 = 99.99;
/// A little less is no finding: tools count the requests at the end in different ways.
const SLACK: f64 = 0.95;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        remarks.extend(of_tables(document));
        let few = document.outputs.iter().filter_map(|output| {
            // Requests that were never answered were made as well.
            let lost = output.block.errors.iter().filter(|e| e.what.uncounted);
            let lost: u64 = lost.map(|error| error.what.count).sum();
            let n = output.block.ended()? + lost as f64;
            let thin = thin(output, n);
            let line = output.block.requests.map(|requests| requests.line);
            let line = line.or_else(|| Some(output.block.rate?.line))?;
            // A rate is of those that were answered.
            let answered = output.block.ended()?;
            let n = if answered > 0.0 && answered < FEW {
                answered
            } else {
                n
            };
            (n < FEW || each_once(output) || thin.is_some()).then_some((output, n, line, thin))
        });
        let few: Vec<_> = few.collect();
        let Some((output, n, _, thin)) = few.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
            continue;
        };
        let tiny = *n < FEW;
        let why = if tiny {
            ": chance decides its rate and every percentile".to_owned()
        } else if each_once(output) {
            ", of as many connections: each sent one, so all of them begin at once, and what was measured is how the server \
             opens them"
                .to_owned()
        } else {
            format!(": {}", above(thin.map_or(99.0, |(percent, _)| percent)))
        };
        let what = "outputs have few requests";
        let text = format!(
            "{}{} has {}{why}",
            of_all(few.len(), document.outputs.len(), what),
            output.called(),
            requests(*n as u64),
        );
        let lines = few.iter().flat_map(|(_, _, line, thin)| {
            thin.map(|(_, thin)| thin.line).into_iter().chain([*line])
        });
        let severity = if tiny || each_once(output) {
            Severity::Warning
        } else {
            Severity::Note
        };
        remarks.push(raise(severity, document, lines, text));
    }
    remarks
}

/// Did every connection send a single request?
fn each_once(output: &ToolOutput) -> bool {
    let block = &output.block;
    let counted = matches!(
        block.tool,
        Tool::Ab | Tool::Hey | Tool::Bombardier | Tool::H2load | Tool::Oha
    );
    let both = block.requests.zip(block.connections);
    counted
        && both.is_some_and(|(requests, connections)| {
            requests.what <= connections.what && connections.what > 1
        })
}

/// Has a percentile so few of n requests above it?
fn is_thin(percent: f64, n: f64) -> bool {
    let above = n * (1.0 - percent / 100.0);
    if percent > 99.0 {
        percent <= FINEST && above < HARDLY
    } else {
        percent > 98.9 && above < SLACK * ABOVE
    }
}

fn above(percent: f64) -> String {
    if percent > 99.0 {
        format!(
            "hardly one in ten such runs has a request above the {percent}th percentile, so it is the longest response time"
        )
    } else {
        "fewer than ten of them lie above the 99th percentile, so chance decides it".to_owned()
    }
}

/// The percentile with too few of n requests above it.
fn thin(output: &ToolOutput, n: f64) -> Option<(f64, At<Printed>)> {
    let percentiles = output.block.latency.percentiles.iter();
    let thin = percentiles.filter(|(percent, _)| is_thin(*percent, n));
    thin.min_by(|a, b| a.0.total_cmp(&b.0)).copied()
}

/// Percentiles beside the number of requests, or below it.
fn of_tables(document: &Document) -> Option<UnnamedFinding> {
    let mut found: Vec<(u64, f64, usize)> = Vec::new();
    for (table, _) in &document.tables {
        let columns = 0..table.header.len();
        let counts: Vec<usize> = columns
            .clone()
            .filter(|c| counts_requests(table.name(*c)))
            .collect();
        let percents = columns.filter_map(|column| Some((column, percent(table.name(column))?)));
        if let ([count], Some((column, finest))) =
            (&counts[..], percents.max_by(|a, b| a.1.total_cmp(&b.1)))
        {
            let rows = table.rows.iter().filter(|row| row.number(column).is_some());
            let rows = rows.filter_map(|row| Some((whole_number(row, *count)?, row.line())));
            found.extend(few_of(rows.collect(), finest));
        }
        let finest = |table: &Table| {
            let rows = table.rows.iter();
            let rows = rows.filter_map(|row| Some((row.line(), percent(row.label())?)));
            rows.max_by(|a, b| a.1.total_cmp(&b.1))
        };
        let count = table.rows.iter().find(|row| counts_requests(row.label()));
        if let (Some(count), Some((line, finest))) = (count, finest(table)) {
            let columns =
                (1..count.cells.len()).filter_map(|c| Some((whole_number(count, c)?, line)));
            found.extend(few_of(columns.collect(), finest));
        }
    }
    let (n, finest, _) = *found.iter().min_by_key(|(n, ..)| *n)?;
    let text = format!(
        "a table has percentiles of {}: {}",
        requests(n),
        above(finest)
    );
    let lines = found.iter().map(|(.., line)| *line);
    Some(note(document, lines, text))
}

/// Returns the counts that are too few for this percentile, each with the percentile and the line.
/// Where all are round they may be a load, such as requests at once; then there are none.
fn few_of(counts: Vec<(u64, usize)>, percent: f64) -> Vec<(u64, f64, usize)> {
    if counts.iter().all(|(n, _)| n.is_multiple_of(10)) {
        return Vec::new();
    }
    let few = counts
        .into_iter()
        .filter(|(n, _)| is_thin(percent, *n as f64));
    few.map(|(n, line)| (n, percent, line)).collect()
}

/// A count of requests, written out.
fn whole_number(row: &Row, column: usize) -> Option<u64> {
    let text = row.cells.get(column)?.text.trim();
    let (number, rest) = leading(text)?;
    (rest.is_empty() && number.value >= 1.0 && number.value.fract() == 0.0)
        .then_some(number.value as u64)
}

/// The percentage of a percentile that a name is of, from the 99th on: `p99.9`, `99.99%`, `P99 (ms)`, `99th percentile`.
fn percent(name: &str) -> Option<f64> {
    let name = name.to_lowercase();
    let name = name.split(['(', '[']).next()?.trim();
    let name = name.strip_suffix("latency").unwrap_or(name).trim();
    let (digits, marked) = match name.strip_prefix('p') {
        Some(rest) => (rest, true),
        None => (name, false),
    };
    let (number, rest) = leading(digits.trim())?;
    let known = matches!(
        rest.trim(),
        "%" | "th" | "th percentile" | "percentile" | "% line" | "%ile"
    ) || marked && rest.trim().is_empty();
    let value = match (number.value, marked) {
        (999.0, true) => 99.9,
        (9999.0, true) => 99.99,
        (value, _) => value,
    };
    (known && (99.0..100.0).contains(&value)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};
    use prony_checks::Severity;

    #[test]
    fn hundreds_and_dozens() {
        let run = |n: &str, rate: &str| wrk(&[("960000 requests", n), ("32000.00", rate)]);
        let found = of(CheckId::TooFewSamples, &run("600 requests", "20.00"));
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([10, 11].as_slice(), Severity::Note)
        );
        let found = of(CheckId::TooFewSamples, &run("60 requests", "2.00"));
        assert_eq!(found[0].finding.severity, Severity::Warning);
        assert_eq!(of(CheckId::TooFewSamples, &wrk(&[])), []);
    }

    #[test]
    fn finer_percentiles_than_there_are_requests() {
        let run = |n: &str| {
            let text = wrk(&[("960000 requests", n), ("32000.00", "20.00")]);
            of(
                CheckId::TooFewSamples,
                &text.replace("99%    3.00ms", "99.99%    3.00ms"),
            )
        };
        let found = run("158 requests");
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([10, 11].as_slice(), Severity::Note)
        );
        assert_eq!(run("5158 requests"), []);
    }

    #[test]
    fn tables_with_counts() {
        let found = |count: &str, percentile: &str, n: u32| {
            let row = format!("| a | {n} | 7 ms | 9 ms |\n| b | 12345678 | 8 ms | 9 ms |\n");
            let text = format!("| server | {count} | p50 | {percentile} |\n|--|--|--|--|\n{row}");
            of(CheckId::TooFewSamples, &text)
                .first()
                .map(|remark| remark.lines.clone())
        };
        assert_eq!(found("Requests", "p99.99", 158), Some(vec![3]));
        assert_eq!(found("Total requests", "99.99% (ms)", 158), Some(vec![3]));
        assert_eq!(found("# Samples", "99% Line", 158), Some(vec![3]));
        assert_eq!(found("Requests", "p99.99", 15_813), None);
        assert_eq!(found("Requests", "p95", 158), None);
        assert_eq!(found("Requests/s", "p99.99", 158), None);
        let below =
            "| | alpha |\n|--|--|\n| Requests | 158 |\n| p50 | 7 ms |\n| p99.99 | 90 ms |\n";
        assert_eq!(of(CheckId::TooFewSamples, below)[0].lines, [5]);
        // Ten, a hundred and a thousand at once, perhaps.
        let load =
            "| Requests | p50 | p99 |\n|--|--|--|\n| 10 | 7 ms | 9 ms |\n| 100 | 8 ms | 9 ms |\n";
        assert_eq!(of(CheckId::TooFewSamples, load), []);
    }

    #[test]
    fn one_request_on_each_connection() {
        let text = |connections: u32| {
            format!(
                "Concurrency Level:      {connections}\nTime taken for tests:   23.794 seconds\nComplete requests:      400\n\
                 Requests per second:    16.81 [#/sec] (mean)\n"
            )
        };
        let found = of(CheckId::TooFewSamples, &text(400));
        assert!(found[0].finding.text.contains("each sent one"), "{found:?}");
        assert_eq!(of(CheckId::TooFewSamples, &text(40)), []);
    }
}

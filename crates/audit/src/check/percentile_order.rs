//! `percentile-order`: percentiles that do not rise, or that the mean beside them forbids.

use super::{CheckInput, UnnamedFinding, serious, time, warning};
use crate::model::{At, Latency, Tool};
use crate::model::{Document, ToolOutput};
use crate::model::{Row, Table, TableCell};
use crate::quantity::rate_unit;
use crate::text::number::{Printed, leading};
use prony_checks::{CheckId, Explanation};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::PercentileOrder,
    cause: "Percentiles that decrease are impossible: a column is not what its name says, or a figure was changed. So is a mean that requests with these percentiles cannot have: fortio gives such percentiles of times that are shorter than its buckets. A mean above the 99th percentile means that the slowest hundredth of the requests takes more time than all others together.",
    evidence: "The order of minimum, percentiles and maximum; the mean compared with minimum and maximum, with p99, and with the least and the greatest mean that requests with these percentiles can have.",
    remedy: "If percentiles decrease: ask for the raw output. If the mean is high: look at p99.9 and at the slowest requests. If it is low: trust the mean; with fortio, measure again with -r 0.00001.",
};

/// `HdrHistogram` gives the upper end of a bucket for a percentile, and the maximum itself for the
/// maximum; three digits make them differ by up to this much.
const BUCKET: f64 = 1.02;

/// Percentiles of fewer requests say little of the mean.
const ENOUGH: f64 = 1_000.0;
/// A mean may be below the least possible one by this factor: tools round, and differ in which sample
/// they call a percentile.
const FAR: f64 = 1.2;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        for output in &document.outputs {
            remarks.extend(order(document, output));
            remarks.extend(mean(document, output));
            remarks.extend(least_mean(document, output));
        }
        for (table, _) in &document.tables {
            remarks.extend(row_order(document, table));
        }
    }
    remarks
}

fn order(document: &Document, output: &ToolOutput) -> Option<UnnamedFinding> {
    let latency = &output.block.latency;
    let mut steps: Vec<(String, At<Printed>)> = Vec::new();
    steps.extend(latency.min.map(|min| ("minimum".to_owned(), min)));
    let mut percentiles = latency.percentiles.clone();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    steps.extend(
        percentiles
            .into_iter()
            .map(|(p, time)| (format!("p{p}"), time)),
    );
    steps.extend(latency.max.map(|max| ("maximum".to_owned(), max)));
    let falls =
        |pair: &&[(String, At<Printed>)]| pair[0].1.what.low() > pair[1].1.what.high() * BUCKET;
    let pair = steps.windows(2).find(falls)?;
    let ((low, lower), (high, higher)) = (&pair[0], &pair[1]);
    let text = format!(
        "in {} the {low} is {}, above the {high} of {}: that is impossible, so a column is not \
         what its name says, or a figure was changed",
        output.called(),
        time(lower.what.value),
        time(higher.what.value),
    );
    let lines = [lower.line, higher.line];
    Some(serious(document, lines, text))
}

/// A row of a table whose mean is below its minimum or above its maximum.
fn row_order(document: &Document, table: &Table) -> Option<UnnamedFinding> {
    let column = |names: &[&str]| {
        let is = |name: &String| names.contains(&name.trim().to_lowercase().as_str());
        let mut found = table.header.iter().enumerate().filter(|(_, name)| is(name));
        // Of several each is of something else.
        let first = found.next().map(|(column, _)| column);
        first.filter(|_| found.next().is_none())
    };
    let mean = column(&["avg", "average", "mean"])?;
    let least = column(&["min", "minimum"]);
    let most = column(&["max", "maximum"]);
    // Cells are compared that have the same unit, or rates.
    let value = |cell: &TableCell| {
        let (number, unit) = leading(cell.text.trim())?;
        let unit = unit.trim().to_lowercase();
        let unit = if rate_unit(&unit).is_some() {
            String::new()
        } else {
            unit
        };
        Some((number, unit))
    };
    let falls = |row: &Row, low: usize, high: usize| {
        let (low, low_unit) = value(row.cells.get(low)?)?;
        let (high, high_unit) = value(row.cells.get(high)?)?;
        let falls = low.low() > high.high() * BUCKET && high.value > 0.0;
        (low_unit == high_unit && falls).then_some((low.value, high.value))
    };
    let wrong = table.rows.iter().find_map(|row| {
        let below = least.and_then(|least| falls(row, least, mean));
        let above = most.and_then(|most| falls(row, mean, most));
        let below =
            below.map(|(min, mean)| format!("the minimum is {min}, above the mean of {mean}"));
        let above =
            above.map(|(mean, max)| format!("the mean is {mean}, above the maximum of {max}"));
        Some((row, below.or(above)?))
    });
    let (row, what) = wrong?;
    let text = format!(
        "in the row of {} {what}: that is impossible, so a column is not what its name says, or a figure was changed",
        row.label(),
    );
    let lines = [row.line_of(mean)];
    Some(serious(document, lines, text))
}

/// Returns the percentiles below the maximum, in order.
fn below_all(latency: &Latency) -> Vec<(f64, At<Printed>)> {
    let mut percentiles = latency.percentiles.clone();
    percentiles.retain(|(p, _)| (0.0..100.0).contains(p));
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    percentiles
}

/// Half of the requests take at least the median, and so on: the mean is at least the sum of the shares
/// between the percentiles, each at its lower end.
fn least_mean(document: &Document, output: &ToolOutput) -> Option<UnnamedFinding> {
    let latency = &output.block.latency;
    let mean = latency.mean.filter(|_| !output.block.capped())?;
    // Of few samples a percentile is any of several.
    (output.block.ended()? >= ENOUGH).then_some(())?;
    let percentiles = below_all(latency);
    let ends = percentiles.iter().skip(1).map(|(p, _)| *p).chain([100.0]);
    let least: f64 = percentiles
        .iter()
        .zip(ends)
        .map(|((p, time), end)| (end - p) / 100.0 * time.what.low().max(0.0))
        .sum();
    if mean.what.high() * FAR >= least {
        return None;
    }
    // Falling percentiles are a finding of their own.
    order(document, output).is_none().then_some(())?;
    let cause = if output.block.tool == Tool::Fortio {
        "fortio spreads the times in a bucket of 1 ms evenly over it, unless -r says otherwise: none of \
         these percentiles was measured"
    } else {
        "they do not come from the same samples, or one was changed"
    };
    let text = format!(
        "in {} the percentiles add up to a mean of at least {}, and the mean is {}: {cause}",
        output.called(),
        time(least),
        time(mean.what.value),
    );
    let lines = percentiles.iter().map(|(_, time)| time.line);
    Some(serious(document, lines.chain([mean.line]), text))
}

/// Half of the requests take at most the median, and so on, and the rest at most the maximum: the mean is at most the sum of
/// the shares between the percentiles, each at its upper end.
fn greatest_mean(
    document: &Document,
    output: &ToolOutput,
    mean: At<Printed>,
) -> Option<UnnamedFinding> {
    let latency = &output.block.latency;
    let max = latency.max?;
    (output.block.ended()? >= ENOUGH).then_some(())?;
    let percentiles = below_all(latency);
    let last = percentiles.last()?.0;
    let mut from = 0.0;
    let mut greatest = (100.0 - last) / 100.0 * max.what.high();
    for (p, time) in &percentiles {
        greatest += (p - from) / 100.0 * time.what.high();
        from = *p;
    }
    if mean.what.low() <= greatest * FAR || order(document, output).is_some() {
        return None;
    }
    let text = format!(
        "in {} requests with these percentiles, the slowest of which took {}, have a mean of at most {}, and the mean is {}: \
         they do not come from the same samples, or are not in the same unit",
        output.called(),
        time(max.what.value),
        time(greatest),
        time(mean.what.value),
    );
    let lines = percentiles.iter().map(|(_, time)| time.line);
    Some(serious(document, lines.chain([mean.line, max.line]), text))
}

/// ghz, for one, counts a request that failed as one that took no time.
fn below_minimum(
    document: &Document,
    output: &ToolOutput,
    mean: At<Printed>,
) -> Option<UnnamedFinding> {
    let min = output.block.latency.min?;
    if mean.what.high() * BUCKET >= min.what.low() {
        return None;
    }
    let text = format!(
        "in {} the mean of {} is below the minimum of {}: they do not come from the same samples; requests that failed may \
         count in the mean, as if they had taken no time",
        output.called(),
        time(mean.what.value),
        time(min.what.value),
    );
    let lines = [mean.line, min.line];
    Some(serious(document, lines, text))
}

fn mean(document: &Document, output: &ToolOutput) -> Option<UnnamedFinding> {
    let latency = &output.block.latency;
    // The mean of a capped list of samples is a finding of its own.
    let mean = latency.mean.filter(|_| !output.block.capped())?;
    if let Some(max) = latency
        .max
        .filter(|max| mean.what.low() > max.what.high() * BUCKET)
    {
        let text = format!(
            "in {} the mean of {} is above the maximum of {}: they do not come from the same samples",
            output.called(),
            time(mean.what.value),
            time(max.what.value),
        );
        let lines = [mean.line, max.line];
        return Some(serious(document, lines, text));
    }
    if let Some(remark) = below_minimum(document, output, mean) {
        return Some(remark);
    }
    if let Some(remark) = greatest_mean(document, output, mean) {
        return Some(remark);
    }
    let p99 = latency.percentile(99.0)?;
    if mean.what.low() <= p99.what.high() * BUCKET {
        return None;
    }
    let text = format!(
        "in {} the mean of {} is above the 99th percentile of {}: the last hundredth of the \
         requests takes more time than all others together, so mean and p99 both hide what happens \
         there; look at the slowest requests, and at p99.9",
        output.called(),
        time(mean.what.value),
        time(p99.what.value),
    );
    let lines = [mean.line, p99.line];
    Some(warning(document, lines, text))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};
    use prony_checks::Severity;

    #[test]
    fn a_mean_below_the_minimum() {
        let ghz = |mean: &str| {
            format!(
                "Summary:\n  Count:\t200\n  Total:\t2.04 s\n  Slowest:\t1.02 s\n  Fastest:\t1.01 s\n  Average:\t{mean}\n  \
                 Requests/sec:\t97.98\n"
            )
        };
        let found = of(CheckId::PercentileOrder, &ghz("367.20 ms"));
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([5, 6].as_slice(), Severity::Serious)
        );
        assert_eq!(of(CheckId::PercentileOrder, &ghz("1.01 s")), []);
    }

    #[test]
    fn a_row_whose_mean_is_beyond_its_ends() {
        let text = |mean: &str, min: &str, max: &str| {
            format!(
                "| server | Average | p99 | Min | Max |\n|--|--|--|--|--|\n| a | {mean} | 9 | {min} | {max} |\n"
            )
        };
        let wrong = |mean: &str, min: &str, max: &str| {
            let found = of(CheckId::PercentileOrder, &text(mean, min, max));
            found.first().map(|remark| remark.lines.clone())
        };
        assert_eq!(
            wrong("60,852.48/rps", "64,104.13", "69,542.21"),
            Some(vec![3])
        );
        assert_eq!(wrong("12 ms", "1 ms", "9 ms"), Some(vec![3]));
        for (mean, min, max) in [
            ("60,852.48/rps", "4,104.13", "69,542.21"),
            ("925 µs", "1 µs", "1.39 ms"),
            ("0", "0", "0"),
            ("5", "", ""),
        ] {
            assert_eq!(wrong(mean, min, max), None, "{mean}");
        }
    }

    #[test]
    fn what_falls_is_found() {
        let found = of(CheckId::PercentileOrder, &wrk(&[("2.10ms", "2.60ms")]));
        assert_eq!(found[0].lines, [8, 9]);
        assert!(found[0].finding.text.contains("p75") && found[0].finding.text.contains("p90"));
        let found = of(CheckId::PercentileOrder, &wrk(&[("3.90ms", "2.90ms")]));
        assert_eq!(found[0].lines, [4, 10]);
        assert_eq!(
            of(CheckId::PercentileOrder, &wrk(&[("2.10ms", "1.95ms")])),
            []
        );
    }

    #[test]
    fn a_mean_below_what_the_percentiles_allow() {
        // A quarter each from 1.95, 2.10 (less), 2.40 and 3.00 ms on: 1.1 ms and more.
        let found = of(CheckId::PercentileOrder, &wrk(&[(" 2.00ms", " 0.80ms")]));
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([4, 7, 8, 9, 10].as_slice(), Severity::Serious)
        );
        // Half of the requests may have taken no time.
        assert_eq!(
            of(CheckId::PercentileOrder, &wrk(&[(" 2.00ms", " 1.10ms")])),
            []
        );
        let few = wrk(&[
            (" 2.00ms", " 0.80ms"),
            ("960000", "960"),
            ("32000.00", "32.00"),
        ]);
        assert_eq!(of(CheckId::PercentileOrder, &few), []);
    }

    #[test]
    fn a_mean_above_what_the_percentiles_allow() {
        // All but a hundredth take 3 ms at most, and that takes 3.9 ms.
        let greatest = wrk(&[(" 2.00ms", " 3.60ms")]);
        let found = of(CheckId::PercentileOrder, &greatest);
        assert_eq!(
            (found.len(), found[0].finding.severity),
            (1, Severity::Serious)
        );
        assert!(found[0].finding.text.contains("at most"), "{found:?}");
        // The slowest hundredth may take as long as it likes.
        let slow = greatest.replace("3.90ms", "390.00ms");
        assert_eq!(
            of(CheckId::PercentileOrder, &slow)[0].finding.severity,
            Severity::Warning
        );
    }

    #[test]
    fn a_mean_above_the_99th() {
        let found = of(
            CheckId::PercentileOrder,
            &wrk(&[(" 2.00ms", " 3.10ms"), (" 3.90ms", "390.0ms")]),
        );
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([4, 10].as_slice(), Severity::Warning)
        );
        let found = of(CheckId::PercentileOrder, &wrk(&[(" 2.00ms", " 5.00ms")]));
        assert_eq!(
            (found.len(), found[0].finding.severity),
            (1, Severity::Serious)
        );
    }
}

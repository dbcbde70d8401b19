//! `ratio-disagrees`: a printed ratio is not that of the figures it is of. A rate is one, too:
//! requests divided by time.

use super::{CheckInput, UnnamedFinding, raise, serious};
use crate::figures::Figure;
use crate::model::Table;
use crate::model::{Document, Ratio, ToolOutput};
use crate::text::number::Printed;
use prony_checks::{CheckId, Explanation, Severity};
use prony_stats::summary::average;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::RatioDisagrees,
    cause: "A printed ratio is not the ratio of its figures, or a rate is not requests divided by time. One of the figures was changed, or belongs to something else.",
    evidence: "A / B = x compared with the figures of A and B above it; columns called ratio, relative or speedup; and each output's own requests, time and rate.",
    remedy: "Ask for the raw figures.",
};

/// A tool may count a few requests, or a little time, in one figure and not in the other.
const EDGES: f64 = 0.01;
/// A ratio that is off by less does not mislead, but is of other figures.
const LITTLE: f64 = 0.02;
/// Share by which a ratio may be off because numbers were rounded on the way to the page.
const ROUNDED: f64 = 0.000_5;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        for ratio in &document.ratios {
            remarks.extend(claimed(seen, index, ratio));
        }
        for output in &document.outputs {
            remarks.extend(rate(document, output));
        }
        for (table, _) in &document.tables {
            remarks.extend(column(document, table));
        }
    }
    remarks
}

/// `A / B = 0.96` beside the last figures of both above it, or the means of all above.
fn claimed(seen: &CheckInput<'_>, index: usize, claim: &Ratio) -> Option<UnnamedFinding> {
    let (a, b, line, ratio) = (&*claim.over, &*claim.under, claim.line, claim.value);
    let above = |name: &str| -> Vec<&Figure> {
        let mut above = seen.called(index, name);
        above.retain(|figure| figure.line < line);
        above
    };
    let (over, under) = (above(a), above(b));
    let (last_over, last_under) = (over.last()?, under.last()?);
    let mean = |figures: &[&Figure]| {
        let rates: Vec<f64> = figures.iter().map(|figure| figure.rate.value).collect();
        average(&rates)
    };
    let relative = |figure: &Figure| figure.rate.half / figure.rate.value;
    let slack = ratio.half + ratio.value * (relative(last_over) + relative(last_under));
    let close = |x: f64| (ratio.value - x).abs() <= slack * 1.000_001;
    let last = last_over.rate.value / last_under.rate.value;
    let all = mean(&over)? / mean(&under)?;
    if close(last) || close(all) {
        return None;
    }
    let upside_down = if close(last.recip()) || close(all.recip()) {
        format!(" (it is {b} / {a})")
    } else {
        String::new()
    };
    let text = format!(
        "{a} / {b} is said to be {}, but {} / {} is {last:.6}{upside_down}: the ratio and its figures \
         come from different measurements",
        ratio.value, last_over.rate.value, last_under.rate.value,
    );
    let document = &seen.documents[index];
    let lines = [last_over.line, last_under.line, line];
    Some(serious(document, lines, text))
}

/// May the printed number be one of the possible ones, or beside them by this share?
fn fits(printed: Printed, possible: &RangeInclusive<f64>, beside: f64) -> bool {
    printed.high() >= possible.start() * (1.0 - beside)
        && printed.low() <= possible.end() * (1.0 + beside)
}

/// Requests ÷ time beside the rate.
fn rate(document: &Document, output: &ToolOutput) -> Option<UnnamedFinding> {
    let block = &output.block;
    // Pieces without a head may be of two outputs.
    let headed = block.connections.is_some() || block.url.is_some();
    (block.divides() && headed).then_some(())?;
    let (requests, seconds, rate) = (block.requests?, block.seconds?, block.rate?);
    // Of nothing there is no rate.
    (requests.what > 0).then_some(())?;
    let really = requests.what as f64 / seconds.what.value;
    let possible = Printed::exact(requests.what as f64).per(seconds.what);
    if fits(rate.what, &possible, EDGES) {
        return None;
    }
    let text = format!(
        "in {} {} in {} are {really:.2} per second, not {}: one of the three was changed",
        output.called(),
        super::requests(requests.what),
        super::time(seconds.what.value),
        rate.what.value
    );
    let lines = [requests.line, seconds.line, rate.line];
    Some(serious(document, lines, text))
}

/// A line, the ratio printed there, and the one that its figures give.
type Wrong = (usize, f64, f64);

/// A column of ratios beside the column that explains most of them.
/// Is a ratio printed with its last digits cut off?
fn is_cut_off(printed: Printed, really: f64) -> bool {
    let unit = 2.0 * printed.half;
    // Binary fractions are off by far less than a digit.
    let behind = really - printed.value;
    unit > 0.0 && behind > -1e-9 * really && behind < unit * (1.0 + 1e-9)
}

fn column(document: &Document, table: &Table) -> Option<UnnamedFinding> {
    let columns = table.numeric_columns();
    let ratios = *columns.iter().find(|&&column| {
        let name = table.name(column).to_lowercase();
        [
            "ratio", "relative", "speedup", "speed-up", "vs ", "vs.", "compared",
        ]
        .iter()
        .any(|word| name.contains(word))
            || ["perf", "perf.", "performance", "%"].contains(&name.trim())
                && in_percent(table, column)
    })?;
    // The row that all others are compared with says 1, or 100 %.
    let (base, one) = table.rows.iter().find_map(|row| {
        let value = row.number(ratios)?.value;
        (value == 1.0 || value == 100.0).then_some((row, value))
    })?;
    let mut best: Option<(usize, Vec<Wrong>)> = None;
    // Lines whose ratio is that of some column: it need not be the one that explains most of them.
    let mut explained: BTreeSet<usize> = BTreeSet::new();
    for &column in columns.iter().filter(|column| **column != ratios) {
        let Some(whole) = base.number(column).filter(|n| n.value > 0.0) else {
            continue;
        };
        for inverse in [false, true] {
            let mut right = 0;
            let mut wrong = Vec::new();
            // Some programs cut off the digits that they do not print.
            let mut cut_off = true;
            for row in &table.rows {
                let (Some(part), Some(printed)) = (row.number(column), row.number(ratios)) else {
                    continue;
                };
                // What is said to be about so much contradicts nothing, and `22x slower` is the other way round.
                let loose = |column: usize| {
                    let text = row.cells[column].text.as_str();
                    text.contains(['~', '≈']) || text.contains("slower")
                };
                if loose(column) || loose(ratios) {
                    continue;
                }
                let really = if inverse {
                    whole.value / part.value
                } else {
                    part.value / whole.value
                };
                let possible = if inverse {
                    whole.per(part)
                } else {
                    part.per(whole)
                };
                let printed_as = printed.times(one.recip());
                cut_off &= is_cut_off(printed_as, really);
                if fits(printed_as, &possible, ROUNDED) {
                    right += 1;
                    explained.insert(row.line_of(ratios));
                } else {
                    wrong.push((row.line_of(ratios), printed.value / one, really));
                }
            }
            if cut_off && right + wrong.len() >= 3 {
                return None;
            }
            // The base agrees with itself; two more must agree before the others are wrong.
            let explains = right >= 3 && right > 2 * wrong.len();
            if explains && best.as_ref().is_none_or(|(most, _)| right > *most) {
                best = Some((right, wrong));
            }
        }
    }
    let (_, mut wrong) = best?;
    wrong.retain(|(line, ..)| !explained.contains(line));
    (!wrong.is_empty()).then_some(())?;
    let parts: Vec<String> = wrong
        .iter()
        .map(|(line, printed, really)| {
            format!("line {line}: {printed:.3}, but its figures give {really:.3}")
        })
        .collect();
    let text = format!(
        "ratios that do not match their figures, in column '{}': {}",
        table.name(ratios),
        parts.join("; ")
    );
    let lines = wrong.iter().map(|(line, ..)| *line);
    let far = |(_, printed, really): &Wrong| (printed / really - 1.0).abs() > LITTLE;
    let severity = if wrong.iter().any(far) {
        Severity::Serious
    } else {
        Severity::Warning
    };
    Some(raise(severity, document, lines, text))
}

/// Are all cells of a column percentages, and one of them 100 %?
fn in_percent(table: &Table, column: usize) -> bool {
    let texts = table
        .rows
        .iter()
        .map(|row| row.cells.get(column).map_or("", |c| c.text.as_str()));
    let mut texts = texts.filter(|text| !text.is_empty()).peekable();
    let base = table
        .rows
        .iter()
        .any(|row| row.number(column).is_some_and(|n| n.value == 100.0));
    base && texts.peek().is_some() && texts.all(|text| text.ends_with('%'))
}

#[cfg(test)]
mod tests;

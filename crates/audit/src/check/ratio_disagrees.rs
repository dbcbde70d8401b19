//! `ratio-disagrees`: a printed ratio is not that of the figures it is of. A rate is one, too:
//! requests divided by time.

use super::{Seen, remark};
use crate::audit::Remark;
use crate::document::{Document, Output};
use crate::figures::Figure;
use crate::read::number::Printed;
use crate::read::prose::About;
use crate::table::Table;
use prony_checks::{Explanation, Severity};
use prony_stats::summary::average;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

pub(super) const EXPLANATION: Explanation = Explanation {
    name: "ratio-disagrees",
    cause: "A printed ratio is not the ratio of its figures, or a rate is not requests divided by time. One of the figures was changed, or belongs to something else.",
    evidence: "A / B = x compared with the figures of A and B above it; columns called ratio, relative or speedup; and each output's own requests, time and rate.",
    remedy: "Ask for the raw figures.",
};

/// A tool may count a few requests, or a little time, in one figure and not in the other.
const EDGES: f64 = 0.01;
/// Claims of less are not judged: a sentence does not say how it rounds.
const LEAST_CLAIM: f64 = 1.5;
/// A claim beyond this multiple of any difference in the text is of other figures.
const BEYOND: f64 = 1.25;
/// A ratio that is off by less does not mislead, but is of other figures.
const LITTLE: f64 = 0.02;
/// What was rounded on the way to the page.
const ROUNDED: f64 = 0.000_5;

pub(super) fn check(seen: &Seen<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        for claim in &document.claims {
            match &claim.about {
                About::Ratio(a, b) => {
                    remarks.extend(claimed(seen, index, claim.line, (a, b), claim.ratio));
                }
                About::Sentence(text) => {
                    remarks.extend(sentence(seen, index, claim.line, text, claim.ratio.value));
                }
            }
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
fn claimed(
    seen: &Seen<'_>,
    index: usize,
    line: usize,
    (a, b): (&str, &str),
    ratio: Printed,
) -> Option<Remark> {
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
    Some(remark(
        EXPLANATION.name,
        Severity::Serious,
        document,
        lines,
        text,
    ))
}

/// `A is 44 times faster than B` beside the figures of both: raised when nothing that the text has of
/// them differs by as much.
fn sentence(seen: &Seen<'_>, index: usize, line: usize, text: &str, ratio: f64) -> Option<Remark> {
    let claimed = ratio.max(ratio.recip());
    (claimed >= LEAST_CLAIM).then_some(())?;
    let text = text.to_lowercase();
    let document = &seen.documents[index];
    let own = seen
        .figures
        .iter()
        .filter(|figure| figure.document == index);
    let named: Vec<&Figure> = own
        .filter(|figure| {
            super::spread_exceeds_effect::names(&text, &figure.system.name.to_lowercase())
        })
        .collect();
    let other = |first: &Figure| {
        let mut others = named.iter();
        others.find(|figure| figure.system.name != first.system.name)
    };
    let both = named.first().and_then(|first| Some((first, other(first)?)));
    let Some((first, other)) = both else {
        return unnamed(seen, index, line, &text, claimed);
    };
    let several = named.iter().any(|figure| {
        figure.system.name != first.system.name && figure.system.name != other.system.name
    });
    (!several).then_some(())?;
    // The largest difference of anything: under any two loads, and in any column.
    let rates = |name: &str| -> Vec<f64> {
        let own = named.iter().filter(|figure| *figure.system.name == *name);
        own.map(|figure| figure.rate.value).collect()
    };
    let mut most = largest(&rates(&first.system.name), &rates(&other.system.name));
    for (table, _) in &document.tables {
        let row = |name: &str| {
            table
                .rows
                .iter()
                .find(|row| row.label().eq_ignore_ascii_case(name))
        };
        if let (Some(a), Some(b)) = (row(&first.system.name), row(&other.system.name)) {
            for column in 1..a.cells.len().max(b.cells.len()) {
                if let (Some(a), Some(b)) = (a.number(column), b.number(column)) {
                    most = most.max(largest(&[a.value], &[b.value]));
                }
            }
        }
    }
    for output in &document.outputs {
        // Where times are known, the claim may be of those.
        if output.block.latency.mean.is_some() && first.output.is_some() {
            let times = |name: &str| -> Vec<f64> {
                let own = named.iter().filter(|figure| *figure.system.name == *name);
                let own = own.filter_map(|figure| document.outputs.get(figure.output?));
                own.flat_map(|output| {
                    let latency = &output.block.latency;
                    let percentiles = latency.percentiles.iter().map(|(_, time)| *time);
                    latency
                        .mean
                        .into_iter()
                        .chain(latency.max)
                        .chain(percentiles)
                })
                .map(|time| time.what.value)
                .collect()
            };
            most = most.max(largest(
                &times(&first.system.name),
                &times(&other.system.name),
            ));
            break;
        }
    }
    (most > 1.0 && claimed > BEYOND * most).then_some(())?;
    let said = format!(
        "a factor of {claimed:.1} is claimed between {} and {}, but no figures of theirs here differ by more \
         than a factor of {most:.2}",
        first.system.name, other.system.name,
    );
    let lines = [first.line, other.line, line];
    Some(remark(
        EXPLANATION.name,
        Severity::Serious,
        document,
        lines,
        said,
    ))
}

/// `about 3x more requests per second`, of systems of which the sentence names one at most: raised when no two rates of the text
/// differ by as much.
fn unnamed(seen: &Seen<'_>, index: usize, line: usize, text: &str, claimed: f64) -> Option<Remark> {
    const RATES: [&str; 6] = ["requests", "req/s", "reqs/s", "rps", "qps", "throughput"];
    // A sentence behind the figures is about these; what is claimed of earlier versions has no figures here.
    const EARLIER: [&str; 8] = [
        "previous", "earlier", "older", "before", "version", "since", "improve", "used to",
    ];
    let of_rates = RATES.iter().any(|word| text.contains(word));
    if !of_rates || EARLIER.iter().any(|word| text.contains(word)) {
        return None;
    }
    let document = &seen.documents[index];
    let own = seen.figures.iter().filter(|f| f.document == index);
    let own: Vec<&Figure> = own.filter(|figure| figure.output.is_some()).collect();
    let by_rate = |a: &&&Figure, b: &&&Figure| a.rate.value.total_cmp(&b.rate.value);
    let (least, most) = (own.iter().min_by(by_rate)?, own.iter().max_by(by_rate)?);
    let factor = most.rate.value / least.rate.value;
    (least.system.name != most.system.name && factor > 1.0 && claimed > BEYOND * factor)
        .then_some(())?;
    let said = format!(
        "a factor of {claimed:.1} is claimed, but no two rates here differ by more than a factor of {factor:.2}, {} and {}",
        least.system.name, most.system.name,
    );
    let lines = [least.line, most.line, line];
    Some(remark(
        EXPLANATION.name,
        Severity::Serious,
        document,
        lines,
        said,
    ))
}

/// The largest factor between a number of one list and one of the other.
fn largest(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a
        .iter()
        .flat_map(|a| b.iter().map(move |b| (a / b).max(b / a)));
    pairs.filter(|ratio| ratio.is_finite()).fold(0.0, f64::max)
}

/// May the printed number be one of the possible ones, or beside them by this share?
fn fits(printed: Printed, possible: &RangeInclusive<f64>, beside: f64) -> bool {
    printed.high() >= possible.start() * (1.0 - beside)
        && printed.low() <= possible.end() * (1.0 + beside)
}

/// Requests ÷ time beside the rate.
fn rate(document: &Document, output: &Output) -> Option<Remark> {
    let block = &output.block;
    block.divides().then_some(())?;
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
    Some(remark(
        EXPLANATION.name,
        Severity::Serious,
        document,
        lines,
        text,
    ))
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

fn column(document: &Document, table: &Table) -> Option<Remark> {
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
    Some(remark(EXPLANATION.name, severity, document, lines, text))
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

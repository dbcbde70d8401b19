//! `ratio-disagrees`: a printed ratio is not that of the figures it is of. A rate is one, too:
//! requests divided by time.

use super::{Seen, remark};
use crate::audit::Remark;
use crate::document::{Document, Output};
use crate::figures::Figure;
use crate::read::number::Printed;
use crate::read::prose::About;
use crate::table::Table;
use crate::tool::Tool;
use prony_checks::{Explanation, Severity};
use prony_stats::summary::average;

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
    let first = named.first()?;
    let other = named
        .iter()
        .find(|figure| figure.system.name != first.system.name)?;
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

/// The largest factor between a number of one list and one of the other.
fn largest(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a
        .iter()
        .flat_map(|a| b.iter().map(move |b| (a / b).max(b / a)));
    pairs.filter(|ratio| ratio.is_finite()).fold(0.0, f64::max)
}

/// Requests ÷ time beside the rate.
fn rate(document: &Document, output: &Output) -> Option<Remark> {
    let block = &output.block;
    matches!(
        block.tool,
        Tool::Wrk | Tool::Wrk2 | Tool::Ab | Tool::Weighttp
    )
    .then_some(())?;
    let (requests, seconds, rate) = (block.requests?, block.seconds?, block.rate?);
    let really = requests.what as f64 / seconds.what.value;
    let slack = seconds.what.half / seconds.what.value
        + rate.what.half / rate.what.value
        + 0.5 / requests.what as f64
        + EDGES;
    let off = (rate.what.value / really - 1.0).abs();
    // Of nothing there is no rate.
    if off.is_nan() || off <= slack {
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
fn column(document: &Document, table: &Table) -> Option<Remark> {
    let columns = table.numeric_columns();
    let ratios = *columns.iter().find(|&&column| {
        let name = table.name(column).to_lowercase();
        [
            "ratio", "relative", "speedup", "speed-up", "vs ", "vs.", "compared",
        ]
        .iter()
        .any(|word| name.contains(word))
    })?;
    // The row that all others are compared with says 1, or 100 %.
    let (base, one) = table.rows.iter().find_map(|row| {
        let value = row.number(ratios)?.value;
        (value == 1.0 || value == 100.0).then_some((row, value))
    })?;
    let mut best: Option<(usize, Vec<Wrong>)> = None;
    for &column in columns.iter().filter(|column| **column != ratios) {
        let Some(whole) = base.number(column).filter(|n| n.value > 0.0) else {
            continue;
        };
        for inverse in [false, true] {
            let mut right = 0;
            let mut wrong = Vec::new();
            for row in &table.rows {
                let (Some(part), Some(printed)) = (row.number(column), row.number(ratios)) else {
                    continue;
                };
                let really = if inverse {
                    whole.value / part.value
                } else {
                    part.value / whole.value
                };
                let relative = part.half / part.value + whole.half / whole.value + ROUNDED;
                let slack = printed.half / one + really * relative;
                if (printed.value / one - really).abs() <= slack {
                    right += 1;
                } else {
                    wrong.push((row.line_of(ratios), printed.value / one, really));
                }
            }
            // The base agrees with itself; two more must agree before the others are wrong.
            let explains = right >= 3 && right > 2 * wrong.len();
            if explains && best.as_ref().is_none_or(|(most, _)| right > *most) {
                best = Some((right, wrong));
            }
        }
    }
    let (_, wrong) = best.filter(|(_, wrong)| !wrong.is_empty())?;
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
    Some(remark(
        EXPLANATION.name,
        Severity::Serious,
        document,
        lines,
        text,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{of, wrk};

    #[test]
    fn a_ratio_below_its_figures() {
        let b = wrk(&[
            ("32000.00", "16000.00"),
            ("960000", "480000"),
            (" 2.00ms", " 4.00ms"),
            ("3.90ms", "6.90ms"),
        ]);
        let text = |ratio: &str| {
            format!(
                "# A\n{}\n# B\n{b}\n# Difference\n\nB / A = {ratio}\n",
                wrk(&[])
            )
        };
        assert_eq!(of("ratio-disagrees", &text("0.5")), []);
        assert_eq!(of("ratio-disagrees", &text("0.500000")), []);
        let found = of("ratio-disagrees", &text("0.51"));
        assert_eq!(found[0].lines, [13, 28, 33], "{found:?}");
        assert!(
            of("ratio-disagrees", &text("2.0"))[0]
                .finding
                .text
                .contains("(it is A / B)")
        );
    }

    #[test]
    fn a_rate_beside_its_count() {
        assert_eq!(
            of("ratio-disagrees", &wrk(&[("960000", "860000")]))[0].lines,
            [11, 12]
        );
        assert_eq!(of("ratio-disagrees", &wrk(&[("960000", "955000")])), []);
    }

    #[test]
    fn a_claim_in_words() {
        let text = |claim: &str| {
            format!(
                "| server | req/s | p99 ms |\n|--|--|--|\n| alpha | 44000 | 3 |\n| beta | 10000 | 21 |\n\n{claim}\n"
            )
        };
        let found = of(
            "ratio-disagrees",
            &text("So alpha is 44 times faster than beta."),
        );
        assert_eq!(found[0].lines, [3, 4, 6]);
        assert!(found[0].finding.text.contains("7.00"), "{found:?}");
        for fine in [
            "alpha is 4.4x faster than beta",
            "alpha is 7 times faster than beta",
            "alpha is 44 times faster",
        ] {
            assert_eq!(of("ratio-disagrees", &text(fine)), [], "{fine}");
        }
    }

    #[test]
    fn a_column_of_ratios() {
        let table = |last: &str| {
            format!(
                "| server | req/s | relative |\n|--|--|--|\n| a | 100 | 1.00 |\n| b | 150 | 1.50 |\n\
                 | c | 80 | 0.80 |\n| d | 60 | {last} |\n"
            )
        };
        assert_eq!(of("ratio-disagrees", &table("0.60")), []);
        assert_eq!(of("ratio-disagrees", &table("0.75"))[0].lines, [6]);
    }
}

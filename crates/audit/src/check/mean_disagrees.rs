//! `mean-disagrees`: a printed mean is not that of the figures it stands below, or beside.

use super::{CheckInput, UnnamedFinding, raise};
use crate::axis::{Axis, axis};
use crate::model::Table;
use crate::names::{is_mean, is_ordinal, is_summary};
use crate::text::number::Printed;
use prony_checks::{CheckId, Explanation, Severity};
use prony_stats::summary::{average, median};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::MeanDisagrees,
    cause: "A printed mean is not the mean of the figures next to it: they come from different measurements.",
    evidence: "Rows called mean or average, compared with the rows above them, and columns called so, compared with the columns of runs. Arithmetic, geometric and harmonic means, the median, and rounded values are all accepted.",
    remedy: "Ask for the raw figures.",
};

/// Means of figures that were rounded for print, or that were rounded on the way, differ by less.
const ROUNDED: f64 = 0.000_5;
/// A mean that is off by more than this is of other figures.
const SERIOUS: f64 = 0.01;

/// A printed mean that is wrong: what it is called, its line and that of its figures, it, and what it
/// should be.
struct WrongMean<'a> {
    of: &'a str,
    line: usize,
    figures: Vec<usize>,
    printed: f64,
    really: f64,
}

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        for (table, place) in &document.tables {
            let mut wrong = rows(table);
            wrong.extend(columns(table));
            if wrong.is_empty() {
                continue;
            }
            let off = |w: &WrongMean<'_>| (w.printed / w.really - 1.0).abs();
            let severity = if wrong.iter().map(off).fold(0.0, f64::max) > SERIOUS {
                Severity::Serious
            } else {
                Severity::Warning
            };
            let heading = place.headings.last();
            let title = heading.map_or(String::new(), |heading| format!(" of '{}'", heading.0));
            let parts: Vec<String> = wrong
                .iter()
                .map(|w| {
                    format!(
                        "{} {} where its figures give {:.2}",
                        w.of, w.printed, w.really
                    )
                })
                .collect();
            let text = format!(
                "means{title} that do not match their figures: {}. The mean and the figures come from \
                 different measurements: ask for the raw figures",
                parts.join("; ")
            );
            let lines = wrong
                .iter()
                .flat_map(|w| w.figures.iter().copied().chain([w.line]));
            remarks.push(raise(severity, document, lines, text));
        }
    }
    remarks
}

/// Rows of means, below the rows that they are of.
fn rows(table: &Table) -> Vec<WrongMean<'_>> {
    let mut wrong = Vec::new();
    let mut start = 0;
    let columns = table.numeric_columns();
    for (at, row) in table.rows.iter().enumerate() {
        if !is_summary(row.label()) {
            continue;
        }
        // Several summaries may follow each other: all are of what stands above the first.
        let above = &table.rows[start..at];
        let end = above
            .iter()
            .position(|row| is_summary(row.label()))
            .unwrap_or(above.len());
        let above = &above[..end];
        // A list of quantities may have one that is called a mean, and a mean of loads is weighted.
        let labels: Vec<&str> = above.iter().map(crate::model::Row::label).collect();
        if is_mean(row.label()) && axis("", &labels) == Axis::Runs {
            for &column in columns.iter().filter(|column| **column > 0) {
                let Some(printed) = row.number(column) else {
                    continue;
                };
                let figures: Vec<Printed> =
                    above.iter().filter_map(|row| row.number(column)).collect();
                if let Some(really) = disagrees(printed, &figures) {
                    wrong.push(WrongMean {
                        of: table.name(column),
                        line: row.line_of(column),
                        figures: above.iter().map(|row| row.line_of(column)).collect(),
                        printed: printed.value,
                        really,
                    });
                }
            }
        }
        let next = table.rows.get(at + 1);
        if next.is_some_and(|next| !is_summary(next.label())) {
            start = at + 1;
        }
    }
    wrong
}

/// Columns of means, beside the columns of runs that they are of.
fn columns(table: &Table) -> Vec<WrongMean<'_>> {
    let names = 0..table.header.len();
    let runs: Vec<usize> = names
        .clone()
        .filter(|&column| is_ordinal(table.name(column)))
        .collect();
    let Some(mean) = names
        .into_iter()
        .find(|&column| is_mean(table.name(column)))
    else {
        return Vec::new();
    };
    let wrong = table.rows.iter().filter_map(|row| {
        let printed = row.number(mean)?;
        let figures: Vec<Printed> = runs.iter().filter_map(|&run| row.number(run)).collect();
        Some(WrongMean {
            of: row.label(),
            line: row.line_of(mean),
            figures: Vec::new(),
            printed: printed.value,
            really: disagrees(printed, &figures)?,
        })
    });
    wrong.collect()
}

/// The mean of figures, if what is printed is neither that nor another mean of them.
fn disagrees(printed: Printed, figures: &[Printed]) -> Option<f64> {
    if figures.len() < 2 {
        return None;
    }
    let values: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
    let halves: Vec<f64> = figures.iter().map(|figure| figure.half).collect();
    let mean = average(&values)?;
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let inverse: Vec<f64> = values.iter().map(|value| value.recip()).collect();
    let slack = printed.half + average(&halves)? + ROUNDED * mean.abs();
    let others = [
        Some(mean),
        median(&values),
        average(&logs).map(f64::exp),
        average(&inverse).map(f64::recip),
    ];
    let agrees = others
        .into_iter()
        .flatten()
        .any(|other| (printed.value - other).abs() <= slack);
    (!agrees).then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of};
    use prony_checks::Severity;

    #[test]
    fn below_and_beside() {
        let below = "| | A | B |\n|--|--|--|\n| 1st | 10.0 | 5 |\n| 2nd | 20.0 | 6 |\n| Ave | 99.0 | 5.5 |\n";
        let found = of(CheckId::MeanDisagrees, below);
        assert_eq!(found[0].lines, [3, 4, 5]);
        assert!(
            found[0]
                .finding
                .text
                .contains("A 99 where its figures give 15.00"),
            "{found:?}"
        );
        assert_eq!(found[0].finding.severity, Severity::Serious);
        let beside = "| | run 1 | run 2 | mean |\n|--|--|--|--|\n| A | 10 | 20 | 15 |\n| B | 10 | 20 | 17 |\n";
        assert_eq!(of(CheckId::MeanDisagrees, beside)[0].lines, [4]);
    }

    #[test]
    fn rounded_means_and_other_means_agree() {
        for mean in ["15.0", "15", "14.14", "13.33", "15.01"] {
            let text =
                format!("| | A |\n|--|--|\n| 1st | 10.0 |\n| 2nd | 20.0 |\n| Mean | {mean} |\n");
            assert_eq!(of(CheckId::MeanDisagrees, &text), [], "{mean}");
        }
        let quantities =
            "| | A |\n|--|--|\n| Requests | 1000 |\n| Rate | 500 |\n| Average | 12 |\n";
        assert_eq!(of(CheckId::MeanDisagrees, quantities), []);
        let groups = "| | A |\n|--|--|\n| 1 | 10 |\n| 2 | 20 |\n| Mean | 15 |\n| Max | 20 |\n| 1 | 1 |\n| 2 | 3 |\n| Mean | 2 |\n";
        assert_eq!(of(CheckId::MeanDisagrees, groups), []);
    }
}

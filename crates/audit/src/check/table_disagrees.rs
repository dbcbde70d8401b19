//! `table-disagrees`: a table of results has another rate than the output of the same system.

use super::{CheckInput, UnnamedFinding, of_all, raise, whole};
use crate::figures::Figure;
use prony_checks::{CheckId, Explanation, Severity};
use std::collections::BTreeMap;

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::TableDisagrees,
    cause: "A table gives a system another rate than the output that the text shows for it: one of them is of another run, or was changed.",
    evidence: "The rates of a table and of the outputs whose systems have the same names, each of which has one output and one row, as printed.",
    remedy: "Make the table from the outputs that are shown, or say of which runs it is.",
};

/// Fewer names may be alike by chance.
const LEAST: usize = 2;
/// A table that has no output's rate may be the means of runs, of which one is shown; then it is this near.
const MEAN: f64 = 0.25;
/// Rows that suffice to show that the figures are such means.
const ALL: usize = 4;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        if document.repetitions.is_some() {
            continue;
        }
        let mut named: BTreeMap<String, (Vec<&Figure>, Vec<&Figure>)> = BTreeMap::new();
        for figure in seen.figures.iter().filter(|f| f.document == index) {
            let (outputs, rows) = named.entry(key(&figure.system.name)).or_default();
            if figure.output.is_some() {
                outputs.push(figure);
            } else {
                rows.push(figure);
            }
        }
        // A name with several of either is of several loads or pages.
        let pairs: Vec<(&Figure, &Figure)> = named
            .iter()
            .filter(|(name, _)| !name.is_empty())
            .filter_map(
                |(_, (outputs, rows))| match (outputs.as_slice(), rows.as_slice()) {
                    ([output], [row]) => Some((*output, *row)),
                    _ => None,
                },
            )
            .filter(|(output, row)| {
                let connections = output.load.connections.zip(row.load.connections);
                connections.is_none_or(|(a, b)| a == b)
            })
            .collect();
        let differ: Vec<&(&Figure, &Figure)> = pairs.iter().filter(|(a, b)| !agree(a, b)).collect();
        let some_agree = differ.len() < pairs.len() && pairs.len() >= LEAST;
        let near = |(output, row): &&(&Figure, &Figure)| {
            (output.rate.value / row.rate.value - 1.0).abs() < MEAN
        };
        let none_agrees =
            differ.len() == pairs.len() && pairs.len() >= ALL && differ.iter().all(near);
        if differ.is_empty() || !some_agree && !none_agrees {
            continue;
        }
        let far =
            |(output, row): &(&Figure, &Figure)| (output.rate.value / row.rate.value).ln().abs();
        let Some((output, row)) = differ.iter().max_by(|a, b| far(a).total_cmp(&far(b))) else {
            continue;
        };
        let text = format!(
            "{}the table gives {} {} per second, and the output of line {} has {}: one of them is of another \
             run, or was changed",
            of_all(
                differ.len(),
                pairs.len(),
                "rows have another rate than their outputs"
            ),
            row.system.name,
            whole(row.rate.value.round()),
            output.line,
            whole(output.rate.value.round()),
        );
        let severity = if some_agree {
            Severity::Warning
        } else {
            Severity::Note
        };
        let lines = differ
            .iter()
            .flat_map(|(output, row)| [output.line, row.line]);
        remarks.push(raise(severity, document, lines, text));
    }
    remarks
}

/// A name without what pages write in different ways.
fn key(name: &str) -> String {
    let letters = name
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, '/' | '+' | '#'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Are two rates the same, as printed: `76.6k` and 76,647.97?
fn agree(output: &Figure, row: &Figure) -> bool {
    let (a, b) = (output.rate, row.rate);
    // Some cut digits off where others round.
    let cut = 2.0 * a.half.max(b.half);
    (a.value - b.value).abs() <= cut * 1.001 || b.half >= 0.5 && is_rounded(a.value, b.value)
}

/// Is a table's figure the output's with fewer digits: 38,000 of 38,117.53?
fn is_rounded(output: f64, row: f64) -> bool {
    let mut unit = 1.0;
    while unit < row && (row / unit).fract() == 0.0 {
        unit *= 10.0;
    }
    // The last unit of which it is a whole number.
    (output - row).abs() < unit / 10.0
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};
    use prony_checks::Severity;

    fn page(a: &str, b: &str) -> String {
        format!(
            "| server | req/s |\n|--|--|\n| alpha | {a} |\n| beta | {b} |\n\n## alpha\n\n{}\n## beta\n\n{}",
            wrk(&[]),
            wrk(&[("32000.00", "31000.00"), ("960000", "930000")])
        )
    }

    #[test]
    fn a_row_of_another_run() {
        assert_eq!(
            of(CheckId::TableDisagrees, &page("32000.00", "31000.00")),
            []
        );
        assert_eq!(of(CheckId::TableDisagrees, &page("32k", "31000")), []);
        let found = of(CheckId::TableDisagrees, &page("32000.00", "34000.00"));
        assert_eq!(found[0].finding.severity, Severity::Warning);
        assert_eq!(found[0].lines, [4, 35], "{found:?}");
        // Two rows that both differ may be of other runs on purpose.
        assert_eq!(
            of(CheckId::TableDisagrees, &page("33000.00", "34000.00")),
            []
        );
    }
}

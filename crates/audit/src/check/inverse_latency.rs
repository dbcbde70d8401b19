//! `inverse-latency`: a column of response times that is one divided by the rates.

use super::{CheckInput, UnnamedFinding, warning};
use crate::model::Table;
use crate::quantity::{is_other, rate_unit};
use prony_checks::{CheckId, Explanation};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::InverseLatency,
    cause: "The response times are one divided by the rates: they are the time between two answers, whichever requests they belong to, and not what a request takes. Nothing was measured for them.",
    evidence: "A column of times in which every figure, of three or more, is the inverse of the rate beside it, as printed; of eight or more, all but one.",
    remedy: "Leave the column out, or measure each request.",
};

/// Two figures agree by chance.
const LEAST: usize = 3;
/// Among this many, one may have been mistyped.
const MANY: usize = 8;
/// An agreement in fewer digits than this says little: 1 ms is 1000 per second.
const DIGITS: f64 = 50.0;
/// Among the best three, one may have fewer digits if others have more: no less than these.
const FEWEST: f64 = 20.0;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        for (table, _) in &document.tables {
            let Some((time, lines)) = inverse(table) else {
                continue;
            };
            let text = format!(
                "column '{}' is one divided by the rates beside it: that is the time between \
                 two answers, not the time that a request takes",
                table.name(time)
            );
            remarks.push(warning(document, lines, text));
        }
    }
    remarks
}

/// The column that is the inverse of another, and its lines.
fn inverse(table: &Table) -> Option<(usize, Vec<usize>)> {
    let columns = table.numeric_columns();
    let rates = columns
        .iter()
        .filter_map(|column| Some((*column, rate_unit(table.name(*column))?)));
    let rates: Vec<(usize, f64)> = rates.collect();
    let is_time = |column: &&usize| {
        let name = table.name(**column).to_lowercase();
        is_other(&name)
            && rate_unit(&name).is_none()
            && ["latency", "time", "ms", "us", "µs"]
                .iter()
                .any(|word| name.contains(word))
    };
    columns.iter().filter(is_time).find_map(|&time| {
        rates.iter().find_map(|&(rate, unit)| {
            let pairs = table.rows.iter().filter_map(|row| {
                Some((
                    row.number(time)?,
                    row.number(rate)?.times(unit),
                    row.line_of(time),
                ))
            });
            let pairs: Vec<_> = pairs
                .filter(|(t, r, _)| t.value > 0.0 && r.value > 0.0)
                .collect();
            let digits = pairs.iter().map(|(t, ..)| t.value / (2.0 * t.half));
            let mut digits: Vec<f64> = digits.filter(|of| *of >= FEWEST).collect();
            digits.sort_by(|a, b| b.total_cmp(a));
            let best = digits.get(..LEAST)?.iter().product::<f64>();
            (best >= DIGITS.powi(3)).then_some(())?;
            // In milliseconds or microseconds, whichever fits all.
            [1e3, 1e6].into_iter().find(|&units| {
                let others = pairs.iter().filter(|(t, r, _)| {
                    let inverse = units / r.value;
                    (t.value - inverse).abs() > t.half + inverse * r.half / r.value
                });
                others.count() <= usize::from(pairs.len() >= MANY)
            })?;
            Some((time, pairs.iter().map(|(.., line)| *line).collect()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of};

    #[test]
    fn times_that_were_not_measured() {
        let table = |last: &str| {
            format!(
                "| server | req/s | latency (ms) |\n|--|--|--|\n| a | 1250.5 | 0.800 |\n\
                 | b | 2105.2 | 0.475 |\n| c | 812.3 | {last} |\n"
            )
        };
        assert_eq!(
            of(CheckId::InverseLatency, &table("1.231"))[0].lines,
            [3, 4, 5]
        );
        assert_eq!(of(CheckId::InverseLatency, &table("1.531")), []);
        // Few digits in one, more in another.
        let rounded = |first: &str| {
            format!(
                "| server | req/s | latency (ms) |\n|--|--|--|\n| a | 734 | {first} |\n| b | 2109 | 0.47 |\n\
                 | c | 1844 | 0.54 |\n"
            )
        };
        assert_eq!(of(CheckId::InverseLatency, &rounded("1.36")).len(), 1);
        assert_eq!(of(CheckId::InverseLatency, &rounded("1.4")), []);
    }
}

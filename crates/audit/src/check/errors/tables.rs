//! Failures that the columns or the rows of a table tell of: `| Success | 87.4% |`, `| Num. failures | 732 (93.2%) |`.

use super::{EXPLANATION, TOLERABLE};
use crate::audit::Remark;
use crate::check::{Seen, remark, share};
use crate::figures::rates_in;
use crate::names::words;
use crate::read::number::leading;
use crate::table::{Cell, Row, Table};
use prony_checks::Severity;

/// At most this many rows are told one by one.
const TOLD: usize = 6;

/// A cell of failures: its line, what its row or column is called, and the share, or the count where only that is known.
struct Failing<'a> {
    line: usize,
    of: &'a str,
    told: String,
    share: Option<f64>,
}

pub(super) fn check(seen: &Seen<'_>, index: usize) -> Option<Remark> {
    let document = &seen.documents[index];
    let rated = |table: &Table| {
        let lines = || {
            table
                .rows
                .iter()
                .flat_map(|row| &row.cells)
                .map(|cell| cell.line)
        };
        let (first, last) = (lines().min().unwrap_or(0), lines().max().unwrap_or(0));
        seen.figures.iter().any(|figure| {
            figure.document == index
                && figure.output.is_none()
                && (first..=last).contains(&figure.line)
        })
    };
    let tables = document
        .tables
        .iter()
        .map(|(table, _)| table)
        .filter(|table| rated(table));
    let failing: Vec<Failing<'_>> = tables.flat_map(of_table).collect();
    let known = failing.iter().filter_map(|it| it.share);
    let worst = known.fold(0.0, f64::max);
    let first = failing.first()?;
    let told = failing
        .iter()
        .take(TOLD)
        .map(|it| format!("{} {}", it.of, it.told));
    let more = match failing.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let severity = if worst > TOLERABLE {
        Severity::Serious
    } else {
        Severity::Warning
    };
    let part = match first.share {
        Some(_) => format!("up to {} of the requests", share(worst)),
        None => "requests".to_owned(),
    };
    let text = format!(
        "{part} failed, as the table says ({}{more}): an error is often faster than an answer, so find out why they \
         failed before you compare the rates",
        told.collect::<Vec<_>>().join(", "),
    );
    let lines = failing.iter().map(|it| it.line);
    Some(remark(EXPLANATION.name, severity, document, lines, text))
}

/// A rate of nothing, beside rates of others.
fn unanswered(table: &Table) -> Vec<Failing<'_>> {
    // The first column of rates is the headline.
    let column = (1..table.header.len()).find(|column| rates_in(table.name(*column)).is_some());
    let Some(column) = column else {
        return Vec::new();
    };
    let named = |row: &&Row| row.label().contains(char::is_alphabetic) && row.number(0).is_none();
    let rate = |row: &Row| row.number(column).map(|rate| rate.value);
    let answered = table
        .rows
        .iter()
        .filter(|row| rate(row).is_some_and(|rate| rate > 0.0));
    if answered.count() < 2 || !table.rows.iter().all(|row| named(&row)) {
        return Vec::new();
    }
    let idle = |row: &Row| {
        let label = row.label().to_lowercase();
        words(&label).any(|word| matches!(word, "idle" | "baseline" | "none"))
    };
    let rows = table
        .rows
        .iter()
        .filter(|row| rate(row) == Some(0.0) && !idle(row));
    rows.map(|row| Failing {
        line: row.line_of(column),
        of: row.label(),
        told: "with a rate of 0".to_owned(),
        share: Some(1.0),
    })
    .collect()
}

fn of_table(table: &Table) -> Vec<Failing<'_>> {
    let mut failing = unanswered(table);
    for row in &table.rows {
        for (column, cell) in row.cells.iter().enumerate().skip(1) {
            let (by_column, by_row) = (table.name(column), row.label());
            let (name, of) = if is_of_failures(by_column).is_some() {
                (by_column, by_row)
            } else {
                (by_row, by_column)
            };
            let Some(succeeded) = is_of_failures(name) else {
                continue;
            };
            let share = percentage(cell).map(|p| if succeeded { 1.0 - p } else { p });
            // A number of requests that succeeded says nothing without that of all.
            let count = cell.number.map_or(0.0, |number| number.value);
            let fails = match share {
                Some(share) => share > 0.0 && share <= 1.0,
                None => !succeeded && count > 0.0,
            };
            if fails {
                failing.push(Failing {
                    line: cell.line,
                    of,
                    told: cell.text.chars().take(40).collect(),
                    share,
                });
            }
        }
    }
    failing
}

/// Is a column of failures, or (true) of success?
fn is_of_failures(name: &str) -> Option<bool> {
    const FAILED: [&str; 10] = [
        "error",
        "errors",
        "failed",
        "failures",
        "failure",
        "fails",
        "timeouts",
        "non2xx",
        "错误率",
        "失败率",
    ];
    const OTHER: [&str; 6] = ["std", "standard", "margin", "relative", "max", "avg"];
    let lower = name.to_lowercase();
    let has = |list: &[&str]| words(&lower).any(|word| list.contains(&word));
    if has(&OTHER) || lower.contains('±') || lower.contains("/s") {
        return None;
    }
    if has(&FAILED) {
        return Some(false);
    }
    has(&["success", "successful", "succeeded"]).then_some(true)
}

/// The percentage of a cell, as a share: `87.4%`, `732 (93.2%)`.
fn percentage(cell: &Cell) -> Option<f64> {
    let (before, _) = cell.text.split_once('%')?;
    let digits = before.trim_end();
    let from = digits
        .rfind(|c: char| !c.is_ascii_digit() && c != '.')
        .map_or(0, |at| at + 1);
    let from = (from..=digits.len()).find(|i| digits.is_char_boundary(*i))?;
    let (number, rest) = leading(&digits[from..])?;
    rest.is_empty().then_some(number.value / 100.0)
}

#[cfg(test)]
mod tests {
    use crate::check::testing::of;
    use prony_checks::Severity;

    #[test]
    fn columns_and_rows_of_failures() {
        let table = |rows: &str| format!("| API | Req/sec | Success |\n|--|--|--|\n{rows}");
        let found = of(
            "errors",
            &table("| a | 9000 | 100% |\n| b | 700 | 87.4% |\n"),
        );
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([4].as_slice(), Severity::Serious)
        );
        assert!(found[0].finding.text.contains("12.6 %"), "{found:?}");
        assert_eq!(
            of(
                "errors",
                &table("| a | 9000 | 100% |\n| b | 700 | 100% |\n")
            ),
            []
        );
        let counts = "| API | Req/sec | Errors |\n|--|--|--|\n| a | 9000 | 0 |\n| b | 700 | 12 |\n";
        assert_eq!(of("errors", counts)[0].finding.severity, Severity::Warning);
        let rows = "| | a | b |\n|--|--|--|\n| Num. failures | 0 (0%) | 732 (93.2%) |\n\
                    | Avg. num. requests/sec | 35.6 | 13.1 |\n| Avg. num. failures/sec | 0 | 12.2 |\n";
        let found = of("errors", rows);
        assert!(found[0].finding.text.contains("93.2 %"), "{found:?}");
        // How far a rate is off is no failure.
        let spread =
            "| API | Req/sec | Std error % |\n|--|--|--|\n| a | 9000 | 1.2% |\n| b | 700 | 2% |\n";
        assert_eq!(of("errors", spread), []);
    }
}

//! `repeated-rows`: the same figures stand for two different things.

use super::{CheckInput, UnnamedFinding, raise};
use crate::model::{OutputContext, ToolOutput};
use crate::model::{Row, TableCell};
use crate::names::{is_ordinal, is_summary};
use crate::text::number::Printed;
use prony_checks::{CheckId, Explanation, Severity};
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::RepeatedRows,
    cause: "The same figures are given for two different things. Two measurements never agree in every digit, so one of them is a copy.",
    evidence: "Rows with two or more figures of at least four digits, across all tables and files; outputs with the same count, rate and mean. Serious from two rows on: a single row may be shown twice on purpose.",
    remedy: "Ask for the original measurements.",
};

/// Two measurements agree by chance in a number with this many digits at most once in a thousand times.
const DIGITS: f64 = 1_000.0;
/// A row repeats another when this many such numbers agree.
const NUMBERS: usize = 2;
/// One row that stands in two tables may be the same measurement, shown twice on purpose.
const COPIED: usize = 2;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = tables(seen);
    remarks.extend(outputs(seen));
    remarks
}

/// A table with rows of so many others is a summary.
const SUMMED_UP: usize = 2;

/// A document and a table in it, by their places.
type Table = (usize, usize);
/// Where a row stands: document, table, line.
type At = (usize, usize, usize);

fn tables(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut first: HashMap<Vec<u64>, At> = HashMap::new();
    // (where first, where again) → lines of both
    let mut again: BTreeMap<(Table, Table), Vec<(usize, usize)>> = BTreeMap::new();
    for (d, document) in seen.documents.iter().enumerate() {
        for (t, (table, _)) in document.tables.iter().enumerate() {
            for row in table.rows.iter().filter(|row| !is_summary(row.label())) {
                let Some(key) = key(row) else { continue };
                match first.get(&key) {
                    None => {
                        first.insert(key, (d, t, row.line()));
                    }
                    Some(&(d0, t0, line)) => {
                        let rows = again.entry(((d0, t0), (d, t))).or_default();
                        rows.push((line, row.line()));
                    }
                }
            }
        }
    }
    again.retain(|&((d0, t0), (d, t)), _| {
        let tables = |d: usize, t: usize| &seen.documents[d].tables[t];
        (d0, t0) == (d, t) || d0 != d || !shown_twice(tables(d0, t0), tables(d, t))
    });
    again.retain(|(first, table), rows| {
        let sums_up = first.0 == table.0 && first != table && sums_up(seen, *table);
        !(sums_up
            && rows
                .iter()
                .all(|rows| called_alike(seen, *first, *table, *rows)))
    });
    let found = again.into_iter().map(|(((d0, t0), (d, t)), rows)| {
        let document = &seen.documents[d];
        let title = |d: usize, t: usize| {
            let (table, place) = &seen.documents[d].tables[t];
            place
                .headings
                .last()
                .map_or(format!("the table of line {}", table.first), |heading| {
                    format!("the table of '{}'", heading.0)
                })
        };
        let severity = if rows.len() >= COPIED {
            Severity::Serious
        } else {
            Severity::Note
        };
        let name = &seen.documents[d0].name;
        let where_first = if d0 == d {
            String::new()
        } else {
            format!(" in {name}")
        };
        let same = (d0, t0) == (d, t);
        let text = format!(
            "{} of {} repeat {}{where_first} figure by figure: {}. Two measurements never agree in \
             every digit, so the measurement of one of them is missing",
            match rows.len() {
                1 => "a row".to_owned(),
                n => format!("{n} rows"),
            },
            title(d, t),
            if same {
                "other rows of it".to_owned()
            } else {
                title(d0, t0)
            },
            rows.iter()
                .take(6)
                .map(|(a, b)| format!("line {b} is line {a}"))
                .collect::<Vec<_>>()
                .join(", "),
        );
        let lines = rows.iter().flat_map(|&(a, b)| {
            let first = (d0 == d).then_some(a);
            first.into_iter().chain([b])
        });
        raise(severity, document, lines, text)
    });
    found.collect()
}

/// Has a table all rows of several others of its document, under the same names, none of which are in two of these?
fn sums_up(seen: &CheckInput<'_>, (d, t): Table) -> bool {
    let labels = |t: usize| -> BTreeSet<&str> {
        let (table, _) = &seen.documents[d].tables[t];
        table.rows.iter().map(Row::label).collect()
    };
    let all = labels(t);
    let mut summed = BTreeSet::new();
    let mut tables = 0;
    for other in (0..seen.documents[d].tables.len()).filter(|other| *other != t) {
        let own = labels(other);
        if own.len() < all.len() && own.is_subset(&all) && own.is_disjoint(&summed) {
            summed.extend(own);
            tables += 1;
        }
    }
    tables >= SUMMED_UP
}

/// Have the rows in these lines of two tables the same label, which is a name?
fn called_alike(seen: &CheckInput<'_>, first: Table, table: Table, lines: (usize, usize)) -> bool {
    let label = |(d, t): Table, line: usize| {
        let (table, _) = seen.documents[d].tables.get(t)?;
        let row = table.rows.iter().find(|row| row.line() == line)?;
        Some(row.label())
    };
    let (one, other) = (label(first, lines.0), label(table, lines.1));
    one == other && one.is_some_and(|name| !is_ordinal(name) && name.contains(char::is_alphabetic))
}

/// The precise numbers of a row, if there are enough of them.
fn key(row: &Row) -> Option<Vec<u64>> {
    // A percentage or a factor is worked out of a figure beside it, and agrees where that does.
    let worked_out =
        |cell: &&TableCell| cell.text.contains('%') || cell.text.trim_end().ends_with(['x', '×']);
    let numbers: Vec<Printed> = row
        .cells
        .iter()
        .skip(1)
        .filter(|cell| !worked_out(cell))
        .filter_map(|cell| cell.number)
        .collect();
    let precise = |n: &&Printed| n.half > 0.0 && significant(**n) >= DIGITS;
    (numbers.iter().filter(precise).count() >= NUMBERS)
        .then(|| numbers.iter().map(|n| n.value.to_bits()).collect())
}

/// The digits of a number without the zeros at its end, as a whole number: 1234 for 12.340, 1 for
/// 1000.00. Settings, unlike measurements, are round numbers, and stand in several rows.
fn significant(n: Printed) -> f64 {
    let mut digits = (n.value / (2.0 * n.half)).round();
    while digits >= 10.0 && digits % 10.0 == 0.0 {
        digits /= 10.0;
    }
    digits
}

/// Do two tables stand under the same headings and have the same text in every cell? Such a table is
/// shown twice: as a program printed it, and as the page shows it.
fn shown_twice(
    one: &(crate::model::Table, OutputContext),
    other: &(crate::model::Table, OutputContext),
) -> bool {
    let headings = |place: &OutputContext| -> Vec<String> {
        let all = place.headings.iter();
        all.map(|heading| heading.0.clone()).collect()
    };
    let texts = |row: &Row| -> Vec<String> {
        let cells = row.cells.iter();
        cells.map(|cell| cell.text.clone()).collect()
    };
    let ((one, above), (other, above_other)) = (one, other);
    headings(above) == headings(above_other)
        && one.header == other.header
        && one.rows.len() == other.rows.len()
        && one
            .rows
            .iter()
            .zip(&other.rows)
            .all(|(a, b)| texts(a) == texts(b))
}

/// Outputs whose count, rate and mean are the same. Where the same command line stands above them, the page may show one twice on
/// purpose, below another heading.
fn outputs(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut first: HashMap<(u64, u64, u64), (usize, &ToolOutput)> = HashMap::new();
    let mut remarks = Vec::new();
    for (d, document) in seen.documents.iter().enumerate() {
        let mut copies = Vec::new();
        for output in &document.outputs {
            let block = &output.block;
            let (Some(requests), Some(rate), Some(mean)) =
                (block.requests, block.rate, block.latency.mean)
            else {
                continue;
            };
            if (requests.what as f64) < DIGITS || rate.what.value < DIGITS {
                continue;
            }
            let key = (
                requests.what,
                rate.what.value.to_bits(),
                mean.what.value.to_bits(),
            );
            match first.get(&key) {
                None => {
                    first.insert(key, (d, output));
                }
                Some(&(d0, first)) => copies.push((output, d0, first)),
            }
        }
        let Some((output, d0, original)) = copies.first() else {
            continue;
        };
        let again = copies
            .iter()
            .all(|(output, d0, first)| *d0 == d && asks_the_same(output, first));
        let (severity, copy) = if again {
            (Severity::Warning, "it is shown twice, or one is a copy")
        } else {
            (Severity::Serious, "one of them is a copy")
        };
        let text = format!(
            "{} is, figure by figure, the output of line {} of {}: two runs never agree in every \
             digit, so {copy}",
            output.called(),
            original.block.first,
            seen.documents[*d0].name,
        );
        let lines = copies.iter().flat_map(|(output, d0, first)| {
            let first = (*d0 == d).then_some(first.block.first);
            first.into_iter().chain([output.block.first])
        });
        remarks.push(raise(severity, document, lines, text));
    }
    remarks
}

/// Do the command lines above two outputs ask for the same, under the same load?
fn asks_the_same(one: &ToolOutput, other: &ToolOutput) -> bool {
    let asked = |output: &ToolOutput| {
        let command = output.command.as_ref()?;
        let url = command.url().map(str::to_owned);
        Some((command.tool, url, command.connections(), command.threads()))
    };
    asked(one).is_some() && asked(one) == asked(other)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};
    use prony_checks::Severity;

    const SMALL: &str = "# Small\n\n| | A | B |\n|--|--|--|\n| 1st | 2270.32 | 1877.48 |\n\
        | 2nd | 1798.75 | 1987.68 |\n| Ave | 2034.535 | 1932.58 |\n\n";

    #[test]
    fn a_summary_of_several_tables() {
        let table = |title: &str, rows: &str| {
            format!("## {title}\n\n| server | req/s | µs |\n|--|--|--|\n{rows}\n")
        };
        let text = "| alpha (text) | 126816 | 1891 |\n| beta (text) | 99669 | 6743 |\n";
        let json = "| alpha (json) | 96065 | 2366 |\n| beta (json) | 82561 | 4757 |\n";
        let both = table("text", text) + &table("json", json);
        // What is compared with the slowest of all differs.
        let some = (text.to_owned() + json).replace("| 2366 |", "| 2367 |");
        assert_eq!(
            of(
                CheckId::RepeatedRows,
                &(both.clone() + &table("All", &some))
            ),
            []
        );
        let all = both.clone() + &table("All", &(text.to_owned() + json));
        assert_eq!(of(CheckId::RepeatedRows, &all), []);
        // Of one table it is a copy, and so it is under other names.
        let copy = both.clone() + &table("On another machine", text);
        assert_eq!(of(CheckId::RepeatedRows, &copy).len(), 1);
        let renamed = (text.to_owned() + json).replace("beta", "gamma");
        let found = of(CheckId::RepeatedRows, &(both + &table("All", &renamed)));
        assert!(!found.is_empty());
    }

    #[test]
    fn a_percentage_of_the_same_figure_is_no_second_one() {
        let text = "| server | req/s | of the best |\n|--|--|--|\n| alpha | 251.66 | 100% |\n| beta | 251.08 | 99.77% |\n\
            | gamma | 251.08 | 99.77% |\n";
        assert_eq!(of(CheckId::RepeatedRows, text), []);
        let times = text.replace("99.77%", "24.961");
        assert_eq!(of(CheckId::RepeatedRows, &times)[0].lines, [4, 5]);
    }

    #[test]
    fn a_table_that_was_copied() {
        let text = SMALL.to_owned() + &SMALL.replace("Small", "Large");
        let found = of(CheckId::RepeatedRows, &text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].lines, [5, 6, 13, 14]);
        assert_eq!(found[0].finding.severity, Severity::Serious);
        assert!(
            found[0].finding.text.contains("line 13 is line 5"),
            "{found:?}"
        );
    }

    #[test]
    fn round_numbers_and_other_rows_are_no_copies() {
        let other = SMALL
            .replace("2270.32", "2270.33")
            .replace("1798.75", "1798.76");
        assert_eq!(of(CheckId::RepeatedRows, &(SMALL.to_owned() + &other)), []);
        let round = "| | A | B |\n|--|--|--|\n| x | 10 | 20 |\n| y | 10 | 20 |\n";
        assert_eq!(of(CheckId::RepeatedRows, round), []);
        let chosen = "| | A | B |\n|--|--|--|\n| requests | 1000.0000 | 1000.0000 |\n| done | 1000.0000 | 1000.0000 |\n";
        assert_eq!(of(CheckId::RepeatedRows, chosen), []);
    }

    #[test]
    fn a_table_as_it_was_printed_and_as_the_page_shows_it() {
        let (heading, table) = SMALL.split_once("\n\n").unwrap();
        let twice = format!("{heading}\n\n```\n{table}```\n\n{table}");
        assert_eq!(of(CheckId::RepeatedRows, &twice), []);
    }

    #[test]
    fn an_output_that_was_copied() {
        let text = format!("# A\n{}\n# B\n{}", wrk(&[]), wrk(&[]));
        assert_eq!(of(CheckId::RepeatedRows, &text)[0].lines, [2, 17]);
    }
}

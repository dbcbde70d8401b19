//! `garbled-cell`: something that is no number stands where one should.

use super::{CheckInput, UnnamedFinding, warning};
use crate::model::{Table, is_garbled};
use crate::quantity::{is_other, rate_unit};
use crate::words::Words;
use prony_checks::{CheckId, Explanation};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::GarbledCell,
    cause: "A cell contains something other than a number where the tool, or the rest of the column, has numbers: it was changed after it was measured, and other figures may have been as well.",
    evidence: "The fields of outputs, and the cells of columns whose other cells are numbers.",
    remedy: "Ask for the raw output.",
};

/// Fewer rows may have the same word by chance.
const ROWS: usize = 3;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        let outputs = document
            .outputs
            .iter()
            .flat_map(|output| &output.block.garbled);
        let outputs = outputs.map(|cell| (cell.line, cell.what.as_str()));
        let tables = document.tables.iter().flat_map(|(table, _)| {
            let columns = table.numeric_columns();
            let rows = table
                .rows
                .iter()
                .flat_map(|row| row.cells.iter().enumerate());
            // A column of numbers, not one of versions.
            rows.filter(move |(column, cell)| {
                let name = table.name(*column);
                let quantity = rate_unit(name).is_some() || is_other(name);
                // `1.2.3` is a version, an address or a date, except where only a number can stand.
                *column > 0
                    && columns.contains(column)
                    && is_garbled(cell)
                    && (quantity || !is_version(&cell.text))
                    && !name.to_lowercase().contains("version")
            })
            .map(|(_, cell)| (cell.line, cell.text.as_str()))
        });
        remarks.extend(document.tables.iter().filter_map(|(table, _)| {
            let (column, word) = words(table)?;
            let lines = table.rows.iter().map(|row| row.line_of(column));
            let text = format!(
                "column '{}' has `{word}` in every row and no number: a script has taken the wrong word of its \
                 tool's output, and may have taken others",
                table.name(column)
            );
            Some(warning(document, lines, text))
        }));
        for (line, cell) in outputs.chain(tables) {
            let cell: String = cell.chars().take(40).collect();
            let text = format!(
                "`{cell}` is no number that a tool prints: it was changed on the way to this page, and \
                 other figures may have been as well"
            );
            remarks.push(warning(document, [line], text));
        }
    }
    remarks
}

/// The column of a rate or a time that has the same word in every row, which stands for no value that is missing.
fn words(table: &Table) -> Option<(usize, &str)> {
    const MISSING: Words = Words(
        "n/a, na, none, nan, null, tbd, todo, unknown, failed, error, crashed, timeout, skipped, \
        ok",
    );
    let others = !table.numeric_columns().is_empty() && table.rows.len() >= ROWS;
    (1..table.header.len())
        .filter(|_| others)
        .find_map(|column| {
            let name = table.name(column);
            let unit = name.contains("ms") || name.contains("µs") || rate_unit(name).is_some();
            let word = table.rows.first()?.cells.get(column)?.text.as_str();
            let same = table.rows.iter().all(|row| {
                let cell = row.cells.get(column);
                cell.is_some_and(|cell| cell.text == word)
            });
            let letters = !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
            (unit && same && letters && !MISSING.has(word)).then_some((column, word))
        })
}

/// `1.2.3`
fn is_version(text: &str) -> bool {
    let mut parts = text.split('.');
    parts.clone().count() >= 3
        && parts.all(|part| part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};

    #[test]
    fn in_an_output_and_in_a_table() {
        let found = of(
            CheckId::GarbledCell,
            &wrk(&[("90.00%\n    Req", "99.79%0.\n    Req")]),
        );
        assert_eq!(found[0].lines, [4]);
        assert!(found[0].finding.text.contains("`99.79%0.`"), "{found:?}");
        for fine in ["80.00\n    Req", "90.00%\n    Req"] {
            let text = wrk(&[
                ("90.00%\n    Req", fine),
                ("300.00us   3.90ms", "618.36?s   3.90ms"),
            ]);
            assert_eq!(of(CheckId::GarbledCell, &text), [], "{fine}");
        }
        let versions = "| server | go | req/s |\n|--|--|--|\n| a | 1.21 | 100 |\n| b | 1.22 | 110 |\n| c | 1.22.1 | 120 |\n";
        assert_eq!(of(CheckId::GarbledCell, versions), []);
        let table = "| server | version | req/s |\n|--|--|--|\n| a | 1.2.3 | 100 |\n| b | 1.2 | 10.0.1 |\n\
            | c | 1.10.0 | 120 |\n";
        let found = of(CheckId::GarbledCell, table);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].lines, [4]);
    }
}

//! `garbled-cell`: something that is no number stands where one should.

use super::{Seen, remark};
use crate::audit::Remark;
use crate::table::is_garbled;
use prony_checks::{Explanation, Severity};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: "garbled-cell",
    cause: "A cell contains something other than a number where the tool, or the rest of the column, has numbers: the figures were edited by hand after they were measured.",
    evidence: "The fields of outputs, and the cells of columns whose other cells are numbers.",
    remedy: "Ask for the raw output.",
};

pub(super) fn check(seen: &Seen<'_>) -> Vec<Remark> {
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
                *column > 0 && columns.contains(column) && is_garbled(cell)
            })
            .map(|(_, cell)| (cell.line, cell.text.as_str()))
        });
        for (line, cell) in outputs.chain(tables) {
            let cell: String = cell.chars().take(40).collect();
            let text = format!(
                "`{cell}` is not a number: the figures were edited after they were measured, so other \
                 figures may have changed as well"
            );
            remarks.push(remark(
                EXPLANATION.name,
                Severity::Warning,
                document,
                [line],
                text,
            ));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::testing::{of, wrk};

    #[test]
    fn in_an_output_and_in_a_table() {
        let found = of(
            "garbled-cell",
            &wrk(&[("90.00%\n    Req", "99.79%0.\n    Req")]),
        );
        assert_eq!(found[0].lines, [4]);
        assert!(found[0].finding.text.contains("`99.79%0.`"), "{found:?}");
        let table = "| server | version | req/s |\n|--|--|--|\n| a | 1.2.3 | 100 |\n| b | 1.2 | 10.0.1 |\n\
            | c | 1.10.0 | 120 |\n";
        let found = of("garbled-cell", table);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].lines, [4]);
    }
}

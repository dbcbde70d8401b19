//! Bytes for each answer, worked out of a table's bytes per second and its rates.

use super::{Size, apart, worst};
use crate::check::{CheckInput, UnnamedFinding, raise};
use crate::figures::Figure;
use crate::load::Load;
use crate::model::{Row, Table};
use crate::text::number::leading;
use crate::words::words;
use std::collections::BTreeMap;

pub(super) fn check(seen: &CheckInput<'_>, index: usize) -> Option<UnnamedFinding> {
    let document = &seen.documents[index];
    let mut by_line: BTreeMap<usize, Vec<&Figure>> = BTreeMap::new();
    let own = |figure: &&Figure| {
        figure.document == index && figure.output.is_none() && !figure.system.unsure
    };
    for figure in seen.figures.iter().filter(own) {
        by_line.entry(figure.line).or_default().push(figure);
    }
    let mut groups: BTreeMap<(usize, &str, Load), Vec<Size<'_>>> = BTreeMap::new();
    for (table, _) in &document.tables {
        for row in &table.rows {
            // Of several rates in a row nothing says which of them the bytes are of.
            let Some([figure]) = by_line.get(&row.line()).map(Vec::as_slice) else {
                continue;
            };
            if let Some(bytes) = per_second(table, row) {
                let key = (table.first, &*figure.system.section, figure.load);
                let size = (bytes / figure.rate.value, figure.line, &*figure.system.name);
                groups.entry(key).or_default().push(size);
            }
        }
    }
    let found = groups.values().filter_map(|sizes| apart(sizes)).collect();
    let (severity, text, lines) = worst(found)?;
    let text = format!("by the table's bytes per second {text}");
    Some(raise(severity, document, lines, text))
}

/// The bytes per second in a row, by the one column that is of these.
fn per_second(table: &Table, row: &Row) -> Option<f64> {
    let columns = 1..table.header.len();
    let mut found = columns.filter_map(|column| {
        let cell = row.cells.get(column)?;
        let name = table.name(column);
        of_cell(&name.to_lowercase(), name, &cell.text)
    });
    found.next().filter(|_| found.next().is_none())
}

fn of_cell(lower: &str, name: &str, text: &str) -> Option<f64> {
    let transfer = words(lower).any(|word| {
        matches!(
            word,
            "transfer" | "transferred" | "throughput" | "bandwidth" | "traffic" | "bytes" | "data"
        )
    });
    // fastify's tables call it `Throughput/Mb`.
    let timed = |text: &str| {
        text.contains("/s")
            || text.contains("per s")
            || text == "throughput/mb"
            || text == "throughput (mb)"
    };
    (transfer && (timed(lower) || timed(&text.to_lowercase()))).then_some(())?;
    let (number, rest) = leading(text.trim())?;
    let factor = unit(rest).or_else(|| unit_in(name))?;
    (number.value > 0.0).then_some(number.value * factor)
}

/// The unit that a column's name has: `Transfer (MB/s)`.
fn unit_in(name: &str) -> Option<f64> {
    name.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 1)
        .find_map(unit)
}

/// Bytes of a unit: `MB`, `KiB/s`. Bits are none.
fn unit(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_alphabetic());
    let unit = &text[..end.unwrap_or(text.len())];
    Some(match unit {
        "B" | "Bytes" | "bytes" => 1.0,
        "KB" | "kB" | "KiB" | "kb" => 1024.0,
        "MB" | "MiB" | "mb" | "Mb" => 1024.0 * 1024.0,
        "GB" | "GiB" | "gb" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::check::testing::{CheckId, of};
    use prony_checks::Severity;

    fn table(header: &str, rows: &[&str]) -> String {
        let rows = rows.iter().map(|row| format!("| {row} |\n"));
        format!(
            "| server | req/s | {header} |\n|--|--|--|\n{}",
            rows.collect::<String>()
        )
    }

    #[test]
    fn a_table_that_has_both() {
        let rows = ["alpha | 73060 | 10.38 MB", "beta | 9171 | 8.95 MB"];
        let found = of(CheckId::BytesDiffer, &table("Transfer/sec", &rows));
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([3, 4].as_slice(), Severity::Warning)
        );
        assert!(
            found[0].finding.text.contains("beta sends 1,023 bytes"),
            "{found:?}"
        );
        let bare = ["alpha | 25233.36 | 2.12", "beta | 24155.22 | 4.45"];
        let found = of(CheckId::BytesDiffer, &table("Transfer (MB/s)", &bare));
        assert_eq!(found[0].finding.severity, Severity::Note);
        // The total of a run, bits, and what is nearly alike.
        assert_eq!(of(CheckId::BytesDiffer, &table("Transferred", &rows)), []);
        let bits = ["alpha | 73060 | 10.38 Mbit/s", "beta | 9171 | 8.95 Mbit/s"];
        assert_eq!(of(CheckId::BytesDiffer, &table("Bandwidth", &bits)), []);
        let alike = ["alpha | 73060 | 10.38 MB", "beta | 46326 | 6.72 MB"];
        assert_eq!(of(CheckId::BytesDiffer, &table("Transfer/sec", &alike)), []);
    }

    #[test]
    fn a_column_that_fastify_has() {
        let text = |other: &str| {
            format!(
                "| | Requests/s | Latency | Throughput/Mb |\n|--|--|--|--|\n| alpha | 115654.4 | 8.15 | 20.62 |\n| beta | 25680.5 | 38.43 | {other} |\n"
            )
        };
        assert_eq!(of(CheckId::BytesDiffer, &text("9.50"))[0].lines, [3, 4]);
        assert_eq!(of(CheckId::BytesDiffer, &text("4.62")), []);
    }
}

//! Values between commas, semicolons or tabs: a file of them, or lines of them in a text.

use crate::model::{Row, Table, TableCell, number};
use crate::text::lines::{Lines, without_markup};

/// Within a text, at least this many lines must look like a table to count as one.
const LEAST: usize = 3;

/// The separator of a text that is a table as a whole, by its name.
pub(crate) fn separator_of(name: &str) -> Option<char> {
    let (_, ending) = name.rsplit_once('.')?;
    match ending.to_ascii_lowercase().as_str() {
        "csv" => Some(','),
        "tsv" => Some('\t'),
        _ => None,
    }
}

pub(super) fn read(
    lines: &Lines<'_>,
    at: usize,
    fenced: bool,
    separator: Option<char>,
) -> Option<(Table, usize)> {
    let line = lines.get(at);
    let whole = separator.is_some();
    let separator = match separator {
        // A file with another separator than its name says.
        Some(',') if line.matches(';').count() > line.matches(',').count() => ';',
        Some(separator) => separator,
        None if fenced && line.starts_with([' ', '\t']) => return None,
        None => [',', ';', '\t'].into_iter().find(|c| line.contains(*c))?,
    };
    let columns = line.matches(separator).count();
    let named = !split(line, separator)
        .skip(1)
        .any(|cell| number(cell.trim_matches('"')).is_some());
    if columns == 0 || !whole && !named {
        return None;
    }
    let mut next = at;
    while next < lines.len() {
        let line = lines.get(next);
        let fits = line.matches(separator).count() == columns || whole && line.contains(separator);
        if !fits || !whole && next > at && !figures(line, separator) {
            break;
        }
        next += 1;
    }
    if next - at < if whole { 1 } else { LEAST } {
        return None;
    }
    let mut rows: Vec<Row> = (at..next)
        .map(|i| row(lines.get(i), separator, i))
        .collect();
    let header = if named {
        rows.remove(0)
            .cells
            .into_iter()
            .map(|cell| cell.text)
            .collect()
    } else {
        Vec::new()
    };
    let first = at + 1;
    Some((
        Table {
            first,
            header,
            rows,
        },
        next,
    ))
}

fn row(line: &str, separator: char, at: usize) -> Row {
    let cells = split(line, separator);
    let cells = cells.map(|cell| {
        let cell = without_markup(cell.trim_matches('"'));
        TableCell::new(at + 1, with_point(cell, separator))
    });
    Row {
        cells: cells.collect(),
    }
}

/// Where semicolons separate, a comma is a decimal point: `12000,5`, `1.234,56`.
fn with_point(cell: String, separator: char) -> String {
    let comma = cell.split_once(',').is_some_and(|(whole, part)| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits(&whole.replace('.', "")) && digits(part)
    });
    if separator == ';' && comma {
        cell.replace('.', "").replace(',', ".")
    } else {
        cell
    }
}

/// In a text a line of a table is a name and figures: no sentence with commas is that.
fn figures(line: &str, separator: char) -> bool {
    split(line, separator)
        .skip(1)
        .all(|cell| number(cell.trim_matches('"')).is_some())
}

/// Splits at separators outside of quotes.
fn split(line: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    line.split(move |c| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
    .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_a_part_of_a_text() {
        let text = "server,req/s,p99\nnginx,\"48,000\",1.5\nplay,47000,2\n";
        let (table, next) = read(&Lines::new(text), 0, false, separator_of("x.csv")).unwrap();
        assert_eq!((table.header.len(), table.rows.len(), next), (3, 2, 3));
        assert_eq!(table.rows[0].number(1).unwrap().value, 48_000.0);
        let text = "server,req/s\nnginx,48000\nplay,47000\n\nwords, and words\n";
        assert!(read(&Lines::new(text), 0, false, None).is_some());
        assert!(read(&Lines::new(text), 4, false, None).is_none());
        let text = "one, two\nthree, four\nfive, six\n";
        assert!(read(&Lines::new(text), 0, false, None).is_none());
        let text = "server;req/s\nnginx;1.200,5\n";
        let table = read(&Lines::new(text), 0, false, Some(',')).unwrap().0;
        assert_eq!(table.rows[0].number(1).unwrap().value, 1_200.5);
        let text = "server;req/s\nnginx;48000\n";
        let table = read(&Lines::new(text), 0, false, Some(',')).unwrap().0;
        assert_eq!(table.rows[0].cells.len(), 2);
    }
}

//! Tables of HTML.

use super::LARGEST;
use crate::model::{Row, Table, TableCell};
use crate::text::lines::Lines;

pub(super) fn read(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    let line = lines.get(at);
    let start = line.bytes().position(|b| b == b'<')?;
    starts_with(&line[start..], "<table").then_some(())?;
    let mut builder = Builder::default();
    let mut next = at;
    while next < lines.len() {
        let ended = builder.line(lines.get(next), next);
        next += 1;
        if ended || builder.cells > LARGEST {
            break;
        }
    }
    Some((builder.table(at + 1), next))
}

#[derive(Default)]
struct Builder {
    header: Vec<String>,
    rows: Vec<Row>,
    row: Vec<TableCell>,
    /// The cell that is open, where it began, and whether it is of a header.
    cell: Option<(String, usize, bool)>,
    headers: usize,
    cells: usize,
}

impl Builder {
    /// Reads a line; tells whether the table ended in it.
    fn line(&mut self, line: &str, at: usize) -> bool {
        let mut rest = line;
        while let Some(open) = rest.find('<') {
            self.text(&rest[..open]);
            let tag = &rest[open..];
            let Some(end) = tag.find('>') else {
                return false;
            };
            if self.tag(&tag[..end], at) {
                return true;
            }
            rest = &tag[end + 1..];
        }
        self.text(rest);
        self.text(" ");
        false
    }

    fn text(&mut self, text: &str) {
        if let Some((cell, ..)) = &mut self.cell {
            cell.push_str(text);
        }
    }

    /// A tag without its end; tells whether it ends the table.
    fn tag(&mut self, tag: &str, at: usize) -> bool {
        let name = tag[1..].split([' ', '\t', '/']).next().unwrap_or("");
        let closing = tag.starts_with("</");
        let name = if closing { &tag[2..] } else { name };
        match name.trim().to_ascii_lowercase().as_str() {
            "table" if closing => {
                self.end_row();
                return true;
            }
            "tr" | "thead" | "tbody" => self.end_row(),
            kind @ ("td" | "th") => {
                self.end_cell();
                if !closing {
                    self.cell = Some((String::new(), at + 1, kind == "th"));
                }
            }
            "br" => self.text(" "),
            _ => {}
        }
        false
    }

    fn end_cell(&mut self) {
        if let Some((text, line, header)) = self.cell.take() {
            self.headers += usize::from(header);
            self.cells += 1;
            self.row.push(TableCell::new(line, plain(&text)));
        }
    }

    fn end_row(&mut self) {
        self.end_cell();
        let cells = std::mem::take(&mut self.row);
        let headers = std::mem::take(&mut self.headers);
        if cells.is_empty() {
        } else if self.header.is_empty() && self.rows.is_empty() && headers == cells.len() {
            self.header = cells.into_iter().map(|cell| cell.text).collect();
        } else {
            self.rows.push(Row { cells });
        }
    }

    fn table(mut self, first: usize) -> Table {
        self.end_row();
        Table {
            first,
            header: self.header,
            rows: self.rows,
        }
    }
}

fn starts_with(text: &str, tag: &str) -> bool {
    text.get(..tag.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(tag))
}

/// Without the commonest entities and needless spaces.
fn plain(text: &str) -> String {
    let text = text
        .replace("&nbsp;", " ")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_over_several_lines() {
        let text = "<table>\n<thead><tr><th></th>\n<th>A &amp; B</th></tr></thead>\n<tbody>\n\
            <TR><td class=\"num\">1st</td>\n  <td><b>12.5</b></td></TR>\n<tr>\n<td>Ave\n<td>13</table>\nrest";
        let (table, next) = read(&Lines::new(text), 0).unwrap();
        assert_eq!(
            (table.header.as_slice(), next),
            (["".to_owned(), "A & B".to_owned()].as_slice(), 9)
        );
        assert_eq!(table.rows.len(), 2);
        assert_eq!(table.rows[0].label(), "1st");
        assert_eq!(
            (
                table.rows[0].number(1).unwrap().value,
                table.rows[0].line_of(1)
            ),
            (12.5, 6)
        );
        assert_eq!(table.rows[1].number(1).unwrap().value, 13.0);
    }

    #[test]
    fn what_is_broken_ends_somewhere() {
        for text in [
            "<table",
            "<table><tr><td",
            "<table>\n</",
            "<table><td>é<",
            "<ü",
        ] {
            let _ = read(&Lines::new(text), 0);
        }
    }
}

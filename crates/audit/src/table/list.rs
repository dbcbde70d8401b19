//! Lists of a load and its figure: `c64-t8:  48000`.

use super::{Cell, Row, Table, number};
use crate::load::Load;
use crate::read::lines::Lines;

/// Fewer lines are no table.
const LEAST: usize = 3;

pub(super) fn read(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    let mut rows = Vec::new();
    let mut next = at;
    while let Some((label, figure)) = entry(lines.get(next)) {
        let cell = |text: &str| Cell::new(next + 1, text.to_owned());
        let cells = vec![cell(label), cell(figure)];
        rows.push(Row { cells });
        next += 1;
    }
    (rows.len() >= LEAST).then(|| {
        let table = Table {
            first: at + 1,
            header: Vec::new(),
            rows,
        };
        (table, next)
    })
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let line = line.trim().trim_start_matches(['-', '*', '+']).trim_start();
    let (label, figure) = line.split_once(':')?;
    let figure = figure.trim();
    Load::parse(label)?;
    number(figure).map(|_| (label.trim(), figure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_only() {
        let text =
            "c1-t1:   7600\nc4-t4:   20000\n- c8-t1: 32000\n\nport: 80\nport: 81\nport: 82\n";
        let (table, next) = read(&Lines::new(text), 0).unwrap();
        assert_eq!((table.rows.len(), next), (3, 3));
        assert_eq!(table.rows[2].label(), "c8-t1");
        assert!(read(&Lines::new(text), 4).is_none());
    }
}

//! Idle connections beside a load, and the memory that a server takes for each.

use crate::show;
use crate::table::{Align, TextTable};
use prony_record::IdleConnections;

/// In a line: `2,000 connections, opened in 53.5 ms; 9.06 KiB of the server's memory each`.
#[must_use]
pub fn line(idle: &IdleConnections) -> String {
    let closed = match idle.closed() {
        0 => String::new(),
        closed => format!(
            ", {} of them closed by the server",
            show::count(closed.into())
        ),
    };
    let memory = match idle.memory_each() {
        Some(each) => format!("; {} of the server's memory each", show::bytes(each)),
        None => String::new(),
    };
    let took = show::time(idle.opened_ns as f64);
    format!(
        "{} connections, opened in {took}{closed}{memory}",
        show::count(idle.opened.into())
    )
}

/// A table with a row for each server that had idle connections; None for none. `of` is the first column's head.
#[must_use]
pub fn table(
    of: &str,
    rows: impl Iterator<Item = (String, Option<IdleConnections>)>,
) -> Option<TextTable> {
    let mut table = TextTable::new([
        (of, Align::Left),
        ("idle connections", Align::Right),
        ("closed by it", Align::Right),
        ("memory each", Align::Right),
    ]);
    let mut any = false;
    for (name, idle) in rows {
        let Some(idle) = idle else {
            continue;
        };
        any = true;
        table.row([
            name,
            show::count(idle.opened.into()),
            show::count(idle.closed().into()),
            idle.memory_each().map_or("–".into(), show::bytes),
        ]);
    }
    any.then_some(table)
}

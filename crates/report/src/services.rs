//! Services of servers, such as databases, and their costs per request.

use crate::show;
use crate::table::{Align, TextTable};
use prony_record::ServiceCost;

/// A table of costs, each with the name of its server; None for none. `of` is the first column's head.
#[must_use]
pub fn table<'a>(
    of: &str,
    rows: impl Iterator<Item = (&'a str, &'a ServiceCost)>,
) -> Option<TextTable> {
    let mut table = TextTable::new([
        (of, Align::Left),
        ("service", Align::Left),
        ("CPU/request", Align::Right),
        ("statements", Align::Right),
        ("rows", Align::Right),
        ("written", Align::Right),
        ("memory", Align::Right),
    ]);
    let mut any = false;
    for (name, cost) in rows {
        any = true;
        let number = |count: Option<f64>| count.map_or("–".into(), |count| format!("{count:.2}"));
        table.row([
            name.to_owned(),
            cost.name.clone(),
            show::time(cost.cpu_ns),
            number(cost.statements),
            number(cost.rows),
            cost.written_bytes.map_or("–".into(), show::bytes),
            show::bytes_or_dash(cost.memory_bytes),
        ]);
    }
    any.then_some(table)
}

/// A line for each program that services are, with its settings.
#[must_use]
pub fn described<'a>(costs: impl Iterator<Item = &'a ServiceCost>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for cost in costs {
        let line = format!("{}: {}", cost.name, cost.what);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

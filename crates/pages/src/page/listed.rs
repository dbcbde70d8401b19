//! Tables of a report that a page shows as they are on the terminal: the composite, and the costs of services.

use crate::material::Material;
use maud::{Markup, html};
use prony_report::run::{idle_of, services_of};
use prony_report::table::{Align, TextTable};
use prony_report::{duel, services as costs};

/// Draws the composite; nothing for a run without one.
pub(super) fn composite(material: &Material) -> Markup {
    let Some(composite) = &material.report.composite else {
        return html! {};
    };
    html! {
        section #composite {
            h2 { "Composite" }
            (drawn(&composite.table(), &composite.sentence()))
        }
    }
}

/// Draws idle connections, of each load; nothing for a run without any.
pub(super) fn idle(material: &Material) -> Markup {
    let by_load = material.report.by_load();
    let tables: Vec<TextTable> = match &material.duel {
        Some(duel) => duel::idle(duel).into_iter().collect(),
        None => by_load
            .iter()
            .filter_map(|(_, cells)| idle_of(cells))
            .collect(),
    };
    if tables.is_empty() {
        return html! {};
    }
    html! {
        section #idle {
            h2 { "Idle connections" }
            @for table in &tables {
                (drawn(table, "Connections that were open during the load, and on which nothing was sent"))
            }
        }
    }
}

/// Draws the costs of services, of each load; nothing for a run without services.
pub(super) fn services(material: &Material) -> Markup {
    let report = &material.report;
    let tables: Vec<(String, TextTable)> = match &material.duel {
        Some(duel) => duel::services(duel)
            .map(|it| ("at the common rate".to_owned(), it))
            .into_iter()
            .collect(),
        None => (report.by_load().into_iter())
            .filter_map(|(load, cells)| Some((format!("load {load}"), services_of(&cells)?)))
            .collect(),
    };
    if tables.is_empty() {
        return html! {};
    }
    html! {
        section #services {
            h2 { "Services" }
            @for (when, table) in &tables {
                (drawn(table, &format!("Costs of services per request, {when}")))
            }
            @for what in costs::described(report.cells.iter().flat_map(|cell| &cell.services)) { p { (what) } }
        }
    }
}

fn drawn(table: &TextTable, caption: &str) -> Markup {
    let class = |at: usize| match table.columns()[at].1 {
        Align::Left => None,
        Align::Right => Some("n"),
    };
    html! {
        div.scroll tabindex="0" role="group" aria-label=(caption) { table {
            caption { (caption) }
            thead { tr {
                @for (at, (head, _)) in table.columns().iter().enumerate() {
                    th scope="col" class=[class(at)] { (head) }
                }
            } }
            tbody { @for cells in table.rows() { tr {
                @for (at, cell) in cells.iter().enumerate() {
                    @if at == 0 { th scope="row" { (cell) } } @else { td class=[class(at)] { (cell) } }
                }
            } } }
        } }
    }
}

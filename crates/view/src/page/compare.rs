//! Two runs compared.

use super::{counted, frame, host, state, time};
use maud::{Markup, html};
use prony_notebook::Overview;
use prony_pages::chart::compared;
use prony_record::verdict::Verdict;
use prony_report::diff::{CellChange, DiffReport, called};
use prony_report::show;
use prony_stats::Estimate;

/// Servers that are named of a kind before "and … more".
const NAMED: usize = 5;

/// The page.
pub fn page(before: &Overview, after: &Overview, report: &DiffReport) -> Markup {
    let title = format!("Run {} against run {}", after.id, before.id);
    let body = html! {
        h1 { (title) }
        dl {
            @for (word, run) in [("before", before), ("after", after)] {
                dt { (word) }
                dd {
                    a href=(format!("/run/{}", run.id)) { "run " (run.id) ": " (run.title) }
                    " · " (time(run.started)) " · " (state(run)) ", " (counted(run)) " · " (host(run))
                }
            }
        }
        section.verdict { div.says {
            h2 { "Result" }
            p.lead { (sentence(report)) }
        } aside {
            h2 { "What else differs" }
            @if report.differences.is_empty() { p { "Nothing that the notebook knows of." } }
            @else { ul { @for one in &report.differences { li { (one) } } } }
            p { "The runs were not made in turns: whatever changed on the machine between them is in the \
                 ratios too. For a verdict on two servers, " code { "prony duel" } "." }
        } }
        @if !report.cells.is_empty() {
            h2 { "Each server under each load" }
            p { "Run " (report.after) " as a multiple of run " (report.before) ", with 95% intervals. \
                 Differences below " (percent(report.band)) " count as none." }
            div.scroll tabindex="0" role="group" aria-label="Ratios" { (table(report)) }
            div.figures { @for chart in compared(report) { (chart.figure()) } }
        }
        @for anatomy in &report.why { (prony_pages::why::compared(anatomy)) }
        @if !report.unmatched.is_empty() {
            h2 { "Only in one of them" }
            ul { @for one in &report.unmatched { li { (one) } } }
        }
    };
    frame(&title, None, &body)
}

/// Formats the changes of throughput, with the servers' names.
fn sentence(report: &DiffReport) -> String {
    if report.cells.is_empty() {
        return "They have no server under the same load in common.".into();
    }
    let one_load = report
        .cells
        .iter()
        .all(|cell| cell.load == report.cells[0].load);
    let name = |cell: &CellChange| match one_load {
        true => cell.server.clone(),
        false => format!("{} under {}", cell.server, cell.load),
    };
    let group = |(word, title): (Verdict, &str)| {
        let cells = report
            .cells
            .iter()
            .filter(|cell| cell.throughput_verdict == word);
        let cells: Vec<&CellChange> = cells.collect();
        let names = cells.iter().take(NAMED).map(|cell| {
            let ratio = show::ratio(cell.throughput.value());
            format!("{} ({ratio})", name(cell))
        });
        let mut names = names.collect::<Vec<_>>().join(", ");
        if cells.len() > NAMED {
            names += &format!(" and {} more", cells.len() - NAMED);
        }
        (!cells.is_empty()).then(|| format!("{title}: {names}."))
    };
    let groups = [
        (Verdict::Slower, "Slower"),
        (Verdict::Faster, "Faster"),
        (Verdict::Same, "No difference"),
        (Verdict::Inconclusive, "Inconclusive"),
    ];
    groups
        .into_iter()
        .filter_map(group)
        .collect::<Vec<_>>()
        .join(" ")
}

fn percent(share: f64) -> String {
    format!("{}%", show::count((share * 100.0).round() as u64))
}

/// The class of the style sheet for it.
fn colour(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster | Verdict::Cheaper => "verdict-better",
        Verdict::Slower | Verdict::MoreExpensive => "verdict-worse",
        _ => "",
    }
}

fn table(report: &DiffReport) -> Markup {
    html! {
        table {
            caption { "Ratios with intervals and verdicts" }
            thead { tr {
                th scope="col" { "server" }
                th scope="col" { "load" }
                th.n scope="col" { "throughput" }
                th scope="col" { "95% CI" }
                th scope="col" { "verdict" }
                th.n scope="col" { "CPU/request" }
                th scope="col" { "95% CI" }
                th scope="col" { "verdict" }
            } }
            tbody { @for cell in &report.cells { (row(cell, report.band)) } }
        }
    }
}

fn row(cell: &CellChange, band: f64) -> Markup {
    let cpu = cell.cpu.as_ref();
    html! {
        tr {
            th scope="row" { (cell.server) }
            td { (cell.load) }
            td.n { (show::ratio(cell.throughput.value())) }
            td { (between(&cell.throughput)) }
            td { span class=(colour(cell.throughput_verdict)) { (called(cell.throughput_verdict, band)) } }
            td.n { (cpu.map_or("–".into(), |cpu| show::ratio(cpu.value()))) }
            td { (cpu.map_or("–".into(), between)) }
            td { @if let Some(it) = cell.cpu_verdict { span class=(colour(it)) { (called(it, band)) } } }
        }
    }
}

fn between(ratio: &Estimate) -> String {
    ratio.interval().map_or("–".into(), |interval| {
        format!("{:.3} to {:.3}", interval.low(), interval.high())
    })
}

//! A run as a file of another tool: all formats of `prony export`.

use crate::answer::{self, Response, Trouble};
use crate::page::run::choice;
use crate::query::Query;
use prony_notebook::{Notebook, Overview};
use prony_pages::material::Material;
use prony_pages::{chart, export};

/// The answer to a wish for a file. A format that takes one part of the run lists the parts first.
///
/// # Errors
/// When the run cannot be read, or there is no such format or part.
pub fn answer(
    notebook: &Notebook,
    run: &Overview,
    format: &str,
    query: &Query,
) -> Result<Response, Trouble> {
    // Before the run is read, which is not cheap.
    let (kind, ending) = kind(format).ok_or_else(Trouble::unknown)?;
    let material = Material::read(notebook, &notebook.run(run.id)?)?;
    let text = match format {
        "json" => export::json(&material)?,
        "csv" => export::csv(&material),
        "markdown" => export::markdown(&material),
        "hlog" => export::hlog(&material)?,
        "benchstat" => export::benchstat(&material),
        "openmetrics" => export::openmetrics(&material),
        "hgrm" => match query.one("cell") {
            None => {
                return Ok(answer::page(&choice(
                    run,
                    format,
                    "Of which server?",
                    &cells(&material),
                )));
            }
            Some(cell) => {
                let cell = cell
                    .parse()
                    .ok()
                    .and_then(|at: usize| material.times.get(at));
                export::hgrm(cell.ok_or_else(Trouble::unknown)?)
            }
        },
        _ => match query.one("chart") {
            None => {
                return Ok(answer::page(&choice(
                    run,
                    format,
                    "Which chart?",
                    &charts(&material),
                )));
            }
            Some(name) => chart::chart(&material, name)?.file(),
        },
    };
    Ok(answer::file(
        kind,
        &format!("prony-run-{}.{ending}", run.id),
        text,
    ))
}

/// Returns the media type of a format, and the extension of its file's name; `None` for an unknown format.
fn kind(format: &str) -> Option<(&'static str, &'static str)> {
    Some(match format {
        "json" => ("application/json", "json"),
        "csv" => ("text/csv; charset=utf-8", "csv"),
        "markdown" => ("text/markdown; charset=utf-8", "md"),
        "hlog" => ("text/plain; charset=utf-8", "hlog"),
        "hgrm" => ("text/plain; charset=utf-8", "hgrm"),
        "benchstat" => ("text/plain; charset=utf-8", "txt"),
        "openmetrics" => (
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            "om",
        ),
        "svg" => ("image/svg+xml", "svg"),
        _ => return None,
    })
}

/// By their place in the report, so that no name is in an address.
fn cells(material: &Material) -> Vec<(String, String)> {
    let cells = material.report.cells.iter().enumerate();
    cells
        .map(|(at, cell)| {
            (
                format!("cell={at}"),
                format!("{}, {}", cell.label(), cell.load_label()),
            )
        })
        .collect()
}

/// Returns the query that selects each chart, and its title. Names of charts are of letters, digits and hyphens.
fn charts(material: &Material) -> Vec<(String, String)> {
    let charts = chart::charts(material).into_iter();
    charts
        .map(|chart| (format!("chart={}", chart.name), chart.title))
        .collect()
}

//! Figures that others have published, into the notebook.

use crate::CommandEnd;
use crate::args::{Import, Places};
use jiff::Timestamp;
use miette::{IntoDiagnostic, Result, miette};
use prony_audit::Figures;
use prony_lab::catalog::Catalog;
use prony_notebook::published::StoredFigures;
use prony_record::published::{Correction, Published, PublishedRow};
use prony_report::show;
use prony_report::table::{Align, TextTable};

pub(super) fn main(
    places: &Places,
    texts: &[(String, String)],
    name: &str,
    args: &Import,
) -> Result<CommandEnd> {
    let figures = prony_audit::import(texts);
    if figures.rows.is_empty() {
        return Err(miette!(
            help = "`prony audit` lists the formats that it reads",
            "there are no rates in {}",
            figures.origin
        ));
    }
    let published = published(figures, &args.server, &places.catalog()?)?;
    let mut notebook = places.notebook()?;
    let replaced = notebook
        .keep_published(&StoredFigures {
            name: name.to_owned(),
            imported: Timestamp::now(),
            command_line: std::env::args().collect::<Vec<_>>().join(" "),
            table: published.clone(),
        })
        .into_diagnostic()?;
    if args.json {
        let json = serde_json::to_string_pretty(&published).into_diagnostic()?;
        println!("{json}");
    } else {
        crate::out::report(|width| table(&published).fit(width));
    }
    let kept = if replaced {
        "in place of those that had that name"
    } else {
        "kept"
    };
    eprintln!(
        "\n{} rows are {kept} in {}: an experiment with `published = {:?}` shows them, and so does \
         `prony report --published {}`",
        published.row.len(),
        notebook.path().display(),
        name,
        name
    );
    Ok(CommandEnd::Done)
}

/// Figures as a table like those of `published/`.
fn published(
    figures: Figures,
    servers: &[(String, String)],
    catalog: &Catalog,
) -> Result<Published> {
    for (label, _) in servers {
        if !figures.rows.iter().any(|row| row.label == *label) {
            let labels: Vec<&str> = figures.rows.iter().map(|row| row.label.as_str()).collect();
            return Err(miette!(
                help = format!("its rows are: {}", labels.join(", ")),
                "no row is called {label:?}"
            ));
        }
    }
    for (_, server) in servers {
        let name = server.split('@').next().unwrap_or(server);
        catalog.get(name)?;
    }
    let server = |label: &str| {
        let given = servers.iter().find(|(row, _)| row == label);
        let given = given.map(|(_, server)| server.clone());
        let name = label.to_lowercase();
        given.or_else(|| catalog.get(&name).is_ok().then_some(name))
    };
    let rows = figures.rows.into_iter().map(|row| PublishedRow {
        server: server(&row.label),
        label: row.label,
        load: row.load,
        rates: row.rates,
        corrected: Vec::new(),
        latency_ms: row.latency_ms,
        cpu_us_per_request: None,
        note: row.note,
    });
    let published = Published {
        title: figures.title,
        origin: figures.origin,
        rig: figures.rig,
        unit: figures.unit,
        correction: figures.correction.map(|it| Correction {
            why: it.why,
            requests: it.requests,
            too_seconds: it.too_seconds,
        }),
        row: rows.collect(),
    };
    published.check().map_err(|why| miette!("{why}"))?;
    Ok(published)
}

fn table(published: &Published) -> TextTable {
    let mut table = TextTable::new([
        ("row", Align::Left),
        ("load", Align::Left),
        ("server", Align::Left),
        ("runs", Align::Right),
        (&*published.unit, Align::Right),
    ]);
    for row in &published.row {
        let rate = row.rate().map(|rate| rate.round() as u64);
        table.row([
            row.label.clone(),
            row.load.clone().unwrap_or_default(),
            row.server.clone().unwrap_or_else(|| "–".to_owned()),
            row.rates.len().to_string(),
            rate.map_or("–".to_owned(), show::count),
        ]);
    }
    table
}

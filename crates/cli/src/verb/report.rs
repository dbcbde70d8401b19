//! `prony report`: a run again.

use crate::CommandEnd;
use crate::args::{Places, ReportArgs};
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::experiment::shipped_figures;
use prony_notebook::{Notebook, RunId, StoredRun};
use prony_pages::material::Material;
use prony_record::published::Published;
use prony_report::run::RunReport;
use std::path::{Path, PathBuf};

pub fn main(places: &Places, args: &ReportArgs) -> Result<CommandEnd> {
    let notebook = places.notebook_to_read()?;
    let run = find(&notebook, &args.run)?;
    let published = match &args.published {
        Some(name) => Some(figures(places, name)?),
        None => None,
    };
    let Some(path) = &args.html else {
        if let (None, false) = (&published, args.json)
            && let Some(duel) = prony_report::duel::read(&notebook, &run).into_diagnostic()?
        {
            crate::out::report(|width| prony_report::duel::text(&duel, width));
            return Ok(CommandEnd::Done);
        }
        let report = prony_report::kept::report(&notebook, &run).into_diagnostic()?;
        let report = match &published {
            Some(figures) => report.beside(figures),
            None => report,
        };
        show(&report, args.json, args.verbose)?;
        return Ok(CommandEnd::Done);
    };
    write_page(&notebook, &run, published.as_ref(), path)?;
    if path.as_os_str() != "-" {
        eprintln!("{}", path.display());
    }
    Ok(CommandEnd::Done)
}

/// The figures of this name: those of published/, as in an experiment, before imported ones.
fn figures(places: &Places, name: &str) -> Result<Published> {
    let found = shipped_figures(name).or_else(|| places.imported(name));
    let source = found.ok_or_else(|| {
        miette!(
            help = "`prony import FILE --as NAME` puts figures in",
            "there is no {name:?} in published/, and nothing was imported under it"
        )
    })?;
    Ok(source.parse()?)
}

/// A run's page, with these figures beside it rather than those that its experiment names.
fn page(notebook: &Notebook, run: &StoredRun, published: Option<&Published>) -> Result<String> {
    let mut material = Material::read(notebook, run).into_diagnostic()?;
    if let Some(figures) = published {
        material.report = material.report.beside(figures);
    }
    prony_pages::page::html(&material).into_diagnostic()
}

/// Writes a run's page. A reader of the file meanwhile sees the old one or the new one, whole.
pub fn write_page(
    notebook: &Notebook,
    run: &StoredRun,
    published: Option<&Published>,
    path: &Path,
) -> Result<()> {
    crate::out::write_file(path, &page(notebook, run, published)?)
}

/// Where a run's page is: beside the notebook, under its name.
pub fn page_path(notebook: &Notebook, run: &StoredRun) -> PathBuf {
    let name = notebook.path().file_stem().unwrap_or_default();
    let name = format!("{}-run-{}.html", name.display(), run.id);
    notebook.path().with_file_name(name)
}

fn show(report: &RunReport, json: bool, verbose: bool) -> Result<()> {
    if json {
        println!(
            "{}",
            serde_json::to_string_pretty(report).into_diagnostic()?
        );
    } else {
        crate::out::report(|width| report.text(verbose, width));
    }
    Ok(())
}

/// The run with this number or name.
pub fn find(notebook: &Notebook, which: &str) -> Result<StoredRun> {
    let none = || {
        miette!(
            help = "`prony runs` lists the runs",
            "there is no run {which:?} in {}",
            notebook.path().display()
        )
    };
    if let Ok(id) = which.parse() {
        return notebook.run(RunId(id)).map_err(|_| none());
    }
    let found = match which {
        "latest" => notebook
            .runs(1)
            .into_diagnostic()?
            .pop()
            .transpose()
            .into_diagnostic()?,
        name => notebook.latest_run(name).into_diagnostic()?,
    };
    found.ok_or_else(none)
}

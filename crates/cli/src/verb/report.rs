//! `prony report`: a run again.

use crate::Ended;
use crate::args::{Places, Report};
use miette::{IntoDiagnostic, Result, miette};
use prony_notebook::{Notebook, Run, RunId};
use prony_pages::material::Material;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub fn main(places: &Places, args: &Report) -> Result<Ended> {
    let notebook = places.notebook()?;
    let run = find(&notebook, &args.run)?;
    match &args.html {
        None => {
            print(&notebook, &run, args.json)?;
        }
        Some(path) if path.as_os_str() == "-" => {
            let page = page(&notebook, &run)?;
            std::io::stdout()
                .write_all(page.as_bytes())
                .into_diagnostic()?;
        }
        Some(path) => {
            write_page(&notebook, &run, path)?;
            eprintln!("{}", path.display());
        }
    }
    Ok(Ended::Done)
}

/// A run's page.
fn page(notebook: &Notebook, run: &Run) -> Result<String> {
    let material = Material::read(notebook, run).into_diagnostic()?;
    prony_pages::page::html(&material).into_diagnostic()
}

/// Writes a run's page. Whoever reads the file meanwhile sees the old one or the new one, whole.
pub fn write_page(notebook: &Notebook, run: &Run, path: &Path) -> Result<()> {
    let page = page(notebook, run)?;
    let failed = |error| miette!("{} cannot be written: {error}", path.display());
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(failed)?;
    file.write_all(page.as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Where a run's page is: beside the notebook, under its name.
pub fn page_path(notebook: &Notebook, run: &Run) -> PathBuf {
    let name = notebook.path().file_stem().unwrap_or_default();
    let name = format!("{}-run-{}.html", name.display(), run.id);
    notebook.path().with_file_name(name)
}

/// Prints a run's report; tells whether everything in it yielded figures.
pub fn print(notebook: &Notebook, run: &Run, json: bool) -> Result<bool> {
    let report = prony_report::kept::report(notebook, run).into_diagnostic()?;
    if json {
        println!(
            "{}",
            serde_json::to_string_pretty(&report).into_diagnostic()?
        );
    } else {
        print!("{}", report.text());
    }
    Ok(report.complete())
}

/// The run with this number or name.
pub fn find(notebook: &Notebook, which: &str) -> Result<Run> {
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
        "latest" => notebook.runs(1).into_diagnostic()?.pop(),
        name => notebook.latest_run(name).into_diagnostic()?,
    };
    found.ok_or_else(none)
}

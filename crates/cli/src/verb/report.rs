//! `prony report`: a run again.

use crate::Ended;
use crate::args::{Places, Report};
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::experiment::shipped_figures;
use prony_notebook::{Notebook, Run, RunId};
use prony_report::published::Published;
use prony_report::run::RunReport;

pub fn main(places: &Places, args: &Report) -> Result<Ended> {
    let notebook = places.notebook()?;
    let run = find(&notebook, &args.run)?;
    let mut report = prony_report::kept::report(&notebook, &run).into_diagnostic()?;
    if let Some(name) = &args.published {
        report = report.beside(&figures(places, name)?);
    }
    show(&report, args.json)?;
    Ok(Ended::Done)
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

/// Prints a run's report; tells whether everything in it yielded figures.
pub fn print(notebook: &Notebook, run: &Run, json: bool) -> Result<bool> {
    let report = prony_report::kept::report(notebook, run).into_diagnostic()?;
    show(&report, json)?;
    Ok(report.complete())
}

fn show(report: &RunReport, json: bool) -> Result<()> {
    if json {
        println!(
            "{}",
            serde_json::to_string_pretty(report).into_diagnostic()?
        );
    } else {
        print!("{}", report.text());
    }
    Ok(())
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

//! `prony report`: a run again.

use crate::Ended;
use crate::args::{Places, Report};
use miette::{IntoDiagnostic, Result, miette};
use prony_notebook::{Notebook, Run, RunId};

pub fn main(places: &Places, args: &Report) -> Result<Ended> {
    let notebook = places.notebook()?;
    let run = find(&notebook, &args.run)?;
    print(&notebook, &run, args.json)?;
    Ok(Ended::Done)
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

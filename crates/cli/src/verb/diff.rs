//! `prony diff`: two runs.

use super::report::find;
use crate::Ended;
use crate::args::{Diff, Places};
use miette::{IntoDiagnostic, Result};
use prony_report::diff::DiffReport;

pub fn main(places: &Places, args: &Diff) -> Result<Ended> {
    let notebook = places.notebook_to_read()?;
    let (before, after) = (
        find(&notebook, &args.before)?,
        find(&notebook, &args.after)?,
    );
    let report =
        DiffReport::new(&notebook, &before, &after, args.min_effect.0).into_diagnostic()?;
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&report).into_diagnostic()?
        );
    } else {
        crate::out::report(|width| report.text(width));
    }
    if report.cells.is_empty() {
        return Ok(Ended::Incomplete);
    }
    let Some(limit) = args.fail_if_slower else {
        return Ok(Ended::Done);
    };
    let broken = report.worse_by(limit.0);
    for what in &broken {
        eprintln!("{what}");
    }
    Ok(match broken.is_empty() {
        true => Ended::Done,
        false => Ended::Broken,
    })
}

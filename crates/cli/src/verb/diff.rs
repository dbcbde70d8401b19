//! `prony diff`: two runs.

use super::report::find;
use crate::CommandEnd;
use crate::args::{Diff, Places};
use crate::gate::of_diff;
use miette::{IntoDiagnostic, Result};
use prony_report::diff::DiffReport;

pub fn main(places: &Places, args: &Diff) -> Result<CommandEnd> {
    let notebook = places.notebook_to_read()?;
    let (before, after) = (
        find(&notebook, &args.before)?,
        find(&notebook, &args.after)?,
    );
    let report =
        DiffReport::new(&notebook, &before, &after, args.min_effect.0).into_diagnostic()?;
    let verdict = args.conditions.judge(&of_diff(&report));
    if args.json {
        println!("{}", verdict.json(&report)?);
    } else {
        crate::out::report(|width| report.text(width));
    }
    verdict.tell();
    Ok(verdict.ended(match report.cells.is_empty() {
        true => CommandEnd::Incomplete,
        false => CommandEnd::Done,
    }))
}

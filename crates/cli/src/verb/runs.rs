//! `prony runs`: what the notebook holds.

use crate::CommandEnd;
use crate::args::{Places, Runs};
use miette::{IntoDiagnostic, Result};
use prony_notebook::{StoredRun, UnreadableRun};
use prony_record::RunStatus;
use prony_report::table::printable;
use serde_json::json;

pub fn main(places: &Places, args: &Runs) -> Result<CommandEnd> {
    let notebook = places.notebook_to_read()?;
    let runs = notebook.runs(args.limit).into_diagnostic()?;
    if args.json {
        let runs: Vec<_> = runs
            .iter()
            .map(|run| match run {
                Err(unreadable) => json!({"id": unreadable.id, "unreadable": unreadable.why}),
                Ok(run) => json!({
                    "id": run.id,
                    "name": run.facts.name,
                    "title": run.facts.title,
                    "started": run.facts.started,
                    "finished": run.finished,
                    "status": status(run),
                    "result": run.result,
                    "command_line": run.facts.command_line,
                    "imported": run.origin.as_ref().map(|origin| json!({
                        "at": origin.imported,
                        "number": origin.number,
                    })),
                }),
            })
            .collect();
        println!("{}", serde_json::to_string_pretty(&runs).into_diagnostic()?);
        return Ok(CommandEnd::Done);
    }
    if runs.is_empty() {
        eprintln!(
            "no runs yet in {}: try `prony run quickstart`",
            notebook.path().display()
        );
        return Ok(CommandEnd::Done);
    }
    crate::out::report(|_| {
        let entry = |run: &Result<StoredRun, UnreadableRun>| match run {
            Ok(run) => entry(run),
            Err(UnreadableRun { id, why }) => {
                format!(
                    "{:>4}  it cannot be read: {}\n",
                    id.to_string(),
                    printable(why)
                )
            }
        };
        runs.iter().map(entry).collect()
    });
    Ok(CommandEnd::Done)
}

/// A run as an entry of the list: what it was, and below what came of it.
fn entry(run: &StoredRun) -> String {
    let facts = &run.facts;
    let number = format!("{:>4}", run.id.to_string());
    let started = facts.started.strftime("%Y-%m-%d %H:%M");
    let mut entry = format!("{number}  {started}  {}  ", facts.name);
    if facts.title != facts.name {
        entry += &printable(&facts.title);
    }
    let unfinished = (run.status != RunStatus::Finished).then(|| status(run));
    let state: Vec<String> = unfinished.into_iter().chain(origin(run)).collect();
    if !state.is_empty() {
        entry = format!("{}  ({})", entry.trim_end(), state.join(", "));
    }
    for line in run.result.iter().flat_map(|result| result.lines()) {
        entry = format!("{}\n      {}", entry.trim_end(), printable(line));
    }
    entry.trim_end().to_owned() + "\n"
}

/// A run whose prony died is not running, whatever the notebook says.
fn status(run: &StoredRun) -> String {
    match run.status {
        RunStatus::Running if run.is_abandoned() => "interrupted".into(),
        status => status.to_string(),
    }
}

/// Says of a run that was measured elsewhere what it is there.
fn origin(run: &StoredRun) -> Option<String> {
    let origin = run.origin.as_ref()?;
    let day = origin.imported.strftime("%Y-%m-%d");
    Some(format!("run {} elsewhere, imported {day}", origin.number))
}

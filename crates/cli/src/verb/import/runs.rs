//! Runs that `prony export --format json` has written, read back.

use crate::CommandEnd;
use crate::args::{Import, Places};
use miette::{IntoDiagnostic, Result, miette};
use prony_notebook::{RunId, StoredRun};
use prony_pages::raw::Raw;
use prony_pages::restore::{RestoreError, is_run, read, restore};
use prony_record::RunStatus;
use serde_json::json;

/// The texts as runs, with their names; `None` when they are something else.
pub fn recognise(texts: &[(String, String)]) -> Result<Option<Vec<(String, Raw<'static>)>>> {
    let (runs, others): (Vec<_>, Vec<_>) = texts.iter().partition(|(_, text)| is_run(text));
    let (Some(run), others) = (runs.first(), others.first()) else {
        return Ok(None);
    };
    if let Some(other) = others {
        return Err(usage!(
            help = "import them one after the other",
            "{} is a run of prony, and {} is not",
            run.0,
            other.0
        ));
    }
    let read = |(name, text): &(String, String)| {
        let raw = read(text).map_err(|error| cannot(name, &error))?;
        Ok((name.clone(), raw))
    };
    runs.into_iter().map(read).collect::<Result<_>>().map(Some)
}

fn cannot(name: &str, error: &RestoreError) -> miette::Report {
    miette!("{name} cannot be imported: {error}")
}

pub fn main(places: &Places, runs: &[(String, Raw<'static>)], args: &Import) -> Result<CommandEnd> {
    let mut notebook = places.notebook()?;
    let mut all = Vec::new();
    for (name, raw) in runs {
        let there = notebook.same_run(&raw.run.facts).into_diagnostic()?;
        let (id, new) = match there {
            Some(run) if !args.again && !is_beginning(&run, raw) => {
                eprintln!("{}", already(name, &run));
                (run.id, false)
            }
            _ => {
                let id = restore(&mut notebook, raw).map_err(|error| cannot(name, &error))?;
                (id, true)
            }
        };
        let facts = &raw.run.facts;
        if args.json {
            all.push(json!({
                "run": id,
                "new": new,
                "number": raw.run.id,
                "name": facts.name,
                "started": facts.started,
            }));
        } else if new {
            println!("{}", put_in(id, raw));
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&all).into_diagnostic()?);
    } else {
        eprintln!(
            "\n`prony runs` lists what {} holds",
            notebook.path().display()
        );
    }
    Ok(CommandEnd::Done)
}

/// Is `there` only the beginning of the run? The notebook could not be written from then on.
fn is_beginning(there: &StoredRun, raw: &Raw<'_>) -> bool {
    there.status == RunStatus::Running && raw.run.status != RunStatus::Running
}

fn put_in(id: RunId, raw: &Raw<'_>) -> String {
    let facts = &raw.run.facts;
    format!(
        "run {id}: {}, {} trials, measured {} with prony {} on {}, {} (there it is run {}): \
         `prony report {id}`",
        facts.name,
        raw.trials.len(),
        facts.started.strftime("%Y-%m-%d %H:%M:%S UTC"),
        facts.prony_version,
        facts.host.kernel,
        facts.host.cpu,
        raw.run.id
    )
}

fn already(name: &str, run: &StoredRun) -> String {
    format!(
        "{name} is in the notebook already, as run {}: it is left as it is (--again puts it in once \
         more)",
        run.id
    )
}

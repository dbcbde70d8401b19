//! Makes up a notebook for the browser tests, or a run in one that goes on as it is told.
//!
//! `notebook FILE` writes the notebook, and prints as JSON what its pages must show. `notebook FILE live`
//! begins a run and puts a trial in for each line that it reads; `finish` finishes the run, and the end
//! of its input leaves it behind as a process does that is killed.

#[path = "../../pages/tests/pages/sample/mod.rs"]
mod sample;

use jiff::Timestamp;
use prony_notebook::{Notebook, RunId};
use prony_record::RunStatus;
use prony_report::diff::DiffReport;
use prony_report::history::change::History;
use prony_report::history::{Measure, cells};
use sample::{Plan, begin, trials, write};
use serde_json::json;
use std::env;
use std::error::Error;
use std::io::stdin;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [file] => made(Path::new(file)),
        [file, "live"] => live(Path::new(file)),
        _ => Err("usage: notebook FILE [live]".into()),
    }
}

fn made(file: &Path) -> Result<(), Box<dyn Error>> {
    let mut notebook = Notebook::open(file)?;
    for day in 1..=24 {
        // On the 13th one of the two has become slower.
        let rate = if day < 13 { 91_200.0 } else { 84_000.0 };
        let mut plan = Plan::of(&[("go-net-http", 1, rate), ("node", 2, 141_000.0)]);
        plan.name = "nightly".into();
        plan.title = "Every night the same".into();
        plan.samples = 1_500;
        plan.seed = day;
        plan.started = format!("2026-03-{day:02}T03:00:00Z").parse()?;
        write(&mut notebook, &plan)?;
    }
    let evil = "</script><script>window.evil=1</script><img src=x onerror=\"window.evil=2\">";
    let mut hostile = Plan::of(&[
        (evil, 1, 50_000.0),
        ("b\" onload=\"window.evil=3", 1, 42_000.0),
    ]);
    hostile.title = evil.into();
    hostile.name = evil.into();
    hostile.loads[0].0 = evil.into();
    hostile.check = Some(evil.into());
    hostile.failed = Some((evil.into(), evil.into(), evil.into()));
    write(&mut notebook, &hostile)?;
    write(&mut notebook, &hostile)?;

    let [before, after] = [12, 13].map(RunId);
    let compared = DiffReport::new(
        &notebook,
        &notebook.run(before)?,
        &notebook.run(after)?,
        0.01,
    )?;
    let cells = cells(&notebook.past_trials(None)?, &notebook.past_runs()?);
    let go = cells
        .iter()
        .find(|cell| cell.server == "go-net-http")
        .ok_or("no cell")?;
    let history = |measure| -> Result<_, Box<dyn Error>> {
        let history = History::new(go, measure)?;
        let values = history
            .points
            .iter()
            .map(|point| (point.run, point.value.value()));
        Ok(json!({"sentence": history.sentence(), "values": values.collect::<Vec<_>>()}))
    };
    let facts = json!({
        "runs": 26,
        "compared": compared,
        "trial": go.first,
        "history": {"throughput": history(Measure::Throughput)?, "p99": history(Measure::P99)?, "cpu": history(Measure::Cpu)?},
    });
    println!("{facts}");
    Ok(())
}

fn live(file: &Path) -> Result<(), Box<dyn Error>> {
    let mut notebook = Notebook::open(file)?;
    let mut plan = Plan::of(&[("live-one", 1, 60_000.0), ("live-two", 1, 50_000.0)]);
    plan.name = "going-on".into();
    plan.title = "A run that goes on".into();
    plan.rounds = 100;
    let id = begin(&notebook, &plan)?;
    println!("{id}");
    let mut trials = trials(&plan).into_iter();
    for line in stdin().lines() {
        if line? == "finish" {
            notebook.finish_run(id, RunStatus::Finished, Timestamp::now())?;
            return Ok(());
        }
        notebook.add_trial(id, &trials.next().ok_or("the plan has no more")?)?;
    }
    Ok(())
}

//! A load as a run in the notebook, so that `runs`, `report`, `diff`, `export` and `view` know it.

use crate::args::{LoadArgs, Places};
use crate::git::{git, is_dirty};
use crate::journal::{NotebookJournal, conclude, say_where, subject};
use jiff::Timestamp;
use miette::{Result, miette};
use prony_engine::Plan;
use prony_lab::event::Journal;
use prony_lab::machine::this_machine;
use prony_lab::recording::TrialHeader;
use prony_lab::trial::MeasuredTrial;
use prony_lab::workload::Workload;
use prony_record::{Durations, Finding, Subject};
use std::convert::Infallible;

/// A load that has ended: its plan, its results and its times.
pub struct Done<'a> {
    pub plan: &'a Plan,
    pub workload: &'a Workload,
    pub measured: &'a MeasuredTrial,
    pub durations: Durations,
    pub checks: &'a [Finding],
    pub started: Timestamp,
    pub interrupted: bool,
    /// In a sentence.
    pub result: String,
}

/// Keeps it as a run with one trial, and says where.
///
/// # Errors
/// When the notebook cannot be written.
pub fn keep(places: &Places, args: &LoadArgs, done: &Done<'_>) -> Result<()> {
    let mut notebook = places.notebook()?;
    let label = args.label.clone().or_else(commit).unwrap_or_default();
    let title = match label.as_str() {
        "" => args.url.clone(),
        label => format!("{} ({label})", args.url),
    };
    let names = [args.url.clone()];
    let placement = match done.plan.cpus.as_slice() {
        [] if !args.from.client_host.is_empty() => args.from.words(),
        [] => "generator not pinned".to_owned(),
        cpus => format!("generator on CPU {}", list(cpus)),
    };
    let load = &done.plan.load;
    let mut kept = NotebookJournal::begin(
        &mut notebook,
        "load",
        &title,
        done.plan.seed,
        Subject {
            rounds: 1,
            ..subject(&names, done.workload.to_string(), placement)
        },
        this_machine(),
    )?;
    let header = TrialHeader {
        ordinal: 0,
        round: 0,
        server: args.url.clone(),
        workers: 1,
        cell: load.to_string(),
        load: load.clone(),
        started: done.started,
        command: String::new(),
        version: label,
        rig: None,
    };
    let checks = done.checks.to_vec();
    let recording = header.recording(done.measured, done.durations, checks, done.interrupted);
    kept.add(&recording).map_err(|error| miette!("{error}"))?;
    let id = kept.finish(&Ok::<(), Infallible>(()), done.interrupted)?;
    conclude(&notebook, id, &done.result);
    let words = format!("kept as run {id}: `prony report {id}`");
    let silent = args.shown.quiet || args.json;
    say_where(&notebook, id, (!silent).then_some(&words));
    Ok(())
}

fn list(cpus: &[usize]) -> String {
    let all: Vec<String> = cpus.iter().map(usize::to_string).collect();
    all.join(", ")
}

/// The commit of the folder that the user stands in, with a plus when there are changes that are not
/// committed; none outside a repository.
fn commit() -> Option<String> {
    let commit = git(&["rev-parse", "--short", "HEAD"]).ok()?;
    Some(match is_dirty().ok()? {
        true => format!("{commit}+"),
        false => commit,
    })
}

//! Completions that a shell offers when the user presses Tab: verbs, options, and the names that prony knows here.
//!
//! The shell asks prony itself, with [`ASKED`] in the environment, so that servers, experiments and runs are those
//! of the moment. Whatever cannot be read offers nothing: a shell has no place for errors there.

use crate::args::{self, Cli, Places};
use crate::verb::audit;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::CompleteEnv;
use prony_lab::catalog::Catalog;
use prony_lab::contract::Contract;
use prony_lab::experiment;
use prony_record::CheckId;
use std::collections::BTreeSet;

/// The environment variable by which a shell asks; its value is the shell's name.
pub const ASKED: &str = "PRONY_COMPLETE";

/// Runs that are offered.
const RUNS: usize = 50;

/// Answers a shell that asks, and ends then.
pub fn answer() {
    CompleteEnv::with_factory(args::command)
        .var(ASKED)
        .bin("prony")
        .complete();
}

/// Where the environment says that things are; the options of the line that is being typed are not seen.
fn places() -> Option<Places> {
    let cli = Cli::read(["prony", "runs"]).ok()?;
    Some(cli.places)
}

fn candidate(name: &str, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(name).help(Some(help.to_owned().into()))
}

/// The servers of the catalog.
pub fn servers() -> Vec<CompletionCandidate> {
    let catalog = places().and_then(|places| places.catalog().ok());
    let servers = catalog.iter().flat_map(Catalog::servers);
    servers
        .map(|server| candidate(&server.name, &server.manifest.title))
        .collect()
}

/// The experiments that ship with prony.
pub fn experiments() -> Vec<CompletionCandidate> {
    let names = experiment::names();
    names.iter().map(CompletionCandidate::new).collect()
}

/// Servers, contracts and experiments.
pub fn entrants() -> Vec<CompletionCandidate> {
    let contracts = Contract::ALL.iter().map(ToString::to_string);
    let mut all: Vec<CompletionCandidate> = contracts.map(CompletionCandidate::new).collect();
    all.extend(servers());
    // Some have a contract's name.
    let more = experiments().into_iter().filter(|one| {
        let known = all.iter().map(CompletionCandidate::get_value);
        !known.into_iter().any(|name| name == one.get_value())
    });
    let more: Vec<_> = more.collect();
    all.extend(more);
    all
}

/// The latest runs.
pub fn runs() -> Vec<CompletionCandidate> {
    // One that is not there is not made by a mere question.
    let there = |places: &Places| places.notebook_file().is_ok_and(|path| path.is_file());
    let places = places().filter(there);
    let notebook = places.and_then(|places| places.notebook_to_read().ok());
    let runs = notebook.and_then(|notebook| notebook.runs(RUNS).ok());
    let runs: Vec<_> = runs.into_iter().flatten().flatten().collect();
    let numbered = runs
        .iter()
        .map(|run| candidate(&run.id.to_string(), &run.facts.title));
    let latest = (!runs.is_empty()).then(|| candidate("latest", "the latest run"));
    latest.into_iter().chain(numbered).collect()
}

/// The checks that can be explained.
pub fn checks() -> Vec<CompletionCandidate> {
    let measured = prony_checks::explanations().into_iter();
    let explanations = measured.chain(audit::EXPLANATIONS);
    let checks: BTreeSet<CheckId> = explanations.map(|it| it.name).collect();
    let words = checks.into_iter().map(CheckId::word);
    words.map(CompletionCandidate::new).collect()
}

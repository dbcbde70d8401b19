//! A run in the notebook, while it is measured.

use jiff::Timestamp;
use miette::{IntoDiagnostic, Result};
use prony_lab::event::{Journal, JournalError};
use prony_lab::machine::this_machine;
use prony_notebook::{Notebook, RunId};
use prony_record::{Recording, RunFacts, RunStatus, Subject};
use std::fmt::Display;

/// A run in the notebook, while it is measured.
pub struct Kept<'a> {
    notebook: &'a mut Notebook,
    /// Its number.
    pub id: RunId,
}

impl<'a> Kept<'a> {
    /// A run begins, in this process.
    pub fn begin(
        notebook: &'a mut Notebook,
        name: &str,
        title: &str,
        seed: u64,
        subject: Subject,
    ) -> Result<Self> {
        let facts = RunFacts {
            name: name.to_owned(),
            title: title.to_owned(),
            started: Timestamp::now(),
            seed,
            experiment: subject,
            host: this_machine(),
            prony_version: env!("CARGO_PKG_VERSION").into(),
            prony_commit: Some(env!("PRONY_COMMIT").to_owned()).filter(|commit| !commit.is_empty()),
            command_line: command_line(),
        };
        let id = notebook.begin_run(&facts).into_diagnostic()?;
        Ok(Self { notebook, id })
    }

    /// It has ended: it could not go on, its user interrupted it, or it is done.
    pub fn finish<T, E: Display>(self, outcome: &Result<T, E>, interrupted: bool) -> Result<RunId> {
        if let Err(why) = outcome {
            conclude(self.notebook, self.id, &why.to_string());
        }
        let status = match outcome {
            Err(_) => RunStatus::Failed,
            Ok(_) if interrupted => RunStatus::Interrupted,
            Ok(_) => RunStatus::Finished,
        };
        self.notebook
            .finish_run(self.id, status, Timestamp::now())
            .into_diagnostic()?;
        Ok(self.id)
    }
}

/// Writes down what came of a run, in a sentence, for lists of runs. That it cannot be written is said, and no
/// reason to end: the run itself is kept.
pub fn conclude(notebook: &Notebook, run: RunId, result: &str) {
    if let Err(error) = notebook.set_result(run, result) {
        eprintln!("run {run} stands in lists without its result: {error}");
    }
}

impl Journal for Kept<'_> {
    fn add(&mut self, recording: &Recording) -> Result<(), JournalError> {
        self.notebook
            .add_trial(self.id, recording)
            .map(drop)
            .map_err(|error| JournalError(Box::new(error)))
    }
}

/// As typed, quoted so that a shell reads the same words again.
fn command_line() -> String {
    let words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().replace('\0', ""))
        .collect();
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// What runs of sides have in common: duels, capacity searches and calibrations.
pub fn subject(names: &[String], contract: String, placement: String) -> Subject {
    Subject {
        contract,
        baseline: names[0].clone(),
        // Decided while it runs; ratios are paired up to the highest there is.
        rounds: prony_stats::compare::MOST_ROUNDS,
        placement,
        servers: names.to_vec(),
        ..Subject::default()
    }
}

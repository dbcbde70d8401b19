//! A run in the notebook, while it is measured.

use jiff::Timestamp;
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::event::{Journal, JournalError};
use prony_notebook::{Notebook, NotebookError, RunId, StoredTrial};
use prony_pages::material::Material;
use prony_record::verdict::Terms;
use prony_record::{Design, Recording, RunFacts, RunStatus, Subject};
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// A run in the notebook, while it is measured. When the notebook cannot be written any more (the disk is full,
/// another process holds it), the run goes on in memory, so that its result is shown all the same.
pub struct NotebookJournal<'a> {
    notebook: &'a mut Notebook,
    facts: RunFacts,
    /// Number of the run in the notebook.
    pub id: RunId,
    /// Why it is in memory, if it is.
    refused: Option<String>,
}

impl<'a> NotebookJournal<'a> {
    /// A run begins, in this process, with servers on this host.
    pub fn begin(
        notebook: &'a mut Notebook,
        name: &str,
        title: &str,
        seed: u64,
        subject: Subject,
        host: prony_record::Host,
    ) -> Result<Self> {
        let facts = RunFacts {
            name: name.to_owned(),
            title: title.to_owned(),
            started: Timestamp::now(),
            seed,
            experiment: subject,
            host,
            prony_version: env!("CARGO_PKG_VERSION").into(),
            prony_commit: Some(env!("PRONY_COMMIT").to_owned()).filter(|commit| !commit.is_empty()),
            command_line: crate::typed::command_line(),
        };
        let begun = notebook.begin_run(&facts);
        let mut kept = Self {
            notebook,
            facts,
            id: RunId(0),
            refused: None,
        };
        match begun {
            Ok(id) => kept.id = id,
            Err(why) => kept.go_on_in_memory(&why).into_diagnostic()?,
        }
        Ok(kept)
    }

    /// Puts a notebook in memory in the place of the one that cannot be written, with what that has of the run.
    fn go_on_in_memory(&mut self, why: &NotebookError) -> Result<(), NotebookError> {
        let mut memory = self.notebook.in_memory_instead()?;
        let id = memory.begin_run(&self.facts)?;
        let mut why = why.to_string();
        match recordings(self.notebook, self.id) {
            Ok(recorded) => {
                for recording in &recorded {
                    memory.add_trial(id, recording)?;
                }
            }
            Err(error) => why += &format!("; and the trials that it has cannot be read: {error}"),
        }
        *self.notebook = memory;
        self.id = id;
        self.refused = Some(why);
        Ok(())
    }

    /// Records the end of the run: failed for an error, else interrupted if `interrupted`, else finished.
    pub fn finish<T, E: Display>(
        mut self,
        outcome: &Result<T, E>,
        interrupted: bool,
    ) -> Result<RunId> {
        let status = match outcome {
            Err(_) => RunStatus::Failed,
            Ok(_) if interrupted => RunStatus::Interrupted,
            Ok(_) => RunStatus::Finished,
        };
        let now = Timestamp::now();
        if let Err(why) = self.notebook.finish_run(self.id, status, now) {
            self.go_on_in_memory(&why).into_diagnostic()?;
            let finished = self.notebook.finish_run(self.id, status, now);
            finished.into_diagnostic()?;
        }
        if let Some(why) = &self.refused {
            eprintln!("the notebook cannot be written: {why}");
        }
        if let Err(why) = outcome {
            conclude(self.notebook, self.id, &why.to_string());
            say_where(self.notebook, self.id, None);
        }
        Ok(self.id)
    }
}

/// Reads the trials of a run from the notebook, with their windows and distributions.
fn recordings(notebook: &Notebook, run: RunId) -> Result<Vec<Recording>, NotebookError> {
    let read = |stored: StoredTrial| {
        Ok(Recording {
            windows: notebook.windows(stored.id)?,
            histograms: notebook.distributions(stored.id)?,
            trial: stored.trial,
        })
    };
    notebook.trials(run)?.into_iter().map(read).collect()
}

/// Writes down what came of a run, in a sentence, for lists of runs. That it cannot be written is said, and no
/// reason to end: the run itself is kept.
pub fn conclude(notebook: &Notebook, run: RunId, result: &str) {
    if let Err(error) = notebook.set_result(run, result) {
        eprintln!("run {run} stands in lists without its result: {error}");
    }
}

/// Says where a run is kept, in these words if any. One that the notebook could not take is written to a file first.
pub fn say_where(notebook: &Notebook, run: RunId, words: Option<&str>) {
    if !notebook.is_in_memory() {
        if let Some(words) = words {
            eprintln!("\n{words}");
        }
        return;
    }
    match save_beside(notebook, run) {
        Ok(path) => {
            let name = path.display().to_string();
            let quoted = shlex::try_quote(&name).unwrap_or_default();
            eprintln!(
                "\nthe run is not in the notebook, but in {name}: `prony import {quoted}` puts it in"
            );
        }
        Err(error) => eprintln!("\nthe run is lost: it is not in the notebook, and {error}"),
    }
}

/// Writes a run as `prony export` does: beside the notebook, else in this folder, else among temporary files.
fn save_beside(notebook: &Notebook, run: RunId) -> Result<PathBuf> {
    let run = notebook.run(run).into_diagnostic()?;
    let material = Material::read(notebook, &run).into_diagnostic()?;
    let text = prony_pages::export::json(&material).into_diagnostic()?;
    let began = run.facts.started.strftime("%Y%m%dT%H%M%S");
    let name = format!("prony-{}-{began}.json", run.facts.name.replace('/', "-"));
    let beside = notebook.path().parent().map(Path::to_owned);
    let folders = [beside, Some(PathBuf::from(".")), Some(std::env::temp_dir())];
    let mut failed = miette!("no folder can be written");
    for folder in folders.into_iter().flatten() {
        let path = folder.join(&name);
        match crate::out::write_file(&path, &text) {
            Ok(()) => return Ok(path),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

impl Journal for NotebookJournal<'_> {
    fn add(&mut self, recording: &Recording) -> Result<(), JournalError> {
        let failed = |error: NotebookError| JournalError(Box::new(error));
        let Err(why) = self.notebook.add_trial(self.id, recording) else {
            return Ok(());
        };
        self.go_on_in_memory(&why).map_err(failed)?;
        let added = self.notebook.add_trial(self.id, recording);
        added.map(drop).map_err(failed)
    }

    fn designed(&mut self, design: &Design, terms: &Terms) -> Result<(), JournalError> {
        let failed = |error: NotebookError| JournalError(Box::new(error));
        self.facts.experiment.design = Some(design.clone());
        self.facts.experiment.duel = Some(terms.clone());
        match self.notebook.set_subject(self.id, &self.facts.experiment) {
            Ok(()) => Ok(()),
            // The run in memory begins with these facts.
            Err(why) => self.go_on_in_memory(&why).map_err(failed),
        }
    }
}

/// Facts that are common to runs of sides: loads, duels, capacity searches and calibrations.
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

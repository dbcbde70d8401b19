//! Rounds of duels and of the anatomy of requests: how they go, and why they end early.

use crate::live::Live;
use crate::live::frame::LoadProgress;
use miette::miette;
use prony_lab::duel::DuelError;
use prony_lab::event::Event;
use prony_lab::trial::Progress;
use prony_lab::why::WhyResult;
use prony_notebook::{Notebook, RunId};
use prony_record::anatomy::Dissections;
use prony_verdict::why::kept;

/// Report of the error that ended a duel, with the end of the server's output.
pub fn explain(error: &DuelError) -> miette::Report {
    match error {
        DuelError::Side { failure, .. } if !failure.output.is_empty() => {
            miette!("{error}\n{}", failure.output)
        }
        DuelError::NoRate => miette!(help = "give one with --rate", "{error}"),
        _ => miette!("{error}"),
    }
}

/// Returns the complete rounds, if there are any, and prints why an anatomy ended early.
pub fn whole_rounds(outcome: WhyResult) -> Option<Dissections> {
    if let Some(failure) = outcome.failure {
        let n = outcome.seen.rounds.len() + 1;
        eprintln!("round {n} of the anatomy failed: {}", explain(&failure));
    }
    (!outcome.seen.rounds.is_empty()).then_some(outcome.seen)
}

/// Stores the anatomy of a run in the notebook. An error is printed; the command goes on.
pub fn keep(notebook: &Notebook, run: RunId, seen: &Dissections) {
    if let Err(error) = notebook.set_anatomy(run, &kept(seen)) {
        eprintln!("run {run} is kept without its anatomy: {error}");
    }
}

/// Shows how an anatomy goes.
pub fn on_event(live: &Live, event: &Event<'_>) {
    match event {
        Event::Anatomy(number, all) => {
            let (number, all) = (u64::from(*number), u64::from(*all));
            live.line(|| format!("round {} of {all}", number + 1));
            live.change(move |frame| frame.parts = Some((number, all)));
        }
        Event::Progress(_, Progress::Doing(doing)) => {
            let text = doing.phrase();
            live.change(move |frame| {
                text.clone_into(&mut frame.doing);
                frame.load = LoadProgress::default();
            });
        }
        Event::Progress(_, Progress::Window { window, server }) => live.window(window, *server),
        _ => {}
    }
}

//! Carrying out a load, and the errors that it met.

use crate::Console;
use prony_engine::protocol::Session;
use prony_engine::{
    Cause, Control, Detail, Error, IoActivity, Nanos, Plan, Progress, Target, descriptors,
};
use prony_record::{Load, Observation, Outcomes, Window};
use std::io::{self, Write};
use std::sync::Arc;

/// When a load is measured, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct When {
    /// After so much warm-up.
    pub warmup: Nanos,
    /// For at most so long.
    pub length: Nanos,
}

impl When {
    /// From the load's start, for at most `length`.
    pub(crate) fn at_once(length: Nanos) -> Self {
        Self { warmup: 0, length }
    }
}

/// Are there file descriptors for all connections of a load?
///
/// # Errors
/// [`LoadError::Descriptors`].
pub(crate) fn reserve(load: &Load) -> Result<(), LoadError> {
    Ok(descriptors::reserve_closely(
        u64::from(load.connections),
        load.threads,
    )?)
}

/// Carries out `plan`, and tells the console's guard first. A connection without a file descriptor is an
/// error of the load, unless they were [reserved](reserve).
/// `progress` hears of each window, and may stop the load or write to the console's streams: standard
/// output first.
pub(crate) fn carry_out(
    plan: &Plan,
    when: When,
    console: &mut Console<'_>,
    progress: impl FnMut(&mut WindowEvent<'_>),
) -> Result<(Observation, Detail), LoadError> {
    carry_out_by(when, console, progress, |control, teller| {
        prony_engine::run(plan, control, teller)
    })
}

/// The same with a session of one's own: `part` gives each worker its target and its session.
pub(crate) fn carry_out_with<P: Session>(
    plan: &Plan,
    when: When,
    console: &mut Console<'_>,
    part: impl Fn(u32) -> (Target, P) + Sync,
    progress: impl FnMut(&mut WindowEvent<'_>),
) -> Result<(Observation, Detail), LoadError> {
    carry_out_by(when, console, progress, |control, teller| {
        prony_engine::run_with(plan, control, part, teller)
    })
}

fn carry_out_by<'a, 'b, F: FnMut(&mut WindowEvent<'_>)>(
    when: When,
    console: &'a mut Console<'b>,
    progress: F,
    run: impl FnOnce(&Arc<Control>, Teller<'a, 'b, F>) -> Result<(Observation, Detail), Error>,
) -> Result<(Observation, Detail), LoadError> {
    // What was printed so far is to be seen while the load runs.
    let _ = console.out.flush();
    let control = Arc::new(Control::default());
    control.measure(when.warmup, when.warmup.saturating_add(when.length));
    (console.guard)(&control);
    let teller = Teller {
        control: Arc::clone(&control),
        console,
        outcomes: Outcomes::default(),
        progress,
    };
    Ok(run(&control, teller)?)
}

/// A window of a load under way, and what may be done then: stop the load, or write to the console.
pub(crate) struct WindowEvent<'a> {
    pub window: &'a Window,
    /// Outcomes of the requests that ended in the window.
    pub outcomes: &'a Outcomes,
    pub control: &'a Control,
    pub out: &'a mut dyn Write,
    pub err: &'a mut dyn Write,
}

struct Teller<'a, 'b, F> {
    control: Arc<Control>,
    console: &'a mut Console<'b>,
    outcomes: Outcomes,
    progress: F,
}

impl<F: FnMut(&mut WindowEvent<'_>)> Progress for Teller<'_, '_, F> {
    fn outcomes(&mut self, outcomes: &Outcomes) {
        self.outcomes = outcomes.clone();
    }

    fn window(&mut self, window: &Window) {
        (self.progress)(&mut WindowEvent {
            window,
            outcomes: &self.outcomes,
            control: &self.control,
            out: &mut *self.console.out,
            err: &mut *self.console.err,
        });
    }
}

/// Why a load could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// There are not enough file descriptors.
    #[error(transparent)]
    Descriptors(#[from] descriptors::TooFewDescriptors),
    /// The generator could not go on.
    #[error(transparent)]
    Engine(#[from] Error),
}

/// Errors of one kind that a load met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Met {
    /// During what.
    pub doing: IoActivity,
    /// The system's number for it; `None` when the server closed the connection, or broke the
    /// protocol.
    pub number: Option<i32>,
    /// How often.
    pub count: u64,
}

impl Met {
    /// Is it that a connection took too long to be made, or to carry anything?
    pub(crate) fn timed_out(&self) -> bool {
        self.number.is_some_and(|number| {
            io::Error::from_raw_os_error(number).kind() == io::ErrorKind::TimedOut
        })
    }

    /// The system's words for it, without the number.
    pub(crate) fn words(&self) -> String {
        match self.number {
            None => "the server closed the connection".into(),
            Some(number) => words(&io::Error::from_raw_os_error(number)),
        }
    }
}

/// The system's words for an error, without its number.
pub(crate) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// The errors of a load, without requests that took too long.
pub(crate) fn errors(detail: &Detail) -> Vec<Met> {
    let failed = detail.errors.iter();
    let failed = failed.filter(|(error, _)| error.doing != IoActivity::TimedOut);
    failed
        .map(|(error, &count)| Met {
            doing: error.doing,
            number: match error.cause {
                Cause::System(number) => Some(number),
                Cause::ClosedAfterAnswer(_) | Cause::Other(_) => None,
            },
            count,
        })
        .collect()
}

/// The part of `all` that falls to the `nth` of several threads: the same for all, and one more for the first.
pub(crate) fn share(all: u64, threads: u32, nth: u32) -> u64 {
    let (threads, nth) = (u64::from(threads), u64::from(nth));
    all / threads + u64::from(nth < all % threads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_engine::LoadError;

    #[test]
    fn errors_have_the_numbers_of_the_system() {
        let error = |doing, cause| LoadError { doing, cause };
        let closed = || Cause::Other("the server closed the connection".into());
        let detail = Detail {
            errors: [
                (error(IoActivity::Connecting, Cause::System(111)), 3),
                (error(IoActivity::Reading, closed()), 1),
                (error(IoActivity::TimedOut, closed()), 2),
            ]
            .into(),
            ..Detail::default()
        };
        let [refused, closed] = errors(&detail)[..] else {
            panic!("{:?}", errors(&detail));
        };
        assert_eq!(
            (refused.doing, refused.number, refused.count),
            (IoActivity::Connecting, Some(111), 3)
        );
        assert_eq!(refused.words(), "Connection refused");
        assert_eq!((closed.doing, closed.number), (IoActivity::Reading, None));
    }
}

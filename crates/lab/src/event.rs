//! Events that measurements report while they go on, and the journal that keeps the results.

use crate::trial::Progress;
use prony_record::design::{Design, Pilot};
use prony_record::service::{Overload, RateStep};
use prony_record::verdict::{Comparison, Terms};
use prony_record::{Failure, Finding, Load, Recording, Trial, TrialStatus};
use prony_verdict::outlook::Outlook;
use std::time::Duration;

/// Events of a measurement, for displays.
#[derive(Debug)]
pub enum Event<'a> {
    /// A server is being built.
    Building(&'a str),
    /// Everything is built; that many trials follow.
    Trials(u64),
    /// A trial begins.
    Trial {
        /// Round of the trial, from 0.
        round: u32,
        /// The server's label.
        label: &'a str,
        /// The load.
        load: &'a Load,
    },
    /// A pilot has shown how a server is to be measured.
    Piloted(&'a Pilot),
    /// A duel's design is known: how all sides are measured.
    Designed {
        /// How.
        design: &'a Design,
        /// How many rounds are planned at most.
        most: u32,
        /// How long it may take; none: as long as it takes.
        time: Option<Duration>,
    },
    /// A round of a duel or of a calibration begins; none: one that only finds a common rate.
    Round(Option<u32>),
    /// A round begins in which the anatomy of a request is measured: which of how many, from 0.
    Anatomy(u32, u32),
    /// The sides of a calibration are loaded in this way from here on.
    Cell(&'a str),
    /// How it goes with a server.
    Progress(&'a str, Progress<'a>),
    /// A trial has been recorded.
    Recorded {
        /// The server's label.
        label: &'a str,
        /// The trial.
        trial: &'a Trial,
    },
    /// A server could not take part, or a trial failed.
    Failed {
        /// The server's label.
        label: &'a str,
        /// Status of the trial: failed or skipped.
        status: TrialStatus,
        /// At which step, and why.
        failure: &'a Failure,
    },
    /// A trial is left out, because its server has failed for good.
    LeftOut,
    /// Something happens on one of several rigs, which measure side by side.
    OnRig {
        /// Name of the rig.
        rig: &'a str,
        /// The event on that rig.
        event: &'a Event<'a>,
    },
    /// A round whose rig was lost is measured again, by the rig of which this is told.
    RoundAgain {
        /// The lost round's number.
        round: u32,
        /// The number that it has now.
        number: u32,
        /// The trials of the lost round that had ended: so many more than were planned.
        trials: u64,
    },
    /// A rig measures no more.
    RigLost {
        /// Name of the rig.
        rig: &'a str,
        /// Why.
        why: &'a str,
    },
    /// A round of a duel is over.
    Compared {
        /// Comparisons after all rounds so far.
        comparisons: &'a [Comparison],
        /// Findings of the checks so far.
        findings: &'a [Finding],
    },
    /// The first rounds of a duel have shown what it can find in its time.
    Outlook {
        /// Expectation for each comparison.
        outlook: &'a [Outlook],
        /// The last round that there is time for.
        end: u32,
        /// Throughput is not measured any more.
        dropped: bool,
    },
    /// A capacity search tries this rate for so long.
    Trying(f64, Duration),
    /// The rate was tried.
    Tried(&'a RateStep),
    /// The server was loaded beyond its capacity.
    Overloaded(&'a Overload),
    /// The capacity lies between these rates, as far as is known.
    Between(Option<f64>, Option<f64>),
}

/// Hears of events.
pub type Observer<'o> = &'o mut dyn FnMut(Event<'_>);

/// Takes what was measured, one trial after the other, and keeps it.
pub trait Journal {
    /// Keeps a trial.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn add(&mut self, recording: &Recording) -> Result<(), JournalError>;

    /// Keeps how servers are measured, and how that is decided, when it is known and whenever it changes.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn designed(&mut self, _design: &Design, _terms: &Terms) -> Result<(), JournalError> {
        Ok(())
    }
}

/// A trial that could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("a trial could not be kept: {0}")]
pub struct JournalError(pub Box<dyn std::error::Error + Send + Sync>);

/// For tests, and for what is only shown.
impl Journal for Vec<Recording> {
    fn add(&mut self, recording: &Recording) -> Result<(), JournalError> {
        self.push(recording.clone());
        Ok(())
    }
}

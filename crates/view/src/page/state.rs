//! State of a run, as far as it can be known on this machine.

use prony_notebook::Overview;
use prony_record::RunStatus;

/// A state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// The run's process is at work.
    UnderWay,
    /// The run is marked as running, and its process is not there. It was killed, or the machine went down, or it runs
    /// where it cannot be seen from here.
    Abandoned,
    /// Every trial of its plan was done.
    Finished,
    /// The user stopped the run.
    Interrupted,
    /// The run could not go on.
    Failed,
}

impl RunState {
    /// The state of a run. A run that is marked as running is looked for among the processes.
    pub fn of(run: &Overview) -> Self {
        match run.status {
            RunStatus::Running if run.is_abandoned() => Self::Abandoned,
            RunStatus::Running => Self::UnderWay,
            RunStatus::Finished => Self::Finished,
            RunStatus::Interrupted => Self::Interrupted,
            RunStatus::Failed => Self::Failed,
        }
    }

    /// In a word or two.
    pub const fn words(self) -> &'static str {
        match self {
            Self::UnderWay => "under way",
            Self::Abandoned => "broken off",
            Self::Finished => "finished",
            Self::Interrupted => "stopped",
            Self::Failed => "failed",
        }
    }

    /// Explanation of the state; `None` where it is plain.
    pub const fn meaning(self) -> Option<&'static str> {
        match self {
            Self::UnderWay => Some("It is being measured: trials appear here as they end."),
            Self::Abandoned => Some(
                "It is marked as running, but its process is not on this machine (or in another \
                 container): it was killed, or the machine went down. What it had measured is here.",
            ),
            Self::Finished => None,
            Self::Interrupted => Some("Its user stopped it. Results until then are here."),
            Self::Failed => Some("It could not go on. Results until then are here."),
        }
    }

    /// The class of its look.
    pub const fn class(self) -> &'static str {
        match self {
            Self::UnderWay => "state live",
            Self::Finished => "state",
            Self::Abandoned | Self::Interrupted | Self::Failed => "state ended",
        }
    }
}

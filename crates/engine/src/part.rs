//! Parts of a load that several processes carry out together, each with workers of its own: who drives what, and
//! what the workers tell on its way to the process that puts everything together.

use crate::clock::Nanos;
use crate::control::Control;
use crate::gather::Gather;
use crate::outcome::{Error, Progress, WorkerMessage};
use crate::plan::Plan;
use crate::recorder::Slice;
use crate::worker::WorkerReport;
use prony_record::Transport;
use serde::{Deserialize, Serialize};

/// The workers of one process among all workers of a load. Connections, rates and numbers of requests of a plan
/// are those of all workers together: each drives the connections, and is due the requests, of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadShare {
    /// The number of this process' first worker, 0-based.
    pub first: u32,
    /// All workers of all processes.
    pub workers: u32,
}

impl LoadShare {
    /// The only part of a load.
    pub fn whole(plan: &Plan) -> Self {
        Self {
            first: 0,
            workers: plan.load.threads,
        }
    }
}

/// Message of a worker to a [`Gather`] in another process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PartMessage(ShareMessage);

#[derive(Debug, Clone, Serialize, Deserialize)]
enum ShareMessage {
    Ready,
    Window(Box<Slice>),
    Done(Transport, Box<WorkerReport>),
    Failed(String),
}

impl From<WorkerMessage> for PartMessage {
    fn from(told: WorkerMessage) -> Self {
        Self(match told {
            WorkerMessage::Ready => ShareMessage::Ready,
            WorkerMessage::Window(slice) => ShareMessage::Window(slice),
            WorkerMessage::Done(transport, report) => ShareMessage::Done(transport, report),
            WorkerMessage::Failed(error) => ShareMessage::Failed(error.to_string()),
        })
    }
}

impl From<PartMessage> for WorkerMessage {
    fn from(message: PartMessage) -> Self {
        match message.0 {
            ShareMessage::Ready => Self::Ready,
            ShareMessage::Window(slice) => Self::Window(slice),
            ShareMessage::Done(transport, report) => Self::Done(transport, report),
            ShareMessage::Failed(error) => Self::Failed(Error::Elsewhere(error)),
        }
    }
}

impl PartMessage {
    /// Is this a worker's last message?
    #[must_use]
    pub fn is_last(&self) -> bool {
        matches!(self.0, ShareMessage::Done(..) | ShareMessage::Failed(_))
    }

    /// The same with all times on the engine's clock of another machine, which shows `by` more than the clock of
    /// the machine that sent it.
    #[must_use]
    pub fn on_clock(mut self, by: i64) -> Self {
        let shift = |at: &mut Nanos| *at = at.saturating_add_signed(by);
        match &mut self.0 {
            ShareMessage::Window(slice) => shift(&mut slice.start),
            ShareMessage::Done(_, report) => {
                shift(&mut report.measured.0);
                shift(&mut report.measured.1);
                // Zero stands for none.
                if report.record.last_finish > 0 {
                    shift(&mut report.record.last_finish);
                }
            }
            ShareMessage::Ready | ShareMessage::Failed(_) => {}
        }
        self
    }
}

impl Gather<'_> {
    /// A worker of another process tells something; `progress` hears of windows that all have finished. True when,
    /// with this, all of them are ready to begin.
    pub fn receive(
        &mut self,
        message: PartMessage,
        control: &Control,
        progress: &mut dyn Progress,
    ) -> bool {
        self.hear(message.into(), control, progress)
    }
}

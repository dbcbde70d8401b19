//! Loads that change while they last.

use super::Load;
use crate::{Stage, stages};

/// Setting that changes while a load lasts, with its stages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change<'a> {
    /// The rate of an open loop.
    Rate(&'a [Stage]),
    /// The number of connections of a closed loop.
    Connections(&'a [Stage]),
}

impl Change<'_> {
    /// Stages of the change.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        match self {
            Self::Rate(stages) | Self::Connections(stages) => stages,
        }
    }
}

impl Load {
    /// Setting that changes while the load lasts; None where nothing does.
    #[must_use]
    pub fn changes(&self) -> Option<Change<'_>> {
        match (self.stages.as_slice(), self.connection_stages.as_slice()) {
            ([], []) => None,
            ([], connections) => Some(Change::Connections(connections)),
            (rate, _) => Some(Change::Rate(rate)),
        }
    }

    /// The mean number of connections over the first `seconds`.
    #[must_use]
    pub fn connections_over(&self, seconds: f64) -> f64 {
        match self.connection_stages.as_slice() {
            [] => f64::from(self.connections),
            stages if seconds > 0.0 => stages::due_in(stages, seconds) / seconds,
            stages => stages[0].from,
        }
    }

    /// The mean rate over the first `seconds` of an open loop.
    #[must_use]
    pub fn rate_over(&self, seconds: f64) -> Option<f64> {
        match self.stages.as_slice() {
            [] => self.rate,
            stages if seconds > 0.0 => Some(stages::due_in(stages, seconds) / seconds),
            _ => self.rate,
        }
    }
}

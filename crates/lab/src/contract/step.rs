//! Steps of a verification, and what comes of them.

use super::wire::Fault;
use super::{Depth, Visit};
use std::time::Duration;

/// The steps a server has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// In the order they were taken; those with a expected failure are among them.
    pub steps: Vec<PassedStep>,
    /// Names of the steps that ask the server's database, where prony does not have it.
    pub left_out: Vec<&'static str>,
}

impl Verified {
    /// How long all steps took together.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.steps.iter().map(|step| step.took).sum()
    }
}

/// One step that a server has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedStep {
    /// The step's name, as a [`Violation`] would give it.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
    /// Expected and found behaviour, where the step could not pass for a known reason; none: it passed.
    pub limit: Option<String>,
}

/// The first thing a server did that its contract forbids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{step} ({tried}): expected {expected}; found {found}")]
pub struct Violation {
    /// The step's name, such as `half-close`.
    pub step: &'static str,
    /// Action of the step, in a few words.
    pub tried: &'static str,
    /// Behaviour that the contract demands.
    pub expected: String,
    /// Behaviour that was found instead; bytes are shown escaped and cut short.
    pub found: String,
}

/// One step of a verifier's script.
pub(super) struct Act {
    pub name: &'static str,
    pub tried: &'static str,
    /// The least depth at which it is taken.
    pub from: Depth,
    pub run: fn(&mut Visit<'_>) -> Result<(), Fault>,
}

impl Act {
    pub fn violated(&self, fault: Fault) -> Violation {
        Violation {
            step: self.name,
            tried: self.tried,
            expected: fault.expected,
            found: fault.found,
        }
    }
}

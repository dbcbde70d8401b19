//! At which step a trial failed, and why.

use crate::word::words;

words! {
    /// A step of a trial.
    Step {
        /// Install and compile the server.
        Build = "build",
        /// Run its command.
        Start = "start",
        /// Wait until it answers.
        Ready = "ready",
        /// Prove that it keeps its contract.
        Verify = "verify",
        /// Load it.
        Load = "load",
        /// Prove again, after the load, that it keeps its contract.
        VerifyAgain = "verify-again",
    }
}

impl Step {
    /// The step as a phrase for messages, without an article: `start`, `verification after the load`.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Start => "start",
            Self::Ready => "waiting for an answer",
            Self::Verify => "verification",
            Self::Load => "load",
            Self::VerifyAgain => "verification after the load",
        }
    }
}

/// Why a trial failed.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Eq,
    thiserror::Error,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[error("{}: {message}", step.phrase())]
pub struct Failure {
    /// At which step.
    pub step: Step,
    /// Description of what was tried and what was found.
    pub message: String,
    /// The end of what the server, or its build, printed; may be empty.
    pub output: String,
}

impl Failure {
    /// A failure at `step`, without any output of the server.
    pub fn new(step: Step, message: impl Into<String>) -> Self {
        Self {
            step,
            message: message.into(),
            output: String::new(),
        }
    }

    /// The same with what the server printed last.
    #[must_use]
    pub fn with_output(self, output: String) -> Self {
        Self { output, ..self }
    }
}

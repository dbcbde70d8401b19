//! What the checks found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The check's name, such as `generator-saturated`.
    pub name: String,
    /// How serious it is.
    pub severity: Severity,
    /// What was seen, what it means, and what to do.
    pub text: String,
}

/// How serious a finding is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// The figures may not mean what they seem to mean.
    Warning,
    /// The figures do not mean what they seem to mean.
    Serious,
}

impl Severity {
    /// The word that stands before a finding.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Serious => "serious",
        }
    }
}

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}

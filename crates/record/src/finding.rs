//! Findings of the checks.

use crate::CheckId;
use crate::word::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Finding of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Name of the check.
    pub name: CheckId,
    /// How serious it is.
    pub severity: Severity,
    /// Description: what was seen, what it means, and what to do.
    pub text: String,
}

words! {
    /// How serious a finding is.
    Severity {
        /// Worth knowing.
        Note = "note",
        /// The figures may not mean what they seem to mean.
        Warning = "warning",
        /// The figures do not mean what they seem to mean.
        Serious = "serious",
    }
}

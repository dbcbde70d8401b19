use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The check's name, such as `generator-saturated`.
    pub name: &'static str,
    /// How grave it is.
    pub severity: Severity,
    /// What was seen, what it means, and what to do.
    pub text: String,
}

/// How grave a finding is.
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

impl Finding {
    pub(crate) fn new(name: &'static str, severity: Severity, text: String) -> Option<Self> {
        Some(Self {
            name,
            severity,
            text,
        })
    }
}

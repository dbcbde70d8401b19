use schemars::JsonSchema;
use serde::Serialize;

/// Explanation of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    /// The check's name.
    pub name: &'static str,
    /// Cause: what has happened when the check raises a finding.
    pub cause: &'static str,
    /// Evidence that the check looks at.
    pub evidence: &'static str,
    /// Remedy: what the user can do.
    pub remedy: &'static str,
}

use prony_record::CheckId;
use schemars::JsonSchema;
use serde::Serialize;

/// Explanation of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    /// Name of the check.
    pub name: CheckId,
    /// Cause: what has happened when the check raises a finding.
    pub cause: &'static str,
    /// Evidence that the check looks at.
    pub evidence: &'static str,
    /// Remedy: what the user can do.
    pub remedy: &'static str,
}

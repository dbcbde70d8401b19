use schemars::JsonSchema;
use serde::Serialize;

/// What a check means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    /// The check's name.
    pub name: &'static str,
    /// What has happened when it is raised.
    pub cause: &'static str,
    /// What it looks at.
    pub evidence: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

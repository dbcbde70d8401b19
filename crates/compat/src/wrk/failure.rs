//! Why a script, or the search for its server, has failed.

/// One line, which names file and line of the script where there is one to blame.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub(super) struct ScriptFailure(pub(super) String);

impl ScriptFailure {
    pub(super) fn unreached(host: &str, service: &str, why: &str) -> Self {
        Self(format!("unable to connect to {host}:{service} {why}"))
    }
}

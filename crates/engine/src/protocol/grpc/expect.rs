//! Expectations of the answer to a call.

use super::GrpcStatus;
use crate::protocol::Expect;

/// Expectations of the answer to a call.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct GrpcExpect {
    /// The status.
    pub status: GrpcStatus,
    /// How many messages there are, from the least to the most; none: one where the status is OK, unless the method
    /// [streams](Self::streaming).
    pub messages: Option<(u64, u64)>,
    /// The method answers with a stream of messages.
    pub streaming: bool,
    /// The messages, one after the other without what stands between them. Its status is not looked at.
    pub content: Expect,
}

impl GrpcExpect {
    /// The least and the most messages that an answer may have whose status is the expected one.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        match (self.messages, self.streaming, self.status) {
            (Some(range), _, _) => range,
            (None, false, GrpcStatus::OK) => (1, 1),
            (None, false, _) => (0, 1),
            (None, true, _) => (0, u64::MAX),
        }
    }
}

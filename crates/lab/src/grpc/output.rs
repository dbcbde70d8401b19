//! The kind of the messages of answers, in a form that any prony can take, whether it can read them or not.

use serde::{Deserialize, Serialize};

/// The kind of a method's answers, as it can be written down and sent elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerType {
    /// The files, compiled (`google.protobuf.FileDescriptorSet`).
    pub(super) descriptors: Vec<u8>,
    /// The message's full name.
    pub(super) name: String,
}

//! The times of single requests, for those who need more than histograms.

use crate::clock::Nanos;
use serde::{Deserialize, Serialize};

/// Times and result of one request; all times on the engine's clock, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TraceSample {
    /// A number for its connection that no other connection of the load has; 0 when there was none.
    pub connection: u64,
    /// How long its connection took to be made, if it was the first request on it; otherwise 0.
    pub connect: Nanos,
    /// When it was due.
    pub due: Nanos,
    /// When it was sent.
    pub sent: Nanos,
    /// When the first bytes of its answer came. In a pipeline, bytes that came in one read with
    /// the end of the answer before do not count, unless they were the whole answer. Where answers
    /// may come in any order: when the first bytes after the end of the answer before came.
    pub first_byte: Nanos,
    /// When its answer was complete, or when its time was up.
    pub done: Nanos,
    /// Length of the answer's body in bytes, without any transfer coding.
    pub body: u64,
    /// The answer's status; 0 when the request was given up after the time-out.
    pub status: u16,
    /// The server does not answer any more on this connection.
    pub last: bool,
}

/// How connections were opened, their set-up before the load included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Opening {
    /// Connections begun, whether they could be made or not.
    pub begun: u64,
    /// The most connections that were open, or being made, at the same time (of several
    /// threads: the sum of the most that each had).
    pub at_once: u64,
    /// The most connections begun in one go.
    pub burst: u32,
}

impl Opening {
    pub(crate) fn merge(self, other: Self) -> Self {
        Self {
            begun: self.begun + other.begun,
            at_once: self.at_once + other.at_once,
            burst: self.burst.max(other.burst),
        }
    }
}

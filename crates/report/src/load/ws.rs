//! Report on the messages that were sent over WebSocket.

use crate::show;
use schemars::JsonSchema;
use serde::Serialize;

/// Messages that were sent over WebSocket: their size and kind, and how many were in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WsReport {
    /// Length of each message's payload, in bytes.
    pub size: u32,
    /// Messages were text; otherwise binary.
    pub text: bool,
    /// Messages in flight on each connection.
    pub in_flight: u32,
}

impl WsReport {
    /// In a line.
    #[must_use]
    pub fn line(&self) -> String {
        let kind = if self.text { "text" } else { "binary" };
        let unit = if self.size == 1 { "byte" } else { "bytes" };
        format!(
            "{kind} messages of {} {unit}, {} in flight on each connection",
            show::count(self.size.into()),
            show::count(self.in_flight.into())
        )
    }
}

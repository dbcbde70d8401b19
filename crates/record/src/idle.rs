//! Connections beside a load on which nothing is sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Idle connections that were open while a server was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleConnections {
    /// Connections that were opened before the load, handshakes of TLS included.
    pub opened: u32,
    /// Connections that the server had not closed when the load ended.
    pub open: u32,
    /// Time in which they were opened, four at a time, in nanoseconds.
    pub opened_ns: u64,
    /// By how much the memory of the server's processes grew meanwhile, in bytes; null where they are not known.
    pub memory_bytes: Option<u64>,
}

impl IdleConnections {
    /// Memory for each, in bytes.
    #[must_use]
    pub fn memory_each(&self) -> Option<f64> {
        let memory = self.memory_bytes? as f64;
        (self.opened > 0).then(|| memory / f64::from(self.opened))
    }
}

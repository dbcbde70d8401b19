//! Idle connections: open during a load, and nothing is sent on them.

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
    /// Growth of the memory of the server's processes while they were opened, in bytes; null where the processes are not
    /// known.
    pub memory_bytes: Option<u64>,
}

impl IdleConnections {
    /// Idle connections of several measurements of a server: the least that stayed open, and the mean growth of its memory.
    /// None for no measurement with any.
    #[must_use]
    pub fn over(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let all: Vec<Self> = all.into_iter().collect();
        let first = all.first()?;
        let memory: Vec<u64> = all.iter().filter_map(|one| one.memory_bytes).collect();
        let mean = memory.iter().sum::<u64>().checked_div(memory.len() as u64);
        let took = all.iter().map(|one| one.opened_ns).max();
        Some(Self {
            opened: first.opened,
            open: all.iter().map(|one| one.open).min().unwrap_or(first.open),
            opened_ns: took.unwrap_or(first.opened_ns),
            memory_bytes: mean,
        })
    }

    /// Connections that the server closed before the load ended.
    #[must_use]
    pub fn closed(&self) -> u32 {
        self.opened.saturating_sub(self.open)
    }

    /// Memory for each, in bytes.
    #[must_use]
    pub fn memory_each(&self) -> Option<f64> {
        let memory = self.memory_bytes? as f64;
        (self.opened > 0).then(|| memory / f64::from(self.opened))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_of_a_server_are_put_together() {
        let one = |open, memory_bytes| IdleConnections {
            opened: 10,
            open,
            opened_ns: u64::from(open),
            memory_bytes,
        };
        let all = IdleConnections::over([one(10, Some(100)), one(8, None), one(9, Some(300))]);
        let all = all.unwrap();
        assert_eq!((all.opened, all.open, all.closed()), (10, 8, 2));
        assert_eq!((all.opened_ns, all.memory_each()), (10, Some(20.0)));
        assert_eq!(IdleConnections::over([]), None);
        assert_eq!(one(3, None).memory_each(), None);
    }
}

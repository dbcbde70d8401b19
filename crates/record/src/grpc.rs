//! Observations of gRPC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Observations of gRPC in a measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grpc {
    /// Messages in the answers to the calls that ended in the measurement.
    pub messages: u64,
    /// Calls that ended in the measurement by their status, such as `OK`; `none` where the answer had no status.
    pub statuses: BTreeMap<String, u64>,
}

impl Grpc {
    /// Adds what was seen elsewhere, or later.
    pub fn merge(&mut self, other: &Self) {
        self.messages += other.messages;
        for (name, n) in &other.statuses {
            *self.statuses.entry(name.clone()).or_default() += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_add_up_by_name() {
        let one = |name: &str, n| Grpc {
            messages: n,
            statuses: [(name.to_owned(), n)].into(),
        };
        let mut all = one("OK", 3);
        all.merge(&one("OK", 2));
        all.merge(&one("NOT_FOUND", 1));
        assert_eq!(all.messages, 6);
        assert_eq!((all.statuses["OK"], all.statuses["NOT_FOUND"]), (5, 1));
    }
}

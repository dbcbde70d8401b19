//! The connections of an open loop, which opens more while its rate needs them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many connections an open loop had, and whether more of them helped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pool {
    /// The most that it was allowed to have open at once; 0 in a closed loop.
    pub allowed: u32,
    /// The most that it had open at once, or tried to.
    pub opened: u32,
    /// When it had opened more, the server answered more requests per second. Null: it never opened more than at first.
    pub helped: Option<bool>,
}

impl Pool {
    /// Was the number of connections what limited the rate? All that were allowed were there, and the last that were added
    /// had helped.
    #[must_use]
    pub fn limits(&self) -> bool {
        self.opened >= self.allowed && self.helped == Some(true)
    }

    /// Adds the connections of another worker of the same load.
    pub fn join(&mut self, other: &Self) {
        self.allowed += other.allowed;
        self.opened += other.opened;
        self.helped = both(self.helped, other.helped);
    }

    /// Adds another measurement of the same load.
    pub fn merge(&mut self, other: &Self) {
        self.allowed = self.allowed.max(other.allowed);
        self.opened = self.opened.max(other.opened);
        self.helped = both(self.helped, other.helped);
    }
}

/// Combines two values of [`Pool::helped`]: more connections helped only if they helped everywhere. A None is ignored.
fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one && other),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_limit_when_all_are_there_and_the_last_helped() {
        let pool = |opened, helped| Pool {
            allowed: 100,
            opened,
            helped,
        };
        assert!(pool(100, Some(true)).limits());
        assert!(!pool(100, Some(false)).limits(), "the server was the limit");
        assert!(!pool(100, None).limits(), "it was not tried");
        assert!(!pool(90, Some(true)).limits());
        let mut all = pool(100, Some(true));
        all.join(&pool(50, None));
        assert_eq!(
            (all.allowed, all.opened, all.helped),
            (200, 150, Some(true))
        );
        all.merge(&pool(100, Some(false)));
        assert_eq!((all.allowed, all.opened, all.limits()), (200, 150, false));
    }
}

//! Answers that come as streams of events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Streams of events, such as server-sent events, that a load received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Streams {
    /// Events that came in the measurement.
    pub events: u64,
    /// Streams that ended in it, as they should.
    pub ended: u64,
    /// Events of these streams, from their beginning on.
    pub events_of_ended: u64,
    /// Tokens that these streams said they had; 0 where tokens are not counted.
    pub tokens: u64,
    /// Streams that were open when the load ended.
    pub open: u64,
}

impl Streams {
    /// Has any event come?
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// Mean number of events of a stream that ended; None if none did.
    #[must_use]
    pub fn events_each(&self) -> Option<f64> {
        (self.ended > 0).then(|| self.events_of_ended as f64 / self.ended as f64)
    }
}

impl std::ops::AddAssign for Streams {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.ended += other.ended;
        self.events_of_ended += other.events_of_ended;
        self.tokens += other.tokens;
        self.open += other.open;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_several_loads() {
        let mut all = Streams::default();
        assert!(!all.any() && all.events_each().is_none());
        let one = Streams {
            events: 10,
            ended: 2,
            events_of_ended: 9,
            tokens: 30,
            open: 1,
        };
        all += one;
        all += one;
        assert_eq!((all.events, all.tokens, all.open), (20, 60, 2));
        assert_eq!(all.events_each(), Some(4.5));
    }
}

//! Due times that were recorded.

use super::Pace;
use crate::clock::Nanos;
use std::sync::Arc;

/// Never: later than any load lasts, and far enough from the largest number to be added to.
const NEVER: Nanos = Nanos::MAX / 4;

/// Due times in order; nothing is due after the last one.
#[derive(Debug, Clone)]
pub struct Times(Arc<[Nanos]>);

impl Times {
    /// Pace with the due times `due`, in nanoseconds since the load began, in order.
    pub fn new(due: &[Nanos]) -> Self {
        Self(due.into())
    }
}

impl Pace for Times {
    #[inline]
    fn due_of(&self, nth: f64) -> Nanos {
        self.0.get(nth as usize).copied().unwrap_or(NEVER)
    }

    #[inline]
    fn count_before(&self, until: Nanos) -> f64 {
        self.0.partition_point(|&due| due < until) as f64
    }
}

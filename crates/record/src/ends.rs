//! Requests that cross an end of a measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Correction for requests that crossed an end of the measurement, to add to the counts of those that ended in it.
///
/// A request counts by the share of its time in flight that lies inside the measurement. One that was sent and ended
/// inside counts as 1, as in [`Outcomes`](crate::Outcomes); one that was sent before it, or ended after it, counts as
/// less. So the sum is the number of requests that were served in the measurement, without steps of whole requests: a
/// server that answers 64 connections every 200 ms gives 320 requests per second however long it is measured. In a
/// stationary process this estimate of the rate is unbiased, since every request contributes 1 over all time. Where the
/// measurement began with the load, nothing was in flight at its beginning, and both are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ends {
    /// Correction of the number of right answers, in a closed loop. Negative when the requests that began before the
    /// measurement weigh more than those that ended after it.
    pub right: f64,
    /// Correction of the number of all requests, however they ended.
    pub all: f64,
}

impl Ends {
    /// Adds a request in flight for `time` nanoseconds, of which `inside` were in the measurement, and which was counted
    /// (if it ended inside) or was not.
    pub fn add(&mut self, (inside, time): (u64, u64), counted: bool, right: bool) {
        let share = inside as f64 / time.max(1) as f64;
        let more = share.min(1.0) - f64::from(u8::from(counted));
        self.all += more;
        if right {
            self.right += more;
        }
    }
}

impl std::ops::AddAssign for Ends {
    fn add_assign(&mut self, other: Self) {
        self.right += other.right;
        self.all += other.all;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_by_its_share() {
        let mut ends = Ends::default();
        // Began before: three quarters of it are not in the measurement that counted it.
        ends.add((25, 100), true, true);
        assert_eq!((ends.right, ends.all), (-0.75, -0.75));
        // Ended after, and wrong.
        ends.add((40, 100), false, false);
        assert_eq!(ends.right, -0.75);
        assert!((ends.all + 0.35).abs() < 1e-12, "{ends:?}");
    }
}

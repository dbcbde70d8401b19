//! How well a clockwork server kept time.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest lateness told apart: nothing that late keeps time in any sense.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// What a clockwork server did, and how late.
///
/// Lateness is the time from when a reply was due to when its `send` was called. It therefore holds
/// the server's own delays and the sends of other replies before it, but not the kernel's work for
/// this one. A reply that the peer does not make room for counts as of the first attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Requests given a reply time.
    pub requests: u64,
    /// Replies of which at least the beginning was given to the kernel, or tried to.
    pub replies: u64,
    /// Half of the replies were at most this late.
    pub late_p50: Duration,
    /// 99 % of them were at most this late.
    pub late_p99: Duration,
    /// The latest.
    pub late_max: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |duration: Duration| duration.as_nanos() as f64 / 1e3;
        write!(
            f,
            "clockwork: {} requests, {} replies, late by p50 {:.1} us, p99 {:.1} us, max {:.1} us",
            self.requests,
            self.replies,
            us(self.late_p50),
            us(self.late_p99),
            us(self.late_max)
        )
    }
}

/// Collects what a [`Report`] tells.
pub(super) struct Tally {
    pub(super) requests: u64,
    late: Histogram<u64>,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            requests: 0,
            late: Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are constant"),
        }
    }

    /// Notes a reply that is about to be sent this late.
    pub(super) fn note(&mut self, late_ns: u64) {
        self.late.saturating_record(late_ns);
    }

    pub(super) fn report(&self) -> Report {
        let at = |quantile| Duration::from_nanos(self.late.value_at_quantile(quantile));
        Report {
            requests: self.requests,
            replies: self.late.len(),
            late_p50: at(0.5),
            late_p99: at(0.99),
            late_max: Duration::from_nanos(self.late.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_well() {
        let mut tally = Tally::new();
        tally.requests = 3;
        for late in [100, 200, 1_500] {
            tally.note(late);
        }
        assert_eq!(
            tally.report().to_string(),
            "clockwork: 3 requests, 3 replies, late by p50 0.2 us, p99 1.5 us, max 1.5 us"
        );
    }
}

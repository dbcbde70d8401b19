//! How well a clockwork server kept time.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest lateness told apart: nothing that late keeps time in any sense.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Requests and replies of a clockwork server, and how late the replies were.
///
/// Lateness is the time from when a reply was due to when its `send` was called. It therefore holds
/// the server's own delays and the sends of other replies before it, but not the kernel's work for
/// this one. A reply that the peer does not make room for counts as of the first attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockworkReport {
    /// Requests given a reply time.
    pub requests: u64,
    /// Replies of which at least the beginning was given to the kernel, or tried to.
    pub replies: u64,
    /// Half of the replies were at most this late.
    pub late_p50: Duration,
    /// 99% of them were at most this late.
    pub late_p99: Duration,
    /// The latest.
    pub late_max: Duration,
    /// When each reply was released, in nanoseconds since the script's origin: a list for each
    /// connection, in the order in which they were accepted, each in the order of its replies. Empty
    /// unless [`Options::note`](super::Options::note) asks for it.
    pub released: Vec<Vec<u64>>,
}

impl fmt::Display for ClockworkReport {
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

/// Collects what a [`ClockworkReport`] tells.
pub(super) struct LatenessTally {
    pub(super) requests: u64,
    late: Histogram<u64>,
    accepted: usize,
    released: Option<Vec<Vec<u64>>>,
}

impl LatenessTally {
    /// With a note of each release, or without.
    pub(super) fn new(note: bool) -> Self {
        Self {
            accepted: 0,
            released: note.then(Vec::new),
            requests: 0,
            late: Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are constant"),
        }
    }

    /// The number of a connection that is new.
    pub(super) fn connection(&mut self) -> usize {
        if let Some(released) = &mut self.released {
            released.push(Vec::new());
        }
        self.accepted += 1;
        self.accepted - 1
    }

    /// Notes a reply of a connection that is about to be sent now, and this late.
    pub(super) fn note(&mut self, connection: usize, now_ns: u64, late_ns: u64) {
        self.late.saturating_record(late_ns);
        if let Some(released) = &mut self.released {
            released[connection].push(now_ns);
        }
    }

    pub(super) fn into_report(self) -> ClockworkReport {
        let at = |quantile| Duration::from_nanos(self.late.value_at_quantile(quantile));
        ClockworkReport {
            requests: self.requests,
            replies: self.late.len(),
            late_p50: at(0.5),
            late_p99: at(0.99),
            late_max: Duration::from_nanos(self.late.max()),
            released: self.released.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_well() {
        let mut tally = LatenessTally::new(false);
        tally.requests = 3;
        let number = tally.connection();
        for late in [100, 200, 1_500] {
            tally.note(number, 5_000, late);
        }
        let report = tally.into_report();
        assert_eq!(
            report.to_string(),
            "clockwork: 3 requests, 3 replies, late by p50 0.2 us, p99 1.5 us, max 1.5 us"
        );
        assert!(report.released.is_empty());
    }

    #[test]
    fn releases_are_noted_by_connection() {
        let mut tally = LatenessTally::new(true);
        let (first, second) = (tally.connection(), tally.connection());
        for (connection, now) in [(second, 10), (first, 20), (second, 30)] {
            tally.note(connection, now, 0);
        }
        assert_eq!(tally.into_report().released, [vec![20], vec![10, 30]]);
    }
}

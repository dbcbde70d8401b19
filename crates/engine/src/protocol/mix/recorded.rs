//! Requests in an order and at times of their own.

use crate::clock::Nanos;
use crate::schedule::Share;
use serde::{Deserialize, Serialize};

/// Recorded requests: when each is due, and its request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// How long it lasts, in nanoseconds.
    pub length: Nanos,
    /// In nanoseconds since the load began, in order.
    pub due: Vec<Nanos>,
    /// The requests, as many as there are times.
    pub requests: Vec<RecordedRequest>,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedRequest {
    /// The request, by its place in the mix.
    pub request: u32,
    /// The row of its tables; without one the next is taken.
    pub row: Option<u32>,
}

/// The part of a worker, in order. It is sent in that order, whichever connection is free.
#[derive(Debug)]
pub(super) struct Recording {
    own: Vec<RecordedRequest>,
    next: usize,
}

impl Recording {
    /// Recording of the requests that are due on the connections of this share.
    pub(super) fn new(recorded: &Recorded, share: Share) -> Self {
        let all = recorded.requests.iter().copied().enumerate();
        Self {
            own: all
                .filter(|&(nth, _)| share.has(nth as u64))
                .map(|(_, request)| request)
                .collect(),
            next: 0,
        }
    }

    /// The next one; after the last one it stays with that.
    #[inline]
    pub(super) fn next(&mut self) -> RecordedRequest {
        let last = self.own.len() - 1;
        let at = self.next.min(last);
        self.next = at + 1;
        self.own[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Replayed, Schedule};

    /// Workers send together what was recorded, each of them at its times.
    #[test]
    fn workers_share_a_recording() {
        let n = 100;
        let recorded = Recorded {
            length: 1_000,
            due: (0..n).map(|nth| nth * 10).collect(),
            requests: (0..n)
                .map(|nth| RecordedRequest {
                    request: nth as u32,
                    row: None,
                })
                .collect(),
        };
        for (workers, total) in [(1, 1), (1, 7), (2, 7), (3, 3), (4, 64)] {
            let mut sent = Vec::new();
            for worker in 0..workers {
                let share = Share {
                    worker,
                    workers,
                    total,
                };
                let mut recording = Recording::new(&recorded, share);
                let mut schedule = Replayed::new(&recorded.due, share);
                while let Some(arrival) = schedule.peek().filter(|arrival| arrival.due < 1_000) {
                    assert!(arrival.connection < share.connections());
                    sent.push((arrival.due, recording.next().request));
                    schedule.advance();
                }
                // After the last one nothing is due any more.
                assert_eq!(schedule.skip(Nanos::MAX / 8).count, 0);
            }
            sent.sort_unstable();
            let expected: Vec<(Nanos, u32)> = (0..n).map(|nth| (nth * 10, nth as u32)).collect();
            assert_eq!(sent, expected, "{workers} workers, {total} connections");
        }
    }
}

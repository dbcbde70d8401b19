//! Rests between requests, when the protocol wants them.

use super::Worker;
use crate::clock::Nanos;
use crate::protocol::{NextSend, Session};
use crate::schedule::Schedule;
use crate::transport::{Outgoing, Slot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Connections that rest, and until when.
pub(super) struct Rests {
    /// For each slot; 0: it does not rest. Empty when the protocol knows no rests.
    until: Vec<Nanos>,
    /// In the order of their ends. One that is not as `until` says ended with its connection.
    queue: BinaryHeap<Reverse<(Nanos, Slot)>>,
}

impl Rests {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            until: vec![0; slots],
            queue: BinaryHeap::new(),
        }
    }

    fn begin(&mut self, slot: Slot, until: Nanos) {
        self.until[slot as usize] = until;
        self.queue.push(Reverse((until, slot)));
    }

    /// The connection is gone, and its rest with it.
    pub(super) fn forget(&mut self, slot: Slot) {
        self.until[slot as usize] = 0;
    }

    /// When the next rest ends.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.queue.peek().map(|&Reverse((at, _))| at)
    }

    /// A connection whose rest has ended by `now`, and when.
    fn ended(&mut self, now: Nanos) -> Option<(Nanos, Slot)> {
        while self.next().is_some_and(|at| at <= now) {
            let Reverse((at, slot)) = self.queue.pop()?;
            if self.until[slot as usize] == at {
                self.until[slot as usize] = 0;
                return Some((at, slot));
            }
        }
        None
    }
}

impl<S: Schedule, P: Session> Worker<'_, S, P> {
    /// Does the protocol want the next request of an open connection to be sent now? If it shall
    /// rest, that begins.
    #[inline]
    pub(super) fn may_go_on(&mut self, slot: Slot, at: Nanos) -> bool {
        if self.protocol.rests() && self.rests.until[slot as usize] != 0 {
            return false;
        }
        let connection = &mut self.connections[slot as usize];
        match self.protocol.pace(&mut connection.proto, slot) {
            NextSend::Now => true,
            NextSend::WhenAnswered => false,
            NextSend::After(rest) => {
                self.rests.begin(slot, at.saturating_add(rest));
                false
            }
        }
    }

    /// Sends on connections that have rested: their request is due since the end of the rest.
    #[cold]
    pub(super) fn wake<O: Outgoing>(&mut self, out: &mut O, now: Nanos) {
        while let Some((due, slot)) = self.rests.ended(now) {
            let begun = self.connections[slot as usize].flow.calls > 0;
            if begun && !S::CLOSED {
                // What is in the backlog are other connections: the session knows that it has rested.
                self.fill(out, slot, now, u32::MAX);
                continue;
            }
            if begun || self.admit(due) {
                self.connections[slot as usize].backlog.push(due);
                self.waiting += 1;
                self.fill(out, slot, now, u32::MAX);
            }
        }
    }
}

//! Rests between requests, when the protocol wants them, and other times at which a connection is to be looked after.

use super::Worker;
use super::connection::Link;
use crate::clock::Nanos;
use crate::protocol::{NextSend, Session};
use crate::schedule::Schedule;
use crate::transport::{Outgoing, Slot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Connections for which something is due, and when.
pub(super) struct Alarms {
    /// For each slot; 0: nothing is. Empty where nothing ever is.
    until: Vec<Nanos>,
    /// In their order. One that is not as `until` says is of no use any more.
    queue: BinaryHeap<Reverse<(Nanos, Slot)>>,
}

impl Alarms {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            until: vec![0; slots],
            queue: BinaryHeap::new(),
        }
    }

    /// Sets the time of a connection.
    fn begin(&mut self, slot: Slot, until: Nanos) {
        self.until[slot as usize] = until;
        self.queue.push(Reverse((until, slot)));
    }

    /// Nothing is due for the connection any more.
    pub(super) fn forget(&mut self, slot: Slot) {
        self.until[slot as usize] = 0;
    }

    /// The next time.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.queue.peek().map(|&Reverse((at, _))| at)
    }

    /// A connection whose time has come by `now`, and when that was.
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
    /// Something has happened on a connection, which may want to be woken at another time now. A time that is put off is
    /// looked at when it comes: mostly it has been put off again by then.
    #[inline]
    pub(super) fn arm(&mut self, slot: Slot) {
        if !P::TIMERS {
            return;
        }
        let connection = &mut self.connections[slot as usize];
        if connection.link != Link::Closed
            && let Some(at) = self.protocol.timer(&mut connection.proto)
        {
            let set = self.timers.until[slot as usize];
            if set == 0 || at < set {
                self.timers.begin(slot, at.max(1));
            }
        }
    }

    /// Wakes the connections whose time has come.
    pub(super) fn fire<O: Outgoing>(&mut self, out: &mut O, now: Nanos) {
        while let Some((_, slot)) = self.timers.ended(now) {
            let connection = &mut self.connections[slot as usize];
            if connection.link == Link::Closed {
                continue;
            }
            let at = self.protocol.timer(&mut connection.proto);
            if at.is_some_and(|at| at <= now) {
                self.woken(out, slot, now);
            }
            self.arm(slot);
        }
    }

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

//! Rests between requests, when the protocol wants them.

use super::{Event, Worker};
use crate::clock::Nanos;
use crate::protocol::{Pace, Protocol};
use crate::schedule::Schedule;
use crate::transport::{Outgoing, Slot};
use std::cmp::Reverse;

impl<S: Schedule, P: Protocol, F: FnMut(Event)> Worker<'_, S, P, F> {
    /// Does the protocol want the next request of an open connection to be sent now? If it shall
    /// rest, that begins.
    #[inline]
    pub(super) fn may_go_on(&mut self, slot: Slot, at: Nanos) -> bool {
        let connection = &mut self.connections[slot as usize];
        if self.protocol.rests() && connection.rest.is_some() {
            return false;
        }
        match self.protocol.pace(&mut connection.proto, slot) {
            Pace::Now => true,
            Pace::WhenAnswered => false,
            Pace::After(rest) => {
                let until = at.saturating_add(rest);
                connection.rest = Some(until);
                self.resting.push(Reverse((until, slot)));
                false
            }
        }
    }

    /// Sends on connections that have rested: their request is due since the end of the rest.
    #[cold]
    pub(super) fn wake<O: Outgoing>(&mut self, out: &mut O, now: Nanos) {
        while let Some(&Reverse((due, slot))) = self.resting.peek()
            && due <= now
        {
            self.resting.pop();
            let connection = &mut self.connections[slot as usize];
            if connection.rest != Some(due) {
                continue;
            }
            connection.rest = None;
            if self.admit(due) {
                self.connections[slot as usize].backlog.push_back(due);
                self.waiting += 1;
                self.fill(out, slot, now);
            }
        }
    }
}

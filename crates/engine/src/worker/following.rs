//! Connections that are spread over several addresses: each goes to its own, and follows it when that changes.

use super::Worker;
use super::connection::Link;
use crate::clock::Nanos;
use crate::protocol::Session;
use crate::schedule::Schedule;
use crate::transport::{Outgoing, Slot};
use std::io;

impl<S: Schedule, P: Session> Worker<'_, S, P> {
    /// Sets where a slot's next connection goes to, where there are several addresses.
    pub(super) fn aim<O: Outgoing>(
        &mut self,
        out: &mut O,
        slot: Slot,
        now: Nanos,
    ) -> io::Result<()> {
        let tracer = self.tracer.as_mut();
        match tracer.and_then(|tracer| tracer.address(slot, now)) {
            Some(address) => out.aim(address),
            None => Ok(()),
        }
    }

    /// Closes connections that belong to other addresses by now, each when nothing is in flight on it; they are then
    /// opened again.
    #[cold]
    pub(super) fn follow<O: Outgoing>(&mut self, out: &mut O, now: Nanos) {
        let Some(tracer) = &mut self.tracer else {
            return;
        };
        for slot in tracer.moved(now) {
            if self.connections[slot as usize].link == Link::Open {
                self.drain(slot);
                self.go_on(out, slot, now);
            }
        }
    }
}

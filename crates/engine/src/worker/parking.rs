//! Connections that take part. In a closed loop their number may change while the load lasts, in an open one it may
//! grow.

use super::Worker;
use super::connection::Link;
use crate::clock::Nanos;
use crate::protocol::{InFlight, Session};
use crate::recorder::RequestFailure;
use crate::schedule::{Population, Schedule, Share};
use crate::transport::{Outgoing, Slot};
use prony_record::Stage;

/// The connections that take part: the first `on` ones. The others are closed.
pub(super) struct Parking {
    on: Slot,
    population: Option<Population>,
    next_change: Nanos,
}

impl Parking {
    /// Without stages `first` of them, and those that are [added](Self::add).
    pub(super) fn new(stages: &[Stage], share: Share, first: Slot) -> Self {
        let population = Population::new(stages, share);
        Self {
            on: population.as_ref().map_or(first, |it| it.own(0)),
            population,
            next_change: Nanos::MAX,
        }
    }

    /// How many take part.
    #[inline]
    pub(super) fn on(&self) -> Slot {
        self.on
    }

    /// One more takes part.
    pub(super) fn add(&mut self) {
        self.on += 1;
    }

    /// When that may change next.
    #[inline]
    pub(super) fn next_change(&self) -> Nanos {
        self.next_change
    }

    /// The load has begun.
    pub(super) fn begin(&mut self, start: Nanos) {
        self.change(start, start);
    }

    /// Updates how many connections take part to the number for `now`; returns how many did before.
    fn change(&mut self, start: Nanos, now: Nanos) -> Slot {
        let before = self.on;
        if let Some(population) = &self.population {
            let time = now.saturating_sub(start);
            self.on = population.own(time);
            let next = population.next_change(time);
            self.next_change = next.map_or(Nanos::MAX, |next| start.saturating_add(next));
        }
        before
    }
}

impl<S: Schedule, P: Session> Worker<'_, S, P> {
    /// Opens connections that take part from now on, and closes those that do not any more, when what they have in
    /// flight is answered.
    #[cold]
    pub(super) fn park<O: Outgoing>(&mut self, out: &mut O, start: Nanos, now: Nanos) {
        let before = self.parking.change(start, now);
        let on = self.parking.on();
        for slot in before..on {
            if self.connections[slot as usize].link == Link::Closed {
                self.reopen(slot, now);
            }
        }
        for slot in on..before {
            self.leave(out, slot, now);
        }
    }

    /// A connection takes part no more.
    fn leave<O: Outgoing>(&mut self, out: &mut O, slot: Slot, now: Nanos) {
        let connection = &mut self.connections[slot as usize];
        let idle = connection.flow.in_flight.is_empty();
        match connection.link {
            Link::Open | Link::Draining if !idle => self.drain(slot),
            Link::Closed => self.forgo(slot),
            _ => {
                self.close(out, slot, now, RequestFailure::Read);
                self.forgo(slot);
            }
        }
    }

    /// Drops the requests that waited for this connection to open.
    pub(super) fn forgo(&mut self, slot: Slot) {
        let backlog = &mut self.connections[slot as usize].backlog;
        self.waiting -= backlog.take(usize::MAX).count() as u64;
    }
}

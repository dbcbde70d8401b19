//! Sending what is due.

use super::Worker;
use super::connection::{Connection, Link};
use crate::clock::{self, Nanos};
use crate::protocol::{InFlight, Session};
use crate::recorder::{RequestFailure, RequestTimes};
use crate::schedule::Schedule;
use crate::transport::{Outgoing, Slot};

impl<S: Schedule, P: Session> Worker<'_, S, P> {
    /// May a request that is due at `due` still be sent? Counts it if so.
    #[inline]
    pub(super) fn admit(&mut self, due: Nanos) -> bool {
        if due >= self.recorder.until {
            return false;
        }
        if due >= self.recorder.from {
            if self.quota == 0 {
                return false;
            }
            self.quota -= 1;
        }
        true
    }

    /// Sends what the schedule says is due.
    #[inline]
    pub(super) fn issue<O: Outgoing>(&mut self, out: &mut O, start: Nanos, now: Nanos) {
        if S::CLOSED {
            return;
        }
        while let Some(arrival) = self.schedule.peek() {
            let due = start.saturating_add(arrival.due);
            if due > now || self.waiting >= self.most_waiting || !self.admit(due) {
                return;
            }
            self.schedule.advance();
            self.waiting += 1;
            if self.pool.any() {
                self.pool.queue.push(due);
                self.deal(out, now);
                continue;
            }
            let connection = &mut self.connections[arrival.connection as usize];
            connection.backlog.push(due);
            match connection.link {
                Link::Open => self.fill(out, arrival.connection, now, u32::MAX),
                Link::Closed if connection.backlog.len() == 1 && !self.keepalive => {
                    self.to_open.push_back(arrival.connection);
                }
                _ => {}
            }
        }
        self.open_some(out, now);
    }

    /// Sends on an open connection what the session has written, and as many requests as are due
    /// and fit, but no more than `most`.
    #[inline]
    pub(super) fn fill<O: Outgoing>(&mut self, out: &mut O, slot: Slot, at: Nanos, most: u32) {
        self.write_requests(slot, at, most);
        self.flush(out, slot, at);
        if !S::CLOSED && self.keepalive && self.pool.any() {
            let index = slot as usize;
            if self.connections[index].link == Link::Open && self.has_room(index) {
                self.pool.list(slot);
            }
        }
    }

    /// Writes as many requests as are due and fit on an open connection, but no more than `most`.
    #[inline(always)] // a part of `fill`
    fn write_requests(&mut self, slot: Slot, at: Nanos, most: u32) {
        let index = slot as usize;
        let Connection { flow, backlog, .. } = &self.connections[index];
        // A connection of its own for a number of calls: has the first been sent?
        let begun = !self.keepalive && flow.calls > 0;
        let nothing = !S::CLOSED && !begun && backlog.is_empty() && self.pool.queue.is_empty();
        if (begun && !flow.in_flight.is_empty()) || nothing {
            return;
        }
        if self.closes && at >= flow.expires {
            self.connections[index].flow.expire();
            return;
        }
        let sent = if S::CLOSED { at } else { clock::now() };
        for _ in 0..most {
            if !self.has_room(index) {
                break;
            }
            let again = self.connections[index].backlog.again();
            let Some(due) = self.next_due(slot, at) else {
                break;
            };
            let Connection { proto, flow, .. } = &mut self.connections[index];
            // How late the generator was is known from when it was first sent.
            if !S::CLOSED && !again {
                self.recorder
                    .late(due, sent.saturating_sub(due.max(flow.free)));
            }
            let times = &mut self.times[index * self.pipeline..][..self.pipeline];
            let token = flow.put(times, RequestTimes { due, sent });
            self.protocol.request(proto, slot, token, &mut self.unsent);
            self.in_flight += 1;
            if !S::CLOSED {
                self.sent += 1;
            }
            if self.closes {
                flow.calls += 1;
            }
        }
    }

    /// Can another request be sent on an open connection?
    #[inline(always)]
    pub(super) fn has_room(&self, index: usize) -> bool {
        let Connection { proto, flow, .. } = &self.connections[index];
        (flow.in_flight.len() as usize) < self.pipeline
            && flow.calls < flow.limit
            && self.protocol.accepts(proto)
    }

    /// Sends what was written for a connection.
    #[inline(always)]
    pub(super) fn flush<O: Outgoing>(&mut self, out: &mut O, slot: Slot, at: Nanos) {
        let proto = &mut self.connections[slot as usize].proto;
        self.protocol.pack(proto, &mut self.unsent);
        self.arm(slot);
        if self.unsent.is_empty() {
            return;
        }
        self.recorder.record.bytes_sent += P::payload(&self.unsent);
        let result = out.send(slot, &self.unsent);
        self.unsent.clear();
        if let Err(error) = result {
            self.lose(out, slot, at, RequestFailure::Write, Some(&error));
        }
    }

    /// Sends what was written for a connection that is closed next. Whether it still takes it does not matter.
    #[inline]
    pub(super) fn say_last<O: Outgoing>(&mut self, out: &mut O, slot: Slot) {
        let proto = &mut self.connections[slot as usize].proto;
        self.protocol.pack(proto, &mut self.unsent);
        if !self.unsent.is_empty() {
            self.recorder.record.bytes_sent += P::payload(&self.unsent);
            let _ = out.send(slot, &self.unsent);
            self.unsent.clear();
        }
    }

    /// Says goodbye on a connection that is closed next, where the protocol has a word for it.
    #[inline]
    pub(super) fn part<O: Outgoing>(&mut self, out: &mut O, slot: Slot) {
        self.unsent.clear();
        self.dropped += out.dropped_datagrams(slot);
        let proto = &mut self.connections[slot as usize].proto;
        self.protocol.goodbye(proto, &mut self.unsent);
        self.say_last(out, slot);
    }

    /// When the next request of an open connection is due, if one is to be sent now.
    #[inline]
    fn next_due(&mut self, slot: Slot, at: Nanos) -> Option<Nanos> {
        let Connection { flow, backlog, .. } = &mut self.connections[slot as usize];
        let begun = !self.keepalive && flow.calls > 0;
        // What waits beside a connection that is begun are, in an open loop, other connections.
        if (S::CLOSED || !begun)
            && let Some(due) = backlog.pop()
        {
            self.waiting -= 1;
            return Some(due);
        }
        // Without keep-alive a connection is opened for the request that waits for the longest.
        if !S::CLOSED
            && self.keepalive
            && let Some(due) = self.pool.queue.pop()
        {
            self.waiting -= 1;
            return Some(due);
        }
        let wanted = if S::CLOSED {
            self.may_go_on(slot, at) && (begun || self.admit(at))
        } else {
            begun && (!self.protocol.rests() || self.may_go_on(slot, at))
        };
        wanted.then_some(at)
    }

    /// Has a connection that is for a number of requests done all of them?
    #[inline]
    pub(super) fn used_up(&self, index: usize, at: Nanos) -> bool {
        let flow = &self.connections[index].flow;
        self.closes
            && flow.calls > 0
            && flow.in_flight.is_empty()
            && (flow.calls >= flow.limit
                || at >= flow.expires
                || (!self.keepalive && at >= self.recorder.until))
    }
}

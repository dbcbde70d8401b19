//! The connections of an open loop as one pool: a request that is due is sent on any that is free, and waits only while all of
//! them are busy.

use super::backlog::Backlog;
use super::connection::Link;
use super::growth::{Growth, Sight};
use super::{Plan, Worker};
use crate::clock::Nanos;
use crate::protocol::Session;
use crate::schedule::{Schedule, Share};
use crate::transport::{Outgoing, Slot};
use prony_record::load::Assignment;
use std::collections::VecDeque;

pub(super) struct Pool {
    /// Requests wait for any connection, not for one of their own.
    any: bool,
    /// Requests that are due and have no connection yet.
    pub(super) queue: Backlog,
    /// Connections that can take a request, the one that has been free for the longest first; without keep-alive those that can be
    /// opened for one. Each at most once. One that has ended since it came here is passed over.
    free: VecDeque<Slot>,
    listed: Vec<bool>,
    pub(super) growth: Growth,
}

impl Pool {
    pub(super) fn new(plan: &Plan, share: Share) -> Self {
        let load = &plan.load;
        let any = load.rate.is_some() && load.assignment == Assignment::Any;
        let most = share.connections();
        let first = Share {
            total: load.connections,
            ..share
        };
        let on = match any {
            true => first.connections(),
            false => most,
        };
        let mut pool = Self {
            any,
            queue: Backlog::default(),
            free: VecDeque::new(),
            listed: vec![false; if any { most as usize } else { 0 }],
            growth: Growth::new(on, most),
        };
        if !load.keepalive {
            (0..on).for_each(|slot| pool.list(slot));
        }
        pool
    }

    /// How many are used at first.
    pub(super) fn first(&self) -> Slot {
        self.growth.target()
    }

    /// Do requests wait for any connection?
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// A connection can take a request.
    #[inline]
    pub(super) fn list(&mut self, slot: Slot) {
        if self.any && !std::mem::replace(&mut self.listed[slot as usize], true) {
            self.free.push_back(slot);
        }
    }

    #[inline]
    fn take(&mut self) -> Option<Slot> {
        let slot = self.free.pop_front()?;
        self.listed[slot as usize] = false;
        Some(slot)
    }
}

impl<S: Schedule, P: Session> Worker<'_, S, P> {
    /// Sends what waits, one request on each connection in turn, while any is free.
    #[inline]
    pub(super) fn deal<O: Outgoing>(&mut self, out: &mut O, now: Nanos) {
        while !self.pool.queue.is_empty() {
            let Some(slot) = self.pool.take() else {
                return;
            };
            let index = slot as usize;
            let link = self.connections[index].link;
            if self.keepalive {
                if link == Link::Open && self.has_room(index) {
                    self.fill(out, slot, now, 1);
                }
            } else if link == Link::Closed {
                self.open_for_next(slot);
            }
        }
    }

    /// A closed connection is opened for the request that waits for the longest; false: none waits.
    pub(super) fn open_for_next(&mut self, slot: Slot) -> bool {
        let Some(due) = self.pool.queue.pop() else {
            return false;
        };
        self.connections[slot as usize].backlog.push(due);
        self.to_open.push_back(slot);
        true
    }

    /// Opens more connections where the rate needs them.
    #[cold]
    pub(super) fn grow<O: Outgoing>(&mut self, out: &mut O, now: Nanos) {
        let on = self.parking.on();
        let seen = Sight {
            on,
            connecting: match self.keepalive {
                true => self.connecting,
                // They are made and closed all the time.
                false => 0,
            },
            in_flight: self.in_flight,
            waiting: self.waiting,
            ended: self.sent - self.in_flight,
            pipeline: self.pipeline as u32,
        };
        for slot in on..on + self.pool.growth.look(now, &seen) {
            self.parking.add();
            match self.keepalive {
                true => self.to_open.push_back(slot),
                false => self.pool.list(slot),
            }
        }
        self.open_some(out, now);
        self.deal(out, now);
    }
}

//! One connection as a worker sees it.

use crate::clock::Nanos;
use crate::recorder::Sent;
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Closed,
    /// Since when.
    Connecting(Nanos),
    Open,
}

pub(super) struct Connection<C> {
    pub(super) link: Link,
    pub(super) proto: C,
    pub(super) flow: Flow,
    /// Due times of requests that could not be sent yet.
    pub(super) backlog: VecDeque<Nanos>,
}

/// What was sent on a connection and what came back.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// Requests sent and not answered are `ring[first..first + in_flight]`, modulo the pipeline.
    first: u32,
    pub(super) in_flight: u32,
    /// Since when another request could be sent.
    pub(super) free: Nanos,
    /// Has there been an answer since the connection was opened?
    pub(super) useful: bool,
    pub(super) answers: u64,
    /// Requests sent since the connection was opened; counted only without keep-alive.
    pub(super) calls: u32,
}

impl<C: Default> Connection<C> {
    pub(super) fn new() -> Self {
        Self {
            link: Link::Closed,
            proto: C::default(),
            flow: Flow::default(),
            backlog: VecDeque::new(),
        }
    }
}

impl Flow {
    /// The connection has been made.
    pub(super) fn begin(&mut self, at: Nanos) {
        self.free = at;
        self.useful = false;
        self.calls = 0;
    }

    /// The oldest request in flight.
    pub(super) fn oldest(&self, ring: &[Sent]) -> Sent {
        ring[self.first as usize]
    }

    /// Takes out the oldest request in flight.
    #[inline]
    pub(super) fn take(&mut self, ring: &[Sent]) -> Sent {
        let request = self.oldest(ring);
        self.first = if self.first as usize + 1 == ring.len() {
            0
        } else {
            self.first + 1
        };
        self.in_flight -= 1;
        request
    }

    /// Adds a request that was sent.
    #[inline]
    pub(super) fn put(&mut self, ring: &mut [Sent], request: Sent) {
        let at = (self.first + self.in_flight) as usize;
        ring[if at >= ring.len() {
            at - ring.len()
        } else {
            at
        }] = request;
        self.in_flight += 1;
    }
}

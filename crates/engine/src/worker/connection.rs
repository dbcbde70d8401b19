//! One connection as a worker sees it.

use crate::clock::Nanos;
use crate::protocol::Answer;
use crate::recorder::Sent;
use crate::trace::Sample;
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
    /// Its number among all connections of the load, from 1.
    pub(super) serial: u64,
    /// How long it took to be made; 0 after its first answer.
    pub(super) connect: Nanos,
    /// When the oldest request's answer began to come; 0 while it has not.
    pub(super) first_byte: Nanos,
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
    /// A connection has been made, in so much time.
    pub(super) fn begin(&mut self, serial: u64, at: Nanos, connect: Nanos) {
        self.free = at;
        self.useful = false;
        self.calls = 0;
        self.serial = serial;
        self.connect = connect;
        self.first_byte = 0;
    }

    /// What is known of `request`, which ended at `at`: with `answer`, or too late.
    pub(super) fn sample(&self, request: Sent, at: Nanos, answer: Option<&Answer>) -> Sample {
        Sample {
            connection: self.serial,
            connect: self.connect,
            due: request.due,
            sent: request.sent,
            first_byte: if self.first_byte == 0 {
                at
            } else {
                self.first_byte
            },
            done: at,
            body: answer.map_or(0, |answer| answer.body),
            status: answer.map_or(0, |answer| answer.status),
            last: answer.is_none_or(|answer| answer.last),
        }
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

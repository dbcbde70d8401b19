//! One connection as a worker sees it.

use super::backlog::Backlog;
use crate::clock::Nanos;
use crate::protocol::{InFlight, Session, Token};
use crate::recorder::RequestTimes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Closed,
    /// Since when. The session's handshake is a part of it.
    Connecting(Nanos),
    /// Set up, and not used for a moment: this server has said something before it was asked, so that
    /// its first bytes must not be taken for an answer.
    Listening,
    Open,
    /// The server takes no more requests. It is closed when none is in flight.
    Draining,
}

pub(super) struct Connection<P: Session> {
    pub(super) link: Link,
    pub(super) proto: P::Conn,
    pub(super) flow: Flow<P::Token>,
    /// Due times of requests that could not be sent yet.
    pub(super) backlog: Backlog,
}

/// Requests and answers of a connection.
pub(super) struct Flow<T: Token> {
    /// Requests sent and not answered.
    pub(super) in_flight: T::InFlight,
    /// Since when another request could be sent.
    pub(super) free: Nanos,
    /// When the connection was made.
    pub(super) opened: Nanos,
    /// Has there been an answer since the connection was opened?
    pub(super) useful: bool,
    /// Requests since the last answer, on whatever connection, that the server did not process, and that are sent again.
    pub(super) left_out: u32,
    pub(super) answers: u64,
    /// Requests sent since the connection was opened; counted only where that closes it.
    pub(super) calls: u32,
}

impl<P: Session> Connection<P> {
    pub(super) fn new() -> Self {
        Self {
            link: Link::Closed,
            proto: P::Conn::default(),
            flow: Flow {
                in_flight: Default::default(),
                free: 0,
                opened: 0,
                useful: false,
                left_out: 0,
                answers: 0,
                calls: 0,
            },
            backlog: Backlog::default(),
        }
    }
}

/// `times` are those of the requests in flight on this connection, by place.
impl<T: Token> Flow<T> {
    /// The connection has been made.
    pub(super) fn begin(&mut self, at: Nanos) {
        (self.free, self.opened) = (at, at);
        self.useful = false;
        self.calls = 0;
    }

    /// The oldest request in flight.
    #[inline]
    pub(super) fn oldest(&self, times: &[RequestTimes]) -> Option<(T, RequestTimes)> {
        let (token, place) = self.in_flight.oldest()?;
        Some((token, times[place]))
    }

    /// Takes out a request in flight, which has ended at `at`.
    #[inline]
    pub(super) fn take(&mut self, token: T, times: &[RequestTimes], at: Nanos) -> RequestTimes {
        if self.in_flight.len() as usize == times.len() {
            self.free = at;
        }
        times[self.in_flight.take(token, times.len())]
    }

    /// Adds a request that was sent.
    #[inline]
    pub(super) fn put(&mut self, times: &mut [RequestTimes], request: RequestTimes) -> T {
        let (token, place) = self.in_flight.put(times.len());
        times[place] = request;
        token
    }
}

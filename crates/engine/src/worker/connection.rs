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
    /// How many answers have come in part.
    begun: u32,
    /// When their first bytes came, by place; 0 for the others. Empty until there is one.
    firsts: Vec<Nanos>,
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
                begun: 0,
                firsts: Vec::new(),
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

    /// The first byte of an answer has come at `at`.
    pub(super) fn begin_answer(&mut self, token: T, times: &[RequestTimes], at: Nanos) {
        let Some(place) = self.in_flight.place(token) else {
            return;
        };
        if self.firsts.is_empty() {
            self.firsts = vec![0; times.len()];
        }
        self.firsts[place] = at.max(times[place].sent);
        self.begun += 1;
    }

    /// Takes out a request in flight, which has ended at `at`. Gives also when the first byte of its answer came, if that was
    /// before the last.
    #[inline]
    pub(super) fn take(
        &mut self,
        token: T,
        times: &[RequestTimes],
        at: Nanos,
    ) -> (RequestTimes, Option<Nanos>) {
        if self.in_flight.len() as usize == times.len() {
            self.free = at;
        }
        let place = self.in_flight.take(token, times.len());
        let first = match self.begun {
            0 => None,
            _ => self.take_first(place).filter(|&first| first < at),
        };
        (times[place], first)
    }

    fn take_first(&mut self, place: usize) -> Option<Nanos> {
        let first = std::mem::take(&mut self.firsts[place]);
        self.begun -= u32::from(first > 0);
        (first > 0).then_some(first)
    }

    /// Adds a request that was sent.
    #[inline]
    pub(super) fn put(&mut self, times: &mut [RequestTimes], request: RequestTimes) -> T {
        let (token, place) = self.in_flight.put(times.len());
        times[place] = request;
        token
    }
}

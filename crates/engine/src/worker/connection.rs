//! One connection as a worker sees it.

use super::backlog::Backlog;
use crate::clock::Nanos;
use crate::protocol::{InFlight, Session, StreamNews, Token};
use crate::recorder::{AnswerParts, RequestTimes};

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
    /// How many it is for, and until when.
    pub(super) limit: u32,
    pub(super) expires: Nanos,
    /// True once the connection has been opened before.
    reopened: bool,
    /// How many answers have come in part.
    begun: u32,
    /// How many of them are streams of which an event has come.
    pub(super) streams: u32,
    /// The parts that have come of them, by place. Empty until there is one.
    parts: Vec<AnswerParts>,
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
                limit: u32::MAX,
                expires: Nanos::MAX,
                reopened: false,
                begun: 0,
                streams: 0,
                parts: Vec::new(),
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

    /// Limits a new connection to this number of requests and to this lifetime. The first connection of a slot gets only the
    /// `share` (0 to 1) of both, which differs from slot to slot, so that connections do not all end together.
    pub(super) fn limit(&mut self, calls: u32, lifetime: Nanos, share: f64, at: Nanos) {
        let part = match std::mem::replace(&mut self.reopened, true) {
            true => 1.0,
            false => share,
        };
        let of = |whole: f64| (whole * part).ceil();
        self.limit = match calls {
            u32::MAX => u32::MAX,
            calls => (of(f64::from(calls)) as u32).max(1),
        };
        self.expires = match lifetime {
            Nanos::MAX => Nanos::MAX,
            lifetime => at.saturating_add(of(lifetime as f64) as Nanos),
        };
    }

    /// The connection takes no more requests.
    pub(super) fn expire(&mut self) {
        self.limit = self.calls;
    }

    /// The oldest request in flight.
    #[inline]
    pub(super) fn oldest(&self, times: &[RequestTimes]) -> Option<(T, RequestTimes)> {
        let (token, place) = self.in_flight.oldest()?;
        Some((token, times[place]))
    }

    /// The parts of an answer, of which something has come.
    fn parts(&mut self, place: usize, places: usize) -> &mut AnswerParts {
        if self.parts.is_empty() {
            self.parts = vec![AnswerParts::default(); places];
        }
        let parts = &mut self.parts[place];
        self.begun += u32::from(parts.is_empty());
        parts
    }

    /// The first byte of an answer has come at `at`.
    pub(super) fn begin_answer(&mut self, token: T, times: &[RequestTimes], at: Nanos) {
        if let Some(place) = self.in_flight.place(token) {
            self.parts(place, times.len()).first_byte = at.max(times[place].sent);
        }
    }

    /// Takes events of an answer that have come together at `at`. Gives its request, and its parts before that.
    pub(super) fn hear(
        &mut self,
        token: T,
        times: &[RequestTimes],
        at: Nanos,
        news: StreamNews,
    ) -> Option<(RequestTimes, AnswerParts)> {
        let place = self.in_flight.place(token)?;
        let request = times[place];
        let parts = self.parts(place, times.len());
        let before = *parts;
        parts.hear(at.max(request.sent), news);
        self.streams += u32::from(before.events == 0);
        Some((request, before))
    }

    /// A stream has said that it is over.
    pub(super) fn over(&mut self, token: T, times: &[RequestTimes], at: Nanos) {
        if let Some(place) = self.in_flight.place(token) {
            self.parts(place, times.len()).over = at.max(times[place].sent);
        }
    }

    /// Takes out a request in flight, which has ended at `at`. Gives also its place, of which the
    /// [parts](Self::take_parts) of its answer are to be taken.
    #[inline]
    pub(super) fn take(
        &mut self,
        token: T,
        times: &[RequestTimes],
        at: Nanos,
    ) -> (RequestTimes, usize) {
        if self.in_flight.len() as usize == times.len() {
            self.free = at;
        }
        let place = self.in_flight.take(token, times.len());
        (times[place], place)
    }

    /// Has something come of any answer?
    #[inline]
    pub(super) fn has_parts(&self) -> bool {
        self.begun > 0
    }

    /// Takes what has come of the answer to a request that was in this place.
    #[cold]
    pub(super) fn take_parts(&mut self, place: usize) -> Option<AnswerParts> {
        if self.begun == 0 {
            return None;
        }
        let parts = std::mem::take(&mut self.parts[place]);
        if parts.is_empty() {
            return None;
        }
        self.begun -= 1;
        self.streams -= u32::from(parts.events > 0);
        Some(parts)
    }

    /// The requests in flight, the oldest first, with their times and with what has come of their answers.
    pub(super) fn all(
        &self,
        times: &[RequestTimes],
    ) -> impl Iterator<Item = (T, RequestTimes, AnswerParts)> {
        let parts = |place: usize| self.parts.get(place).copied().unwrap_or_default();
        self.in_flight
            .all(times.len())
            .map(move |(token, place)| (token, times[place], parts(place)))
    }

    /// Adds a request that was sent.
    #[inline]
    pub(super) fn put(&mut self, times: &mut [RequestTimes], request: RequestTimes) -> T {
        let (token, place) = self.in_flight.put(times.len());
        times[place] = request;
        token
    }
}

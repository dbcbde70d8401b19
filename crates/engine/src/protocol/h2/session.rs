//! All connections of a worker.

use super::conn::H2Conn;
use super::content::{Content, Plain};
use super::frame::{self, put_header, put_number, put_setting};
use super::request::{Prepared, StreamedExchange};
use super::text::Heads;
use crate::clock::Nanos;
use crate::protocol::{
    AnswerProgress, Booked, Ending, Events, Fault, HeadBytes, Limits, NextSend, Session, Tag,
};
use prony_record::{ByRequest, BySession};

/// The window of every connection before it is told more (RFC 9113, 6.9.2).
const FIRST_WINDOW: u32 = 65_535;

/// Sends a list of requests in turn on every connection, each connection starting at another
/// place in the list, and judges every answer as its content is judged.
#[derive(Debug)]
pub struct H2<C: Content = Plain> {
    setup: Setup<C>,
    state: C::State,
    header_bytes: HeadBytes,
    /// The fewest streams that a server has allowed on a connection; none at all is mostly for a time.
    allowed: u32,
    /// A server has allowed none at all.
    allowed_none: bool,
}

/// Settings that stay the same for all connections and requests.
#[derive(Debug)]
pub(super) struct Setup<C: Content> {
    pub(super) exchanges: Vec<Prepared<C::Expect>>,
    /// All of them have the same fields.
    pub(super) alike: bool,
    /// How the heads of requests are encoded that are composed.
    pub(super) composed: Heads,
    pub(super) limits: Limits,
    /// Flow-control window of each stream, in bytes.
    pub(super) window: u32,
    /// Flow-control window of each connection, in bytes.
    pub(super) connection_window: u32,
}

impl<C: Content> Setup<C> {
    fn new(exchanges: Vec<Prepared<C::Expect>>, limits: Limits, window: u32) -> Self {
        Self {
            alike: exchanges.iter().all(|it| it.plain == exchanges[0].plain),
            exchanges,
            composed: Heads::default(),
            limits,
            window: window.clamp(1, super::MOST_WINDOW),
            connection_window: window.clamp(FIRST_WINDOW, super::MOST_WINDOW),
        }
    }
}

impl<C: Content<State: Default>> H2<C> {
    /// `exchanges` must not be empty; `window` is that of each stream, in bytes, at least 1 and at most
    /// [`MOST_WINDOW`](super::MOST_WINDOW). A connection has the same, or 65,535 if that is more: HTTP/2 has no less.
    pub fn new(exchanges: Vec<StreamedExchange<C::Expect>>, limits: Limits, window: u32) -> Self {
        assert!(!exchanges.is_empty(), "at least one request is needed");
        let exchanges: Vec<_> = exchanges.into_iter().map(Prepared::new).collect();
        Self {
            setup: Setup::new(exchanges, limits, window),
            state: C::State::default(),
            header_bytes: HeadBytes::default(),
            allowed: u32::MAX,
            allowed_none: false,
        }
    }
}

impl<C: Content<Expect = ()>> H2<C> {
    /// Requests that are composed, whose heads are encoded in this way.
    pub(in crate::protocol) fn composed(
        state: C::State,
        heads: Heads,
        limits: Limits,
        window: u32,
    ) -> Self {
        let mut setup = Setup::new(vec![Prepared::of_composed()], limits, window);
        setup.composed = heads;
        Self {
            setup,
            state,
            header_bytes: HeadBytes::default(),
            allowed: u32::MAX,
            allowed_none: false,
        }
    }
}

impl<C: Content> H2<C> {
    /// Returns the state of the worker beside its requests.
    pub fn state(&mut self) -> &mut C::State {
        &mut self.state
    }

    /// The same with another window for each connection than for its streams, in bytes; at least 65,535.
    #[must_use]
    pub fn with_connection_window(mut self, window: u32) -> Self {
        self.setup.connection_window = window.clamp(FIRST_WINDOW, super::MOST_WINDOW);
        self
    }
}

/// Appends what a client says first on a connection.
pub(super) fn greet(window: u32, connection_window: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(frame::PREFACE);
    put_header(12, frame::SETTINGS, 0, 0, out);
    put_setting(frame::ENABLE_PUSH, 0, out);
    put_setting(frame::INITIAL_WINDOW_SIZE, window, out);
    if connection_window > FIRST_WINDOW {
        let more = connection_window - FIRST_WINDOW;
        put_number(frame::WINDOW_UPDATE, 0, more, out);
    }
}

impl<C: Content> Session for H2<C> {
    type Conn = H2Conn<C>;
    type Token = Tag;

    fn opened(
        &mut self,
        conn: &mut H2Conn<C>,
        slot: u32,
        out: &mut Vec<u8>,
        _: &mut impl Events<Tag>,
    ) {
        conn.slot = slot;
        greet(self.setup.window, self.setup.connection_window, out);
        if C::COMPOSES {
            C::opened(&mut self.state, conn.streams.reading(0), slot);
        }
    }

    #[inline]
    fn accepts(&self, conn: &H2Conn<C>) -> bool {
        conn.accepts() && C::accepts(&self.state, conn.streams.first())
    }

    #[inline]
    fn request(&mut self, conn: &mut H2Conn<C>, slot: u32, tag: Tag, out: &mut Vec<u8>) {
        conn.request((&self.setup, &mut self.state), slot, tag, out);
    }

    fn received(
        &mut self,
        conn: &mut H2Conn<C>,
        _: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        let result = conn.received((&self.setup, &mut self.state), bytes, out, events);
        let header_bytes = std::mem::take(&mut conn.heads);
        self.header_bytes = self.header_bytes.merge(header_bytes);
        match conn.most_streams {
            0 => self.allowed_none = true,
            some => self.allowed = self.allowed.min(some),
        }
        result
    }

    fn end(&mut self, _: &mut H2Conn<C>, _: u32, _: &mut impl Events<Tag>) {}

    fn cancel(&mut self, conn: &mut H2Conn<C>, _: u32, tag: Tag, out: &mut Vec<u8>) -> bool {
        conn.cancel(tag, out);
        true
    }

    fn streams(&self) -> bool {
        let mut exchanges = self.setup.exchanges.iter();
        C::streams(&self.state) || exchanges.any(|it| C::is_stream(it.wanted().expect))
    }

    fn listens(&self, conn: &H2Conn<C>, tag: Tag) -> Option<Nanos> {
        let stream = conn.streams.in_flight(tag)?;
        C::listens(&self.state, &stream.answer.reading)
    }

    fn hang_up(
        &mut self,
        conn: &mut H2Conn<C>,
        _: u32,
        tag: Tag,
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> bool {
        conn.hang_up_on((&self.setup, &mut self.state), tag, out, events)
    }

    #[inline]
    fn rests(&self) -> bool {
        C::rests(&self.state)
    }

    #[inline]
    fn pace(&mut self, conn: &mut H2Conn<C>, slot: u32) -> NextSend {
        match C::rests(&self.state) {
            true => C::pace(&mut self.state, conn.streams.reading(0), slot),
            false => NextSend::Now,
        }
    }

    #[inline]
    fn ended(&self) -> bool {
        C::ended(&self.state)
    }

    #[inline]
    fn failed(&mut self, conn: &mut H2Conn<C>, tag: Tag, booked: Booked, ending: Ending) {
        if C::COMPOSES {
            let reading = conn.streams.reading(tag.index());
            C::failed(&mut self.state, reading, booked, ending);
        }
    }

    fn heads(&mut self) -> HeadBytes {
        self.header_bytes
    }

    fn progress(&self, conn: &H2Conn<C>, tag: Tag) -> AnswerProgress {
        conn.streams.progress(tag)
    }

    fn streams_allowed(&self) -> Option<u32> {
        match self.allowed {
            u32::MAX => self.allowed_none.then_some(0),
            some => Some(some),
        }
    }

    fn grpc(&mut self) -> Option<prony_record::Grpc> {
        C::counted(&self.state)
    }

    fn by_request(&mut self) -> Vec<ByRequest> {
        C::by_request(&mut self.state)
    }

    fn by_session(&mut self) -> Vec<BySession> {
        C::by_session(&mut self.state)
    }

    fn how_ended(&self, conn: &H2Conn<C>) -> &'static str {
        conn.how_ended()
    }
}

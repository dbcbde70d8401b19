//! All connections of a worker.

use super::conn::H2Conn;
use super::frame::{self, put_header, put_number, put_setting};
use super::request::{H2Exchange, Prepared};
use crate::protocol::{Events, Fault, Limits, Session, Tag};

/// The window of every connection before it is told more (RFC 9113, 6.9.2).
const FIRST_WINDOW: u32 = 65_535;

/// Sends a list of requests in turn on every connection, each connection starting at another
/// place in the list, and judges every answer.
#[derive(Debug, Clone)]
pub struct H2 {
    pub(super) exchanges: Vec<Prepared>,
    pub(super) limits: Limits,
    /// Of each stream, in bytes.
    pub(super) window: u32,
    /// Of each connection.
    pub(super) connection_window: u32,
}

impl H2 {
    /// `exchanges` must not be empty; `window` is that of each stream, in bytes, at least 1 and at most
    /// [`MOST_WINDOW`](super::MOST_WINDOW). A connection has the same, or 65,535 if that is more: HTTP/2 has no less.
    pub fn new(exchanges: Vec<H2Exchange>, limits: Limits, window: u32) -> Self {
        assert!(!exchanges.is_empty(), "at least one request is needed");
        Self {
            exchanges: exchanges.into_iter().map(Prepared::new).collect(),
            limits,
            window: window.clamp(1, super::MOST_WINDOW),
            connection_window: window.clamp(FIRST_WINDOW, super::MOST_WINDOW),
        }
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

impl Session for H2 {
    type Conn = H2Conn;
    type Token = Tag;

    fn opened(&mut self, _: &mut H2Conn, _: u32, out: &mut Vec<u8>, _: &mut impl Events<Tag>) {
        greet(self.window, self.connection_window, out);
    }

    #[inline]
    fn accepts(&self, conn: &H2Conn) -> bool {
        conn.accepts()
    }

    #[inline]
    fn request(&mut self, conn: &mut H2Conn, slot: u32, tag: Tag, out: &mut Vec<u8>) {
        conn.request(self, slot, tag, out);
    }

    fn received(
        &mut self,
        conn: &mut H2Conn,
        _: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        conn.received(self, bytes, out, events)
    }

    fn end(&mut self, _: &mut H2Conn, _: u32, _: &mut impl Events<Tag>) {}

    fn cancel(&mut self, conn: &mut H2Conn, _: u32, tag: Tag, out: &mut Vec<u8>) -> bool {
        conn.cancel(tag, out);
        true
    }

    fn how_ended(&self, conn: &H2Conn) -> &'static str {
        conn.how_ended()
    }
}

//! Answers to kinds of requests that are streams of events.

use super::judge;
use super::kind::{Kinds, MixConn, RequestKind, encoding_of};
use crate::clock::Nanos;
use crate::protocol::{
    Answer, EventFormat, EventReader, EventStream, Events, Expect, Fifo, HttpReader, StreamNews,
};

impl Kinds {
    /// Are answers to some kind streams of events?
    pub(super) fn streams(&self) -> bool {
        self.all.iter().any(|kind| kind.stream.is_some())
    }

    /// How long this side listens to the answer to the oldest request, if it is a stream.
    pub(super) fn listens(&self, conn: &MixConn) -> Option<Nanos> {
        if conn.flights.is_empty() {
            return None;
        }
        let kind = &self.all[conn.flights.oldest().kind as usize];
        kind.stream.as_ref()?.time
    }

    /// A chunk of the body has come whole.
    pub(super) fn chunk(&self, conn: &mut MixConn) {
        let kind = &self.all[conn.flights.oldest().kind as usize];
        if let Some(stream) = &kind.stream {
            conn.events.chunk(stream);
        }
    }

    /// Returns the news of the answer to the oldest request, if it is a stream of events.
    #[inline]
    pub(super) fn news(&self, conn: &mut MixConn) -> StreamNews {
        let kind = &self.all[conn.flights.oldest().kind as usize];
        match &kind.stream {
            Some(stream) if conn.events.is_stream() => conn.events.news(stream),
            _ => StreamNews::default(),
        }
    }

    /// Tells the news of the answer to the oldest request. True: as many events have come as were wanted.
    #[inline]
    pub(super) fn tell(&self, conn: &mut MixConn, events: &mut impl Events<Fifo>) -> bool {
        let news = self.news(conn);
        if news.events > 0 {
            events.streamed(Fifo, news);
        }
        if news.over {
            events.over(Fifo);
        }
        news.enough
    }

    /// The body of the answer to the oldest request has ended: tells of an event that this completes.
    pub(super) fn tell_end(&self, conn: &mut MixConn, events: &mut impl Events<Fifo>) {
        let kind = &self.all[conn.flights.oldest().kind as usize];
        if let Some(stream) = kind.stream.as_ref().filter(|_| conn.events.is_stream()) {
            conn.events.end(stream);
            self.tell(conn, events);
        }
    }

    /// Ends the answer to the oldest request. False: it is no stream of events.
    pub(super) fn leave(conn: &mut MixConn) -> bool {
        conn.left = conn.events.is_stream();
        conn.left
    }

    /// Ends the answer to the oldest request over HTTP/1.1, and returns it. None: it is no stream of events.
    pub(super) fn hang_up(&self, conn: &mut MixConn) -> Option<Answer> {
        if conn.flights.is_empty() || !Self::leave(conn) {
            return None;
        }
        let kind = &self.all[conn.flights.oldest().kind as usize];
        HttpReader::hang_up(&mut conn.state, &kind.expect)
    }

    /// Describes what is wrong with how a stream ended; None if nothing is.
    pub(super) fn wrong_end(kind: &RequestKind, conn: &MixConn) -> Option<String> {
        let stream = kind.stream.as_ref()?;
        if conn.left || !conn.events.is_stream() {
            return None;
        }
        match &stream.end {
            Some(end) if !conn.events.is_over() => Some(format!(
                "the stream ended after {} events without \"{}\"",
                conn.events.events(),
                end.escape_ascii()
            )),
            _ if conn.events.is_within() => Some(format!(
                "the stream ended within an event, after {} whole ones",
                conn.events.events()
            )),
            _ => None,
        }
    }
}

/// Looks for the events of an answer.
pub(super) struct StreamInspector<'a> {
    pub(super) stream: &'a EventStream,
    pub(super) events: &'a mut EventReader,
    pub(super) expect: &'a Expect,
}

impl StreamInspector<'_> {
    /// Takes the head of the answer, which says whether it is a stream: an error is none. Gives what is wrong with it.
    pub(super) fn head(&mut self, head: &[u8]) -> Option<String> {
        let status = head
            .get(9..12)
            .and_then(|digits| str::from_utf8(digits).ok());
        let status = status.and_then(|digits| digits.parse().ok()).unwrap_or(0);
        *self.events = EventReader::default();
        if self.expect.judge_status(status).is_some() {
            return None;
        }
        let encoding = encoding_of(head);
        if !encoding.is_identity() {
            return Some(format!(
                "the events are encoded ({}), and prony reads plain ones",
                encoding.name()
            ));
        }
        let by_type = || {
            judge::with_fields(head, |fields| {
                let mut fields = fields.iter();
                let field = fields.find(|field| field.name.eq_ignore_ascii_case("content-type"));
                EventFormat::of(field.map_or(b"", |field| field.value))
            })
        };
        *self.events = EventReader::new(self.stream.format.unwrap_or_else(by_type));
        None
    }
}

//! A mix over HTTP/2 or HTTP/3: each stream carries one request.
//!
//! Requests are composed as over HTTP/1.1, so that a file of requests means the same over both, and encoded by
//! [`Heads`]. The header section of an answer becomes a head that is judged as one of HTTP/1.1.

use super::kind::Kinds;
use super::template::Template;
use super::users::UserConn;
use super::{Mix, MixConn, Mixed, Users};
use crate::clock::Nanos;
use crate::protocol::h2::{Content, ForbiddenField, H2, Heads, WINDOW, is_forbidden};
use crate::protocol::h3::{self, H3};
use crate::protocol::tls::{Connector, TlsInvalid};
use crate::protocol::{
    Answer, Booked, Difference, Ending, Events, Fault, Fifo, Limits, Mismatch, NextSend, Session,
    StreamNews, Tag,
};
use prony_record::{ByRequest, BySession};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::net::SocketAddr;

/// How HTTP/2, or HTTP/3, is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixStreams {
    /// The window of each stream and of each connection, in bytes, at least 1 and at most 2^31 − 1; a connection has at
    /// least 65,535.
    pub window: u32,
    /// The connections use TLS.
    pub secure: bool,
    /// HTTP/3 is spoken, over QUIC.
    #[serde(default)]
    pub http3: bool,
}

/// Fields that a header section may have, as a head of HTTP/1.1.
const MOST_FIELDS: usize = 128;

/// Requests of a mix, or sessions of it, whose answers come in parts.
pub trait Carried: Session<Token = Fifo, Conn: Debug> + Debug + 'static {
    /// Returns the kinds, which judge an answer, and the connection that it belongs to.
    fn parts<'a>(&'a mut self, conn: &'a mut Self::Conn) -> (&'a mut Kinds, &'a mut MixConn);

    /// Whether the head, and the body, of the answer to the request in flight are needed in any case.
    fn needs(&self, conn: &Self::Conn) -> (bool, bool);

    /// The answer has come whole, or what came instead.
    fn whole(&mut self, conn: &mut Self::Conn, answer: Answer, events: &mut impl Events<Fifo>);

    /// The request in flight, which is this text, has not been processed and is to be sent again.
    fn again(&mut self, conn: &mut Self::Conn, slot: u32, text: &[u8]);
}

/// The requests of `S` over HTTP/2.
#[derive(Debug)]
pub struct OverStreams<S>(PhantomData<S>);

/// State of a stream. The next stream in its place uses its memory again.
#[derive(Debug)]
pub struct Streamed<C> {
    inner: C,
    /// The request as it would be over HTTP/1.1, and where its body begins.
    text: Vec<u8>,
    body_at: usize,
    /// The header section of its answer has come.
    headed: bool,
    /// Where the body first differs from what is expected.
    difference: Option<Box<Difference>>,
}

impl<C: Default> Default for Streamed<C> {
    fn default() -> Self {
        Self {
            inner: C::default(),
            text: Vec::new(),
            body_at: 0,
            headed: false,
            difference: None,
        }
    }
}

/// A header section as a head of HTTP/1.1.
#[derive(Debug, Default)]
pub struct TextSection {
    head: Vec<u8>,
    fields: usize,
}

/// Reports what a session over one stream does under the stream's own token.
struct Relay<'a, E> {
    events: &'a mut E,
    tag: Tag,
}

impl<E: Events<Tag>> Events<Fifo> for Relay<'_, E> {
    fn ready(&mut self) {}

    fn streamed(&mut self, _: Fifo, news: StreamNews) {
        self.events.streamed(self.tag, news);
    }

    fn over(&mut self, _: Fifo) {
        self.events.over(self.tag);
    }

    fn answered(&mut self, _: Fifo, answer: Answer) -> Booked {
        self.events.answered(self.tag, answer)
    }

    fn closing(&mut self) {
        self.events.closing();
    }
}

/// Where there is none to report to.
struct Unheard;

impl Events<Fifo> for Unheard {
    fn ready(&mut self) {}

    fn answered(&mut self, _: Fifo, _: Answer) -> Booked {
        Booked::default()
    }

    fn closing(&mut self) {}
}

impl<S: Carried> Content for OverStreams<S> {
    type Expect = ();
    type Fields = TextSection;
    type Reading = Streamed<S::Conn>;
    type State = S;

    const COMPOSES: bool = true;
    const STREAMS: bool = true;

    fn begin(reading: &mut Self::Reading) {
        reading.text.clear();
        reading.headed = false;
        reading.difference = None;
    }

    fn compose<'a>(state: &mut S, reading: &'a mut Self::Reading, slot: u32) -> &'a [u8] {
        state.request(&mut reading.inner, slot, Fifo, &mut reading.text);
        let end = memchr::memmem::find(&reading.text, b"\r\n\r\n");
        reading.body_at = end.map_or(reading.text.len(), |end| end + 4);
        &reading.text[..reading.body_at]
    }

    fn content<'a>(_: &'a [u8], reading: &'a Self::Reading) -> &'a [u8] {
        &reading.text[reading.body_at..]
    }

    fn is_head(_: bool, _: &S, reading: &Self::Reading) -> bool {
        reading.text.starts_with(b"HEAD ")
    }

    fn field(fields: &mut TextSection, name: &[u8], value: &[u8]) {
        let mut write =
            |line: &[&[u8]]| line.iter().for_each(|it| fields.head.extend_from_slice(it));
        match name {
            b":status" => write(&[b"HTTP/1.1 ", value, b" \r\n"]),
            _ => {
                write(&[name, b": ", value, b"\r\n"]);
                fields.fields += 1;
            }
        }
    }

    fn fields_end(fields: &mut TextSection) {
        fields.head.extend_from_slice(b"\r\n");
    }

    fn section(state: &mut S, reading: &mut Self::Reading, fields: &TextSection) {
        // The second one is trailers, of which nothing is expected.
        if !std::mem::replace(&mut reading.headed, true) {
            let (head, _) = state.needs(&reading.inner);
            let (kinds, conn) = state.parts(&mut reading.inner);
            match fields.fields > MOST_FIELDS {
                true => Kinds::refuse(conn, "more than 128 header fields"),
                false => kinds.head(conn, &fields.head, head),
            }
        }
    }

    fn body(
        state: &mut S,
        (): &(),
        reading: &mut Self::Reading,
        offset: u64,
        bytes: &[u8],
        _: &Limits,
    ) -> Option<Fault> {
        let (_, body) = state.needs(&reading.inner);
        let (kinds, conn) = state.parts(&mut reading.inner);
        kinds.body(conn, (offset, bytes), body, &mut reading.difference);
        None
    }

    fn chunk(state: &mut S, reading: &mut Self::Reading) {
        let (kinds, conn) = state.parts(&mut reading.inner);
        kinds.chunk(conn);
    }

    fn news(state: &mut S, reading: &mut Self::Reading) -> StreamNews {
        let (kinds, conn) = state.parts(&mut reading.inner);
        kinds.news(conn)
    }

    fn hang_up(state: &mut S, reading: &mut Self::Reading) -> bool {
        let (_, conn) = state.parts(&mut reading.inner);
        Kinds::leave(conn)
    }

    fn judge(
        state: &mut S,
        (): &(),
        reading: &mut Self::Reading,
        _: bool,
        status: u16,
        length: u64,
    ) -> Option<Mismatch> {
        let (kinds, conn) = state.parts(&mut reading.inner);
        kinds.compared(conn, status, length, reading.difference.take())
    }

    fn answered(
        state: &mut S,
        reading: &mut Self::Reading,
        answer: Answer,
        tag: Tag,
        events: &mut impl Events<Tag>,
    ) {
        state.whole(&mut reading.inner, answer, &mut Relay { events, tag });
    }

    fn left_out(state: &mut S, reading: &mut Self::Reading, slot: u32) {
        state.again(&mut reading.inner, slot, &reading.text);
    }

    fn opened(state: &mut S, reading: &mut Self::Reading, slot: u32) {
        state.opened(&mut reading.inner, slot, &mut Vec::new(), &mut Unheard);
    }

    fn accepts(state: &S, first: Option<&Self::Reading>) -> bool {
        first.is_none_or(|first| state.accepts(&first.inner))
    }

    fn streams(state: &S) -> bool {
        state.streams()
    }

    fn listens(state: &S, reading: &Self::Reading) -> Option<Nanos> {
        state.listens(&reading.inner, Fifo)
    }

    fn rests(state: &S) -> bool {
        state.rests()
    }

    fn pace(state: &mut S, first: &mut Self::Reading, slot: u32) -> NextSend {
        state.pace(&mut first.inner, slot)
    }

    fn ended(state: &S) -> bool {
        state.ended()
    }

    fn failed(state: &mut S, reading: &mut Self::Reading, booked: Booked, ending: Ending) {
        state.failed(&mut reading.inner, Fifo, booked, ending);
    }

    fn by_request(state: &mut S) -> Vec<ByRequest> {
        state.by_request()
    }

    fn by_session(state: &mut S) -> Vec<BySession> {
        state.by_session()
    }
}

impl Carried for Mixed {
    fn parts<'a>(&'a mut self, conn: &'a mut MixConn) -> (&'a mut Kinds, &'a mut MixConn) {
        (&mut self.kinds, conn)
    }

    fn needs(&self, _: &MixConn) -> (bool, bool) {
        (false, false)
    }

    fn whole(&mut self, conn: &mut MixConn, answer: Answer, events: &mut impl Events<Fifo>) {
        self.answered(conn, answer, None, events);
    }

    fn again(&mut self, conn: &mut MixConn, _: u32, text: &[u8]) {
        self.send_again(conn, text);
    }
}

impl Carried for Users {
    fn parts<'a>(&'a mut self, conn: &'a mut UserConn) -> (&'a mut Kinds, &'a mut MixConn) {
        (&mut self.kinds, &mut conn.mix)
    }

    fn needs(&self, conn: &UserConn) -> (bool, bool) {
        (true, self.needs_body(conn))
    }

    fn whole(&mut self, conn: &mut UserConn, answer: Answer, events: &mut impl Events<Fifo>) {
        self.answered(conn, answer, None, events);
    }

    fn again(&mut self, conn: &mut UserConn, slot: u32, text: &[u8]) {
        self.send_again(conn, slot, text);
    }
}

/// Returns `session`, which sends the requests of `mix`, over HTTP/2.
pub fn over_h2<S: Carried>(session: S, mix: &Mix) -> H2<OverStreams<S>> {
    let how = mix.http2.unwrap_or(MixStreams {
        window: WINDOW,
        secure: false,
        http3: false,
    });
    let mut heads = Heads::new(how.secure);
    for request in &mix.requests {
        heads.learn(&Template::new(request).sample());
    }
    H2::composed(session, heads, mix.limits, how.window)
}

/// Returns `session`, which sends the requests of `mix`, over HTTP/3.
///
/// # Errors
/// When TLS cannot be spoken as the connector says over QUIC.
pub(crate) fn over_h3<S: Carried>(
    session: S,
    mix: &Mix,
    over: (&Connector, SocketAddr),
) -> Result<H3<OverStreams<S>>, TlsInvalid> {
    let window = mix.http2.map_or(WINDOW, |how| how.window);
    let mut heads = h3::Heads::default();
    for request in &mix.requests {
        heads.learn(&Template::new(request).sample());
    }
    H3::composed(session, heads, mix.limits, window, over)
}

impl Mix {
    /// Sends the requests of the mix over HTTP/2 or HTTP/3.
    ///
    /// # Errors
    /// A request has a field that HTTP/2 has no place for.
    pub fn speak_http2(&mut self, how: MixStreams) -> Result<(), ForbiddenField> {
        for request in &self.requests {
            for (name, value) in &request.headers {
                let value = super::template::constant(value);
                let value = value.as_deref().map(String::from_utf8_lossy);
                let lower = name.to_ascii_lowercase();
                if is_forbidden(&lower, value.as_deref().unwrap_or_default()) {
                    return Err(ForbiddenField(name.clone()));
                }
            }
        }
        self.http2 = Some(how);
        Ok(())
    }
}

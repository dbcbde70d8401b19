//! Content of HTTP/2: HTTP alone, or a protocol on top of it.

use super::head::ResponseHead;
use crate::clock::Nanos;
use crate::protocol::{
    Answer, Booked, Difference, Ending, Events, Expect, Fault, Limits, Mismatch, NextSend,
    StreamNews, Tag,
};
use prony_record::{ByRequest, BySession};
use std::fmt::Debug;

/// How the answers of a session over HTTP/2 are read and judged. The session, its connections and streams are the same
/// for all; what a protocol leaves at its default compiles to nothing.
pub trait Content: Debug + 'static {
    /// Expectations of an answer.
    type Expect: Debug + Clone;
    /// Fields of a header block that the protocol on top of HTTP needs.
    type Fields: Debug + Default;
    /// State of an answer that is being read.
    type Reading: Debug + Default;
    /// State of a worker beside its requests: counts, or a session whose requests are sent.
    type State: Debug;
    /// Requests are not the same each time: they come from [`compose`](Self::compose).
    const COMPOSES: bool = false;
    /// Answers may be streams of events.
    const STREAMS: bool = false;

    /// A request is about to be sent on the stream of this reading.
    #[inline]
    fn begin(reading: &mut Self::Reading) {
        *reading = Self::Reading::default();
    }

    /// Writes the next request of connection `slot`. Gives its head as HTTP/1.1 has it, with the empty line.
    fn compose<'a>(
        _state: &mut Self::State,
        _reading: &'a mut Self::Reading,
        _slot: u32,
    ) -> &'a [u8] {
        &[]
    }

    /// The request's body, which is `fixed` if it is not composed.
    #[inline]
    fn content<'a>(fixed: &'a [u8], _reading: &'a Self::Reading) -> &'a [u8] {
        fixed
    }

    /// Was the request one of HEAD?
    #[inline]
    fn is_head(fixed: bool, _state: &Self::State, _reading: &Self::Reading) -> bool {
        fixed
    }

    /// Takes note of a field of a header block.
    fn field(_fields: &mut Self::Fields, _name: &[u8], _value: &[u8]) {}

    /// The header block is whole.
    fn fields_end(_fields: &mut Self::Fields) {}

    /// A header section that is not an interim one, or trailers.
    fn section(_state: &mut Self::State, _reading: &mut Self::Reading, _fields: &Self::Fields) {}

    /// A piece of the body, which begins at `offset`. Gives what is wrong, if the stream cannot go on.
    fn body(
        state: &mut Self::State,
        expect: &Self::Expect,
        reading: &mut Self::Reading,
        offset: u64,
        bytes: &[u8],
        limits: &Limits,
    ) -> Option<Fault>;

    /// A DATA frame that is not empty has come whole.
    #[inline]
    fn chunk(_state: &mut Self::State, _reading: &mut Self::Reading) {}

    /// Returns the news of an answer that is a stream of events.
    #[inline]
    fn news(_state: &mut Self::State, _reading: &mut Self::Reading) -> StreamNews {
        StreamNews::default()
    }

    /// Ends an answer that is a stream of events. False: it is none.
    fn hang_up(_state: &mut Self::State, _reading: &mut Self::Reading) -> bool {
        false
    }

    /// Judges a whole answer. `head`: the request was one of HEAD.
    fn judge(
        state: &mut Self::State,
        expect: &Self::Expect,
        reading: &mut Self::Reading,
        head: bool,
        status: u16,
        length: u64,
    ) -> Option<Mismatch>;

    /// Reports an answer, or what came instead.
    #[inline]
    fn answered(
        _state: &mut Self::State,
        _reading: &mut Self::Reading,
        answer: Answer,
        tag: Tag,
        events: &mut impl Events<Tag>,
    ) {
        events.answered(tag, answer);
    }

    /// The server does not process the request of this reading, which is to be sent again.
    fn left_out(_state: &mut Self::State, _reading: &mut Self::Reading, _slot: u32) {}

    /// Returns the counts as they are recorded; None where the content has none.
    fn counted(_state: &Self::State) -> Option<prony_record::Grpc> {
        None
    }

    /// Like [`Session::opened`](crate::protocol::Session::opened), for the connection's first stream.
    fn opened(_state: &mut Self::State, _reading: &mut Self::Reading, _slot: u32) {}

    /// Like [`Session::accepts`](crate::protocol::Session::accepts); `first` is the connection's first stream.
    #[inline]
    fn accepts(_state: &Self::State, _first: Option<&Self::Reading>) -> bool {
        true
    }

    /// Are answers that are to be so streams of events?
    fn is_stream(_expect: &Self::Expect) -> bool {
        false
    }

    /// Like [`Session::streams`](crate::protocol::Session::streams).
    fn streams(_state: &Self::State) -> bool {
        false
    }

    /// Like [`Session::listens`](crate::protocol::Session::listens).
    fn listens(_state: &Self::State, _reading: &Self::Reading) -> Option<Nanos> {
        None
    }

    /// Like [`Session::rests`](crate::protocol::Session::rests).
    #[inline]
    fn rests(_state: &Self::State) -> bool {
        false
    }

    /// Like [`Session::pace`](crate::protocol::Session::pace); `first` is the connection's first stream.
    #[inline]
    fn pace(_state: &mut Self::State, _first: &mut Self::Reading, _slot: u32) -> NextSend {
        NextSend::Now
    }

    /// Like [`Session::ended`](crate::protocol::Session::ended).
    #[inline]
    fn ended(_state: &Self::State) -> bool {
        false
    }

    /// Like [`Session::failed`](crate::protocol::Session::failed).
    #[inline]
    fn failed(
        _state: &mut Self::State,
        _reading: &mut Self::Reading,
        _booked: Booked,
        _ending: Ending,
    ) {
    }

    /// Like [`Session::by_request`](crate::protocol::Session::by_request).
    fn by_request(_state: &mut Self::State) -> Vec<ByRequest> {
        Vec::new()
    }

    /// Like [`Session::by_session`](crate::protocol::Session::by_session).
    fn by_session(_state: &mut Self::State) -> Vec<BySession> {
        Vec::new()
    }
}

/// HTTP alone.
#[derive(Debug, Clone)]
pub struct Plain;

impl Content for Plain {
    type Expect = Expect;
    type Fields = ();
    type Reading = Option<Box<Difference>>;
    type State = ();

    #[inline]
    fn body(
        (): &mut (),
        expect: &Expect,
        reading: &mut Self::Reading,
        offset: u64,
        bytes: &[u8],
        _: &Limits,
    ) -> Option<Fault> {
        if !expect.matches_at(offset, bytes) && reading.is_none() {
            *reading = expect.difference_at(offset, bytes);
        }
        None
    }

    #[inline]
    fn judge(
        (): &mut (),
        expect: &Expect,
        reading: &mut Self::Reading,
        head: bool,
        status: u16,
        length: u64,
    ) -> Option<Mismatch> {
        match head {
            true => expect.judge_status(status),
            false => expect.judge(status, length, reading.take()),
        }
    }
}

/// A decoded header block: its HTTP part, and the fields of the protocol on top.
#[derive(Debug, Default)]
pub(in crate::protocol) struct HeaderSection<F> {
    pub(in crate::protocol) head: ResponseHead,
    pub(in crate::protocol) fields: F,
}

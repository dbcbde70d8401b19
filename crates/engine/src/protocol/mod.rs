//! Protocols of a connection: bytes out, bytes in, answered requests; no I/O.
//!
//! A protocol is a [`Session`]. It also judges every answer against what was expected of it,
//! cheaply enough to be always on.

pub mod chunked;
mod difference;
mod echo;
pub mod encoding;
mod event_stream;
mod expect;
pub mod grpc;
pub mod h2;
pub mod h3;
mod http;
mod in_flight;
mod inner;
pub mod mix;
pub mod proxy;
mod recognized;
#[cfg(test)]
mod seen;
pub mod tls;
pub mod ws;

pub use difference::Difference;
pub use echo::Echo;
pub use event_stream::{EventFormat, EventReader, EventStream, StreamNews};
pub use expect::{Expect, Mismatch};
pub use http::{
    AnswerProgress, Http, HttpExchange, HttpReader, HttpRequest, HttpState, Keep, Limits,
    response_parser,
};
pub use in_flight::{Fifo, InFlight, Tag, Token};
pub use mix::{Mix, Mixed};
pub use recognized::recognized;

use crate::clock::Nanos;
use prony_record::{ByRequest, BySession, Quic, Tls};
use proxy::ProxyFault;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use tls::TlsFault;

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code, where the protocol has one; 0 elsewhere.
    pub status: u16,
    /// Why the answer is wrong; None if it is right.
    pub wrong: Option<Mismatch>,
    /// The server will not answer anything more on this connection.
    pub last: bool,
    /// Length of its body in bytes, without any transfer coding.
    pub body: u64,
}

/// How long the header blocks of answers were, over HTTP/2, since a load's set-up began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadBytes {
    /// Compressed bytes (HPACK), as received.
    pub compressed: u64,
    /// The names and values of their fields, in bytes.
    pub plain: u64,
}

impl HeadBytes {
    /// Both together.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            compressed: self.compressed + other.compressed,
            plain: self.plain + other.plain,
        }
    }
}

/// Bytes that went through TLS, without its handshakes and record overhead, since a load's set-up began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlainBytes {
    /// Bytes received.
    pub received: u64,
    /// Bytes sent.
    pub sent: u64,
}

impl PlainBytes {
    /// Both together.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            received: self.received + other.received,
            sent: self.sent + other.sent,
        }
    }
}

/// Reports an answer that is followed by unsolicited bytes, from `at` on, as a wrong one: which of the bytes
/// were the answer is not known.
#[cold]
#[inline(never)]
fn surplus(at: usize, answer: &Answer, events: &mut impl Events<Fifo>) -> Fault {
    let fault = Fault::Unsolicited { at };
    let wrong = answer.wrong.clone();
    let wrong = wrong.or(Some(Mismatch::Fault(fault.clone())));
    events.answered(
        Fifo,
        Answer {
            wrong,
            ..answer.clone()
        },
    );
    fault
}

/// Bytes that no answer can begin with or continue as: the connection cannot be used any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Bytes came that no request had asked for.
    #[error("bytes came that no request had asked for")]
    Unsolicited {
        /// Where they begin in the bytes that were handed over.
        at: usize,
    },
    /// A whole answer with an error status that says the connection ends, while nothing was in flight: the server closes a
    /// connection that has been idle for too long (RFC 9110, 15.5.9).
    #[error("the server closed an idle connection with status {0}")]
    Farewell(u16),
    /// The answer breaks the protocol.
    #[error("malformed answer: {0}")]
    Malformed(&'static str),
    /// WebSocket's handshake was answered with this status.
    #[error("the WebSocket handshake was answered with status {0}, not 101")]
    Refused(u16),
    /// The connection has ended, for this reason.
    #[error("{0}")]
    Lost(String),
    /// TLS broke: the connection, not an answer, is at fault.
    #[error(transparent)]
    Tls(TlsFault),
    /// A proxy did not make the connection to the server.
    #[error(transparent)]
    Proxy(ProxyFault),
    /// A part of the answer is longer than the limit that was set for it.
    #[error("{part} is longer than {limit} bytes")]
    TooLong {
        /// Name of the part.
        part: &'static str,
        /// The limit, in bytes.
        limit: u64,
    },
}

/// When a connection that could send another request shall do so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextSend {
    /// At once.
    Now,
    /// After a rest, in nanoseconds.
    After(Nanos),
    /// Once everything that is in flight on it has been answered.
    WhenAnswered,
}

/// How a request was booked: what a session needs that keeps books of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Booked {
    /// From when it was due until it ended, in nanoseconds; a time-out at its full length.
    pub response: Nanos,
    /// The request was due in the measurement: its response time belongs to the distribution.
    pub due_inside: bool,
    /// The request ended in the measurement, and is counted.
    pub ended_inside: bool,
    /// The request was in flight when the measurement ended.
    pub in_flight_at_end: bool,
    /// The window in which it ended, 0-based since the load began.
    pub window: u32,
}

/// How a request ended that the session has not reported as answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The received bytes broke the protocol.
    Broken,
    /// The request took longer than the time-out.
    Timeout,
    /// The connection ended or broke before the answer.
    Read,
    /// The request could not be sent.
    Write,
    /// The load ended before it.
    Unfinished,
}

/// Events that a session emits while it handles a connection.
pub trait Events<T> {
    /// The connection leads to the server from now on: a proxy has made it, or the header of a balancer is sent. Handshakes
    /// with the server begin.
    fn reached(&mut self) {}

    /// TLS's handshake is done, and resumed an earlier session or not.
    fn secured(&mut self, _resumed: bool) {}

    /// The server has said that it sends nothing more. The connection is taken for closed.
    fn ended(&mut self) {}

    /// The connection is set up, handshakes included: it can carry requests from now on.
    fn ready(&mut self);

    /// The first byte of a body has come, and the rest has not. Once for an answer; also where the rest comes at the same time.
    fn begun(&mut self, _token: T) {}

    /// Events of an answer that is a stream have come together.
    fn streamed(&mut self, _token: T, _news: StreamNews) {}

    /// A stream has said that it is over: its answer ends now, whenever the server ends it.
    fn over(&mut self, _token: T) {}

    /// A request has been answered. Its token is free for another one.
    /// Says how it was booked.
    fn answered(&mut self, token: T, answer: Answer) -> Booked;

    /// The server has said that it does not process a request, which may be sent again on the next connection. False: it
    /// is not sent again, because the server has answered nothing for too long, and is to be reported as answered.
    fn left_out(&mut self, _token: T) -> bool {
        false
    }

    /// The server has refused a request that was sent before the handshake was done: it is sent again after it.
    fn refused(&mut self, _token: T) {}

    /// The server cannot go on with an answer until this side gives it more room: a window of flow control is used up.
    fn stalled(&mut self) {}

    /// The server takes no more requests on this connection, and still answers those in flight.
    /// The connection is closed when it has.
    fn closing(&mut self);
}

/// How one kind of connection is spoken on: a state machine without I/O, which is told what
/// happens and writes what it wants to have sent to `out`.
///
/// A worker has one session for all its connections, and a [`Conn`](Self::Conn) for each. A
/// connection goes this way:
///
/// 1. [`opened`](Self::opened): the transport has connected. A session with a handshake writes the
///    first bytes of it, and reports [`ready`](Events::ready) when it has received what it waits
///    for. Set-up time and time-out include the handshake.
/// 2. [`request`](Self::request), for each request that is due while there is room for it: fewer
///    in flight than the plan's pipeline, and the session [accepts](Self::accepts) one.
/// 3. [`received`](Self::received): bytes have come. The session reports the answers that these
///    complete, and may write on its own account: the answer to a ping, more room for the server.
///    What it writes is sent with the next requests, in one go.
/// 4. [`end`](Self::end): the server has closed the connection.
///
/// After that, or after a [`Fault`], a time-out or the last answer, the connection is closed, and
/// its state is dropped; what is written then is not sent.
///
/// A session can lie around another one, as TLS does: it passes on the plain bytes, encrypts what
/// the inner one writes, and calls `opened` of it when its own handshake is done.
///
/// The methods with a default are for what not every protocol has. A session that leaves them
/// alone pays nothing for them.
pub trait Session {
    /// State of a connection. `Default` is a connection not yet opened.
    type Conn: Default + 'static;

    /// Identifier of a request in flight: [`Fifo`] when requests are answered in order, [`Tag`] when not.
    type Token: Token;

    /// Does it begin with a handshake of TLS, whose time is a distribution of its own?
    const TLS: bool = false;

    /// Do its connections have [timers](Self::timer)?
    const TIMERS: bool = false;

    /// Is [`connected`](Self::connected) to be called? Constant while a load runs.
    #[inline]
    fn wants_addresses(&self) -> bool {
        false
    }

    /// Connection `slot` has been made between these addresses, this side's first; None over a unix socket. Called before
    /// [`opened`](Self::opened), if it is [wanted](Self::wants_addresses).
    fn connected(
        &mut self,
        _conn: &mut Self::Conn,
        _slot: u32,
        _ends: Option<(SocketAddr, SocketAddr)>,
    ) {
    }

    /// Connection `slot` has been made. What is appended to `out` is sent.
    #[inline]
    fn opened(
        &mut self,
        _conn: &mut Self::Conn,
        _slot: u32,
        _out: &mut Vec<u8>,
        events: &mut impl Events<Self::Token>,
    ) {
        events.ready();
    }

    /// May another request be sent on a connection that is ready? Asked before each.
    #[inline]
    fn accepts(&self, _conn: &Self::Conn) -> bool {
        true
    }

    /// Appends the next request of connection `slot` to `out`. Its answer is to be reported with
    /// `token`.
    fn request(&mut self, conn: &mut Self::Conn, slot: u32, token: Self::Token, out: &mut Vec<u8>);

    /// Takes what came from the server and reports what it means. What is appended to `out` is
    /// sent.
    ///
    /// # Errors
    /// A [`Fault`] when the bytes break the protocol; what was completed before it has been
    /// reported.
    fn received(
        &mut self,
        conn: &mut Self::Conn,
        slot: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Self::Token>,
    ) -> Result<(), Fault>;

    /// The server has closed the connection: reports the answers that this completes.
    fn end(&mut self, conn: &mut Self::Conn, slot: u32, events: &mut impl Events<Self::Token>);

    /// A request has taken too long. True: it is cancelled (with what is appended to `out`, if the
    /// server has to know), its answer will not be reported any more, and its token is free for
    /// another one. False: that cannot be done without giving up the connection.
    #[inline]
    fn cancel(
        &mut self,
        _conn: &mut Self::Conn,
        _slot: u32,
        _token: Self::Token,
        _out: &mut Vec<u8>,
    ) -> bool {
        false
    }

    /// May answers be streams of events? Constant while a load runs.
    fn streams(&self) -> bool {
        false
    }

    /// How long this side listens to the answer of a request in flight, in nanoseconds since it was sent, if it is a stream
    /// that this side ends.
    fn listens(&self, _conn: &Self::Conn, _token: Self::Token) -> Option<Nanos> {
        None
    }

    /// Ends a stream that is an answer, and reports it as answered. What is appended to `out` is sent. False: the answer is no
    /// stream, or has not begun, and nothing changes.
    fn hang_up(
        &mut self,
        _conn: &mut Self::Conn,
        _slot: u32,
        _token: Self::Token,
        _out: &mut Vec<u8>,
        _events: &mut impl Events<Self::Token>,
    ) -> bool {
        false
    }

    /// Called before the worker sends on a connection: a session that collects requests, to send them in few datagrams,
    /// appends them to `out` now.
    #[inline]
    fn pack(&mut self, _conn: &mut Self::Conn, _out: &mut Vec<u8>) {}

    /// Returns how many of the bytes exchanged with the transport go over the wire: without the headers of datagrams.
    #[inline]
    fn payload(bytes: &[u8]) -> u64 {
        bytes.len() as u64
    }

    /// Returns when the connection is to be [`woken`](Self::woken), on the engine's clock; None: not at all. Called if
    /// [`TIMERS`](Self::TIMERS) is set, whenever the connection has sent or received.
    fn timer(&mut self, _conn: &mut Self::Conn) -> Option<Nanos> {
        None
    }

    /// The time has come that [`timer`](Self::timer) said.
    ///
    /// # Errors
    /// A [`Fault`] when the connection cannot be used any further.
    fn woken(
        &mut self,
        _conn: &mut Self::Conn,
        _slot: u32,
        _events: &mut impl Events<Self::Token>,
    ) -> Result<(), Fault> {
        Ok(())
    }

    /// The connection is closed next: what the server has to know is appended to `out`.
    #[inline]
    fn goodbye(&mut self, _conn: &mut Self::Conn, _out: &mut Vec<u8>) {}

    /// The head of the first answer that was read, where the protocol has heads.
    fn first_head(&self) -> &[u8] {
        &[]
    }

    /// May [`pace`](Self::pace) say [`NextSend::After`]? Constant while a load runs.
    #[inline]
    fn rests(&self) -> bool {
        false
    }

    /// Asked in a closed loop before a request of connection `slot` is written, and again after
    /// each answer unless it was [`NextSend::Now`]; not asked after a rest that it has imposed, nor
    /// (unless it [`rests`](Self::rests)) for the request that a connection is opened for.
    #[inline]
    fn pace(&mut self, _conn: &mut Self::Conn, _slot: u32) -> NextSend {
        NextSend::Now
    }

    /// True: this worker's part of the load is over; the other workers go on.
    #[inline]
    fn ended(&self) -> bool {
        false
    }

    /// A request ended that was not reported as answered: the oldest in flight on its connection where
    /// answers come in order.
    #[inline]
    fn failed(
        &mut self,
        _conn: &mut Self::Conn,
        _token: Self::Token,
        _booked: Booked,
        _ending: Ending,
    ) {
    }

    /// How the connection ended that the server has just closed.
    fn how_ended(&self, _conn: &Self::Conn) -> &'static str {
        "the server closed the connection"
    }

    /// Why a connection that was made is not ready yet, if it never becomes ready.
    fn unready(&self, _conn: &Self::Conn) -> &'static str {
        "the connection was made, and the server did not complete the handshake"
    }

    /// How much of the answer to a request in flight has come.
    fn progress(&self, _conn: &Self::Conn, _token: Self::Token) -> AnswerProgress {
        AnswerProgress::Unknown
    }

    /// The fewest streams that a server has allowed on a connection, where it says so. Asked once, at the end.
    fn streams_allowed(&self) -> Option<u32> {
        None
    }

    /// Has the server ended the connection in the protocol's own words, and not by closing it alone?
    fn said_goodbye(&self, _conn: &Self::Conn) -> bool {
        false
    }

    /// The bytes of a [`Fault::Unsolicited`] that `received` has just reported, from where they begin in
    /// the plain text; `received` is what came from there on.
    fn unsolicited<'a>(&'a self, received: &'a [u8]) -> &'a [u8] {
        received
    }

    /// Returns the TLS counts; None without TLS. Called once, at the end.
    fn tls(&mut self) -> Option<Tls> {
        None
    }

    /// Returns what was seen of QUIC; None where it is not spoken. Called once, at the end.
    fn quic(&mut self) -> Option<Quic> {
        None
    }

    /// Returns the bytes that went through TLS; None without TLS. Called once, at the end.
    fn plain(&mut self) -> Option<PlainBytes> {
        None
    }

    /// How long the header blocks of answers were, where they come compressed. Asked once, at the end.
    fn heads(&mut self) -> HeadBytes {
        HeadBytes::default()
    }

    /// Returns the gRPC counts; None without gRPC. Called once, at the end.
    fn grpc(&mut self) -> Option<prony_record::Grpc> {
        None
    }

    /// Returns the results by kind of request, where there are several kinds; else empty. Called once, at the end.
    fn by_request(&mut self) -> Vec<ByRequest> {
        Vec::new()
    }

    /// Returns the results by session, where users go through several steps; else empty. Called once, at the end.
    fn by_session(&mut self) -> Vec<BySession> {
        Vec::new()
    }
}

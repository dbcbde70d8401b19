//! Bytes out, bytes in, finished exchanges; no I/O.
//!
//! A protocol also judges every answer against what was expected of it, cheaply enough to be
//! always on.

mod echo;
mod expect;
mod http;

pub use echo::Echo;
pub use expect::{Expect, Mismatch};
pub use http::{Http, HttpExchange, HttpReader, HttpRequest, HttpState, Keep, Limits};

use crate::clock::Nanos;

/// One finished exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code, where the protocol has one; 0 elsewhere.
    pub status: u16,
    /// What is wrong with the answer, if anything.
    pub wrong: Option<Mismatch>,
    /// The server will not answer anything more on this connection.
    pub last: bool,
    /// Length of its body in bytes, without any transfer coding.
    pub body: u64,
}

/// Bytes that no answer can begin with or continue as: the connection cannot be used any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Bytes came although no request was waiting for an answer.
    #[error("bytes came although no request was waiting for an answer")]
    Unsolicited,
    /// The answer breaks the protocol.
    #[error("malformed answer: {0}")]
    Malformed(&'static str),
    /// A part of the answer is longer than the limit that was set for it.
    #[error("{part} is longer than {limit} bytes")]
    TooLong {
        /// Which part.
        part: &'static str,
        /// The limit, in bytes.
        limit: u64,
    },
}

/// When a connection that could send another request shall do so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// At once.
    Now,
    /// After a rest of so many nanoseconds.
    After(Nanos),
    /// Once everything that is in flight on it has been answered.
    WhenAnswered,
}

/// How requests are written and answers are read on one kind of connection.
///
/// The methods with a default are for what not every protocol has: heads, and conversations that are
/// more than requests in turn. A protocol that leaves them alone pays nothing for them.
pub trait Protocol {
    /// What has to be remembered per connection. `Default` is a connection just opened.
    type Conn: Default;

    /// Appends the next request of connection `slot` to `out`.
    fn encode(&mut self, conn: &mut Self::Conn, slot: u32, out: &mut Vec<u8>);

    /// Takes what came from the server and calls `done` for each answer that this completes.
    ///
    /// # Errors
    /// A [`Fault`] when the bytes cannot be an answer; answers completed before it have been
    /// reported.
    fn decode(
        &mut self,
        conn: &mut Self::Conn,
        slot: u32,
        bytes: &[u8],
        done: impl FnMut(Answer),
    ) -> Result<(), Fault>;

    /// The server has closed the connection: calls `done` if that completes an answer.
    fn end(&mut self, conn: &mut Self::Conn, slot: u32, done: impl FnMut(Answer));

    /// The head of the first answer that was read, where the protocol has heads.
    fn first_head(&self) -> &[u8] {
        &[]
    }

    /// May [`pace`](Self::pace) say [`Pace::After`]? Constant while a load runs.
    #[inline]
    fn rests(&self) -> bool {
        false
    }

    /// Asked in a closed loop before a request of connection `slot` is encoded, and again after
    /// each answer unless it was [`Pace::Now`]; not asked after a rest that it has imposed, nor
    /// (unless it [`rests`](Self::rests)) for the request that a connection is opened for.
    #[inline]
    fn pace(&mut self, _conn: &mut Self::Conn, _slot: u32) -> Pace {
        Pace::Now
    }

    /// True: this worker's part of the load is over; the other workers go on.
    #[inline]
    fn ended(&self) -> bool {
        false
    }
}

//! HTTP echo: the state machine of one connection.

use super::body::{Body, Malformed};
use super::reply::{self, CONTINUE};
use super::request::{self, KeepAlive, MAX_HEAD, Manner, Refusal, RequestHead};
use super::{Reply, Session, Then};
use crate::Date;

/// One HTTP/1 connection. Holds at most one incomplete head (16 KiB) or one target.
#[derive(Debug, Default)]
pub(crate) struct Http {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// Between requests. The fast path: heads are read straight from the input.
    #[default]
    Idle,
    /// The beginning of a head that has not come completely.
    Head(Vec<u8>),
    /// The head is read, the body is not.
    Body(Pending),
    /// The last reply is given; whatever else comes is not answered.
    Ended,
}

#[derive(Debug)]
struct Pending {
    target: Vec<u8>,
    manner: Manner,
    body: Body,
}

impl Session for Http {
    const DATED: bool = true;
    type Setup = ();

    fn new((): &()) -> Self {
        Self::default()
    }

    fn receive<'a>(
        &mut self,
        mut input: &'a [u8],
        date: &Date,
        scratch: &'a mut Vec<u8>,
    ) -> Reply<'a> {
        scratch.clear();
        let mut requests = 0;
        let mut then = Then::Keep;
        while let Some(after) = self.next(&mut input, date, scratch) {
            requests += 1;
            then = after;
        }
        Reply {
            bytes: scratch,
            requests,
            then,
        }
    }
}

impl Http {
    /// Takes input until one reply is complete and appended to `out`, and says what becomes of the
    /// connection after it; `None` once all input is taken without another reply.
    ///
    /// `out` can grow without a reply: by the leave to send a body.
    pub(crate) fn next(
        &mut self,
        input: &mut &[u8],
        date: &Date,
        out: &mut Vec<u8>,
    ) -> Option<Then> {
        if input.is_empty() {
            return None;
        }
        match std::mem::take(&mut self.state) {
            State::Idle => self.head_from_input(input, date, out),
            State::Head(kept) => self.head_from_kept(kept, input, date, out),
            State::Body(pending) => self.body(pending, input, date, out),
            State::Ended => {
                self.state = State::Ended;
                *input = &[];
                None
            }
        }
    }

    fn head_from_input(
        &mut self,
        input: &mut &[u8],
        date: &Date,
        out: &mut Vec<u8>,
    ) -> Option<Then> {
        match request::parse(input) {
            Ok(Some(head)) => {
                *input = &input[head.len..];
                self.begin(&head, input, date, out)
            }
            Ok(None) => {
                self.state = State::Head(input.to_vec());
                *input = &[];
                None
            }
            Err(refusal) => Some(self.refuse(refusal, date, out)),
        }
    }

    /// The head began in earlier input: it is put together and read again from its beginning, which
    /// costs less than it is worth to avoid, and finds the same errors however the input was split.
    fn head_from_kept(
        &mut self,
        mut kept: Vec<u8>,
        input: &mut &[u8],
        date: &Date,
        out: &mut Vec<u8>,
    ) -> Option<Then> {
        let before = kept.len();
        kept.extend_from_slice(&input[..input.len().min(MAX_HEAD - before)]);
        match request::parse(&kept) {
            Ok(Some(head)) => {
                *input = &input[head.len - before..];
                self.begin(&head, input, date, out)
            }
            Ok(None) => {
                self.state = State::Head(kept);
                *input = &[];
                None
            }
            Err(refusal) => Some(self.refuse(refusal, date, out)),
        }
    }

    fn begin(
        &mut self,
        head: &RequestHead<'_>,
        input: &mut &[u8],
        date: &Date,
        out: &mut Vec<u8>,
    ) -> Option<Then> {
        let target = head.target.as_bytes();
        let Some(mut body) = head.body else {
            return Some(self.answer(target, head.manner, input, date, out));
        };
        // Who waits for leave has sent nothing of the body yet.
        if head.expects_continue && input.is_empty() {
            out.extend_from_slice(CONTINUE);
        }
        match body.skip(input) {
            Ok(true) => Some(self.answer(target, head.manner, input, date, out)),
            Ok(false) => {
                self.state = State::Body(Pending {
                    target: target.to_vec(),
                    manner: head.manner,
                    body,
                });
                None
            }
            Err(Malformed) => Some(self.refuse(Refusal::Malformed, date, out)),
        }
    }

    fn body(
        &mut self,
        mut pending: Pending,
        input: &mut &[u8],
        date: &Date,
        out: &mut Vec<u8>,
    ) -> Option<Then> {
        match pending.body.skip(input) {
            Ok(true) => Some(self.answer(&pending.target, pending.manner, input, date, out)),
            Ok(false) => {
                self.state = State::Body(pending);
                None
            }
            Err(Malformed) => Some(self.refuse(Refusal::Malformed, date, out)),
        }
    }

    fn answer(
        &mut self,
        target: &[u8],
        manner: Manner,
        rest: &[u8],
        date: &Date,
        out: &mut Vec<u8>,
    ) -> Then {
        reply::answer(target, manner, date, out);
        if manner.connection != KeepAlive::Closed {
            return Then::Keep;
        }
        self.state = State::Ended;
        // A client that asked for the end sends no more: unless it has already.
        if rest.is_empty() {
            Then::Close
        } else {
            Then::Linger
        }
    }

    fn refuse(&mut self, refusal: Refusal, date: &Date, out: &mut Vec<u8>) -> Then {
        reply::refuse(refusal, date, out);
        self.state = State::Ended;
        Then::Linger
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;

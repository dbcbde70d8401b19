//! Protocol of a thread whose script takes part in each request or answer.

use super::failure::ScriptFailure;
use super::requests::split;
use super::script::{Functions, StopFlag};
use prony_engine::protocol::{
    Answer, Events, Expect, Fault, Fifo, HttpReader, HttpState, Keep, Limits, NextSend, Session,
};
use prony_engine::{Control, Nanos};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the first failure of a script is kept; it ends the load.
pub(super) struct Alarm {
    failure: Mutex<Option<ScriptFailure>>,
    control: Arc<Control>,
}

impl Alarm {
    pub(super) fn new(control: Arc<Control>) -> Self {
        Self {
            failure: Mutex::new(None),
            control,
        }
    }

    /// Returns the first failure of a script, if any.
    pub(super) fn failure(&self) -> Option<ScriptFailure> {
        self.lock().clone()
    }

    fn raise(&self, failure: ScriptFailure) {
        self.lock().get_or_insert(failure);
        self.control.stop();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<ScriptFailure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Functions by which a script takes part in a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts {
    pub request: bool,
    pub response: bool,
    pub delay: bool,
    /// Requests in one text of `request`, as the first has shown.
    pub batch: u32,
}

/// HTTP as a script wants it.
pub(super) struct Scripted<'a> {
    functions: Functions,
    parts: Parts,
    /// Bytes that are always sent when the script does not make requests itself.
    always: Vec<u8>,
    stop: StopFlag,
    alarm: &'a Alarm,
    /// The script has failed: nothing of it is called any more.
    failed: bool,
    reader: HttpReader,
    expect: Expect,
}

impl<'a> Scripted<'a> {
    /// `always` is what `wrk.request` returns.
    pub(super) fn new(
        functions: Functions,
        parts: Parts,
        always: Vec<u8>,
        stop: StopFlag,
        alarm: &'a Alarm,
    ) -> Self {
        Self {
            functions,
            parts,
            always,
            stop,
            alarm,
            failed: false,
            reader: HttpReader::new(Limits::default()),
            expect: Expect::default(),
        }
    }

    #[cold]
    fn fail(&mut self, failure: ScriptFailure) {
        self.failed = true;
        self.alarm.raise(failure);
    }

    /// The next text of the script, appended to `out`.
    #[inline]
    fn text(&mut self, out: &mut Vec<u8>) {
        if !self.parts.request {
            out.extend_from_slice(&self.always);
        } else if !self.failed {
            match self.functions.next_request(out) {
                Ok(true) => {}
                // A script that has stopped its thread has nothing more to say.
                Ok(false) if self.stop.is_set() => {}
                Ok(false) => {
                    let why = "request() must return a string, not nil";
                    let failure = self.functions.no_text(why);
                    self.fail(failure);
                }
                Err(failure) => self.fail(failure),
            }
        }
    }

    /// Asks the script for the connection's next request before it is sent: without one, the
    /// connection rests for good, as in the original.
    fn ask(&mut self, conn: &mut Conn) -> NextSend {
        if self.parts.batch != 1 || !self.parts.request || conn.asked {
            return NextSend::Now;
        }
        conn.batch.clear();
        match self.functions.next_request(&mut conn.batch) {
            Ok(true) => {
                conn.asked = true;
                NextSend::Now
            }
            Ok(false) => NextSend::WhenAnswered,
            Err(failure) => {
                self.fail(failure);
                NextSend::WhenAnswered
            }
        }
    }

    /// Fills a connection's queue with the requests of the script's next text.
    fn refill(&mut self, conn: &mut Conn) {
        conn.batch.clear();
        let mut text = std::mem::take(&mut conn.batch);
        self.text(&mut text);
        conn.batch = text;
        match split(&conn.batch) {
            Ok(requests) => conn.ends.extend(requests.iter().map(|request| request.end)),
            Err(_) if self.failed => {}
            Err(malformed) => {
                let failure = self.functions.bad_request(&malformed.to_string());
                self.fail(failure);
            }
        }
        conn.next = 0;
    }

    fn answered(&mut self, conn: &mut Conn, answer: Answer, events: &mut impl Events<Fifo>) {
        conn.waiting.pop_front();
        if self.parts.response && !self.failed && !self.stop.is_set() {
            let PartialAnswer { head, body, .. } = &conn.kept;
            if let Err(failure) = self.functions.response(answer.status, fields(head), body) {
                self.fail(failure);
            }
        }
        conn.kept.clear();
        events.answered(Fifo, answer);
    }
}

/// State of a connection.
#[derive(Default)]
pub(super) struct Conn {
    state: HttpState,
    /// For each request that waits for its answer: is it a HEAD?
    waiting: VecDeque<bool>,
    /// Requests that were made together; those that end at `ends` are still to be sent, the first
    /// from `next` on.
    batch: Vec<u8>,
    ends: VecDeque<usize>,
    next: usize,
    /// The script has been asked for the next request, which is in `batch`.
    asked: bool,
    kept: PartialAnswer,
}

/// The answer as far as it has come, for `response`.
#[derive(Default)]
struct PartialAnswer {
    on: bool,
    head: Vec<u8>,
    body: Vec<u8>,
}

impl PartialAnswer {
    fn clear(&mut self) {
        self.head.clear();
        self.body.clear();
    }
}

impl Keep for PartialAnswer {
    fn head(&mut self, bytes: &[u8]) {
        if self.on {
            self.head.extend_from_slice(bytes);
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        if self.on {
            self.body.extend_from_slice(bytes);
        }
    }
}

impl Session for Scripted<'_> {
    type Conn = Conn;
    type Token = Fifo;

    #[inline]
    fn request(&mut self, conn: &mut Conn, _slot: u32, _: Fifo, out: &mut Vec<u8>) {
        conn.kept.on = self.parts.response;
        let begin = out.len();
        if std::mem::take(&mut conn.asked) {
            out.extend_from_slice(&conn.batch);
        } else if self.parts.batch == 1 {
            self.text(out);
        } else {
            if conn.ends.is_empty() {
                self.refill(conn);
            }
            if let Some(end) = conn.ends.pop_front() {
                out.extend_from_slice(&conn.batch[conn.next..end]);
                conn.next = end;
            }
        }
        conn.waiting.push_back(out[begin..].starts_with(b"HEAD "));
    }

    #[inline]
    fn received(
        &mut self,
        conn: &mut Conn,
        _slot: u32,
        mut bytes: &[u8],
        _out: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> Result<(), Fault> {
        let length = bytes.len();
        while !bytes.is_empty() {
            let at = length - bytes.len();
            let to_head = conn.waiting.front().copied();
            let to_head = to_head.ok_or(Fault::Unsolicited { at })?;
            let (used, answer) = self.reader.read(
                &mut conn.state,
                bytes,
                to_head,
                &self.expect,
                &mut conn.kept,
            )?;
            bytes = &bytes[used..];
            if let Some(answer) = answer {
                self.answered(conn, answer, events);
            }
        }
        Ok(())
    }

    fn end(&mut self, conn: &mut Conn, _slot: u32, events: &mut impl Events<Fifo>) {
        if !conn.waiting.is_empty()
            && let Some(answer) = self.reader.end(&mut conn.state, &self.expect)
        {
            self.answered(conn, answer, events);
        }
    }

    #[inline]
    fn rests(&self) -> bool {
        self.parts.delay
    }

    #[inline]
    fn pace(&mut self, conn: &mut Conn, _slot: u32) -> NextSend {
        if !conn.ends.is_empty() {
            return NextSend::Now;
        }
        // Like wrk: the next batch when the last one is answered.
        if !conn.waiting.is_empty() || self.failed || self.stop.is_set() {
            return NextSend::WhenAnswered;
        }
        if !self.parts.delay {
            return self.ask(conn);
        }
        match self.functions.delay() {
            Ok(0.0) => self.ask(conn),
            Ok(milliseconds) => NextSend::After((milliseconds * 1e6) as Nanos),
            Err(failure) => {
                self.fail(failure);
                NextSend::WhenAnswered
            }
        }
    }

    #[inline]
    fn ended(&self) -> bool {
        self.stop.is_set()
    }
}

/// The header fields in a head: names as they came, values without the space around them.
fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.split(|&byte| byte == b'\n')
        .skip(1)
        .filter_map(|line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_head() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Empty:\r\nA:  b: c \r\n\r\n";
        let all: Vec<_> = fields(head).collect();
        assert_eq!(
            all,
            [
                (&b"Content-Type"[..], &b"text/plain"[..]),
                (b"X-Empty", b""),
                (b"A", b"b: c"),
            ]
        );
        assert_eq!(fields(b"").count(), 0);
    }
}

//! `-v 2` and above: every answer is printed as it comes, head and body.

use prony_engine::protocol::{
    Events, Expect, Fault, Fifo, HttpReader, HttpState, Keep, Limits, Session,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Log of the answers, in the order in which they were complete.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<String>>);

impl Log {
    /// Returns everything that was logged so far.
    pub(super) fn text(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn add(&self, answer: &[u8], status: Option<u16>) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.push_str("LOG: header received:\n");
        log.push_str(&String::from_utf8_lossy(answer));
        log.push('\n');
        if let Some(status) = status {
            log.push_str(&format!("LOG: Response code = {status}\n"));
        }
    }
}

/// One request again and again, whose answers are logged.
pub(super) struct Verbose {
    request: Vec<u8>,
    to_head: bool,
    /// Are statuses logged as well?
    statuses: bool,
    reader: HttpReader,
    expect: Expect,
    log: Log,
    first: Vec<u8>,
}

impl Verbose {
    pub(super) fn new(request: Vec<u8>, statuses: bool, log: Log) -> Self {
        Self {
            to_head: request.starts_with(b"HEAD "),
            reader: HttpReader::new(Limits::default()).to(&request),
            request,
            statuses,
            expect: Expect::default(),
            log,
            first: Vec::new(),
        }
    }

    fn answered(&mut self, conn: &mut Conn, status: u16) {
        if self.first.is_empty() {
            self.first.clone_from(&conn.kept.head);
        }
        let PartialAnswer { head, body } = &mut conn.kept;
        head.append(body);
        self.log.add(head, self.statuses.then_some(status));
        head.clear();
        conn.waiting = false;
    }
}

/// A connection: with `ab` one request at a time is in flight on it.
#[derive(Default)]
pub(super) struct Conn {
    state: HttpState,
    waiting: bool,
    kept: PartialAnswer,
}

/// The answer as far as it has come.
#[derive(Default)]
struct PartialAnswer {
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Keep for PartialAnswer {
    fn head(&mut self, bytes: &[u8]) {
        self.head.extend_from_slice(bytes);
    }

    fn body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }
}

impl Session for Verbose {
    type Conn = Conn;
    type Token = Fifo;

    fn request(&mut self, conn: &mut Conn, _slot: u32, _: Fifo, out: &mut Vec<u8>) {
        conn.waiting = true;
        out.extend_from_slice(&self.request);
    }

    fn received(
        &mut self,
        conn: &mut Conn,
        _slot: u32,
        bytes: &[u8],
        _out: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> Result<(), Fault> {
        let mut at = 0;
        while at < bytes.len() {
            if !conn.waiting {
                return Err(Fault::Unsolicited { at });
            }
            let (used, answer) = self.reader.read(
                &mut conn.state,
                &bytes[at..],
                self.to_head,
                &self.expect,
                &mut conn.kept,
            )?;
            at += used;
            if let Some(answer) = answer {
                self.answered(conn, answer.status);
                events.answered(Fifo, answer);
            }
        }
        Ok(())
    }

    fn end(&mut self, conn: &mut Conn, _slot: u32, events: &mut impl Events<Fifo>) {
        if conn.waiting
            && let Some(answer) = self.reader.end(&mut conn.state, &self.expect)
        {
            self.answered(conn, answer.status);
            events.answered(Fifo, answer);
        }
    }

    fn first_head(&self) -> &[u8] {
        &self.first
    }
}

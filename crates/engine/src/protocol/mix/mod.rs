//! Several kinds of requests, each with its share of all, filled from templates and judged by name.
//!
//! A kind has its own reader, so that the head of an answer is compared with the last one to the same
//! kind. What every answer must be is checked always where that is cheap: status, header fields, length,
//! the exact body. A body is searched on a sample only; the report says how many were.

mod durations;
mod flights;
mod judge;
mod kind;
mod order;
mod over_h2;
mod own;
mod recorded;
mod redirect;
mod schema;
mod streaming;
mod table;
mod tally;
mod template;
mod user;
mod users;

#[cfg(test)]
mod tests;

use super::encoding::ACCEPTED;
use super::http::unasked;
use super::{
    Answer, AnswerProgress, Booked, Ending, EventStream, Events, Expect, Fault, Fifo, HttpRequest,
    Limits, Session,
};
use crate::clock::Nanos;
use crate::schedule::Share;
use kind::Kinds;
use order::KindOrder;
use prony_record::ByRequest;
use recorded::Recording;
use serde::{Deserialize, Serialize};
use table::Column as Values;
use template::{Filler, Template};

pub use judge::{Expected, JsonPath, JsonValue};
pub use kind::MixConn;
pub use order::{CYCLE, Shares, exact_shares};
pub(crate) use over_h2::over_h3;
pub use over_h2::{Carried, MixStreams, OverStreams, over_h2};
pub use own::{Own, ResponsePart};
pub use recorded::{Recorded, RecordedRequest};
pub use schema::Schema;
pub use table::{Column, ValueTable};
pub use template::{Piece, Written, text};
pub use user::{Take, Think, ValueOrigin};
pub use users::{MixSession, MixStep, UserConn, Users};

/// One of this number is the unit of [`Mix::sample`].
pub const MILLION: u32 = 1_000_000;

/// How many of a million answers have their bodies searched, unless something else is said.
pub const SAMPLE: u32 = MILLION / 100;

/// A kind of request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixRequest {
    /// Name of the kind.
    pub name: String,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: Vec<Piece>,
    /// The `Host` field, unless `headers` has one.
    pub host: String,
    /// Further header fields.
    pub headers: Vec<(String, Vec<Piece>)>,
    /// The user's cookies are sent with it; only in sessions.
    #[serde(default)]
    pub cookies: bool,
    /// The body; with one, a `Content-Length` is sent.
    pub body: Vec<Piece>,
    /// Ask the server to keep the connection open.
    pub keepalive: bool,
    /// Weight among all kinds: the share of a kind is its weight over the sum of all weights.
    pub weight: u32,
    /// Expectations of the answers to these requests.
    pub expected: Expected,
    /// Answers are streams of events; None: they are not.
    #[serde(default)]
    pub stream: Option<EventStream>,
}

/// Kinds of requests, and the tables that their values come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    /// The kinds, at least one.
    pub requests: Vec<MixRequest>,
    /// The tables, by their places in [`Piece::Row`].
    pub tables: Vec<ValueTable>,
    /// How the shares are kept.
    pub shares: Shares,
    /// How many of a million answers have their bodies searched.
    pub sample: u32,
    /// Bodies are judged without their content codings: see [`Mix::decode`].
    #[serde(default)]
    pub decodes: bool,
    /// How much of an answer is accepted.
    pub limits: Limits,
    /// Sessions of these requests; empty: each request is sent for itself.
    #[serde(default)]
    pub sessions: Vec<MixSession>,
    /// The order and the times of the requests; the weights are then not used.
    #[serde(default)]
    pub recorded: Option<Box<Recorded>>,
    /// HTTP/2 options; None: HTTP/1.1. The load's `pipeline` is the number of streams in flight on each connection.
    /// See [`Mix::speak_http2`].
    #[serde(default)]
    pub http2: Option<MixStreams>,
}

impl Mix {
    /// Statements that a database executes for these right answers, at the least.
    #[must_use]
    pub fn least_statements(&self, answered: &[ByRequest]) -> u64 {
        let each = answered.iter().map(|by| {
            let kind = self.requests.iter().find(|kind| kind.name == by.name);
            by.outcomes.ok * kind.map_or(0, |kind| u64::from(kind.expected.statements))
        });
        each.sum()
    }

    /// The same for a server that requests call `host`, and that is asked to keep connections open or not.
    #[must_use]
    pub fn for_host(&self, host: &str, keepalive: bool) -> Self {
        let mut mix = self.clone();
        for request in &mut mix.requests {
            host.clone_into(&mut request.host);
            request.keepalive = keepalive;
        }
        mix
    }

    /// Asks for all content codings that are known, where a request does not say itself which it accepts, and judges
    /// bodies without them. What is expected of a body that has one is looked at on the sample.
    pub fn decode(&mut self) {
        self.decodes = true;
        let accepts = |(name, _): &(String, _)| name.eq_ignore_ascii_case("accept-encoding");
        for request in &mut self.requests {
            if !request.headers.iter().any(accepts) {
                let field = ("Accept-Encoding".to_owned(), vec![text(ACCEPTED)]);
                request.headers.push(field);
            }
        }
    }

    /// A mix of one request under this name, whose answers must be as `expect` says.
    #[must_use]
    pub fn one(name: &str, request: &HttpRequest, expect: &Expect, limits: Limits) -> Self {
        let field = |(name, value): &(String, String)| (name.clone(), vec![text(value.as_str())]);
        let body = match request.body.as_slice() {
            [] => Vec::new(),
            bytes => vec![text(bytes)],
        };
        Self {
            requests: vec![MixRequest {
                name: name.to_owned(),
                method: request.method.clone(),
                path: vec![text(request.target.as_str())],
                host: request.host.clone(),
                headers: request.headers.iter().map(field).collect(),
                cookies: false,
                body,
                keepalive: request.keepalive,
                weight: 1,
                expected: Expected {
                    status: expect.status.into_iter().collect(),
                    body: expect.length.map(|_| expect.prefix.clone()),
                    ..Expected::default()
                },
                stream: None,
            }],
            tables: Vec::new(),
            shares: Shares::Exact,
            sample: SAMPLE,
            decodes: false,
            limits,
            sessions: Vec::new(),
            recorded: None,
            http2: None,
        }
    }

    /// The length of the longest request without its values, in bytes.
    pub(crate) fn longest(&self) -> u64 {
        let fixed = |request: &MixRequest| Template::new(request).fixed_length() as u64;
        self.requests.iter().map(fixed).max().unwrap_or_default()
    }

    /// The share of each request, from 0 to 1.
    #[must_use]
    pub fn share(&self, request: &MixRequest) -> f64 {
        let all: f64 = self.requests.iter().map(|one| f64::from(one.weight)).sum();
        f64::from(request.weight) / all
    }
}

/// Sends the requests of a [`Mix`] and judges every answer.
#[derive(Debug)]
pub struct Mixed {
    kinds: Kinds,
    order: KindOrder,
    recording: Option<Recording>,
    filler: Filler,
    /// Requests that a server has left out, the next one last.
    again: Vec<Again>,
    /// Requests in flight over all connections.
    in_flight: u64,
}

/// A request that is sent once more.
#[derive(Debug)]
struct Again {
    kind: usize,
    text: Vec<u8>,
    /// If its answer is searched: what is expected by its own values.
    own: Option<Values>,
}

impl Mixed {
    /// The part of `worker` (0-based) of so many. The same seed gives the same bytes in the same order,
    /// for each worker.
    ///
    /// # Panics
    /// When a regular expression does not compile: the caller that builds a [`Mix`] has compiled it before.
    #[must_use]
    pub fn new(mix: &Mix, seed: u64, worker: u32, workers: u32) -> Self {
        let own = seed ^ u64::from(worker).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let weights: Vec<u32> = mix.requests.iter().map(|request| request.weight).collect();
        let kinds = Kinds::new(mix, own);
        let mut filler = Filler::new(mix.tables.clone(), own, worker, workers);
        filler.remember(kinds.places());
        Self {
            kinds,
            order: KindOrder::new(&weights, mix.shares, own),
            recording: None,
            filler,
            again: Vec::new(),
            in_flight: 0,
        }
    }

    /// Sends the recorded requests that are due on the connections of this share; there must be at least one.
    #[must_use]
    pub(crate) fn recorded(mut self, recorded: &Recorded, share: Share) -> Self {
        self.recording = Some(Recording::new(recorded, share));
        self
    }

    /// Sends this kind (by its place) from now on, and no other.
    pub fn only(&mut self, kind: usize) {
        self.order = KindOrder::only(kind);
    }

    /// The next `{{seq}}` is this, instead of 1.
    pub fn count_from(&mut self, n: u64) {
        self.filler.count_from(n);
    }

    /// The request in flight, which is this text, was not processed: it is the next one that is sent.
    #[cold]
    fn send_again(&mut self, conn: &mut MixConn, text: &[u8]) {
        self.in_flight -= 1;
        let (kind, own) = Kinds::take_back(conn);
        let text = text.to_vec();
        self.again.push(Again { kind, text, own });
    }

    /// Judges an answer that has come whole, and books it.
    #[inline]
    fn answered(
        &mut self,
        conn: &mut MixConn,
        mut answer: Answer,
        surplus: Option<&Fault>,
        events: &mut impl Events<Fifo>,
    ) {
        self.in_flight -= 1;
        self.kinds.tell_end(conn, events);
        let judged = self.kinds.judge(conn, &mut answer, surplus, false);
        let booked = events.answered(Fifo, answer);
        self.kinds.book(conn, judged, booked);
    }
}

impl Session for Mixed {
    type Conn = MixConn;
    type Token = Fifo;

    /// No more after the last row of a table that is used once.
    #[inline]
    fn accepts(&self, conn: &MixConn) -> bool {
        !conn.closing && (!self.filler.used_up() || !self.again.is_empty())
    }

    /// And the answers to the last ones have come.
    #[inline]
    fn ended(&self) -> bool {
        self.filler.used_up() && self.in_flight == 0 && self.again.is_empty()
    }

    #[inline]
    fn request(&mut self, conn: &mut MixConn, _slot: u32, _: Fifo, out: &mut Vec<u8>) {
        if let Some(Again { kind, text, own }) = self.again.pop() {
            self.in_flight += 1;
            out.extend_from_slice(&text);
            return Kinds::sent_on(conn, kind, &text, own);
        }
        let from = out.len();
        let kind = match &mut self.recording {
            None => {
                let kind = self.order.next();
                self.kinds.get(kind).template.fill(&mut self.filler, out);
                kind
            }
            Some(recording) => {
                let RecordedRequest { request, row } = recording.next();
                let template = &self.kinds.get(request as usize).template;
                match row {
                    None => template.fill(&mut self.filler, out),
                    Some(row) => template.fill_row(row as usize, &mut self.filler, out),
                }
                request as usize
            }
        };
        self.in_flight += 1;
        self.kinds.sent(conn, kind, &out[from..], &mut self.filler);
    }

    #[inline]
    fn received(
        &mut self,
        conn: &mut MixConn,
        _slot: u32,
        bytes: &[u8],
        _out: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> Result<(), Fault> {
        if conn.flights.is_empty() {
            return Err(unasked(bytes));
        }
        let mut at = 0;
        while at < bytes.len() {
            let (used, answer) = self.kinds.read(conn, &bytes[at..], false, false)?;
            at += used;
            if self.kinds.tell(conn, events)
                && answer.is_none()
                && let Some(answer) = self.kinds.hang_up(conn)
            {
                self.answered(conn, answer, None, events);
                return Ok(());
            }
            if let Some(answer) = answer {
                let more = at < bytes.len() && (answer.last || conn.flights.len() == 1);
                let surplus = more.then_some(Fault::Unsolicited { at });
                self.answered(conn, answer, surplus.as_ref(), events);
                if let Some(fault) = surplus {
                    return Err(fault);
                }
            } else if conn.begins() {
                events.begun(Fifo);
            }
        }
        Ok(())
    }

    fn end(&mut self, conn: &mut MixConn, _slot: u32, events: &mut impl Events<Fifo>) {
        if let Some(answer) = self.kinds.end(conn) {
            self.answered(conn, answer, None, events);
        }
    }

    fn streams(&self) -> bool {
        self.kinds.streams()
    }

    fn listens(&self, conn: &MixConn, _: Fifo) -> Option<Nanos> {
        self.kinds.listens(conn)
    }

    fn hang_up(
        &mut self,
        conn: &mut MixConn,
        _: u32,
        _: Fifo,
        _: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> bool {
        let answer = self.kinds.hang_up(conn);
        let done = answer.is_some();
        if let Some(answer) = answer {
            self.answered(conn, answer, None, events);
        }
        done
    }

    fn first_head(&self) -> &[u8] {
        self.kinds.first_head()
    }

    fn progress(&self, conn: &MixConn, _: Fifo) -> AnswerProgress {
        conn.progress()
    }

    #[cold]
    fn failed(&mut self, conn: &mut MixConn, _: Fifo, booked: Booked, ending: Ending) {
        if self.kinds.failed(conn, booked, ending).is_some() {
            self.in_flight -= 1;
        }
    }

    fn by_request(&mut self) -> Vec<ByRequest> {
        self.kinds.seen()
    }
}

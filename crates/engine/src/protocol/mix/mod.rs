//! Several kinds of requests, each with its share of all, filled from templates and judged by name.
//!
//! A kind has its own reader, so that the head of an answer is compared with the last one to the same
//! kind. What every answer must be is checked always where that is cheap: status, header fields, length,
//! the exact body. A body is searched on a sample only; the report says how many were.

mod flights;
mod judge;
mod order;
mod tally;
mod template;
mod user;
mod users;

#[cfg(test)]
mod tests;

use super::{
    Answer, Booked, Ending, Events, Expect, Fault, Fifo, HttpReader, HttpState, Keep, Limits,
    Mismatch, Session,
};
use flights::Flights;
use judge::Checks;
use order::Order;
use prony_record::ByRequest;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use tally::Tally;
use template::{Filler, Template};

pub use judge::{Expected, JsonValue};
pub use order::{CYCLE, Shares, exact_shares};
pub use template::{Column, Piece, Table, Written, text};
pub use user::{Origin, Take, Think};
pub use users::{MixSession, MixStep, UserConn, Users};

/// One of this number is the unit of [`Mix::sample`].
pub const MILLION: u32 = 1_000_000;

/// A kind of request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixRequest {
    /// What it is called.
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
    /// Its weight among all: its share is the weight over the sum of all weights.
    pub weight: u32,
    /// What its answers must be.
    pub expected: Expected,
}

/// Kinds of requests, and the tables that their values come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    /// The kinds, at least one.
    pub requests: Vec<MixRequest>,
    /// The tables, by their places in [`Piece::Row`].
    pub tables: Vec<Table>,
    /// How the shares are kept.
    pub shares: Shares,
    /// How many of a million answers have their bodies searched.
    pub sample: u32,
    /// How much of an answer is accepted.
    pub limits: Limits,
    /// Sessions of these requests; empty: each request is sent for itself.
    #[serde(default)]
    pub sessions: Vec<MixSession>,
}

impl Mix {
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

/// A kind of request, ready to be sent and judged.
#[derive(Debug)]
struct Kind {
    name: String,
    share: f64,
    template: Template,
    /// Answers to HEAD have no body, whatever their header says.
    head: bool,
    reader: HttpReader,
    expect: Expect,
    checks: Checks,
    tally: Tally,
}

/// Sends the requests of a [`Mix`] and judges every answer.
#[derive(Debug)]
pub struct Mixed {
    kinds: Vec<Kind>,
    order: Order,
    filler: Filler,
    /// Requests in flight over all connections.
    in_flight: u64,
    sample: u32,
    /// Draws the sample, so that what is sent does not depend on what is checked.
    dice: Xoshiro256PlusPlus,
}

/// What is remembered per connection.
#[derive(Debug, Default)]
pub struct MixConn {
    flights: Flights,
    state: HttpState,
    /// The body of the answer that is being read, where it is searched.
    body: Vec<u8>,
    /// What is wrong with its head.
    wrong: Option<String>,
}

impl Kind {
    fn new(request: &MixRequest, mix: &Mix) -> Self {
        Self {
            name: request.name.clone(),
            share: mix.share(request),
            template: Template::new(request),
            head: request.method == "HEAD",
            reader: HttpReader::new(mix.limits),
            expect: request.expected.cheap(),
            checks: Checks::new(&request.expected),
            tally: Tally::new(),
        }
    }

    /// What was seen of it.
    fn seen(&mut self) -> ByRequest {
        let tally = std::mem::replace(&mut self.tally, Tally::new());
        tally.seen(&self.name, self.share)
    }
}

/// What is known of an answer that has come whole.
struct Judged<'a> {
    /// What is wrong with its head.
    wrong: Option<String>,
    /// Its body, if that is searched.
    body: Option<&'a [u8]>,
    /// What came after it.
    surplus: Option<&'a Fault>,
}

/// What is wrong with an answer, with the request; the answer takes that over.
#[inline]
fn judge_answer(
    kind: &Kind,
    seen: Judged<'_>,
    answer: &mut Answer,
    shown: (&[u8], bool),
) -> Option<String> {
    let mut wrong = seen.wrong;
    if let Some(mismatch) = &answer.wrong {
        wrong = Some(mismatch.to_string());
    } else if let Some(text) = kind.checks.status(answer.status) {
        wrong = Some(text);
    } else if let (Some(body), None) = (seen.body, &wrong) {
        wrong = kind.checks.search(body);
    }
    wrong = wrong.or_else(|| seen.surplus.map(ToString::to_string));
    let text = wrong.map(|wrong| judge::with_request(&kind.name, &wrong, shown));
    answer.wrong = text
        .as_deref()
        .map(|text| Mismatch::Stated(text.to_owned().into_boxed_str()));
    text
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
        let kind = |request| Kind::new(request, mix);
        let weights: Vec<u32> = mix.requests.iter().map(|request| request.weight).collect();
        Self {
            kinds: mix.requests.iter().map(kind).collect(),
            order: Order::new(&weights, mix.shares, own),
            filler: Filler::new(mix.tables.clone(), own, worker, workers),
            in_flight: 0,
            sample: mix.sample,
            dice: Xoshiro256PlusPlus::seed_from_u64(own.rotate_left(32)),
        }
    }

    /// Sends this kind (by its place) from now on, and no other.
    pub fn only(&mut self, kind: usize) {
        self.order = Order::only(kind);
    }

    /// Judges an answer that has come whole, and books it.
    #[inline]
    fn answered(
        kind: &mut Kind,
        conn: &mut MixConn,
        mut answer: Answer,
        surplus: Option<&Fault>,
        events: &mut impl Events<Fifo>,
    ) {
        let flight = conn.flights.oldest();
        let searched = flight.search;
        let seen = Judged {
            wrong: conn.wrong.take(),
            body: (searched && !kind.head).then_some(conn.body.as_slice()),
            surplus,
        };
        let text = judge_answer(kind, seen, &mut answer, flight.shown());
        conn.flights.pop();
        conn.body.clear();
        let status = answer.status;
        let booked = events.answered(Fifo, answer);
        kind.tally.answer(booked, status, text, searched);
    }
}

/// Looks at the parts of an answer while it is read.
struct Look<'a> {
    checks: &'a mut Checks,
    wrong: &'a mut Option<String>,
    body: Option<&'a mut Vec<u8>>,
}

impl Keep for Look<'_> {
    #[inline]
    fn head(&mut self, bytes: &[u8]) {
        if !self.checks.head_is_known(bytes) {
            *self.wrong = self.checks.head(bytes);
        }
    }

    #[inline]
    fn body(&mut self, bytes: &[u8]) {
        if let Some(body) = &mut self.body {
            body.extend_from_slice(bytes);
        }
    }
}

impl Session for Mixed {
    type Conn = MixConn;
    type Token = Fifo;

    /// No more after the last row of a table that is used once.
    #[inline]
    fn accepts(&self, _conn: &MixConn) -> bool {
        !self.filler.used_up()
    }

    /// And the answers to the last ones have come.
    #[inline]
    fn ended(&self) -> bool {
        self.filler.used_up() && self.in_flight == 0
    }

    #[inline]
    fn request(&mut self, conn: &mut MixConn, _slot: u32, _: Fifo, out: &mut Vec<u8>) {
        let place = self.order.next();
        let kind = &mut self.kinds[place];
        let from = out.len();
        kind.template.fill(&mut self.filler, out);
        let search = kind.checks.searches()
            && (kind.tally.is_first() || self.dice.random_range(0..MILLION) < self.sample);
        self.in_flight += 1;
        conn.flights.push(place as u32, search, &out[from..]);
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
            return Err(Fault::Unsolicited { at: 0 });
        }
        let mut at = 0;
        while at < bytes.len() {
            let flight = conn.flights.oldest();
            let kind = &mut self.kinds[flight.kind as usize];
            let mut look = Look {
                checks: &mut kind.checks,
                wrong: &mut conn.wrong,
                body: flight.search.then_some(&mut conn.body),
            };
            let (used, answer) = kind.reader.read(
                &mut conn.state,
                &bytes[at..],
                kind.head,
                &kind.expect,
                &mut look,
            )?;
            at += used;
            if let Some(answer) = answer {
                let more = at < bytes.len() && (answer.last || conn.flights.len() == 1);
                let surplus = more.then_some(Fault::Unsolicited { at });
                self.in_flight -= 1;
                Self::answered(kind, conn, answer, surplus.as_ref(), events);
                if let Some(fault) = surplus {
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, conn: &mut MixConn, _slot: u32, events: &mut impl Events<Fifo>) {
        if conn.flights.is_empty() {
            return;
        }
        let kind = &mut self.kinds[conn.flights.oldest().kind as usize];
        if let Some(answer) = kind.reader.end(&mut conn.state, &kind.expect) {
            self.in_flight -= 1;
            Self::answered(kind, conn, answer, None, events);
        }
    }

    fn first_head(&self) -> &[u8] {
        let mut heads = self.kinds.iter().map(|kind| kind.reader.first_head());
        heads.find(|head| !head.is_empty()).unwrap_or_default()
    }

    #[cold]
    fn failed(&mut self, conn: &mut MixConn, _: Fifo, booked: Booked, ending: Ending) {
        if conn.flights.is_empty() {
            return;
        }
        let kind = conn.flights.oldest().kind;
        conn.flights.pop();
        self.in_flight -= 1;
        self.kinds[kind as usize].tally.failed(booked, ending);
    }

    fn by_request(&mut self) -> Vec<ByRequest> {
        self.kinds.iter_mut().map(Kind::seen).collect()
    }
}

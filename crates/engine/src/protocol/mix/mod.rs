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
mod own;
mod redirect;
mod table;
mod tally;
mod template;
mod user;
mod users;

#[cfg(test)]
mod tests;

use super::{Answer, Booked, Ending, Events, Fault, Fifo, Limits, Session};
use kind::Kinds;
use order::Order;
use prony_record::ByRequest;
use serde::{Deserialize, Serialize};
use template::{Filler, Template};

pub use judge::{Expected, JsonPath, JsonValue};
pub use kind::MixConn;
pub use order::{CYCLE, Shares, exact_shares};
pub use own::{Own, Part};
pub use table::{Column, Table};
pub use template::{Piece, Written, text};
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

/// Sends the requests of a [`Mix`] and judges every answer.
#[derive(Debug)]
pub struct Mixed {
    kinds: Kinds,
    order: Order,
    filler: Filler,
    /// Requests in flight over all connections.
    in_flight: u64,
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
            order: Order::new(&weights, mix.shares, own),
            filler,
            in_flight: 0,
        }
    }

    /// Sends this kind (by its place) from now on, and no other.
    pub fn only(&mut self, kind: usize) {
        self.order = Order::only(kind);
    }

    /// The next `{{seq}}` is this, instead of 1.
    pub fn count_from(&mut self, n: u64) {
        self.filler.count_from(n);
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
        let kind = self.order.next();
        let from = out.len();
        self.kinds.get(kind).template.fill(&mut self.filler, out);
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
            return Err(Fault::Unsolicited { at: 0 });
        }
        let mut at = 0;
        while at < bytes.len() {
            let (used, answer) = self.kinds.read(conn, &bytes[at..], None, false)?;
            at += used;
            if let Some(answer) = answer {
                let more = at < bytes.len() && (answer.last || conn.flights.len() == 1);
                let surplus = more.then_some(Fault::Unsolicited { at });
                self.answered(conn, answer, surplus.as_ref(), events);
                if let Some(fault) = surplus {
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, conn: &mut MixConn, _slot: u32, events: &mut impl Events<Fifo>) {
        if let Some(answer) = self.kinds.end(conn) {
            self.answered(conn, answer, None, events);
        }
    }

    fn first_head(&self) -> &[u8] {
        self.kinds.first_head()
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

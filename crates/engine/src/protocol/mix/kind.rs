//! The kinds of requests of a mix, ready to be sent, and what is read and judged for them.

use super::flights::Flights;
use super::judge::{self, Checks};
use super::streaming::StreamInspector;
use super::table::Column;
use super::tally::Tally;
use super::template::{Filler, Template};
use super::{MILLION, Mix, MixRequest};
use crate::protocol::encoding::Encoding;
use crate::protocol::http::asks_to_close;
use crate::protocol::{
    Answer, AnswerProgress, Booked, Difference, Ending, EventReader, EventStream, Expect, Fault,
    HttpReader, HttpState, Keep, Mismatch,
};
use prony_record::{ByRequest, Encoded};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The most bytes of a stream that are kept to be searched: it may have no end.
const MOST_SEARCHED: usize = 1 << 20;

/// A kind of request, ready to be sent and judged.
#[derive(Debug)]
pub(super) struct RequestKind {
    pub(super) name: String,
    pub(super) template: Template,
    share: f64,
    /// Answers to HEAD have no body, whatever their header says.
    head: bool,
    /// Says `Connection: close`, so that it is the last on its connection.
    closes: bool,
    /// Bodies are looked at, on a sample.
    searches: bool,
    /// Answers are streams of events.
    pub(super) stream: Option<EventStream>,
    reader: HttpReader,
    pub(super) expect: Expect,
    checks: Checks,
    tally: Tally,
}

/// State of a connection: the requests in flight, and the answer that is being read.
#[derive(Debug, Default)]
pub struct MixConn {
    pub(super) flights: Flights,
    pub(super) state: HttpState,
    /// The head of the answer, where it is wanted.
    pub(super) head: Vec<u8>,
    /// The body of the answer, where it is wanted.
    pub(super) body: Vec<u8>,
    /// Why the head of the answer is wrong; None if it is right.
    wrong: Option<String>,
    /// The events of the answer, if it is a stream.
    pub(super) events: EventReader,
    /// The stream was ended from here, not by the server.
    pub(super) left: bool,
    /// The last request on it has been sent.
    pub(super) closing: bool,
}

impl MixConn {
    /// How much of the answer to the oldest request has come.
    pub(super) fn progress(&self) -> AnswerProgress {
        self.state.progress()
    }

    /// Has the body of the answer begun that is being read? True once for each.
    #[inline]
    pub(super) fn begins(&mut self) -> bool {
        self.state.begins()
    }

    /// Drops everything kept of an answer that does not come whole.
    fn forget(&mut self) {
        self.head.clear();
        self.body.clear();
        self.wrong = None;
        self.events = EventReader::default();
        self.left = false;
    }
}

/// An answer that has come whole.
pub(super) struct JudgedAnswer {
    /// Kind of the request, by its place in the mix.
    pub(super) kind: usize,
    /// Why the answer is wrong, with the request; None if it is right.
    pub(super) wrong: Option<String>,
    status: u16,
    searched: bool,
    /// The coding of its body, where bodies are decoded.
    encoded: Option<Box<Coded>>,
}

/// The coding of a body.
struct Coded {
    name: String,
    seen: Encoded,
}

/// All kinds of a mix.
#[derive(Debug)]
pub struct Kinds {
    pub(super) all: Vec<RequestKind>,
    /// How many of a million answers have their bodies searched.
    sample: u32,
    /// Bodies are decoded, to at most so many bytes.
    decodes: Option<u64>,
    /// Draws the sample, so that what is sent does not depend on what is checked.
    dice: Xoshiro256PlusPlus,
}

impl RequestKind {
    fn new(request: &MixRequest, mix: &Mix) -> Self {
        let head = request.method == "HEAD";
        let checks = Checks::new(&request.expected);
        Self {
            name: request.name.clone(),
            share: mix.share(request),
            closes: closes(request),
            template: Template::new(request),
            head,
            searches: checks.searches() || (mix.decodes && !head),
            stream: request.stream.clone(),
            reader: HttpReader::new(mix.limits),
            expect: request.expected.cheap(),
            checks,
            tally: Tally::new(),
        }
    }
}

impl Kinds {
    /// The kinds of a mix; `seed` is a worker's own.
    pub(super) fn new(mix: &Mix, seed: u64) -> Self {
        Self {
            all: mix
                .requests
                .iter()
                .map(|it| RequestKind::new(it, mix))
                .collect(),
            sample: mix.sample,
            decodes: mix.decodes.then_some(mix.limits.body),
            dice: Xoshiro256PlusPlus::seed_from_u64(seed.rotate_left(32)),
        }
    }

    /// The kind in this place.
    #[inline]
    pub(super) fn get(&self, kind: usize) -> &RequestKind {
        &self.all[kind]
    }

    /// A number from 0 up to 1.
    pub(super) fn draw(&mut self) -> f64 {
        self.dice.random()
    }

    /// How many places there must be for the values that requests remember.
    pub(super) fn places(&self) -> usize {
        let places = self.all.iter().map(|kind| kind.template.places());
        places.max().unwrap_or_default()
    }

    /// A request of this kind is sent, which the filler has just filled.
    #[inline]
    pub(super) fn sent(
        &mut self,
        conn: &mut MixConn,
        kind: usize,
        request: &[u8],
        filler: &mut Filler,
    ) {
        let it = &self.all[kind];
        conn.closing = it.closes;
        let search = it.searches
            && (it.tally.is_first() || self.dice.random_range(0..MILLION) < self.sample);
        let flight = conn.flights.push(kind as u32, search, request);
        if search {
            it.checks.own.fill(filler, &mut flight.own);
        }
    }

    /// Returns the expectations filled with the own values of the oldest request in flight; None if its answer is not
    /// searched.
    pub(super) fn own(conn: &MixConn) -> Option<Column> {
        let flight = conn.flights.oldest();
        flight.search.then(|| flight.own.clone())
    }

    /// A request of this kind is sent on to another place: what is expected is what was expected before.
    pub(super) fn sent_on(conn: &mut MixConn, kind: usize, request: &[u8], own: Option<Column>) {
        let flight = conn.flights.push(kind as u32, own.is_some(), request);
        flight.own = own.unwrap_or_default();
    }

    /// Reads the answer to the oldest request in flight, of which there must be one: gives how many bytes, and the
    /// answer when it has come whole. `head` and `body` say whether they are kept though the answer is not searched.
    #[inline]
    pub(super) fn read(
        &mut self,
        conn: &mut MixConn,
        bytes: &[u8],
        head: bool,
        body: bool,
    ) -> Result<(usize, Option<Answer>), Fault> {
        let closes = self.all[conn.flights.oldest().kind as usize].closes;
        let (to_head, flight) = self.look(conn, head, body);
        let Looking {
            reader,
            state,
            expect,
            mut look,
        } = flight;
        let (used, mut answer) = reader.read(state, bytes, to_head, expect, &mut look)?;
        if let Some(answer) = &mut answer {
            answer.last |= closes;
        }
        Ok((used, answer))
    }

    /// Returns whether the oldest request in flight is a HEAD, and the parts that read its answer.
    #[inline]
    fn look<'a>(
        &'a mut self,
        conn: &'a mut MixConn,
        head: bool,
        body: bool,
    ) -> (bool, Looking<'a>) {
        let flight = conn.flights.oldest();
        let kind = &mut self.all[flight.kind as usize];
        let looking = Looking {
            reader: &mut kind.reader,
            state: &mut conn.state,
            expect: &kind.expect,
            look: AnswerInspector {
                checks: &mut kind.checks,
                wrong: &mut conn.wrong,
                head: (head || self.decodes.is_some()).then_some(&mut conn.head),
                own: flight.search.then_some(&flight.own),
                body: (flight.search || body).then_some(&mut conn.body),
                stream: kind.stream.as_ref().map(|stream| StreamInspector {
                    stream,
                    events: &mut conn.events,
                    expect: &kind.expect,
                }),
            },
        };
        (kind.head, looking)
    }

    /// Takes the head of the answer to the oldest request, where something else reads answers. `keep`: though it is not
    /// searched.
    pub(super) fn head(&mut self, conn: &mut MixConn, head: &[u8], keep: bool) {
        let (_, mut looking) = self.look(conn, keep, false);
        looking.look.head(head);
    }

    /// The answer to the oldest request is wrong in this way, whatever else it is.
    #[cold]
    pub(super) fn refuse(conn: &mut MixConn, why: &str) {
        conn.wrong = Some(why.to_owned());
    }

    /// Takes a piece of the body of the answer to the oldest request, which begins at this offset. `keep`: though it is
    /// not searched. `difference`: where the body first differs from what is expected.
    pub(super) fn body(
        &mut self,
        conn: &mut MixConn,
        (offset, bytes): (u64, &[u8]),
        keep: bool,
        difference: &mut Option<Box<Difference>>,
    ) {
        let (_, mut looking) = self.look(conn, false, keep);
        looking.look.body(bytes);
        if !looking.expect.matches_at(offset, bytes) && difference.is_none() {
            *difference = looking.expect.difference_at(offset, bytes);
        }
    }

    /// Judges the status, the length and the bytes of the answer to the oldest request; None if they are right. An
    /// answer to HEAD is judged by its status alone.
    pub(super) fn compared(
        &self,
        conn: &MixConn,
        status: u16,
        length: u64,
        difference: Option<Box<Difference>>,
    ) -> Option<Mismatch> {
        let kind = &self.all[conn.flights.oldest().kind as usize];
        match kind.head {
            true => kind.expect.judge_status(status),
            false => kind.expect.judge(status, length, difference),
        }
    }

    /// The oldest request is not in flight any more, and is sent again later: gives its kind, and what is expected by its
    /// own values if its answer is searched.
    pub(super) fn take_back(conn: &mut MixConn) -> (usize, Option<Column>) {
        let (kind, own) = (conn.flights.oldest().kind as usize, Self::own(conn));
        conn.flights.pop();
        conn.forget();
        (kind, own)
    }

    /// The server has closed the connection: gives the answer that this completes.
    pub(super) fn end(&mut self, conn: &mut MixConn) -> Option<Answer> {
        if conn.flights.is_empty() {
            return None;
        }
        let kind = &mut self.all[conn.flights.oldest().kind as usize];
        kind.reader.end(&mut conn.state, &kind.expect)
    }

    /// Judges the answer to the oldest request, which takes over what is wrong with it. `surplus` is what came after it. Of a
    /// `redirect` that is followed nothing is expected: that is about what it leads to.
    #[inline]
    pub(super) fn judge(
        &self,
        conn: &mut MixConn,
        answer: &mut Answer,
        surplus: Option<&Fault>,
        redirect: bool,
    ) -> JudgedAnswer {
        let encoded = match self.decodes {
            Some(limit) if !redirect => self.decode(conn, answer, limit),
            _ => None,
        };
        let flight = conn.flights.oldest();
        let kind = &self.all[flight.kind as usize];
        let mut wrong = conn.wrong.take();
        if redirect {
            wrong = match &answer.wrong {
                Some(fault @ Mismatch::Fault(_)) => Some(fault.to_string()),
                _ => None,
            };
        } else if let Some(mismatch) = &answer.wrong {
            wrong = Some(mismatch.to_string());
        } else if let Some(text) = kind.checks.status(answer.status) {
            wrong = Some(text);
        } else if let Some(text) = Self::wrong_end(kind, conn) {
            wrong = Some(text);
        } else if flight.search && !kind.head && wrong.is_none() {
            wrong = kind.checks.search(&conn.body, &flight.own);
        }
        wrong = wrong.or_else(|| surplus.map(ToString::to_string));
        let wrong = wrong.map(|wrong| judge::with_request(&kind.name, &wrong, flight.shown()));
        answer.wrong = wrong
            .as_deref()
            .map(|text| Mismatch::Stated(text.to_owned().into_boxed_str()));
        JudgedAnswer {
            kind: flight.kind as usize,
            wrong,
            status: answer.status,
            searched: flight.search && !redirect,
            encoded,
        }
    }

    /// Takes its codings off the body of the answer to the oldest request, where that is kept, and judges it: what came over
    /// the wire is not what is expected of it. Gives the coding, if the answer is searched.
    #[cold]
    fn decode(&self, conn: &mut MixConn, answer: &mut Answer, limit: u64) -> Option<Box<Coded>> {
        let flight = conn.flights.oldest();
        let kind = &self.all[flight.kind as usize];
        let of_body = matches!(
            answer.wrong,
            Some(Mismatch::Length { .. } | Mismatch::Body(_))
        );
        let kept = flight.search || !conn.body.is_empty();
        if kind.head || !(kept || of_body) {
            return None;
        }
        let encoding = encoding_of(&conn.head);
        let mut seen = Encoded {
            answers: 1,
            ..Encoded::default()
        };
        if !encoding.is_identity() {
            if of_body {
                answer.wrong = None;
            }
            match encoding.decode(&conn.body, limit) {
                Ok(_) if !kept => {}
                Ok(body) => {
                    let length = body.len() as u64;
                    (seen.decoded, seen.decoded_bytes) = (1, length);
                    seen.wire_bytes = conn.body.len() as u64;
                    conn.body = body;
                    if flight.search && answer.wrong.is_none() {
                        let difference = kind.expect.difference_at(0, &conn.body);
                        answer.wrong = kind.expect.judge(answer.status, length, difference);
                    }
                }
                // Another status is the better reason.
                Err(_) if kind.checks.status(answer.status).is_some() => {}
                Err(wrong) => {
                    let wrong = Mismatch::Stated(wrong.into_boxed_str());
                    answer.wrong.get_or_insert(wrong);
                }
            }
        }
        let name = encoding.name().to_owned();
        flight.search.then(|| Box::new(Coded { name, seen }))
    }

    /// Books an answer for its kind; its request is not in flight any more.
    #[inline]
    pub(super) fn book(&mut self, conn: &mut MixConn, judged: JudgedAnswer, booked: Booked) {
        conn.flights.pop();
        conn.body.clear();
        if conn.events.is_stream() {
            conn.events = EventReader::default();
            conn.left = false;
        }
        let tally = &mut self.all[judged.kind].tally;
        tally.answer(booked, judged.status, judged.wrong, judged.searched);
        if let Some(encoded) = judged.encoded {
            tally.encoded(booked, &encoded.name, &encoded.seen);
        }
    }

    /// The oldest request has failed: gives its kind, if one was in flight.
    pub(super) fn failed(
        &mut self,
        conn: &mut MixConn,
        booked: Booked,
        ending: Ending,
    ) -> Option<&RequestKind> {
        if conn.flights.is_empty() {
            return None;
        }
        let kind = &mut self.all[conn.flights.oldest().kind as usize];
        conn.flights.pop();
        conn.forget();
        kind.tally.failed(booked, ending);
        Some(kind)
    }

    /// The head of the first answer to any of them.
    pub(super) fn first_head(&self) -> &[u8] {
        let mut heads = self.all.iter().map(|kind| kind.reader.first_head());
        heads.find(|head| !head.is_empty()).unwrap_or_default()
    }

    /// Returns the results of each kind. Counting starts anew after that.
    pub(super) fn seen(&mut self) -> Vec<ByRequest> {
        let seen = |kind: &mut RequestKind| {
            let tally = std::mem::replace(&mut kind.tally, Tally::new());
            tally.seen(&kind.name, kind.share)
        };
        self.all.iter_mut().map(seen).collect()
    }
}

/// Does a request say `Connection: close`?
fn closes(request: &MixRequest) -> bool {
    let mut fields = request.headers.iter();
    fields.any(|(name, value)| {
        let value = super::template::constant(value).unwrap_or_default();
        let field = [b"\n", name.as_bytes(), b":", &value].concat();
        asks_to_close(&field)
    })
}

/// Returns the content codings of an answer's body, from its head.
pub(super) fn encoding_of(head: &[u8]) -> Encoding {
    judge::with_fields(head, |fields| {
        let all = fields.iter();
        let these = all.filter(|field| field.name.eq_ignore_ascii_case("content-encoding"));
        Encoding::of(these.map(|field| field.value))
    })
}

/// Parts that read and check an answer.
struct Looking<'a> {
    reader: &'a mut HttpReader,
    state: &'a mut HttpState,
    expect: &'a Expect,
    look: AnswerInspector<'a>,
}

/// Looks at the parts of an answer while it is read.
struct AnswerInspector<'a> {
    checks: &'a mut Checks,
    wrong: &'a mut Option<String>,
    head: Option<&'a mut Vec<u8>>,
    /// If the answer is searched: what its request's own values make of what is expected.
    own: Option<&'a Column>,
    body: Option<&'a mut Vec<u8>>,
    stream: Option<StreamInspector<'a>>,
}

impl Keep for AnswerInspector<'_> {
    #[inline]
    fn head(&mut self, bytes: &[u8]) {
        if !self.checks.head_is_known(bytes) {
            *self.wrong = self.checks.head(bytes);
        }
        if let (Some(stream), None) = (&mut self.stream, &self.wrong) {
            *self.wrong = stream.head(bytes);
        }
        if let (Some(own), None) = (self.own, &self.wrong) {
            *self.wrong = self.checks.own.head(bytes, own);
        }
        if let Some(head) = &mut self.head {
            head.clear();
            head.extend_from_slice(bytes);
        }
    }

    #[inline]
    fn body(&mut self, bytes: &[u8]) {
        if let Some(stream) = &mut self.stream {
            stream.events.read(bytes, stream.stream);
        }
        if let Some(body) = &mut self.body
            && (self.stream.is_none() || body.len() < MOST_SEARCHED)
        {
            body.extend_from_slice(bytes);
        }
    }

    #[inline]
    fn chunk(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.events.chunk(stream.stream);
        }
    }
}

//! Handling of the transport's events: connections made, bytes received, connections ended.

use super::Worker;
use super::backlog::Backlog;
use super::connection::{Connection, Flow, Link};
use super::links::LISTENED;
use super::tracer::Tracer;
use crate::clock::{self, Nanos};
use crate::load_error::{Cause, IoActivity};
use crate::protocol::{
    Answer, Booked, Ending, Events, Fault, InFlight, Mismatch, Session, StreamNews, Token,
};
use crate::recorder::{Recorder, RequestFailure, RequestTimes, StreamEnd};
use crate::schedule::Schedule;
use crate::transport::{Handler, Outgoing, Slot};
use std::io;

impl<S: Schedule, P: Session, O: Outgoing> Handler<O> for Worker<'_, S, P> {
    fn opened(&mut self, out: &mut O, slot: Slot, result: io::Result<()>, at: Nanos) {
        if let Err(error) = result {
            return self.not_connected(out, slot, &error, at);
        }
        let share = match self.keepalive {
            true => f64::from(slot + 1) / self.connections.len() as f64,
            false => 1.0,
        };
        let flow = &mut self.connections[slot as usize].flow;
        flow.begin(at);
        flow.limit(self.calls, self.lifetime, share, at);
        if self.protocol.wants_addresses() {
            let conn = &mut self.connections[slot as usize].proto;
            self.protocol.connected(conn, slot, out.addresses(slot));
        }
        let (news, ()) = self.ask(slot, at, |session, conn, unsent, events| {
            session.opened(conn, slot, unsent, events);
        });
        if news.ready {
            self.ready(slot, at);
        }
        self.go_on(out, slot, at);
    }

    #[inline]
    fn received(&mut self, out: &mut O, slot: Slot, bytes: &[u8], at: Nanos) {
        self.recorder.received(P::payload(bytes), at);
        // A generator that is late itself must not be more patient for it.
        if self.overdue(slot as usize, at) && !self.give_up(out, slot, at) {
            return;
        }
        // What comes while nothing is in flight, such as settings, begins no answer.
        if let Some(tracer) = &mut self.tracer
            && self.connections[slot as usize].flow.in_flight.len() > 0
        {
            tracer.received(slot, at);
        }
        self.hear(out, slot, at, bytes, |session, conn, unsent, events| {
            session.received(conn, slot, bytes, unsent, events)
        });
    }

    #[cold]
    fn ended(&mut self, out: &mut O, slot: Slot, error: Option<io::Error>, at: Nanos) {
        if error.is_none() {
            self.ask(slot, at, |session, conn, _, events| {
                session.end(conn, slot, events);
            });
            if !self.connections[slot as usize].flow.in_flight.is_empty() {
                let connection = &self.connections[slot as usize];
                let how = self.protocol.how_ended(&connection.proto);
                let unsaid =
                    connection.flow.useful && !self.protocol.said_goodbye(&connection.proto);
                let cause = match unsaid {
                    true => Cause::ClosedAfterAnswer(how.into()),
                    false => Cause::Other(how.into()),
                };
                self.recorder.error(IoActivity::Reading, cause);
            }
        }
        self.lose(out, slot, at, RequestFailure::Read, error.as_ref());
    }
}

/// Books what a session reports of one connection.
struct Booking<'a, T: Token> {
    slot: Slot,
    at: Nanos,
    times: &'a [RequestTimes],
    flow: &'a mut Flow<T>,
    backlog: &'a mut Backlog,
    /// Over all connections.
    in_flight: &'a mut u64,
    waiting: &'a mut u64,
    recorder: &'a mut Recorder,
    tracer: &'a mut Option<Box<Tracer>>,
    news: News,
}

/// Actions that are due when a session has reported everything.
#[derive(Debug, Clone, Copy, Default)]
struct News {
    ready: bool,
    closing: bool,
    /// The server has closed its side of the conversation.
    ended: bool,
    /// The server will not answer anything more.
    last: bool,
}

impl<T: Token> Booking<'_, T> {
    /// Books an answer that has come whole at `at`. True: it is counted.
    #[inline(always)] // a part of `answered`
    fn book(&mut self, request: RequestTimes, at: Nanos, answer: &Answer) -> (Booked, bool) {
        let counted = self.recorder.answer(request, at, answer);
        self.flow.answers += u64::from(counted);
        self.news.last |= answer.last;
        let booked = self.recorder.booked(request, at);
        if let Some(tracer) = self.tracer {
            tracer.answered(self.slot, request, at, answer, booked);
        }
        (booked, counted)
    }

    /// Handles an answer of which parts may have come earlier, or that is to be held against the SLO.
    #[cold]
    fn answered_in_parts(
        &mut self,
        request: RequestTimes,
        place: usize,
        answer: &Answer,
    ) -> Booked {
        let parts = self.flow.take_parts(place);
        let at = match &parts {
            // A stream that has said so was over then.
            Some(parts) if parts.over > 0 => parts.over,
            _ => request.answered(self.at),
        };
        let (booked, counted) = self.book(request, at, answer);
        let right = answer.wrong.is_none();
        if counted && right {
            self.recorder.judge(request, at, parts);
        }
        if let Some(parts) = parts {
            if right {
                let response = Some(at - request.due);
                self.recorder.first_byte((request, parts), at, response);
            }
            let end = match right {
                true => StreamEnd::Whole,
                false => StreamEnd::Broken,
            };
            self.recorder.stream_ended((request, parts), at, end);
        }
        booked
    }

    /// Puts a request, with its due time, back into the connection's backlog.
    #[cold]
    fn put_back(&mut self, token: T) {
        let (request, place) = self.flow.take(token, self.times, self.at);
        *self.in_flight -= 1;
        self.recorder.taken(self.flow.take_parts(place));
        self.backlog.put_back(request.due);
        *self.waiting += 1;
    }
}

impl<T: Token> Events<T> for Booking<'_, T> {
    #[inline]
    fn ready(&mut self) {
        self.news.ready = true;
    }

    /// Until now the connection was being made: a handshake with the server begins now.
    fn reached(&mut self) {
        (self.flow.free, self.flow.opened) = (self.at, self.at);
    }

    #[inline]
    fn secured(&mut self, resumed: bool) {
        // Since the transport has connected, or the server is reached through a proxy, which is when the handshake began.
        let took = self.at.saturating_sub(self.flow.opened);
        self.recorder.secured(self.at, took, resumed);
    }

    #[inline]
    fn ended(&mut self) {
        self.news.ended = true;
    }

    fn begun(&mut self, token: T) {
        self.flow.begin_answer(token, self.times, self.at);
    }

    fn streamed(&mut self, token: T, news: StreamNews) {
        if let Some((request, before)) = self.flow.hear(token, self.times, self.at, news) {
            let at = request.answered(self.at);
            self.recorder.streamed((request, before), at, news.events);
        }
    }

    fn over(&mut self, token: T) {
        self.flow.over(token, self.times, self.at);
    }

    #[inline]
    fn answered(&mut self, token: T, answer: Answer) -> Booked {
        let (request, place) = self.flow.take(token, self.times, self.at);
        *self.in_flight -= 1;
        self.flow.useful = true;
        self.flow.left_out = 0;
        if self.flow.has_parts() || self.recorder.slo.is_some() {
            return self.answered_in_parts(request, place, &answer);
        }
        let at = request.answered(self.at);
        let (booked, _) = self.book(request, at, &answer);
        booked
    }

    /// Puts the request, with its due time, back into the connection's backlog, like those that fall due while a
    /// connection is being made. False, and nothing changes, if there was no answer since many such requests, or since
    /// as many as can be in flight on a connection that has had none: a server that processes no request must not get
    /// the same one for ever.
    #[cold]
    fn left_out(&mut self, token: T) -> bool {
        /// More than were in flight, one after the other.
        const MOST: u32 = 1_000;
        let in_flight = self.times.len() as u32;
        let most = match self.flow.useful {
            true => MOST + in_flight,
            false => in_flight,
        };
        if self.flow.left_out >= most {
            return false;
        }
        self.flow.left_out += 1;
        self.recorder.record.sent_again += 1;
        self.put_back(token);
        true
    }

    /// Puts the request back in any case: after the handshake the server takes it.
    #[cold]
    fn refused(&mut self, token: T) {
        self.put_back(token);
        // This connection takes it, also where it is for one request alone.
        self.flow.calls = self.flow.calls.saturating_sub(1);
    }

    #[cold]
    fn stalled(&mut self) {
        self.recorder.record.stalled += 1;
    }

    #[inline]
    fn closing(&mut self) {
        self.news.closing = true;
    }
}

impl<S: Schedule, P: Session> Worker<'_, S, P> {
    /// Tells the session something about a connection, and books what it reports.
    #[inline(always)] // so that what a booking borrows stays in registers
    fn ask<R>(
        &mut self,
        slot: Slot,
        at: Nanos,
        tell: impl FnOnce(&mut P, &mut P::Conn, &mut Vec<u8>, &mut Booking<'_, P::Token>) -> R,
    ) -> (News, R) {
        let index = slot as usize;
        let Connection {
            proto,
            flow,
            backlog,
            ..
        } = &mut self.connections[index];
        let mut booking = Booking {
            slot,
            at,
            times: &self.times[index * self.pipeline..][..self.pipeline],
            flow,
            backlog,
            in_flight: &mut self.in_flight,
            waiting: &mut self.waiting,
            recorder: &mut self.recorder,
            tracer: &mut self.tracer,
            news: News::default(),
        };
        let result = tell(&mut self.protocol, proto, &mut self.unsent, &mut booking);
        (booking.news, result)
    }

    /// Tells the session what has happened on a connection, and does what is due then. `bytes` are what came.
    #[inline(always)] // for every answer
    fn hear<O: Outgoing>(
        &mut self,
        out: &mut O,
        slot: Slot,
        at: Nanos,
        bytes: &[u8],
        tell: impl FnOnce(
            &mut P,
            &mut P::Conn,
            &mut Vec<u8>,
            &mut Booking<'_, P::Token>,
        ) -> Result<(), Fault>,
    ) {
        // Since when it could be sent on matters where requests are due.
        let full = !S::CLOSED
            && !self
                .protocol
                .accepts(&self.connections[slot as usize].proto);
        let (news, result) = self.ask(slot, at, tell);
        if let Err(fault) = result {
            return self.broken(out, slot, at, fault, bytes);
        }
        let connection = &mut self.connections[slot as usize];
        if full && self.protocol.accepts(&connection.proto) {
            // It was the server that took no more, such as one that allows few streams.
            connection.flow.free = at;
        }
        if news.ready {
            self.ready(slot, at);
        }
        if news.ended {
            self.say_last(out, slot);
            return Handler::ended(self, out, slot, None, at);
        }
        if news.closing {
            self.drain(slot);
        }
        if news.last || self.used_up(slot as usize, at) {
            self.say_last(out, slot);
            return self.lose(out, slot, at, RequestFailure::Read, None);
        }
        self.go_on(out, slot, at);
        if !S::CLOSED
            && let Some(start) = self.start
        {
            // What has fallen due meanwhile does not wait for the rest of the batch.
            self.issue(out, start, clock::now());
        }
    }

    /// Ends a stream that is the answer to a request. False: it is none.
    #[cold]
    pub(super) fn hang_up<O: Outgoing>(
        &mut self,
        out: &mut O,
        slot: Slot,
        token: P::Token,
        at: Nanos,
    ) -> bool {
        let mut done = false;
        self.hear(out, slot, at, &[], |session, conn, unsent, events| {
            done = session.hang_up(conn, slot, token, unsent, events);
            Ok(())
        });
        done
    }

    /// The time has come at which a connection wanted to be woken.
    #[cold]
    pub(super) fn woken<O: Outgoing>(&mut self, out: &mut O, slot: Slot, at: Nanos) {
        self.hear(out, slot, at, &[], |session, conn, _, events| {
            session.woken(conn, slot, events)
        });
    }

    /// The handshake of a connection is done.
    fn ready(&mut self, slot: Slot, at: Nanos) {
        let connection = &mut self.connections[slot as usize];
        let Link::Connecting(since) = connection.link else {
            return;
        };
        // Where TLS's handshake is measured by itself, making the connection ended before it.
        let made = if P::TLS { connection.flow.free } else { at };
        connection.flow.free = at;
        connection.link = if self.speaks_first {
            self.to_retry.push_back((at + LISTENED, slot));
            Link::Listening
        } else {
            Link::Open
        };
        let took = at.saturating_sub(since);
        self.connecting -= 1;
        self.connected += 1;
        self.recorder.connected(made.saturating_sub(since));
        if let Some(tracer) = &mut self.tracer {
            tracer.opened(slot, took);
        }
    }

    /// The server takes no more requests on a connection.
    #[cold]
    pub(super) fn drain(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        if connection.link == Link::Open {
            connection.link = Link::Draining;
            if self.protocol.rests() {
                self.rests.forget(slot);
            }
        }
    }

    /// Handles an answer that breaks the protocol: the oldest request has a wrong answer, and the others on the
    /// connection none. Unsolicited bytes answer no request; all requests in flight fail.
    #[cold]
    fn broken<O: Outgoing>(
        &mut self,
        out: &mut O,
        slot: Slot,
        at: Nanos,
        fault: Fault,
        bytes: &[u8],
    ) {
        let index = slot as usize;
        if let Fault::Unsolicited { at } = fault {
            let flow = &self.connections[index].flow;
            self.speaks_first |= !flow.useful && flow.in_flight.is_empty();
            let rest = bytes.get(at..).unwrap_or(bytes);
            self.recorder.unsolicited(self.protocol.unsolicited(rest));
        }
        if let Fault::Farewell(_) = fault {
            self.recorder.record.idle_closed += 1;
            return self.lose(out, slot, at, RequestFailure::Read, None);
        }
        let link = &self.connections[index].link;
        let unasked = matches!(link, Link::Connecting(_) | Link::Listening);
        if unasked || matches!(fault, Fault::Tls(_) | Fault::Lost(_) | Fault::Proxy(_)) {
            let error = io::Error::other(fault);
            return self.lose(out, slot, at, RequestFailure::Read, Some(&error));
        }
        let oldest = self.oldest(index);
        let Some((token, request)) = oldest.filter(|_| !matches!(fault, Fault::Unsolicited { .. }))
        else {
            return self.lose(out, slot, at, RequestFailure::Read, None);
        };
        let times = &self.times[index * self.pipeline..][..self.pipeline];
        let flow = &mut self.connections[index].flow;
        let (_, place) = flow.take(token, times, at);
        let parts = flow.take_parts(place);
        self.in_flight -= 1;
        let done = request.answered(at);
        if let Some(parts) = parts {
            let end = StreamEnd::Broken;
            self.recorder.stream_ended((request, parts), done, end);
        }
        flow.answers += u64::from(self.recorder.counted(request, done));
        let answer = Answer {
            status: 0,
            wrong: Some(Mismatch::Fault(fault)),
            last: true,
            body: 0,
        };
        self.recorder.answer(request, done, &answer);
        let booked = self.recorder.booked(request, done);
        if let Some(tracer) = &mut self.tracer {
            tracer.failed(slot, booked);
        }
        let proto = &mut self.connections[index].proto;
        self.protocol.failed(proto, token, booked, Ending::Broken);
        self.lose(out, slot, at, RequestFailure::Read, None);
    }

    /// Sends on a connection, when the session has taken note of something, what may now be sent.
    #[inline(always)] // one comparison before `fill`, for every answer
    pub(super) fn go_on<O: Outgoing>(&mut self, out: &mut O, slot: Slot, at: Nanos) {
        let connection = &self.connections[slot as usize];
        match connection.link {
            Link::Open if self.start.is_some() => self.fill(out, slot, at, u32::MAX),
            Link::Draining if connection.flow.in_flight.is_empty() => {
                self.lose(out, slot, at, RequestFailure::Read, None);
            }
            // Nothing may be asked before the load, during a handshake, or while draining.
            _ => self.flush(out, slot, at),
        }
    }
}

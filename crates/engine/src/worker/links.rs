//! Connections come and go: set-up, loss, another try, and giving up what takes too long.

use super::connection::Link;
use super::{Event, Worker};
use crate::clock::{self, Nanos};
use crate::load_error::{Cause, IoActivity};
use crate::protocol::{AnswerProgress, Booked, Ending, InFlight, Session};
use crate::recorder::{Recorder, RequestFailure, RequestTimes, StreamEnd};
use crate::schedule::Schedule;
use crate::transport::{Outgoing, Slot};
use std::io;

/// Between two connects of all workers together before the load begins. The kernel completes a
/// handshake before the server accepts the connection: this leaves even a slow one the time to do
/// so before its backlog is full (128 in many runtimes).
pub(super) const SET_UP_PACE: Nanos = 100_000;
/// How long a connection is [listened](Link::Listening) to.
pub(super) const LISTENED: Nanos = 20_000_000;
/// Connections looked at for time-outs at once, so that looking never costs more than a few µs.
const SWEEP: u32 = 64;
/// The least time that TCP waits before it sends data again (Linux: 200 ms).
const RETRANSMISSION: Nanos = 200_000_000;
/// How many times each connection is looked at within one time-out.
const SWEEPS: Nanos = 32;

impl<S: Schedule, P: Session> Worker<'_, S, P> {
    /// Opens connections a few at a time; begins the load when every thread is ready.
    #[cold]
    pub(super) fn set_up<O: Outgoing>(&mut self, out: &mut O, now: Nanos) {
        self.open_some(out, now);
        self.sweep(out, now);
        let complete = self.connecting == 0 && self.to_open.is_empty() && self.to_retry.is_empty();
        if !self.ready && (complete || now >= self.setup_until) {
            self.ready = true;
            (self.events)(Event::Ready);
        }
        let Some(start) = self.control.started().filter(|&start| now >= start) else {
            return;
        };
        self.start = Some(start);
        // What set-up took is no window's.
        self.worked();
        (self.recorder.from, self.recorder.until) = self.control.measured_after(start);
        let connect =
            std::mem::replace(&mut self.recorder, Recorder::new(start, self.window)).record;
        self.recorder.record.times.connect = connect.times.connect;
        self.recorder.record.times.handshake = connect.times.handshake;
        self.recorder.record.errors = connect.errors;
        self.recorder.record.unsolicited = connect.unsolicited;
        self.recorder.record.outcomes.unsolicited = connect.outcomes.unsolicited;
        self.recorder.numbered = self.numbered;
        self.recorder.streams = self.protocol.streams();
        self.recorder.slo = self.slo;
        (self.recorder.from, self.recorder.until) = self.control.measured_after(start);
        if S::CLOSED {
            self.parking.begin(start);
            let on = self.parking.on();
            let begins = |slot| start + self.spread * Nanos::from(slot) / Nanos::from(on.max(1));
            self.to_begin = (0..on).map(|slot| (begins(slot), slot)).collect();
            self.begin_some(out, now);
        } else if self.keepalive {
            let is_open = |slot: &Slot| self.connections[*slot as usize].link == Link::Open;
            (0..self.parking.on())
                .filter(is_open)
                .for_each(|slot| self.pool.list(slot));
        }
    }

    /// The first requests of a closed loop.
    #[cold]
    pub(super) fn begin_some<O: Outgoing>(&mut self, out: &mut O, now: Nanos) {
        while let Some(&(at, slot)) = self.to_begin.front()
            && at <= now
        {
            self.to_begin.pop_front();
            match self.connections[slot as usize].link {
                Link::Open => self.fill(out, slot, now, u32::MAX),
                Link::Closed if !self.keepalive => self.reopen(slot, now),
                _ => {}
            }
        }
    }

    /// Closes a connection; what was in flight on it has failed. One whose handshake was not done,
    /// or that was never used, could not be made.
    #[cold]
    pub(super) fn lose<O: Outgoing>(
        &mut self,
        out: &mut O,
        slot: Slot,
        at: Nanos,
        failure: RequestFailure,
        error: Option<&io::Error>,
    ) {
        if let Link::Connecting(_) | Link::Listening = self.connections[slot as usize].link {
            let conn = &self.connections[slot as usize].proto;
            let closed = io::Error::other(self.protocol.how_ended(conn));
            return self.not_connected(out, slot, error.unwrap_or(&closed), at);
        }
        if let Some(error) = error {
            self.recorder.failed(doing(failure), error);
        }
        self.close(out, slot, at, failure);
        let index = slot as usize;
        if std::mem::take(&mut self.connections[index].flow.useful) {
            self.reopen(slot, at);
        } else {
            self.to_retry.push_back((self.retry_at(at), slot));
        }
    }

    pub(super) fn close<O: Outgoing>(
        &mut self,
        out: &mut O,
        slot: Slot,
        at: Nanos,
        failure: RequestFailure,
    ) {
        let index = slot as usize;
        let connection = &mut self.connections[index];
        // Younger ones have not waited for any segment to be sent again.
        if at.saturating_sub(connection.flow.opened) >= RETRANSMISSION {
            self.recorder.record.lost_segments += out.lost_segments(slot);
        }
        if connection.link != Link::Closed {
            self.part(out, slot);
        }
        out.close(slot);
        let connection = &mut self.connections[index];
        if let Link::Connecting(_) = connection.link {
            self.connecting -= 1;
        }
        if connection.link != Link::Closed {
            self.alive -= 1;
        }
        connection.link = Link::Closed;
        self.unsent.clear();
        while let Some((token, _)) = self.oldest(index) {
            self.fail(slot, token, at, failure);
        }
        self.connections[index].proto = P::Conn::default();
        if P::TIMERS {
            self.timers.forget(slot);
        }
        if self.protocol.rests() {
            self.rests.forget(slot);
        }
    }

    /// A request in flight has ended without an answer.
    #[cold]
    fn fail(&mut self, slot: Slot, token: P::Token, at: Nanos, failure: RequestFailure) {
        let index = slot as usize;
        let times = &self.times[index * self.pipeline..][..self.pipeline];
        let flow = &mut self.connections[index].flow;
        let (request, place) = flow.take(token, times, at);
        let parts = flow.take_parts(place);
        self.in_flight -= 1;
        let silent = failure == RequestFailure::Timeout && !self.has_come(index, token);
        self.recorder
            .failure(request, at, failure, self.timeout, silent);
        let timed_out = failure == RequestFailure::Timeout;
        if let Some(parts) = parts {
            let waited = request.sent.saturating_sub(request.due);
            let end = match timed_out {
                true => StreamEnd::Silent,
                false => StreamEnd::Broken,
            };
            if timed_out {
                let response = Some(waited + self.timeout);
                self.recorder.first_byte((request, parts), at, response);
            }
            self.recorder.stream_ended((request, parts), at, end);
        }
        if timed_out && self.recorder.streams && parts.is_none_or(|parts| parts.events == 0) {
            self.recorder.eventless(request, at);
        }
        let (ending, end) = match failure {
            RequestFailure::Timeout => (Ending::Timeout, request.sent.saturating_add(self.timeout)),
            RequestFailure::Write => (Ending::Write, at),
            RequestFailure::Read | RequestFailure::Connect => (Ending::Read, at),
        };
        let booked = Booked {
            response: end.saturating_sub(request.due),
            ..self.recorder.booked(request, at)
        };
        if let Some(tracer) = &mut self.tracer {
            tracer.failed(slot, booked);
        }
        let proto = &mut self.connections[index].proto;
        self.protocol.failed(proto, token, booked, ending);
        if let Some(tracer) = &mut self.tracer
            && failure == RequestFailure::Timeout
            && self.recorder.measured(at)
        {
            tracer.given_up(slot, request, request.sent.saturating_add(self.timeout));
        }
    }

    /// Puts a closed slot in line to be opened, if there is a use for it.
    pub(super) fn reopen(&mut self, slot: Slot, at: Nanos) {
        if slot >= self.parking.on() {
            return self.forgo(slot);
        }
        let index = slot as usize;
        // One that rests between requests does so when it is open: it has no request yet.
        let rests = S::CLOSED && self.protocol.rests();
        if S::CLOSED
            && !rests
            && self.start.is_some()
            && self.connections[index].backlog.is_empty()
            && self.admit(at)
        {
            self.connections[index].backlog.push(at);
            self.waiting += 1;
        }
        let work = !self.connections[index].backlog.is_empty();
        if self.pool.any() && !self.keepalive && !work {
            // It is one of those that can be opened again.
            if !self.open_for_next(slot) {
                self.pool.list(slot);
            }
            return;
        }
        let work = work || !self.pool.queue.is_empty();
        let kept_ready = (rests || (self.keepalive && !S::CLOSED)) && at < self.recorder.until;
        if work || kept_ready || self.start.is_none() {
            self.to_open.push_back(slot);
        }
    }

    #[inline]
    pub(super) fn open_some<O: Outgoing>(&mut self, out: &mut O, now: Nanos) {
        // What fails again at once is tried again in the next round.
        for _ in 0..self.to_retry.len() {
            let Some(&(at, slot)) = self.to_retry.front() else {
                break;
            };
            if now < at {
                break;
            }
            self.to_retry.pop_front();
            match self.connections[slot as usize].link {
                Link::Listening => self.listened(out, slot, now),
                _ => self.reopen(slot, now),
            }
        }
        let mut burst = 0;
        while self.start.is_some() || now >= self.next_open {
            let Some(slot) = self.to_open.pop_front() else {
                return;
            };
            if self.connections[slot as usize].link != Link::Closed || slot >= self.parking.on() {
                continue;
            }
            self.connections[slot as usize].link = Link::Connecting(clock::now());
            self.connecting += 1;
            self.alive += 1;
            burst += 1;
            self.opening.begun += 1;
            self.opening.burst = self.opening.burst.max(burst);
            self.opening.at_once = self.opening.at_once.max(u64::from(self.alive));
            self.next_open = now + self.pace;
            if let Err(error) = self.aim(out, slot, now).and_then(|()| out.open(slot)) {
                self.not_connected(out, slot, &error, now);
            }
        }
    }

    /// Nothing came unasked: a connection may be used. What has waited for it in a closed loop is due
    /// now, because it was not the server that it waited for.
    #[cold]
    fn listened<O: Outgoing>(&mut self, out: &mut O, slot: Slot, now: Nanos) {
        let connection = &mut self.connections[slot as usize];
        connection.link = Link::Open;
        connection.flow.free = now;
        if S::CLOSED {
            connection.backlog.put_off(now);
        }
        self.go_on(out, slot, now);
    }

    /// When a connection is tried again that has failed at `at`. Before the load begins nothing is to be
    /// gained by haste.
    fn retry_at(&self, at: Nanos) -> Nanos {
        at + match self.start {
            Some(_) => self.retry,
            None => self.retry.max(LISTENED),
        }
    }

    /// A connection could not be made: the request that it was for has failed; in an open loop
    /// all that have waited for it. One that took too long is a time-out, and like every time-out
    /// a sample of its full length.
    #[cold]
    pub(super) fn not_connected<O: Outgoing>(
        &mut self,
        out: &mut O,
        slot: Slot,
        error: &io::Error,
        at: Nanos,
    ) {
        self.recorder.failed(IoActivity::Connecting, error);
        if let Some(tracer) = &mut self.tracer {
            tracer.unconnected(slot, error, at);
        }
        self.close(out, slot, at, RequestFailure::Connect);
        let failure = if error.kind() == io::ErrorKind::TimedOut {
            self.recorder.connected(self.timeout);
            RequestFailure::Timeout
        } else {
            RequestFailure::Connect
        };
        let backlog = &mut self.connections[slot as usize].backlog;
        let failed = if S::CLOSED {
            backlog.len().min(1)
        } else {
            backlog.len()
        };
        let mut failed: Vec<Nanos> = backlog.take(failed).collect();
        if self.keepalive && self.alive == self.connecting {
            // What waits for any connection has none that it could be sent on.
            failed.extend(self.pool.queue.take(usize::MAX));
        }
        for due in failed {
            self.waiting -= 1;
            self.recorder.failure(
                RequestTimes { due, sent: due },
                at,
                failure,
                self.timeout,
                true,
            );
            if let Some(tracer) = &mut self.tracer
                && failure == RequestFailure::Timeout
                && self.recorder.measured(at)
            {
                tracer.not_connected(due, at, self.timeout);
            }
        }
        self.to_retry.push_back((self.retry_at(at), slot));
    }

    /// Gives up what has taken too long, on some of the connections.
    #[inline]
    pub(super) fn sweep<O: Outgoing>(&mut self, out: &mut O, now: Nanos) {
        if now < self.next_sweep {
            return;
        }
        let n = self.connections.len() as u32;
        let chunks = Nanos::from(n.div_ceil(SWEEP));
        self.next_sweep = now + (self.patience / SWEEPS / chunks).max(100_000);
        for _ in 0..SWEEP.min(n) {
            let slot = self.swept;
            self.swept = if slot + 1 == n { 0 } else { slot + 1 };
            let index = slot as usize;
            let link = self.connections[index].link;
            match link {
                Link::Connecting(since) if now.saturating_sub(since) >= self.timeout => {
                    let made = self.connections[index].flow.opened >= since;
                    let error = match made {
                        false => io::Error::from_raw_os_error(libc::ETIMEDOUT),
                        true => {
                            let conn = &self.connections[index].proto;
                            io::Error::new(io::ErrorKind::TimedOut, self.protocol.unready(conn))
                        }
                    };
                    self.not_connected(out, slot, &error, now);
                }
                Link::Open if self.expired(index, now) => {
                    self.say_last(out, slot);
                    self.lose(out, slot, now, RequestFailure::Read, None);
                }
                Link::Open | Link::Draining if self.recorder.streams => {
                    self.sweep_streams(out, slot, now);
                }
                Link::Open | Link::Draining
                    if self.overdue(index, now) && self.give_up(out, slot, now) =>
                {
                    self.go_on(out, slot, now);
                }
                _ => {}
            }
        }
    }

    /// Has a connection lasted for long enough that has nothing in flight?
    fn expired(&self, index: usize, now: Nanos) -> bool {
        let flow = &self.connections[index].flow;
        now >= flow.expires && flow.in_flight.is_empty()
    }

    /// Ends requests of a connection on which answers may be streams: those that this side has listened to for long enough, those
    /// that have said that they are over, and those that have been silent for too long.
    #[cold]
    fn sweep_streams<O: Outgoing>(&mut self, out: &mut O, slot: Slot, now: Nanos) {
        let index = slot as usize;
        let times = &self.times[index * self.pipeline..][..self.pipeline];
        let all: Vec<_> = self.connections[index].flow.all(times).collect();
        for (token, request, parts) in all {
            let connection = &mut self.connections[index];
            if !matches!(connection.link, Link::Open | Link::Draining) {
                return;
            }
            let listens = self.protocol.listens(&connection.proto, token);
            let long = listens.is_some_and(|time| now.saturating_sub(request.sent) >= time);
            let silent = now.saturating_sub(parts.last.max(request.sent)) >= self.timeout;
            let over = parts.over > 0 && silent;
            if (long || over) && self.hang_up(out, slot, token, now) {
                continue;
            }
            if silent {
                self.how_far(index, token);
                let proto = &mut self.connections[index].proto;
                if !self.protocol.cancel(proto, slot, token, &mut self.unsent) {
                    return self.lose(out, slot, now, RequestFailure::Timeout, None);
                }
                self.fail(slot, token, now, RequestFailure::Timeout);
                self.go_on(out, slot, now);
            }
        }
    }

    /// Has the oldest request in flight on a connection taken too long by `at`? One with streams is looked after by
    /// [`sweep_streams`](Self::sweep_streams).
    #[inline]
    pub(super) fn overdue(&self, index: usize, at: Nanos) -> bool {
        let flow = &self.connections[index].flow;
        flow.streams == 0
            && self
                .oldest(index)
                .is_some_and(|(_, request)| at.saturating_sub(request.sent) >= self.timeout)
    }

    /// Gives up what has taken too long on an open connection: single requests when the session
    /// can cancel them, otherwise the connection. True: it is still there.
    #[cold]
    pub(super) fn give_up<O: Outgoing>(&mut self, out: &mut O, slot: Slot, at: Nanos) -> bool {
        let index = slot as usize;
        while self.overdue(index, at)
            && let Some((token, _)) = self.oldest(index)
        {
            self.how_far(index, token);
            let proto = &mut self.connections[index].proto;
            if !self.protocol.cancel(proto, slot, token, &mut self.unsent) {
                self.lose(out, slot, at, RequestFailure::Timeout, None);
                return false;
            }
            self.fail(slot, token, at, RequestFailure::Timeout);
        }
        true
    }

    /// Has anything come of the answer to a request in flight?
    fn has_come(&self, index: usize, token: P::Token) -> bool {
        let progress = self
            .protocol
            .progress(&self.connections[index].proto, token);
        matches!(
            progress,
            AnswerProgress::Head | AnswerProgress::Body(_) | AnswerProgress::Endless(_)
        )
    }

    /// Notes how far the answer had come that is given up.
    #[cold]
    fn how_far(&mut self, index: usize, token: P::Token) {
        let how_far = match self
            .protocol
            .progress(&self.connections[index].proto, token)
        {
            AnswerProgress::Unknown => return,
            AnswerProgress::Nothing => "no byte of the answer had come".to_owned(),
            AnswerProgress::Head => "a part of the answer's head had come".to_owned(),
            AnswerProgress::Body(n) => {
                format!("the answer's head had come, and {} of its body", some(n))
            }
            AnswerProgress::Endless(n) => format!(
                "the answer's head had come, without Content-Length, and {} of a body that ends with its connection",
                some(n)
            ),
        };
        self.recorder
            .error(IoActivity::TimedOut, Cause::Other(how_far));
    }

    /// The oldest request in flight on a connection.
    #[inline]
    pub(super) fn oldest(&self, index: usize) -> Option<(P::Token, RequestTimes)> {
        let times = &self.times[index * self.pipeline..][..self.pipeline];
        self.connections[index].flow.oldest(times)
    }
}

/// A number of bytes in words, to a power of two, so that there are few texts.
fn some(bytes: u64) -> String {
    match bytes {
        0 => "nothing".to_owned(),
        n => format!("at least {} bytes", 1_u64 << n.ilog2()),
    }
}

fn doing(failure: RequestFailure) -> IoActivity {
    match failure {
        RequestFailure::Connect => IoActivity::Connecting,
        RequestFailure::Read => IoActivity::Reading,
        RequestFailure::Write => IoActivity::Writing,
        RequestFailure::Timeout => IoActivity::TimedOut,
    }
}

//! What the transport tells a worker: connections made, bytes received, connections ended.

use super::connection::{Connection, Link};
use super::{Event, Worker};
use crate::clock::{self, Nanos};
use crate::protocol::{Answer, Mismatch, Protocol};
use crate::recorder::Failure;
use crate::schedule::Schedule;
use crate::transport::{Handler, Outgoing, Slot};
use std::io;

impl<S: Schedule, P: Protocol, F: FnMut(Event), O: Outgoing> Handler<O> for Worker<'_, S, P, F> {
    fn opened(&mut self, out: &mut O, slot: Slot, result: io::Result<()>, at: Nanos) {
        if let Err(error) = result {
            return self.not_connected(out, slot, &error, at);
        }
        let connection = &mut self.connections[slot as usize];
        let mut took = 0;
        if let Link::Connecting(since) = connection.link {
            self.connecting -= 1;
            took = at.saturating_sub(since);
            self.recorder.connected(took);
        }
        connection.link = Link::Open;
        self.connected += 1;
        connection.flow.begin(at);
        if let Some(tracer) = &mut self.tracer {
            tracer.opened(slot, took);
        }
        if self.start.is_some() {
            self.fill(out, slot, at);
        }
    }

    #[inline]
    fn received(&mut self, out: &mut O, slot: Slot, bytes: &[u8], at: Nanos) {
        self.recorder.record.bytes_received += bytes.len() as u64;
        if self.overdue(slot as usize, at) {
            // A generator that is late itself must not be more patient for it.
            return self.lose(out, slot, at, Failure::Timeout, None);
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.received(slot, at);
        }
        let mut last = false;
        let result = self.take_answers(slot, at, |protocol, proto, done| {
            protocol.decode(proto, slot, bytes, |answer| {
                last |= answer.last;
                done(answer);
            })
        });
        let index = slot as usize;
        if let Err(fault) = result {
            let connection = &mut self.connections[index];
            if connection.flow.in_flight > 0 {
                let request = connection
                    .flow
                    .take(&self.ring[index * self.pipeline..][..self.pipeline]);
                self.in_flight -= 1;
                let at = request.answered(at);
                connection.flow.answers += u64::from(self.recorder.measured(at));
                let wrong = Some(Mismatch::Fault(fault));
                self.recorder.answer(
                    request,
                    at,
                    &Answer {
                        status: 0,
                        wrong,
                        last: true,
                        body: 0,
                    },
                );
            } else {
                self.recorder.error(fault.to_string());
            }
            return self.lose(out, slot, at, Failure::Read, None);
        }
        if last || self.used_up(index, at) {
            return self.lose(out, slot, at, Failure::Read, None);
        }
        self.fill(out, slot, at);
        if !S::CLOSED
            && let Some(start) = self.start
        {
            // What has fallen due meanwhile does not wait for the rest of the batch.
            self.issue(out, start, clock::now());
        }
    }

    #[cold]
    fn ended(&mut self, out: &mut O, slot: Slot, error: Option<io::Error>, at: Nanos) {
        if error.is_none() {
            let ended: Result<(), ()> = self.take_answers(slot, at, |protocol, proto, done| {
                protocol.end(proto, slot, done);
                Ok(())
            });
            debug_assert!(ended.is_ok());
            if self.connections[slot as usize].flow.in_flight > 0 {
                self.recorder
                    .error("reading: the server closed the connection".to_owned());
            }
        }
        self.lose(out, slot, at, Failure::Read, error.as_ref());
    }
}

impl<S: Schedule, P: Protocol, F: FnMut(Event)> Worker<'_, S, P, F> {
    /// Runs `read` and books each answer that it finds.
    #[inline]
    fn take_answers<E>(
        &mut self,
        slot: Slot,
        at: Nanos,
        read: impl FnOnce(&mut P, &mut P::Conn, &mut dyn FnMut(Answer)) -> Result<(), E>,
    ) -> Result<(), E> {
        let index = slot as usize;
        let ring = &self.ring[index * self.pipeline..][..self.pipeline];
        let Connection { proto, flow, .. } = &mut self.connections[index];
        let (recorder, in_flight) = (&mut self.recorder, &mut self.in_flight);
        let tracer = &mut self.tracer;
        read(&mut self.protocol, proto, &mut |answer| {
            if flow.in_flight as usize == ring.len() {
                flow.free = at;
            }
            let request = flow.take(ring);
            let at = request.answered(at);
            *in_flight -= 1;
            flow.useful = true;
            flow.answers += u64::from(recorder.measured(at));
            recorder.answer(request, at, &answer);
            if let Some(tracer) = tracer {
                tracer.answered(slot, request, at, &answer, recorder.measured(at));
            }
        })
    }
}

//! The times of single requests, and results by address. They are kept apart from what the hot path touches anyway, and only
//! when the plan asks for them.

use super::spread::Spread;
use crate::clock::Nanos;
use crate::plan::{Plan, Trace};
use crate::protocol::{Answer, Booked};
use crate::recorder::RequestTimes;
use crate::schedule::Share;
use crate::trace::TraceSample;
use crate::transport::Slot;
use prony_record::ByAddress;
use std::net::SocketAddr;

/// The most samples that have room from the beginning; more make the trace grow.
const ROOM: u64 = 1 << 20;

pub(super) struct Tracer {
    /// Requests whose times are kept.
    trace: Trace,
    /// Addresses of the connections; None: there is one.
    spread: Option<Spread>,
    /// One for each slot.
    marks: Vec<TraceMark>,
    samples: Vec<TraceSample>,
    /// The number of the next connection, and how far apart a worker's numbers are.
    next: u64,
    step: u64,
}

/// State of a connection that its samples need.
#[derive(Debug, Clone, Copy, Default)]
struct TraceMark {
    /// The connection's number among all of the load, from 1.
    number: u64,
    /// How long it took to be made; 0 after its first answer.
    connect: Nanos,
    /// When the oldest request's answer began to come; 0 while it has not.
    first_byte: Nanos,
}

impl Tracer {
    /// Nothing when the plan does not ask for it.
    pub(super) fn wanted(plan: &Plan, share: Share, quota: u64) -> Option<Box<Self>> {
        let room = match plan.trace {
            Trace::All => quota.saturating_mul(u64::from(plan.load.calls)).min(ROOM),
            Trace::FirstOnConnection => u64::from(share.connections()),
            Trace::None => 0,
        };
        let spread = Spread::wanted(plan, share);
        (plan.trace != Trace::None || spread.is_some()).then(|| {
            Box::new(Self {
                trace: plan.trace,
                spread,
                marks: vec![TraceMark::default(); share.connections() as usize],
                samples: Vec::with_capacity(room as usize),
                next: u64::from(share.worker) + 1,
                step: u64::from(share.workers),
            })
        })
    }

    /// A connection was made, in so much time.
    pub(super) fn opened(&mut self, slot: Slot, took: Nanos) {
        self.marks[slot as usize] = TraceMark {
            number: self.next,
            connect: took,
            first_byte: 0,
        };
        self.next += self.step;
        if let Some(spread) = &mut self.spread {
            spread.connected(slot);
        }
    }

    /// The address that a slot's next connection goes to; None: there is one for all.
    pub(super) fn address(&mut self, slot: Slot, now: Nanos) -> Option<SocketAddr> {
        let spread = self.spread.as_mut()?;
        Some(spread.next(slot, now))
    }

    /// A slot's connection could not be made.
    pub(super) fn unconnected(&mut self, slot: Slot, error: &std::io::Error, at: Nanos) {
        if let Some(spread) = &mut self.spread {
            spread.not_connected(slot, error.to_string(), at);
        }
    }

    /// Slots whose connections belong to other addresses by now.
    pub(super) fn moved(&mut self, now: Nanos) -> Vec<Slot> {
        self.spread
            .as_mut()
            .map_or_else(Vec::new, |spread| spread.moved(now))
    }

    /// A request in flight ended without the answer that was expected.
    pub(super) fn failed(&mut self, slot: Slot, booked: Booked) {
        if let Some(spread) = &mut self.spread
            && booked.ended_inside
        {
            spread.failed(slot);
        }
    }

    /// Is this a request whose times are kept?
    fn keeps(&self, slot: Slot) -> bool {
        match self.trace {
            Trace::None => false,
            Trace::FirstOnConnection => self.marks[slot as usize].connect > 0,
            Trace::All => true,
        }
    }

    /// Bytes came.
    pub(super) fn received(&mut self, slot: Slot, at: Nanos) {
        let mark = &mut self.marks[slot as usize];
        if mark.first_byte == 0 {
            mark.first_byte = at;
        }
    }

    /// An answer is complete; one outside the measurement is none of the trace.
    pub(super) fn answered(
        &mut self,
        slot: Slot,
        request: RequestTimes,
        at: Nanos,
        answer: &Answer,
        booked: Booked,
    ) {
        match (&mut self.spread, &answer.wrong) {
            (Some(spread), None) => spread.answered(slot, booked),
            (Some(_), Some(_)) => self.failed(slot, booked),
            (None, _) => {}
        }
        let keeps = self.keeps(slot);
        let mark = &mut self.marks[slot as usize];
        if booked.ended_inside && keeps {
            self.samples.push(TraceSample {
                body: answer.body,
                status: answer.status,
                last: answer.last,
                ..mark.sample(request, at)
            });
        }
        mark.first_byte = 0;
        mark.connect = 0;
    }

    /// A request's answer took too long: its time was up at `at`.
    pub(super) fn given_up(&mut self, slot: Slot, request: RequestTimes, at: Nanos) {
        if self.keeps(slot) {
            let sample = self.marks[slot as usize].sample(request, at);
            self.samples.push(sample);
        }
    }

    /// The connection for a request that was due at `due` took longer than `timeout`.
    pub(super) fn not_connected(&mut self, due: Nanos, at: Nanos, timeout: Nanos) {
        if self.trace == Trace::None {
            return;
        }
        self.samples.push(TraceSample {
            connect: timeout,
            due,
            sent: at,
            first_byte: at,
            done: at,
            last: true,
            ..TraceSample::default()
        });
    }

    /// Times of single requests, and results by address.
    pub(super) fn done(self) -> (Vec<TraceSample>, Vec<ByAddress>) {
        let by_address = self.spread.map_or_else(Vec::new, Spread::done);
        (self.samples, by_address)
    }
}

impl TraceMark {
    /// Sample of a request that ended at `at` without an answer.
    fn sample(&self, request: RequestTimes, at: Nanos) -> TraceSample {
        TraceSample {
            connection: self.number,
            connect: self.connect,
            due: request.due,
            sent: request.sent,
            first_byte: if self.first_byte == 0 {
                at
            } else {
                request.answered(self.first_byte)
            },
            done: at,
            body: 0,
            status: 0,
            last: true,
        }
    }
}

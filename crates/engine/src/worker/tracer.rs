//! The times of single requests. They are kept apart from what the hot path touches anyway, and only
//! when the plan asks for them.

use crate::clock::Nanos;
use crate::plan::{Plan, Trace};
use crate::protocol::Answer;
use crate::recorder::RequestTimes;
use crate::schedule::Share;
use crate::trace::TraceSample;
use crate::transport::Slot;

/// The most samples that have room from the beginning; more make the trace grow.
const ROOM: u64 = 1 << 20;

pub(super) struct Tracer {
    /// Only the first request on each connection.
    firsts: bool,
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
        let firsts = plan.trace == Trace::FirstOnConnection;
        (plan.trace != Trace::None).then(|| {
            Box::new(Self {
                firsts,
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
        measured: bool,
    ) {
        let mark = &mut self.marks[slot as usize];
        if measured && (!self.firsts || mark.connect > 0) {
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
        let mark = &self.marks[slot as usize];
        if !self.firsts || mark.connect > 0 {
            let sample = mark.sample(request, at);
            self.samples.push(sample);
        }
    }

    /// The connection for a request that was due at `due` took longer than `timeout`.
    pub(super) fn not_connected(&mut self, due: Nanos, at: Nanos, timeout: Nanos) {
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

    pub(super) fn samples(self) -> Vec<TraceSample> {
        self.samples
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

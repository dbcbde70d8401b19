//! Answers that come in parts: first bytes, and the events of streams.

use super::{Recorder, RequestTimes};
use crate::clock::Nanos;
use crate::protocol::StreamNews;
use prony_record::AnswerTimes;

/// Progress of an answer that has not ended. All zero: nothing has come.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AnswerParts {
    /// When the first byte of its body came, if that was before the last.
    pub first_byte: Nanos,
    /// When the first event of a stream came, and the last one; the longest time between two, and how many there were.
    pub first: Nanos,
    pub last: Nanos,
    pub longest_gap: Nanos,
    pub events: u32,
    /// Tokens that it says it has; 0 if it says nothing.
    pub tokens: u32,
    /// When it said that it was over.
    pub over: Nanos,
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// Rightly.
    Whole,
    /// By a broken connection, or with a wrong answer.
    Broken,
    /// No event came for too long.
    Silent,
    /// With the load.
    Open,
}

impl AnswerParts {
    pub(crate) fn is_empty(&self) -> bool {
        self.first_byte == 0 && self.events == 0 && self.over == 0
    }

    /// Takes events that have come together.
    pub(crate) fn hear(&mut self, at: Nanos, news: StreamNews) {
        match self.events {
            0 => self.first = at,
            _ => self.longest_gap = self.longest_gap.max(at.saturating_sub(self.last)),
        }
        self.last = at;
        self.events = self.events.saturating_add(news.events);
        self.tokens = news.tokens;
    }

    /// The mean time between two tokens, or events where it does not say how many tokens it has.
    fn mean_gap(&self) -> Nanos {
        let number = match self.tokens {
            0 => self.events,
            tokens => tokens,
        };
        (self.last - self.first) / u64::from(number.max(2) - 1)
    }
}

impl Recorder {
    /// The first byte of an answer came before it ended at `at`, or before its request was given up then; `response` is what
    /// has been recorded as its response time, if anything has.
    #[cold]
    pub(crate) fn first_byte(
        &mut self,
        (request, parts): (RequestTimes, AnswerParts),
        at: Nanos,
        response: Option<Nanos>,
    ) {
        if self.measured(request.due) && (1..at).contains(&parts.first_byte) {
            let times = &mut self.record.times;
            times
                .first_byte
                .saturating_record(parts.first_byte - request.due);
            if let Some(response) = response {
                times.in_parts.saturating_record(response);
            }
        }
    }

    /// A right answer is counted: is it a good one?
    #[cold]
    pub(crate) fn judge(&mut self, request: RequestTimes, at: Nanos, parts: Option<AnswerParts>) {
        let Some(slo) = &self.slo else {
            return;
        };
        let response = at - request.due;
        let stream = parts.filter(|parts| parts.events > 0);
        let times = match stream {
            Some(parts) => AnswerTimes {
                response,
                first_event: parts.first.saturating_sub(request.due),
                gap: parts.longest_gap,
                mean_gap: parts.mean_gap(),
            },
            None => AnswerTimes {
                response,
                first_event: response,
                ..AnswerTimes::default()
            },
        };
        self.record.good += u64::from(slo.is_kept(times));
    }

    /// Counts events of an answer that have come together at `at`; `before` is what had come until then.
    pub(crate) fn streamed(
        &mut self,
        (request, before): (RequestTimes, AnswerParts),
        at: Nanos,
        events: u32,
    ) {
        let times = &mut self.record.times;
        let measured = |at: Nanos| at >= self.from && at < self.until;
        if before.events == 0 {
            if measured(request.due) {
                times.first_event.saturating_record(at - request.due);
            }
        } else if measured(before.last) {
            // A gap belongs to the measurement in which it began: one that is too long for it is not left out.
            let gap = at.saturating_sub(before.last);
            times.gap.saturating_record(gap);
        }
        if measured(at) {
            let together = u64::from(events.saturating_sub(1));
            times.gap.saturating_record_n(0, together);
            self.record.streams.events += u64::from(events);
            self.window.events += u64::from(events);
        }
        if at >= self.until && before.last < self.until {
            self.heard_out += 1;
        }
    }

    /// An answer of which something has come is not in flight any more.
    #[inline]
    pub(crate) fn taken(&mut self, parts: Option<AnswerParts>) {
        if parts.is_some_and(|parts| parts.last >= self.until) {
            self.heard_out = self.heard_out.saturating_sub(1);
        }
    }

    /// A stream has ended at `at`.
    #[cold]
    pub(crate) fn stream_ended(
        &mut self,
        (request, parts): (RequestTimes, AnswerParts),
        at: Nanos,
        end: StreamEnd,
    ) {
        self.taken(Some(parts));
        if parts.events == 0 {
            return;
        }
        let open_gap = match end {
            StreamEnd::Whole | StreamEnd::Broken => 0,
            StreamEnd::Silent | StreamEnd::Open => at.saturating_sub(parts.last),
        };
        if open_gap > 0 && self.measured(parts.last) {
            self.record.times.gap.saturating_record(open_gap);
        }
        let longest = parts.longest_gap.max(open_gap);
        if self.measured(request.due) && (parts.events > 1 || open_gap > 0) {
            self.record.times.longest_gap.saturating_record(longest);
        }
        let streams = &mut self.record.streams;
        match end {
            StreamEnd::Whole => {
                self.longest_stream = self.longest_stream.max(at.saturating_sub(request.sent));
                if at >= self.from && at < self.until {
                    streams.ended += 1;
                    streams.events_of_ended += u64::from(parts.events);
                    streams.tokens += u64::from(parts.tokens);
                }
            }
            StreamEnd::Open => streams.open += 1,
            StreamEnd::Broken | StreamEnd::Silent => {}
        }
    }

    /// A request for a stream was given up at `at` that no event had come of.
    #[cold]
    pub(crate) fn eventless(&mut self, request: RequestTimes, at: Nanos) {
        if self.measured(request.due) {
            let waited = at.saturating_sub(request.due);
            self.record.times.first_event.saturating_record(waited);
        }
    }

    /// The longest that a stream took to end, in nanoseconds; 0 while none has.
    pub(crate) fn longest_stream(&self) -> Nanos {
        self.longest_stream
    }

    /// Streams in flight of which an event has come since the measurement ended; 0 where streams end by themselves.
    pub(crate) fn heard_out(&self) -> u64 {
        match self.longest_stream {
            0 => self.heard_out,
            _ => 0,
        }
    }
}

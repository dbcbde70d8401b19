//! Measured data of one worker (histograms, counters and windows), and how several workers' are merged.

mod streams;

use crate::clock::Nanos;
use crate::load_error::{Cause, IoActivity, LoadError, pairs};
use crate::protocol::{Answer, Booked, Fault, Mismatch};
use crate::schedule::Skipped;
use hdrhistogram::Histogram;
use prony_record::observation::keep_example;
use prony_record::times::HIGHEST;
use prony_record::tls::Handshakes;
use prony_record::{Distributions, Ends, Outcomes, Slo, Streams};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

pub(crate) use streams::{AnswerParts, StreamEnd};

/// Significant decimal digits of a window's histogram: values are within 1%, in a tenth of the memory
/// of the load's.
pub(crate) const WINDOW_DIGITS: u8 = 2;

/// Bytes that are shown of what came unasked.
const EXCERPT: usize = 40;

/// How a request ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestFailure {
    Timeout,
    Connect,
    Read,
    Write,
}

/// Results of one window, of one worker or (merged) of all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Slice {
    /// 0-based since the load began.
    pub index: u32,
    /// When it began, on the engine's clock.
    pub start: Nanos,
    /// How long it was.
    pub length: Nanos,
    /// Outcomes of the requests that ended in the window.
    pub outcomes: Outcomes,
    /// Response times of what was answered in it, within 1%.
    #[serde(with = "compact")]
    pub response: Histogram<u32>,
    /// CPU time of the generator's threads in it for the work: without waiting.
    pub work: Nanos,
    /// Requests that were due and had not ended at its end.
    #[serde(default)]
    pub outstanding: u64,
    /// Events of streams that came in it.
    #[serde(default)]
    pub events: u64,
}

/// A window's histogram on its way to another process: `HdrHistogram`'s V2 format, compressed, in base64.
mod compact {
    use super::{HIGHEST, Histogram, WINDOW_DIGITS};
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD as BASE64;
    use prony_record::times;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(of: &Histogram<u32>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64.encode(times::encode(of)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Histogram<u32>, D::Error> {
        let bytes = BASE64
            .decode(String::deserialize(from)?)
            .map_err(Error::custom)?;
        let read: Histogram<u32> = times::decode_as(&bytes).map_err(Error::custom)?;
        // Windows are added to each other, so all have the same bounds, whatever was sent.
        let mut bounded = Histogram::new_with_bounds(1, HIGHEST, WINDOW_DIGITS)
            .expect("constant bounds are valid");
        bounded
            .add(&read)
            .map_err(|_| Error::custom("a time of a window is beyond the longest"))?;
        Ok(bounded)
    }
}

impl Slice {
    pub(crate) fn empty(index: u32, start: Nanos, length: Nanos) -> Self {
        Self {
            index,
            start,
            length,
            outcomes: Outcomes::default(),
            response: Histogram::new_with_bounds(1, HIGHEST, WINDOW_DIGITS)
                .expect("constant bounds are valid"),
            work: 0,
            outstanding: 0,
            events: 0,
        }
    }

    /// Adds what another worker saw in the same window.
    pub(crate) fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.index, other.index);
        self.length = self.length.max(other.length);
        self.outcomes += &other.outcomes;
        self.work += other.work;
        self.outstanding += other.outstanding;
        self.events += other.events;
        self.response
            .add(&other.response)
            .expect("all windows have the same bounds");
    }
}

/// Everything one worker records; merged when all have ended.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// The measurement, on the engine's clock; `u64::MAX` while it is not known.
    pub from: Nanos,
    pub until: Nanos,
    /// The load is a number of requests: what was due before the measurement is not counted, whenever it ends.
    pub numbered: bool,
    pub record: Record,
    /// Answers may be streams of events.
    pub streams: bool,
    /// Limits of a good answer.
    pub slo: Option<Slo>,
    longest_stream: Nanos,
    heard_out: u64,
    /// The last status, and how many answers in a row had it that `record` does not have yet.
    run: (u16, u64),
    window: Slice,
    window_end: Nanos,
    window_length: Nanos,
}

/// Measured data that a worker hands over at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub times: Distributions,
    pub outcomes: Outcomes,
    #[serde(default)]
    pub ends: Ends,
    pub last_finish: Nanos,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    pub body_bytes: u64,
    /// Requests that the server had left out, on another connection.
    pub sent_again: u64,
    /// Times that a server had to wait for room in a window of this side.
    pub stalled: u64,
    pub wrong: Vec<String>,
    pub unsolicited: Vec<String>,
    #[serde(with = "pairs")]
    pub errors: BTreeMap<LoadError, u64>,
    /// Answers in the measurement by their status; none where the protocol has none.
    #[serde(default)]
    pub statuses: BTreeMap<u16, u64>,
    /// Idle connections that the server closed with a status.
    #[serde(default)]
    pub idle_closed: u64,
    /// Segments of this side's connections that were sent again, or came out of order.
    #[serde(default)]
    pub lost_segments: u64,
    /// Handshakes of TLS that were done in the measurement.
    pub handshakes: Handshakes,
    #[serde(default)]
    pub streams: Streams,
    /// Right answers in the measurement that kept the objective.
    #[serde(default)]
    pub good: u64,
}

impl Record {
    pub(crate) fn new() -> Self {
        Self {
            times: Distributions::with_room(),
            outcomes: Outcomes::default(),
            ends: Ends::default(),
            last_finish: 0,
            bytes_received: 0,
            bytes_sent: 0,
            body_bytes: 0,
            sent_again: 0,
            stalled: 0,
            wrong: Vec::new(),
            unsolicited: Vec::new(),
            errors: BTreeMap::new(),
            statuses: BTreeMap::new(),
            idle_closed: 0,
            lost_segments: 0,
            handshakes: Handshakes::default(),
            streams: Streams::default(),
            good: 0,
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.outcomes += &other.outcomes;
        self.ends += other.ends;
        self.last_finish = self.last_finish.max(other.last_finish);
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
        self.body_bytes += other.body_bytes;
        self.sent_again += other.sent_again;
        self.stalled += other.stalled;
        self.handshakes += other.handshakes;
        self.streams += other.streams;
        self.good += other.good;
        self.idle_closed += other.idle_closed;
        self.lost_segments += other.lost_segments;
        for (status, n) in &other.statuses {
            *self.statuses.entry(*status).or_default() += n;
        }
        for text in &other.wrong {
            keep_example(&mut self.wrong, text.clone());
        }
        for text in &other.unsolicited {
            keep_example(&mut self.unsolicited, text.clone());
        }
        for (error, n) in &other.errors {
            *self.errors.entry(error.clone()).or_default() += n;
        }
    }
}

/// The times of one request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestTimes {
    pub due: Nanos,
    pub sent: Nanos,
}

impl RequestTimes {
    /// When it was answered by what came at `at`: not before it was sent, whatever a server says
    /// unasked, and whatever happens to the clock of the kernel's time stamps.
    #[inline]
    pub(crate) fn answered(&self, at: Nanos) -> Nanos {
        at.max(self.sent)
    }
}

impl Recorder {
    pub(crate) fn new(start: Nanos, window_length: Nanos) -> Self {
        Self {
            from: Nanos::MAX,
            until: Nanos::MAX,
            numbered: false,
            record: Record::new(),
            streams: false,
            slo: None,
            longest_stream: 0,
            heard_out: 0,
            run: (0, 0),
            window: Slice::empty(0, start, window_length),
            window_end: start + window_length,
            window_length,
        }
    }

    /// Does a request that was due, or ended, at `at` belong to the measurement?
    #[inline]
    pub(crate) fn measured(&self, at: Nanos) -> bool {
        at >= self.from && at < self.until
    }

    /// Is a request counted that ended at `at`?
    #[inline]
    pub(crate) fn counted(&self, request: RequestTimes, at: Nanos) -> bool {
        self.measured(at) && !(self.numbered && request.due < self.from)
    }

    /// A stop ended the measurement at `until`, when the first worker saw it. This one may have counted
    /// something a moment later, before it was told; so that the counts, the windows and the length agree, its
    /// own measurement reaches until that.
    #[cold]
    pub(crate) fn end(&mut self, until: Nanos) {
        self.until = until.max(self.record.last_finish.saturating_add(1));
    }

    /// Bytes came. Those of answers that are not counted any more, because the measurement has ended, are not
    /// counted either.
    #[inline]
    pub(crate) fn received(&mut self, bytes: u64, at: Nanos) {
        if at < self.until {
            self.record.bytes_received += bytes;
        }
    }

    /// An answer came, not before its request was sent. True: it is [counted](Self::counted).
    #[inline]
    pub(crate) fn answer(&mut self, request: RequestTimes, at: Nanos, answer: &Answer) -> bool {
        let response = at - request.due;
        let right = answer.wrong.is_none();
        // How soon a wrong answer came says nothing of how long a right one takes: it counts among those that failed.
        if right {
            self.window.response.saturating_record(response);
            if self.measured(request.due) {
                self.record.times.response.saturating_record(response);
                self.record
                    .times
                    .service
                    .saturating_record(at - request.sent);
                self.record
                    .times
                    .send_delay
                    .saturating_record(request.sent - request.due);
            }
        }
        if at < self.until {
            self.record.body_bytes += answer.body;
        }
        count_answer(&mut self.window.outcomes, right, answer.status);
        let counted = self.counted(request, at);
        if counted {
            count_answer(&mut self.record.outcomes, right, answer.status);
            if answer.status == self.run.0 {
                self.run.1 += 1;
            } else {
                self.status(answer.status);
            }
            self.record.last_finish = at;
            if let Some(mismatch) = &answer.wrong {
                keep_wrong(&mut self.record, mismatch);
            }
            if request.sent < self.from {
                self.crossed(request, at, right);
            }
        } else {
            self.outlived(request, at);
            self.crossed(request, at, right);
        }
        counted
    }

    /// A request that ended at `at` may have been in flight at an end of the measurement.
    #[cold]
    fn crossed(&mut self, request: RequestTimes, at: Nanos, right: bool) {
        let whole = request.sent >= self.from && at < self.until;
        let inside = at
            .min(self.until)
            .saturating_sub(request.sent.max(self.from));
        let counted = self.counted(request, at);
        if !whole && (inside > 0 || counted) {
            let ends = &mut self.record.ends;
            ends.add((inside, at - request.sent), counted, right);
        }
    }

    /// How a request that ended at `at` is booked.
    #[inline]
    pub(crate) fn booked(&self, request: RequestTimes, at: Nanos) -> Booked {
        Booked {
            response: at.saturating_sub(request.due),
            due_inside: self.measured(request.due),
            ended_inside: self.counted(request, at),
            in_flight_at_end: self.in_flight_at_end(request, at),
            window: self.window.index,
        }
    }

    /// Was a request that ended at `at` in flight when the measurement ended?
    #[inline]
    fn in_flight_at_end(&self, request: RequestTimes, at: Nanos) -> bool {
        at >= self.until && request.sent < self.until
    }

    /// How late the generator itself was: `sent − max(due, the moment the connection was free)`.
    #[inline]
    pub(crate) fn late(&mut self, due: Nanos, late: Nanos) {
        if self.measured(due) {
            self.record.times.late.saturating_record(late);
        }
    }

    /// A request ended without an answer. A time-out goes into the distributions at its full
    /// length, because that much is known of it; an error's length says nothing about the server's
    /// speed, so it is only counted. `silent`: not a byte of its answer had come.
    #[cold]
    pub(crate) fn failure(
        &mut self,
        request: RequestTimes,
        at: Nanos,
        failure: RequestFailure,
        timeout: Nanos,
        silent: bool,
    ) {
        if failure == RequestFailure::Timeout && self.measured(request.due) {
            let send_delay = request.sent.saturating_sub(request.due);
            self.record
                .times
                .response
                .saturating_record(send_delay + timeout);
            self.record.times.service.saturating_record(timeout);
            self.record.times.send_delay.saturating_record(send_delay);
        }
        count_failure(&mut self.window.outcomes, failure);
        self.crossed(request, at, false);
        if self.counted(request, at) {
            count_failure(&mut self.record.outcomes, failure);
            self.record.last_finish = at;
        } else {
            self.outlived(request, at);
            let unanswered = u64::from(self.in_flight_at_end(request, at));
            self.record.outcomes.unanswered_at_end += unanswered;
            self.record.outcomes.silent_at_end += unanswered * u64::from(silent);
        }
    }

    /// The load ended at `now` with a request still in flight or unsent (`sent` in the future):
    /// its response time is at least what has passed.
    #[cold]
    pub(crate) fn unfinished(
        &mut self,
        request: RequestTimes,
        parts: Option<AnswerParts>,
        now: Nanos,
    ) {
        let is_stream = parts.is_some_and(|parts| parts.events > 0);
        // How long a stream lasts is not known where none ends.
        let endless = is_stream && self.longest_stream == 0;
        if let Some(parts) = parts {
            let response = (!endless).then(|| now - request.due);
            self.first_byte((request, parts), now, response);
            self.stream_ended((request, parts), now, StreamEnd::Open);
        }
        if self.streams && !is_stream {
            self.eventless(request, now);
        }
        if self.measured(request.due) {
            let sent = request.sent.min(now);
            let times = &mut self.record.times;
            times.send_delay.saturating_record(sent - request.due);
            if !endless {
                times.response.saturating_record(now - request.due);
            }
            if request.sent <= now && !endless {
                times.service.saturating_record(now - sent);
            }
        }
        if request.sent <= now {
            self.crossed(request, now, false);
        }
        self.outlived(request, now);
    }

    /// The load ended at `now` with these requests due in the measurement and never sent.
    #[cold]
    pub(crate) fn never_sent(&mut self, due: &Skipped, now: Nanos) {
        due.ages(now, |age, n| {
            self.record.times.response.saturating_record_n(age, n);
            self.record.times.send_delay.saturating_record_n(age, n);
        });
        self.record.outcomes.unsent_at_end += due.count;
    }

    /// Counts a request that ended at `at`, outside the measurement, if it was due inside.
    #[cold]
    fn outlived(&mut self, request: RequestTimes, at: Nanos) {
        if self.in_flight_at_end(request, at) {
            self.record.outcomes.in_flight_at_end += 1;
        } else if at >= self.until && self.measured(request.due) {
            self.record.outcomes.unsent_at_end += 1;
        }
    }

    /// An answer has another status than the one before it.
    #[cold]
    fn status(&mut self, status: u16) {
        let (last, n) = std::mem::replace(&mut self.run, (status, 1));
        if n > 0 && last > 0 {
            *self.record.statuses.entry(last).or_default() += n;
        }
    }

    /// Everything that was recorded.
    pub(crate) fn done(mut self) -> Record {
        self.status(0);
        self.record
    }

    /// A connection was made.
    pub(crate) fn connected(&mut self, took: Nanos) {
        self.record.times.connect.saturating_record(took);
    }

    /// A handshake of TLS was done at `at`, which took so long.
    pub(crate) fn secured(&mut self, at: Nanos, took: Nanos, resumed: bool) {
        self.record.times.handshake.saturating_record(took);
        if self.measured(at) {
            self.record.handshakes.count(resumed);
        }
    }

    /// Counts an error.
    #[cold]
    pub(crate) fn error(&mut self, doing: IoActivity, cause: Cause) {
        let error = LoadError { doing, cause };
        *self.record.errors.entry(error).or_default() += 1;
    }

    /// Counts an error of the system or of a session.
    #[cold]
    pub(crate) fn failed(&mut self, doing: IoActivity, error: &io::Error) {
        let error = LoadError::new(doing, error);
        *self.record.errors.entry(error).or_default() += 1;
    }

    /// Bytes came that no request had asked for.
    #[cold]
    pub(crate) fn unsolicited(&mut self, bytes: &[u8]) {
        self.record.outcomes.unsolicited += 1;
        let cause = Cause::Other(Fault::Unsolicited { at: 0 }.to_string());
        self.error(IoActivity::Reading, cause);
        keep_example(&mut self.record.unsolicited, excerpt(bytes));
    }

    /// When the current window ends.
    pub(crate) fn window_end(&self) -> Nanos {
        self.window_end
    }

    /// Closes every window that has ended by `now`.
    #[cold]
    pub(crate) fn roll(&mut self, now: Nanos, mut finished: impl FnMut(Slice)) {
        while now >= self.window_end {
            finished(self.take_window(self.window_length));
        }
    }

    /// Closes the window under way, which ends at `now`.
    pub(crate) fn last_window(&mut self, now: Nanos) -> Option<Slice> {
        let length = now.saturating_sub(self.window.start);
        (length > 0).then(|| self.take_window(length))
    }

    fn take_window(&mut self, length: Nanos) -> Slice {
        let mut next = self.window.clone();
        next.index += 1;
        next.start += length;
        next.outcomes = Outcomes::default();
        next.events = 0;
        next.response.reset();
        self.window_end = next.start + self.window_length;
        let mut done = std::mem::replace(&mut self.window, next);
        done.length = length;
        done
    }
}

#[cold]
fn keep_wrong(record: &mut Record, mismatch: &Mismatch) {
    keep_example(&mut record.wrong, mismatch.to_string());
}

/// The first bytes, so that they can be read and are few.
fn excerpt(bytes: &[u8]) -> String {
    let shown = bytes[..bytes.len().min(EXCERPT)].escape_ascii();
    match bytes.len() > EXCERPT {
        true => format!("\"{shown}\"… ({} bytes)", bytes.len()),
        false => format!("\"{shown}\""),
    }
}

#[inline]
fn count_answer(outcomes: &mut Outcomes, right: bool, status: u16) {
    if right {
        outcomes.ok += 1;
    } else {
        outcomes.wrong_answer += 1;
    }
    outcomes.status.count(status);
}

fn count_failure(outcomes: &mut Outcomes, failure: RequestFailure) {
    *match failure {
        RequestFailure::Timeout => &mut outcomes.timeout,
        RequestFailure::Connect => &mut outcomes.connect_error,
        RequestFailure::Read => &mut outcomes.read_error,
        RequestFailure::Write => &mut outcomes.write_error,
    } += 1;
}

#[cfg(test)]
mod tests;

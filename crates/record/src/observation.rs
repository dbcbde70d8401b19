//! Observations of one load by a generator.

use crate::by_address::{self, ByAddress};
use crate::by_host::{self, ByHost};
use crate::by_request::{self, ByRequest};
use crate::by_session::{self, BySession};
use crate::window::followed_by;
use crate::{
    Backlog, Distributions, Ends, Generator, Grpc, IdleConnections, Nanos, Outcomes, Phase, Pool,
    Quic, SECOND, Streams, Tls, Window,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Median response times in a [piece](Observation::pieces) of a measurement at least.
pub const PIECE: u64 = 5;

/// Wrong answers, and unsolicited bytes, that are kept in words.
pub const EXAMPLES: usize = 3;

/// Observations of one load by a generator, or of several loads of the same kind together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// When the measurement began, since the load's start, in nanoseconds.
    pub began_ns: Nanos,
    /// Length of the measurement, in nanoseconds.
    pub measured_ns: Nanos,
    /// Outcomes of the requests.
    pub outcomes: Outcomes,
    /// Correction for requests that crossed an end of the measurement.
    #[serde(default)]
    pub ends: Ends,
    /// Requests that were due and had not ended, in an open loop.
    #[serde(default)]
    pub backlog: Backlog,
    /// The connections of an open loop.
    #[serde(default)]
    pub pool: Pool,
    /// Response times and the others, of every request due in the measurement.
    pub times: Distributions,
    /// All windows since the load began, warm-up included, in order.
    pub windows: Vec<Window>,
    /// Resources that the generator used.
    pub generator: Generator,
    /// Connections made, set-up included.
    pub connected: u64,
    /// Answers in the measurement by connection.
    pub per_connection: Vec<u64>,
    /// Bytes received from the beginning of the load to the end of the measurement.
    pub bytes_received: u64,
    /// Bytes sent since the load began.
    pub bytes_sent: u64,
    /// Bytes of the bodies of answers that came from the beginning of the load to the end of the measurement,
    /// without any transfer coding.
    pub body_bytes: u64,
    /// Requests that a server had left out when it closed their connection, sent again on another one, since the load began;
    /// HTTP/2 only.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent_again: u64,
    /// Times since the load began that the server had to wait before it could go on with an answer, because it had used up a
    /// window of flow control of this side; HTTP/2 only.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stalled: u64,
    /// Idle connections that the server closed with a status, such as 408, since the load began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle_closed: u64,
    /// Idle connections during the load; absent without --idle-connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleConnections>,
    /// The server kept a connection open after a response to `Connection: close`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub close_ignored: bool,
    /// Times that the server closed a connection with a request in flight on which it had answered before, since the
    /// load began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub closed_after_answer: u64,
    /// Times that no port was left to connect from, since the load began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_port: u64,
    /// Segments of the load's own TCP connections that were sent again, or came out of order because others were; of those that
    /// lasted long enough to have waited for that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_segments: u64,
    /// The fewest streams that the server has allowed on a connection; HTTP/2 only, none where it allows any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams_allowed: Option<u32>,
    /// Answers in the measurement by their status; empty where the protocol has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<u16, u64>,
    /// The user said which status answers must have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub status_expected: bool,
    /// Errors by their text, with how often each occurred since the load began.
    pub errors: BTreeMap<String, u64>,
    /// The first wrong answers, in words.
    pub wrong_answers: Vec<String>,
    /// The first bytes that came unasked, in words.
    #[serde(default)]
    pub unsolicited: Vec<String>,
    /// By request, in the order of the file that has them; empty where all requests are of one kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_request: Vec<ByRequest>,
    /// By session, where users go through several steps; otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_session: Vec<BySession>,
    /// Right answers in the measurement that kept the load's [objective](crate::Slo); None where it has none.
    #[serde(default)]
    pub good: Option<u64>,
    /// Answers that are streams of events; all 0 where none are.
    #[serde(default)]
    pub streams: Streams,
    /// Observations of TLS; None without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Observations of gRPC; None with another protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<Grpc>,
    /// Observations of QUIC; None where it is not spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quic: Option<Quic>,
    /// By machine; empty unless several carried the load out together, or another one did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_host: Vec<ByHost>,
    /// By address, where connections are spread over several; otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_address: Vec<ByAddress>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Why there is no figure although nothing failed: nothing was answered in a measurement of so many
/// seconds, at whose end requests were in flight.
#[must_use]
pub fn none_answered(outcomes: &Outcomes, seconds: f64) -> String {
    let in_flight = outcomes.in_flight_at_end;
    if outcomes.unanswered_at_end > 0 && outcomes.unanswered_at_end == in_flight {
        return format!(
            "no request was answered: {in_flight} were in flight at the end of the measurement of \
             {seconds:.2} s, and none of them was answered afterwards"
        );
    }
    format!(
        "the measurement of {seconds:.2} s was shorter than an answer: {in_flight} requests were in \
         flight at its end, and none was answered before; measure longer"
    )
}

/// Adds to the few that are kept in words: none twice, and no more than [`EXAMPLES`].
pub fn keep_example(kept: &mut Vec<String>, text: String) {
    if kept.len() < EXAMPLES && !kept.contains(&text) {
        kept.push(text);
    }
}

impl Observation {
    /// Length of the measurement in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.measured_ns as f64 / SECOND as f64
    }

    /// Right answers that were served in the measurement: those that crossed an end of it count by their share.
    #[must_use]
    pub fn answers_served(&self) -> f64 {
        (self.outcomes.ok as f64 + self.ends.right).max(0.0)
    }

    /// Requests that were served in the measurement, however they ended: what its CPU time is divided by.
    #[must_use]
    pub fn served(&self) -> f64 {
        (self.outcomes.finished() as f64 + self.ends.all).max(0.0)
    }

    /// Right answers per second over the measurement.
    #[must_use]
    pub fn throughput(&self) -> f64 {
        match self.measured_ns {
            0 => 0.0,
            _ => self.answers_served() / self.seconds(),
        }
    }

    /// The windows that lie wholly inside the measurement. A window may begin a little before it, by
    /// the length of a turn of the generator's loop.
    pub fn measured_windows(&self) -> impl Iterator<Item = &Window> {
        self.windows
            .iter()
            .filter(|window| window.phase == Phase::Measure)
    }

    /// Answers and length in seconds of equal pieces of the measurement: its windows, or as many of them together as last for
    /// [`PIECE`] response times. A shorter piece has as many answers as happen to end in it.
    #[must_use]
    pub fn pieces(&self) -> Vec<(u64, f64)> {
        let windows: Vec<&Window> = self.measured_windows().collect();
        let median = match self.times.response.is_empty() {
            true => 0,
            false => self.times.response.value_at_quantile(0.5),
        };
        let length = windows.first().map_or(1, |window| window.length_ns).max(1);
        let together = (PIECE * median + length / 2) / length;
        let whole = windows.chunks_exact(together.max(1) as usize);
        whole
            .map(|piece| {
                let answers = piece.iter().map(|window| window.verified_answers).sum();
                (answers, piece.iter().map(|window| window.seconds()).sum())
            })
            .collect()
    }

    /// Right answers per second in each of these [pieces](Self::pieces).
    #[must_use]
    pub fn rates(&self) -> Vec<f64> {
        let pieces = self.pieces().into_iter();
        pieces
            .map(|(answers, seconds)| answers as f64 / seconds)
            .collect()
    }

    /// Answers of the connection that had the fewest, and of the one that had the most.
    #[must_use]
    pub fn per_connection_range(&self) -> Option<(u64, u64)> {
        let least = self.per_connection.iter().min()?;
        let most = self.per_connection.iter().max()?;
        Some((*least, *most))
    }

    /// Adds what was seen of another load of the same kind, after this one. Distributions and counts
    /// are added; percentiles are never averaged. The windows of the other follow those of this one.
    pub fn merge(&mut self, other: &Self) {
        let lengths = (self.measured_ns, other.measured_ns);
        self.windows = followed_by(std::mem::take(&mut self.windows), other.windows.clone());
        self.measured_ns += other.measured_ns;
        self.outcomes += &other.outcomes;
        self.ends += other.ends;
        self.backlog.merge(&other.backlog);
        self.pool.merge(&other.pool);
        self.times.merge(&other.times);
        self.generator
            .merge(&other.generator, lengths, self.outcomes.finished());
        self.connected += other.connected;
        if self.per_connection.len() == other.per_connection.len() {
            for (mine, theirs) in self.per_connection.iter_mut().zip(&other.per_connection) {
                *mine += theirs;
            }
        } else {
            self.per_connection.extend(&other.per_connection);
        }
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
        self.body_bytes += other.body_bytes;
        self.sent_again += other.sent_again;
        self.stalled += other.stalled;
        self.idle_closed += other.idle_closed;
        self.close_ignored |= other.close_ignored;
        self.idle = other.idle.or(self.idle);
        self.closed_after_answer += other.closed_after_answer;
        self.without_port += other.without_port;
        self.lost_segments += other.lost_segments;
        self.status_expected |= other.status_expected;
        let allowed = [self.streams_allowed, other.streams_allowed];
        self.streams_allowed = allowed.into_iter().flatten().min();
        for (status, n) in &other.statuses {
            *self.statuses.entry(*status).or_default() += n;
        }
        for (text, n) in &other.errors {
            *self.errors.entry(text.clone()).or_default() += n;
        }
        for text in &other.wrong_answers {
            keep_example(&mut self.wrong_answers, text.clone());
        }
        for text in &other.unsolicited {
            keep_example(&mut self.unsolicited, text.clone());
        }
        self.streams += other.streams;
        self.good = match (self.good, other.good) {
            (None, None) => None,
            (mine, theirs) => Some(mine.unwrap_or(0) + theirs.unwrap_or(0)),
        };
        by_request::merge(&mut self.by_request, &other.by_request);
        by_session::merge(&mut self.by_session, &other.by_session);
        by_host::merge(&mut self.by_host, &other.by_host, lengths);
        by_address::merge(&mut self.by_address, &other.by_address);
        if let Some(tls) = &other.tls {
            self.tls.get_or_insert_default().merge(tls);
        }
        if let Some(quic) = &other.quic {
            self.quic.get_or_insert_default().merge(quic);
        }
        if let Some(grpc) = &other.grpc {
            self.grpc.get_or_insert_default().merge(grpc);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times::times;

    fn seen(ok: u64, seconds: u64, response: u64) -> Observation {
        let mut response_times = times();
        response_times.record_n(response, ok).unwrap();
        let mut window = Window::empty(0, 0, seconds * SECOND);
        window.phase = Phase::Measure;
        window.verified_answers = ok;
        Observation {
            measured_ns: seconds * SECOND,
            outcomes: Outcomes {
                ok,
                ..Outcomes::default()
            },
            times: Distributions {
                response: response_times,
                ..Distributions::default()
            },
            windows: vec![window],
            generator: Generator {
                busy: response as f64 / 1_000.0,
                work_ns: ok * 1_000,
                ..Generator::default()
            },
            per_connection: vec![ok],
            wrong_answers: vec![format!("{response}")],
            ..Observation::default()
        }
    }

    #[test]
    fn two_of_one_kind_add_up() {
        let mut all = seen(100, 1, 200);
        all.merge(&seen(300, 3, 600));
        assert_eq!(all.throughput(), 100.0);
        assert_eq!(all.times.response.len(), 400);
        assert_eq!(all.generator.busy, 0.5);
        assert_eq!(all.generator.cpu_us_per_request, Some(1.0));
        assert_eq!(all.per_connection, [400]);
        let windows: Vec<_> = all.windows.iter().map(|w| (w.index, w.start_ns)).collect();
        assert_eq!(windows, [(0, 0), (1, SECOND)]);
        assert_eq!(all.wrong_answers, ["200", "600"]);
    }

    #[test]
    fn windows_shorter_than_answers_are_taken_together() {
        let window = |index: u32, answers| Window {
            phase: Phase::Measure,
            verified_answers: answers,
            ..Window::empty(index, u64::from(index) * SECOND / 10, SECOND / 10)
        };
        // 64 connections, answers of 200 ms: all of them in every second window.
        let answers = [0, 64].into_iter().cycle().zip(0..30);
        let mut slow = Observation {
            windows: answers.map(|(n, index)| window(index, n)).collect(),
            ..Observation::default()
        };
        assert_eq!(
            slow.pieces().len(),
            30,
            "nothing is known of response times"
        );
        slow.times.response.record_n(SECOND / 5, 960).unwrap();
        let rates = slow.rates();
        assert_eq!(rates.len(), 3);
        assert!(
            rates.iter().all(|rate| (rate - 320.0).abs() < 1e-6),
            "{rates:?}"
        );
    }

    #[test]
    fn requests_that_cross_an_end_count_by_their_share() {
        let mut seen = seen(100, 1, 200);
        seen.outcomes.timeout = 3;
        (seen.ends.right, seen.ends.all) = (-2.5, -4.0);
        assert_eq!((seen.answers_served(), seen.served()), (97.5, 99.0));
        assert_eq!(seen.throughput(), 97.5);
    }

    #[test]
    fn it_survives_json() {
        let before = seen(100, 1, 200);
        let json = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<Observation>(&json).unwrap(), before);
    }
}

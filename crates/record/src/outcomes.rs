//! Outcomes of requests, counted by kind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Outcomes of the requests of a measurement, counted by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcomes {
    /// Answered as expected.
    pub ok: u64,
    /// Answered, but not as expected.
    pub wrong_answer: u64,
    /// Given up after the time-out; in the latency distributions at their full length.
    pub timeout: u64,
    /// No connection could be made.
    pub connect_error: u64,
    /// The connection ended or broke before the answer.
    pub read_error: u64,
    /// The request could not be sent.
    pub write_error: u64,
    /// Sent, and neither answered nor given up when the measurement ended.
    pub in_flight_at_end: u64,
    /// Requests among [`in_flight_at_end`](Self::in_flight_at_end) that were never answered. The time-out passed, or
    /// the connection broke, while their answers were awaited after the end.
    #[serde(default)]
    pub unanswered_at_end: u64,
    /// Requests among [`unanswered_at_end`](Self::unanswered_at_end) that timed out before a byte of their answer had
    /// come.
    #[serde(default)]
    pub silent_at_end: u64,
    /// Due in the measurement, and not sent when it ended: an open loop had fallen behind.
    pub unsent_at_end: u64,
    /// Times that bytes came which no request had asked for, each of which ended a connection: while
    /// nothing was in flight, or more than was in flight. Unlike the others no number of requests, and
    /// counted from the load's set-up until a moment after its end.
    #[serde(default)]
    pub unsolicited: u64,
    /// Answers, right or wrong, by class of their status.
    pub status: Status,
}

/// Answers by class of their status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Classes", from = "Classes")]
pub struct Status([u64; 6]);

impl Status {
    /// Counts an answer: by the first digit of its status from 1 to 5, and anything else (an echo has
    /// none) as other.
    #[inline]
    pub fn count(&mut self, status: u16) {
        let class = usize::from(status / 100);
        self.0[if class < 6 { class } else { 0 }] += 1;
    }

    /// Answers whose status begins with this digit, 1 to 5; 0: without a status or with another one.
    #[must_use]
    pub fn class(&self, digit: usize) -> u64 {
        self.0[digit]
    }
}

/// The JSON form of [`Status`].
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Status")]
struct Classes {
    /// 100 to 199.
    #[serde(rename = "1xx")]
    informational: u64,
    /// 200 to 299.
    #[serde(rename = "2xx")]
    success: u64,
    /// 300 to 399.
    #[serde(rename = "3xx")]
    redirection: u64,
    /// 400 to 499.
    #[serde(rename = "4xx")]
    client_error: u64,
    /// 500 to 599.
    #[serde(rename = "5xx")]
    server_error: u64,
    /// Without a status (an echo), or with another one.
    other: u64,
}

impl From<Status> for Classes {
    fn from(Status(counts): Status) -> Self {
        let [
            other,
            informational,
            success,
            redirection,
            client_error,
            server_error,
        ] = counts;
        Self {
            informational,
            success,
            redirection,
            client_error,
            server_error,
            other,
        }
    }
}

impl From<Classes> for Status {
    fn from(classes: Classes) -> Self {
        Self([
            classes.other,
            classes.informational,
            classes.success,
            classes.redirection,
            classes.client_error,
            classes.server_error,
        ])
    }
}

impl JsonSchema for Status {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Classes::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Classes::json_schema(generator)
    }
}

impl Outcomes {
    /// Connections that failed, in any way but a time-out.
    #[must_use]
    pub fn socket_errors(&self) -> u64 {
        self.connect_error + self.read_error + self.write_error
    }

    /// Requests that ended in the measurement without the answer that was expected.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.wrong_answer + self.timeout + self.socket_errors()
    }

    /// The share of what ended in the measurement that failed, 0 to 1.
    #[must_use]
    pub fn share_failed(&self) -> f64 {
        self.failed() as f64 / self.finished().max(1) as f64
    }

    /// Failed requests that have no response time: all but those that timed out. Each counts as longer than every answer.
    #[must_use]
    pub fn untimed(&self) -> u64 {
        self.failed() - self.timeout
    }

    /// The share of what ended in the measurement that has no response time, 0 to 1.
    #[must_use]
    pub fn share_untimed(&self) -> f64 {
        self.untimed() as f64 / self.finished().max(1) as f64
    }

    /// Requests that ended in the measurement, in any way.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.ok + self.failed()
    }

    /// Did the server send wrong answers or unsolicited bytes?
    #[must_use]
    pub fn misbehaved(&self) -> bool {
        self.wrong_answer + self.unsolicited > 0
    }

    /// Had the server stopped answering? Not a byte came for what was in flight at the end, and no connection ended.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.silent_at_end > 0 && self.silent_at_end == self.in_flight_at_end
    }

    /// Kinds of failures that occurred, each with its number.
    pub fn failures(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [
            ("wrong answers", self.wrong_answer),
            ("time-outs", self.timeout),
            ("connect errors", self.connect_error),
            ("read errors", self.read_error),
            ("write errors", self.write_error),
            ("unanswered at the end", self.unanswered_at_end),
            ("unsolicited bytes", self.unsolicited),
        ]
        .into_iter()
        .filter(|(_, n)| *n > 0)
    }
}

impl std::ops::AddAssign<&Outcomes> for Outcomes {
    fn add_assign(&mut self, other: &Self) {
        self.ok += other.ok;
        self.wrong_answer += other.wrong_answer;
        self.timeout += other.timeout;
        self.connect_error += other.connect_error;
        self.read_error += other.read_error;
        self.write_error += other.write_error;
        self.in_flight_at_end += other.in_flight_at_end;
        self.unanswered_at_end += other.unanswered_at_end;
        self.silent_at_end += other.silent_at_end;
        self.unsent_at_end += other.unsent_at_end;
        self.unsolicited += other.unsolicited;
        for (mine, theirs) in self.status.0.iter_mut().zip(other.status.0) {
            *mine += theirs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_a_status_have_names_in_json() {
        let mut status = Status::default();
        for code in [200, 204, 404, 0, 700] {
            status.count(code);
        }
        let json = serde_json::to_value(status).unwrap();
        assert_eq!(json["2xx"], 2);
        assert_eq!(json["4xx"], 1);
        assert_eq!(json["other"], 2);
        assert_eq!(serde_json::from_value::<Status>(json).unwrap(), status);
    }
}

//! The numbers of the report.

use super::flags::AbFlags;
use super::tls;
use crate::shared::load::errors;
use prony_checks::Evidence;
use prony_engine::{Detail, IoActivity, Nanos, TraceSample};
use prony_record::Observation;

/// Results that `ab` reports.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AbReport {
    /// The first word of the first answer's `Server` field; empty when it has none.
    pub software: String,
    /// The length of the first answer's body, in bytes.
    pub length: u64,
    /// The whole measurement, in seconds.
    pub seconds: f64,
    /// Requests that got a whole answer.
    pub complete: u64,
    /// Requests that failed, and why.
    pub failed: FailureCounts,
    /// Whole answers of another length than the first; a part of `failed.length`.
    pub other_length: u64,
    /// Requests that could not be sent.
    pub write_errors: u64,
    /// Answers after which the server kept the connection open.
    pub kept: u64,
    /// Answers with a status that is none of 2xx.
    pub not_2xx: u64,
    /// Bytes sent, received, and received as bodies.
    pub sent: u64,
    pub received: u64,
    pub body: u64,
    /// Lines about TLS, names and values.
    pub tls: Vec<(&'static str, String)>,
    /// The times of each request, the shortest total first.
    pub timings: Vec<Timing>,
}

/// Why requests failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FailureCounts {
    /// No connection.
    pub connect: u64,
    /// The connection broke.
    pub receive: u64,
    /// The answer was of another length than the first, or ended before its own.
    pub length: u64,
    /// The answer did not come in time, or was no HTTP.
    pub exceptions: u64,
}

impl FailureCounts {
    pub(super) fn all(&self) -> u64 {
        self.connect + self.receive + self.length + self.exceptions
    }
}

/// The times of one request, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timing {
    /// Connecting and processing.
    pub total: u64,
    /// Making the connection, if the request was the first on it.
    pub connect: u64,
    /// From sending to the last byte.
    pub processing: u64,
    /// From sending to the first byte.
    pub waiting: u64,
    /// When it began, on the engine's clock in nanoseconds.
    pub begun: Nanos,
}

impl Timing {
    fn new(sample: &TraceSample) -> Self {
        let micros = |nanos: Nanos| (nanos + 500) / 1_000;
        let connect = micros(sample.connect);
        let processing = micros(sample.done - sample.sent);
        Self {
            total: connect + processing,
            connect,
            processing,
            waiting: micros(sample.first_byte.saturating_sub(sample.sent)).min(processing),
            begun: sample.sent.saturating_sub(sample.connect),
        }
    }
}

impl AbReport {
    pub(super) fn new(flags: &AbFlags, seen: &Observation, detail: &Detail) -> Self {
        // Status 0 is a time-out: it is a time, but no answer.
        let answers: Vec<&TraceSample> = detail.trace.iter().filter(|s| s.status != 0).collect();
        let count = |which: &dyn Fn(&TraceSample) -> bool| {
            answers.iter().filter(|sample| which(sample)).count() as u64
        };
        let length = answers.first().map_or(0, |sample| sample.body);
        let complete = answers.len() as u64;
        let outcomes = &seen.outcomes;
        let cut_short: u64 = errors(detail)
            .iter()
            .filter(|met| met.doing == IoActivity::Reading && met.number.is_none())
            .map(|met| met.count)
            .sum();
        let cut_short = cut_short.min(outcomes.read_error);
        let other_length = if flags.variable {
            0
        } else {
            count(&|sample| sample.body != length)
        };
        let failed = FailureCounts {
            connect: outcomes.connect_error,
            receive: outcomes.read_error - cut_short,
            length: other_length + cut_short,
            exceptions: outcomes.finished()
                - complete
                - outcomes.connect_error
                - outcomes.read_error
                - outcomes.write_error,
        };
        let mut timings: Vec<_> = detail.trace.iter().map(Timing::new).collect();
        timings.sort_unstable();
        Self {
            software: software(&detail.first_head),
            length,
            seconds: seen.seconds(),
            complete,
            failed,
            other_length,
            write_errors: outcomes.write_error,
            kept: count(&|sample| !sample.last),
            not_2xx: count(&|sample| !(200..300).contains(&sample.status)),
            sent: detail.plain.map_or(seen.bytes_sent, |it| it.sent),
            received: detail.plain.map_or(seen.bytes_received, |it| it.received),
            body: seen.body_bytes,
            tls: tls::lines(flags, seen.tls.as_ref()),
            timings,
        }
    }

    /// Whole answers per second.
    pub(super) fn rate(&self) -> f64 {
        per(self.complete as f64, self.seconds)
    }

    /// KiB per second, for `bytes` bytes in total.
    pub(super) fn transfer(&self, bytes: u64) -> f64 {
        per(bytes as f64 / 1024.0, self.seconds)
    }

    /// The time, in microseconds, within which `percent` of the requests ended, by the original's
    /// rule; 0 of none.
    pub(super) fn within(&self, percent: usize) -> u64 {
        let n = self.timings.len();
        let place = (n * percent / 100).min(n.saturating_sub(1));
        self.timings.get(place).map_or(0, |timing| timing.total)
    }

    /// Evidence of a load whose answers ab calls wrong when their length differs.
    pub(super) fn judged(&self, evidence: Evidence) -> Evidence {
        let differ = self.other_length.min(evidence.ok);
        if differ == 0 {
            return evidence;
        }
        let mut wrong_examples = evidence.wrong_examples;
        wrong_examples.push(format!(
            "a body of another length than the first, {} bytes",
            self.length
        ));
        Evidence {
            ok: evidence.ok - differ,
            wrong: evidence.wrong + differ,
            wrong_examples,
            ..evidence
        }
    }
}

fn per(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

/// Returns the first word of the `Server` field in a head; empty without one.
fn software(head: &[u8]) -> String {
    let head = String::from_utf8_lossy(head);
    head.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("server"))
        .and_then(|(_, value)| value.split_whitespace().next())
        .unwrap_or("")
        .to_owned()
}

/// Smallest, mean, deviation, median and largest of some times, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TimeSummary {
    pub min: u64,
    pub mean: f64,
    /// Standard deviation of a sample: divided by n − 1.
    pub deviation: f64,
    pub median: u64,
    pub max: u64,
}

impl TimeSummary {
    /// Returns the row of `values`; all zeros if there are none.
    pub(super) fn of(mut values: Vec<u64>) -> Self {
        if values.is_empty() {
            values.push(0);
        }
        values.sort_unstable();
        let n = values.len();
        let mean = values.iter().sum::<u64>() as f64 / n as f64;
        let squares: f64 = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum();
        Self {
            min: values[0],
            mean,
            deviation: if n > 1 {
                (squares / (n - 1) as f64).sqrt()
            } else {
                0.0
            },
            median: if n.is_multiple_of(2) {
                values[n / 2 - 1].midpoint(values[n / 2])
            } else {
                values[n / 2]
            },
            max: values[n - 1],
        }
    }
}

/// Whole milliseconds, as ab rounds them.
pub(super) fn millis(micros: u64) -> u64 {
    (micros + 500) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row() {
        let row = TimeSummary::of(vec![4, 1, 3, 2]);
        assert_eq!((row.min, row.median, row.max), (1, 2, 4));
        assert!((row.mean - 2.5).abs() < 1e-12 && (row.deviation - 1.290_994).abs() < 1e-6);
        assert_eq!(TimeSummary::of(vec![7]).deviation, 0.0);
        assert_eq!(
            (
                TimeSummary::of(Vec::new()).mean,
                TimeSummary::of(Vec::new()).max
            ),
            (0.0, 0)
        );
        assert_eq!((millis(499), millis(500), millis(1_499)), (0, 1, 1));
    }

    #[test]
    fn the_software_is_one_word() {
        let head = |field: &str| software(format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n").as_bytes());
        assert_eq!(head("server: nginx/1.2 (Debian)"), "nginx/1.2");
        assert_eq!(head("X: y"), "");
        assert_eq!(software(b""), "");
    }

    #[test]
    fn a_request_on_an_open_connection_has_no_connect_time() {
        let sample = TraceSample {
            connect: 2_000_000,
            due: 1_000_000,
            sent: 10_000_000,
            first_byte: 11_000_000,
            done: 14_000_000,
            ..TraceSample::default()
        };
        let first = Timing::new(&sample);
        assert_eq!(
            (
                first.total,
                first.connect,
                first.processing,
                first.waiting,
                first.begun
            ),
            (6_000, 2_000, 4_000, 1_000, 8_000_000)
        );
        let later = Timing::new(&TraceSample {
            connect: 0,
            ..sample
        });
        assert_eq!((later.total, later.connect), (4_000, 0));
    }
}

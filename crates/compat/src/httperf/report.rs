//! The report: numbers from an observation, and their text.

use crate::shared::load::errors;
use prony_engine::clock::SECOND;
use prony_engine::{Detail, IoActivity, Nanos, TraceSample};
use prony_record::Observation;

/// The length of a sample of the rate of replies.
pub(super) const SAMPLE: Nanos = 5 * SECOND;
/// `errno` values that have a column of their own.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;
const EPIPE: i32 = 32;
const EADDRNOTAVAIL: i32 = 99;
const ECONNRESET: i32 = 104;
const ECONNREFUSED: i32 = 111;

/// CPU time of the generator, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cpu {
    pub user: f64,
    pub system: f64,
}

/// Results that `httperf` reports; times are in milliseconds unless stated otherwise.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HttperfReport {
    burst: u32,
    connections: u64,
    requests: u64,
    replies: u64,
    seconds: f64,
    at_once: u64,
    lifetime: Spread,
    connect: f64,
    /// Connections with a reply.
    useful: u64,
    request_size: u64,
    rates: Spread,
    response: f64,
    transfer: f64,
    header: f64,
    content: f64,
    status: [u64; 5],
    cpu: Cpu,
    bytes: u64,
    errors: Errors,
}

/// Errors by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Errors {
    client_timeout: u64,
    socket_timeout: u64,
    refused: u64,
    reset: u64,
    descriptors: u64,
    addresses: u64,
    table_full: u64,
    other: u64,
}

/// Smallest, mean, largest, median and deviation of some values; all 0 of none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Spread {
    n: u64,
    min: f64,
    mean: f64,
    max: f64,
    median: f64,
    deviation: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else {
            return Self::default();
        };
        let n = values.len();
        let mean = mean(values.iter().copied());
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self {
            n: n as u64,
            min,
            mean,
            max,
            median: if n.is_multiple_of(2) {
                values[n / 2 - 1].midpoint(values[n / 2])
            } else {
                values[n / 2]
            },
            deviation: if n > 1 {
                (squares / (n - 1) as f64).sqrt()
            } else {
                0.0
            },
        }
    }
}

impl HttperfReport {
    /// Returns the report of a load whose requests are `request` bytes long.
    pub(super) fn new(
        seen: &Observation,
        detail: &Detail,
        request: usize,
        calls: u32,
        cpu: Cpu,
    ) -> Self {
        let outcomes = &seen.outcomes;
        let status = [1, 2, 3, 4, 5].map(|digit| outcomes.status.class(digit));
        let replies = status.iter().sum();
        let lifetimes = lifetimes(&detail.trace);
        let millis = |nanos: Nanos| nanos as f64 / 1e6;
        // Requests that were sent: all but those whose connection was given up.
        let sent = || detail.trace.iter().filter(|sample| sample.connection != 0);
        let answered = || detail.trace.iter().filter(|sample| sample.status != 0);
        let rates = seen
            .measured_windows()
            .filter(|window| window.length_ns == SAMPLE)
            .map(super::replies)
            .collect();
        let errors = Errors::of(seen, detail, unmade(&detail.trace, calls));
        let per_reply = |bytes| per_reply(bytes, replies);
        Self {
            burst: detail.opening.burst,
            // As for the original, one without a descriptor was never a connection.
            connections: detail.opening.begun.saturating_sub(errors.descriptors),
            requests: seen.bytes_sent / request as u64,
            replies,
            seconds: seen.seconds(),
            at_once: detail.opening.at_once,
            useful: lifetimes.len() as u64,
            lifetime: Spread::of(lifetimes.into_iter().map(millis).collect()),
            connect: if seen.times.connect.is_empty() {
                0.0
            } else {
                seen.times.connect.mean() / 1e6
            },
            request_size: request as u64,
            rates: Spread::of(rates),
            response: mean(sent().map(|s| millis(s.first_byte - s.sent))),
            transfer: mean(answered().map(|s| millis(s.done - s.first_byte))),
            header: per_reply(seen.bytes_received.saturating_sub(seen.body_bytes)),
            content: per_reply(seen.body_bytes),
            status,
            cpu,
            bytes: seen.bytes_sent + seen.bytes_received,
            errors,
        }
    }

    /// The report as text.
    pub(super) fn text(&self) -> String {
        let each = |n: u64| {
            if n == 0 {
                (0.0, 0.0)
            } else {
                (self.per_second(n as f64), 1e3 * self.seconds / n as f64)
            }
        };
        let (connection_rate, connection_period) = each(self.connections);
        let (request_rate, request_period) = each(self.requests);
        let (life, rates, errors) = (&self.lifetime, &self.rates, &self.errors);
        let [s1, s2, s3, s4, s5] = self.status;
        let share = |cpu: f64| 100.0 * self.per_second(cpu);
        let (user, system) = (self.cpu.user, self.cpu.system);
        let io = self.per_second(self.bytes as f64);
        let length = self.replies as f64 / self.useful.max(1) as f64;
        let size = if self.requests == 0 {
            0
        } else {
            self.request_size
        };
        let first = format!(
            "Maximum connect burst length: {}\n\n\
             Total: connections {} requests {} replies {} test-duration {:.3} s\n\n",
            self.burst, self.connections, self.requests, self.replies, self.seconds
        );
        let connection = format!(
            "Connection rate: {connection_rate:.1} conn/s ({connection_period:.1} ms/conn, \
             <={} concurrent connections)\n\
             Connection time [ms]: min {:.1} avg {:.1} max {:.1} median {:.1} stddev {:.1}\n\
             Connection time [ms]: connect {:.1}\n\
             Connection length [replies/conn]: {length:.3}\n\n",
            self.at_once, life.min, life.mean, life.max, life.median, life.deviation, self.connect
        );
        let request = format!(
            "Request rate: {request_rate:.1} req/s ({request_period:.1} ms/req)\n\
             Request size [B]: {size}.0\n\n"
        );
        let reply = format!(
            "Reply rate [replies/s]: min {:.1} avg {:.1} max {:.1} stddev {:.1} ({} samples)\n\
             Reply time [ms]: response {:.1} transfer {:.1}\n\
             Reply size [B]: header {:.1} content {:.1} footer 0.0 (total {:.1})\n\
             Reply status: 1xx={s1} 2xx={s2} 3xx={s3} 4xx={s4} 5xx={s5}\n\n",
            rates.min,
            rates.mean,
            rates.max,
            rates.deviation,
            rates.n,
            self.response,
            self.transfer,
            self.header,
            self.content,
            self.header + self.content,
        );
        let rest = format!(
            "CPU time [s]: user {user:.2} system {system:.2} (user {:.1}% system {:.1}% total {:.1}%)\n\
             Net I/O: {:.1} KB/s ({:.1}*10^6 bps)\n\n",
            share(user),
            share(system),
            share(user + system),
            io / 1024.0,
            8e-6 * io,
        );
        first + &connection + &request + &reply + &rest + &errors.text()
    }

    fn per_second(&self, amount: f64) -> f64 {
        if self.seconds > 0.0 {
            amount / self.seconds
        } else {
            0.0
        }
    }
}

/// Bytes per reply; 0 without any, whatever came.
fn per_reply(bytes: u64, replies: u64) -> f64 {
    match replies {
        0 => 0.0,
        replies => bytes as f64 / replies as f64,
    }
}

/// The mean of some values; 0 of none.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0_u64);
    for value in values {
        sum += value;
        n += 1;
    }
    if n == 0 { 0.0 } else { sum / n as f64 }
}

/// How long each connection lasted that brought a reply: from when it was due until its last reply
/// (or the end of its patience).
fn lifetimes(trace: &[TraceSample]) -> Vec<Nanos> {
    let mut samples: Vec<_> = trace.iter().filter(|s| s.connection != 0).collect();
    samples.sort_by_key(|sample| (sample.connection, sample.done));
    samples
        .chunk_by(|one, other| one.connection == other.connection)
        .filter(|calls| calls.iter().any(|call| call.status != 0))
        .map(|calls| {
            let begun = calls.iter().map(|call| call.due).min().unwrap_or(0);
            let ended = calls.iter().map(|call| call.done).max().unwrap_or(begun);
            ended - begun
        })
        .collect()
}

/// Connections that the server would not answer on any more although calls were left: the original
/// makes the next call, and is reset.
fn unmade(trace: &[TraceSample], calls: u32) -> u64 {
    let mut samples: Vec<_> = trace.iter().filter(|s| s.connection != 0).collect();
    samples.sort_by_key(|sample| (sample.connection, sample.done));
    let connections = samples.chunk_by(|one, other| one.connection == other.connection);
    let left = connections.filter(|made| {
        let answered = made.iter().filter(|call| call.status != 0).count() as u64;
        let closed = made
            .last()
            .is_some_and(|call| call.last && call.status != 0);
        closed && answered < u64::from(calls)
    });
    left.count() as u64
}

impl Errors {
    /// With connections that the server closed before all calls were made.
    fn of(seen: &Observation, detail: &Detail, unmade: u64) -> Self {
        let mut it = Self {
            client_timeout: seen.outcomes.timeout,
            reset: unmade,
            ..Self::default()
        };
        for met in errors(detail) {
            let place = match met.number {
                // A connect that took too long is one of the time-outs already.
                Some(_) if met.timed_out() && met.doing == IoActivity::Connecting => continue,
                Some(_) if met.timed_out() => &mut it.socket_timeout,
                Some(ECONNREFUSED) => &mut it.refused,
                Some(ECONNRESET | EPIPE) | None => &mut it.reset,
                Some(EMFILE) => &mut it.descriptors,
                Some(ENFILE) => &mut it.table_full,
                Some(EADDRNOTAVAIL) => &mut it.addresses,
                Some(_) => &mut it.other,
            };
            *place += met.count;
        }
        // Answers without a status that HTTP knows.
        it.other += seen.outcomes.status.class(0);
        it
    }

    fn text(&self) -> String {
        let total = self.client_timeout
            + self.socket_timeout
            + self.refused
            + self.reset
            + self.descriptors
            + self.addresses
            + self.table_full
            + self.other;
        format!(
            "Errors: total {total} client-timo {} socket-timo {} connrefused {} connreset {}\n\
             Errors: fd-unavail {} addrunavail {} ftab-full {} other {}\n",
            self.client_timeout,
            self.socket_timeout,
            self.refused,
            self.reset,
            self.descriptors,
            self.addresses,
            self.table_full,
            self.other
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(connection: u64, due: Nanos, done: Nanos, status: u16) -> TraceSample {
        TraceSample {
            connection,
            due,
            done,
            status,
            ..TraceSample::default()
        }
    }

    #[test]
    fn only_connections_with_a_reply_have_a_lifetime() {
        let trace = [
            call(1, 10, 20, 200),
            call(2, 15, 30, 0),
            call(1, 20, 45, 200),
            call(3, 5, 9, 200),
            call(3, 9, 100, 0),
            call(0, 1, 99, 0),
        ];
        assert_eq!(lifetimes(&trace), [35, 95]);
        assert!(lifetimes(&[]).is_empty());
    }

    #[test]
    fn calls_that_were_left_are_resets() {
        let closing = |connection, done| TraceSample {
            last: true,
            ..call(connection, 0, done, 200)
        };
        let trace = [
            call(1, 0, 5, 200),
            closing(1, 9),
            closing(2, 7),
            call(3, 0, 4, 200),
        ];
        assert_eq!(unmade(&trace, 2), 1);
        assert_eq!(unmade(&trace, 3), 2);
        assert_eq!(unmade(&trace, 1), 0);
    }

    #[test]
    fn bytes_of_no_reply_have_no_mean_size() {
        assert_eq!(per_reply(300, 4), 75.0);
        assert_eq!(per_reply(2650, 0), 0.0);
    }

    #[test]
    fn a_spread() {
        let it = Spread::of(vec![3.0, 1.0, 2.0, 4.0]);
        assert_eq!(
            (it.n, it.min, it.mean, it.max, it.median),
            (4, 1.0, 2.5, 4.0, 2.5)
        );
        assert!((it.deviation - 1.290_994).abs() < 1e-6);
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }
}

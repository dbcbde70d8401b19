//! Output after the load.

use super::flags::H2loadFlags;
use super::reach::Spoken;
use super::units::{bytes, decimals, time};
use crate::shared::stats::Stats;
use prony_engine::clock::{SECOND, nanos};
use prony_engine::{Detail, Nanos, TraceSample};
use prony_record::Observation;
use std::collections::BTreeMap;

/// Results of a load.
#[derive(Debug, Default)]
pub(super) struct H2loadReport {
    /// The whole load, warm-up included, in nanoseconds.
    lasted: Nanos,
    counts: Counts,
    /// Complete answers per second of the measurement.
    rate: f64,
    received: u64,
    heads: u64,
    /// The part of the header fields that their compression saved.
    saved: f64,
    body: u64,
    /// Datagrams sent and received, over QUIC.
    datagrams: Option<[u64; 2]>,
    /// In microseconds.
    request: Stats,
    connect: Stats,
    first_byte: Stats,
    /// In hundredths of a request per second.
    rates: Stats,
}

/// Requests, by what became of them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    total: u64,
    started: u64,
    done: u64,
    succeeded: u64,
    failed: u64,
    errored: u64,
    timeout: u64,
    /// By the first digit of their status, from 2 to 5.
    classes: [u64; 4],
}

/// How a load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadEnd {
    /// By itself.
    Itself,
    /// The user stopped it.
    Stopped,
    /// The clients' time was up (`-T`).
    Expired,
}

impl Counts {
    fn new(flags: &H2loadFlags, seen: &Observation, ended: LoadEnd) -> Self {
        let outcomes = &seen.outcomes;
        let [switching, ok, redirect, client, server] =
            [1, 2, 3, 4, 5].map(|digit| outcomes.status.class(digit));
        let done = outcomes.ok + outcomes.wrong_answer;
        let over = outcomes.finished();
        let in_flight = outcomes.in_flight_at_end;
        let timed = flags.duration.is_some();
        let total = if timed { over } else { flags.requests };
        // What was asked for and not done has failed, unless the user did not want it any more.
        let failed = match (timed, ended) {
            (false, LoadEnd::Itself | LoadEnd::Expired) => total.saturating_sub(outcomes.ok),
            _ => over - outcomes.ok,
        };
        // A status is no error.
        let refused = (client + server).min(outcomes.wrong_answer);
        Self {
            total,
            started: over - outcomes.connect_error.min(over) + in_flight,
            done,
            succeeded: outcomes.ok,
            failed,
            errored: failed.saturating_sub(refused),
            timeout: outcomes.timeout
                + if ended == LoadEnd::Expired {
                    in_flight
                } else {
                    0
                },
            classes: [ok, redirect + switching, client, server],
        }
    }
}

impl H2loadReport {
    pub(super) fn new(
        flags: &H2loadFlags,
        spoken: Spoken,
        seen: &Observation,
        detail: &Detail,
        ended: LoadEnd,
    ) -> Self {
        let outcomes = &seen.outcomes;
        let counts = Counts::new(flags, seen, ended);
        // An answer that was broken off before its status is none.
        let statuses: u64 = (1..=5).map(|digit| outcomes.status.class(digit)).sum();
        let received = detail.plain.map_or(seen.bytes_received, |it| it.received);
        let heads = match spoken {
            Spoken::Http2 | Spoken::Http3 => detail.heads.compressed,
            // All that is no body: over HTTP/1.1 nothing is compressed.
            Spoken::Http1 => received.saturating_sub(seen.body_bytes),
        };
        let saved = match (spoken, detail.heads.plain) {
            (Spoken::Http2 | Spoken::Http3, plain @ 1..) => 1.0 - heads as f64 / plain as f64,
            _ => 0.0,
        };
        let rates: Vec<f64> = match flags.rate {
            0 => {
                let answers = seen.per_connection.iter();
                answers.map(|&n| per(n as f64, seen.seconds())).collect()
            }
            _ => lifetimes(&detail.trace),
        };
        Self {
            lasted: nanos(flags.warmup).min(seen.began_ns) + seen.measured_ns,
            rate: per(statuses.min(counts.done) as f64, seen.seconds()),
            received,
            heads,
            saved,
            body: seen.body_bytes,
            datagrams: seen
                .quic
                .as_ref()
                .map(|quic| [quic.datagrams_sent, quic.datagrams_received]),
            request: Stats::of_times(&seen.times.response),
            connect: connects(seen, detail, flags),
            first_byte: first_bytes(&detail.trace),
            rates: hundredths(&rates),
            counts,
        }
    }

    /// Returns the report about a server that could not be reached.
    pub(super) fn nothing(flags: &H2loadFlags) -> Self {
        let total = match flags.duration {
            Some(_) => 0,
            None => flags.requests,
        };
        let counts = Counts {
            total,
            failed: total,
            errored: total,
            ..Counts::default()
        };
        Self {
            counts,
            datagrams: flags.is_quic().then_some([0, 0]),
            rates: hundredths(&vec![0.0; flags.clients as usize]),
            ..Self::default()
        }
    }

    /// The text, which begins with an empty line.
    pub(super) fn text(&self) -> String {
        let Counts {
            total,
            started,
            done,
            succeeded,
            failed,
            errored,
            timeout,
            classes: [ok, redirect, client, server],
        } = &self.counts;
        let amount = |n: u64| format!("{}B ({n})", bytes(n));
        let received_per_second = per(self.received as f64, seconds(self.lasted)) as u64;
        let row = |stats: &Stats| {
            let [min, max] = [stats.min(), stats.max()].map(|micros| time(micros as f64));
            row(&[min, max, time(stats.mean()), time(stats.stdev())], stats)
        };
        let rates = {
            let shown = |hundredths: f64| decimals(hundredths / 100.0);
            let [min, max] = [self.rates.min(), self.rates.max()].map(|rate| shown(rate as f64));
            let [mean, sd] = [self.rates.mean(), self.rates.stdev()].map(shown);
            self::row(&[min, max, mean, sd], &self.rates)
        };
        let datagrams = self.datagrams.map_or(String::new(), |[sent, received]| {
            format!("UDP datagram: {sent} sent, {received} received\n")
        });
        format!(
            "\nfinished in {}, {} req/s, {}B/s\n\
             requests: {total} total, {started} started, {done} done, {succeeded} succeeded, {failed} failed, \
             {errored} errored, {timeout} timeout\n\
             status codes: {ok} 2xx, {redirect} 3xx, {client} 4xx, {server} 5xx\n\
             traffic: {} total, {} headers (space savings {:.2}%), {} data\n{datagrams}                     \
             min         max         mean         sd        +/- sd\n\
             time for request: {}\n\
             time for connect: {}\n\
             time to 1st byte: {}\n\
             req/s           : {rates}\n",
            time(self.lasted as f64 / 1e3),
            decimals(self.rate),
            bytes(received_per_second),
            amount(self.received),
            amount(self.heads),
            self.saved * 100.0,
            amount(self.body),
            row(&self.request),
            row(&self.connect),
            row(&self.first_byte),
        )
    }
}

/// Four columns, and the part of the samples within a standard deviation of the mean.
fn row([min, max, mean, sd]: &[String; 4], stats: &Stats) -> String {
    let within = decimals(stats.within_stdev().unwrap_or(0.0));
    format!("{min:>10}  {max:>10}  {mean:>10}  {sd:>10}{within:>9}%")
}

fn seconds(span: Nanos) -> f64 {
    span as f64 / SECOND as f64
}

fn per(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

/// Rates with the two decimals that are printed.
fn hundredths(rates: &[f64]) -> Stats {
    Stats::of_rates(&rates.iter().map(|rate| rate * 100.0).collect::<Vec<_>>())
}

/// How long connections took to be made, the handshake of TLS included. The original has no times of those that were
/// made in the warm-up.
fn connects(seen: &Observation, detail: &Detail, flags: &H2loadFlags) -> Stats {
    match (flags.warmup.is_zero(), &seen.tls) {
        (false, _) => Stats::default(),
        (true, None) => Stats::of_times(&seen.times.connect),
        // Connecting and the handshake are distributions of their own there: their sums are in the trace.
        (true, Some(_)) => {
            let firsts = detail.trace.iter().filter(|it| it.connect > 0);
            micros(firsts.map(|it| it.connect))
        }
    }
}

fn micros(times: impl Iterator<Item = Nanos>) -> Stats {
    let mut micros: Vec<u64> = times.map(|time| time / 1_000).collect();
    micros.sort_unstable();
    micros.into_iter().map(|micros| (micros, 1)).collect()
}

/// For each connection whose first request was answered: from connecting to the first byte of that answer, without
/// the time in which the connection waited for the load to begin.
fn first_bytes(trace: &[TraceSample]) -> Stats {
    let firsts = trace.iter().filter(|it| it.connect > 0 && it.status > 0);
    micros(firsts.map(|it| it.connect + it.first_byte.saturating_sub(it.sent)))
}

/// The answers per second of each connection, from connecting to its last answer.
fn lifetimes(trace: &[TraceSample]) -> Vec<f64> {
    let mut connections: BTreeMap<u64, (Nanos, Nanos, u64)> = BTreeMap::new();
    for it in trace.iter().filter(|it| it.status > 0) {
        let begun = it.sent.saturating_sub(it.connect);
        let (first, last, answers) = connections
            .entry(it.connection)
            .or_insert((begun, it.done, 0));
        *first = begun.min(*first);
        *last = it.done.max(*last);
        *answers += 1;
    }
    let rate =
        |&(first, last, answers): &(Nanos, Nanos, u64)| per(answers as f64, seconds(last - first));
    connections.values().map(rate).collect()
}

#[cfg(test)]
mod tests;

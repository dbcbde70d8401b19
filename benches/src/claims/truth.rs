//! Does prony report what happened? Against the clockwork, whose delays are known, in an open loop:
//! what is reported beside what the script implies for the due times of the schedule, and beside what the
//! clockwork did. It notes when it releases each reply, and on a host that takes CPUs away for
//! milliseconds that is not always when the script says.

use crate::error::{Error, Result};
use crate::load;
use crate::place::Rig;
use crate::server::{Clockwork, Clockworks, Kept, Lateness};
use crate::spread::{Spread, number, show};
use crate::table::Table;
use prony_engine::schedule::{Constant, Poisson, Schedule, Share};
use prony_engine::{Dialogue, Plan, Target};
use prony_lab::contract::Certificate;
use prony_record::load::{Assignment, KeyKind, Protocol};
use prony_record::{Spacing, Transport};
use prony_reference::Contract;
use prony_reference::clockwork::{Delay, ReplyScript, Stall, Timeline, quantile};
use serde::Serialize;
use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Requests per second.
const RATES: [f64; 2] = [2_000.0, 10_000.0];
/// Request of an echo.
const MESSAGE: &[u8] = b"prony's echo...\n";
/// The percentiles that are compared.
const QUANTILES: [f64; 7] = [0.5, 0.89, 0.9, 0.91, 0.95, 0.99, 0.999];
/// How far a percentile may lie off: this part of what is implied, and this much for the way there
/// and back, which the script knows nothing of.
const TOLERANCE: f64 = 0.01;
const TOLERANCE_US: f64 = 20.0;
/// The same over TLS, HTTP/2 and WebSocket, where records and frames are made and taken apart on the way.
const FRAMED_US: f64 = 50.0;
/// Tolerance over HTTP/3, where packets of QUIC are encrypted and decrypted as well.
const QUIC_US: f64 = 100.0;

/// A script, and how it is loaded.
struct Case {
    name: &'static str,
    contract: Contract,
    script: ReplyScript,
    connections: u32,
    pipeline: u32,
    /// With exponential gaps, for the queue.
    poisson: bool,
    over: Protocol,
}

/// The service time of the queue: at 10,000 requests/s it is busy half of the time.
const SERVICE: Duration = Duration::from_micros(50);

/// The stalls' requests all have to be in flight at once, or they would wait inside the client:
/// 1,000 of them, over one connection, so that they leave and come all together when a stall ends. Random delays need connections on which no reply waits for
/// one before it: at 64 each has a request every 6.4 ms.
fn cases() -> [Case; 15] {
    let ms = Duration::from_millis;
    let stall = ReplyScript {
        stall: Some(Stall {
            every: ms(1_000),
            length: ms(100),
        }),
        ..ReplyScript::default()
    };
    let delay = |delay| ReplyScript {
        delay,
        ..ReplyScript::default()
    };
    let case = |name, contract, script, connections, pipeline| Case {
        name,
        contract,
        script,
        connections,
        pipeline,
        poisson: false,
        over: Protocol::Plain,
    };
    let queue = ReplyScript {
        queue: true,
        ..delay(Delay::Constant(SERVICE))
    };
    let (echo, http, ws) = (Contract::TcpEcho, Contract::HttpEcho, Contract::WsEcho);
    let over = |over, case: Case| Case { over, ..case };
    let two = Delay::Bimodal {
        fast: Duration::from_micros(500),
        slow: ms(5),
        slow_share: 0.03,
    };
    [
        case("echo, at once", echo, ReplyScript::default(), 8, 512),
        case(
            "echo, 1 ms each",
            echo,
            delay(Delay::Constant(ms(1))),
            8,
            512,
        ),
        case(
            "HTTP, 0.5 to 2 ms each, uniform",
            http,
            delay(Delay::Uniform {
                min: Duration::from_micros(500),
                max: ms(2),
            }),
            64,
            8,
        ),
        case("HTTP, 0.5 ms, 3% 5 ms", http, delay(two), 64, 8),
        case("echo, stalls of 100 ms every second", echo, stall, 1, 4096),
        case("HTTP, stalls of 100 ms every second", http, stall, 1, 4096),
        Case {
            poisson: true,
            ..case("echo, a queue (M/D/1), 50 µs each", echo, queue, 8, 512)
        },
        over(
            Protocol::Tls,
            case("TLS, 0.5 ms, 3% 5 ms", http, delay(two), 64, 8),
        ),
        over(
            Protocol::Tls,
            case("TLS, stalls of 100 ms every second", http, stall, 1, 4096),
        ),
        over(
            Protocol::H2c,
            case("h2c, 1 stream, 0.5 ms, 3% 5 ms", http, delay(two), 64, 1),
        ),
        // 32 streams on each of 32 connections: as many as fall due in a stall.
        over(
            Protocol::H2c,
            case(
                "h2c, 32 streams, stalls of 100 ms every second",
                http,
                stall,
                32,
                32,
            ),
        ),
        over(
            Protocol::H3,
            case("HTTP/3, 1 stream, 0.5 ms, 3% 5 ms", http, delay(two), 64, 1),
        ),
        over(
            Protocol::H3,
            case(
                "HTTP/3, 32 streams, 1 ms each",
                http,
                delay(Delay::Constant(ms(1))),
                8,
                32,
            ),
        ),
        case("WebSocket, 0.5 ms, 3% 5 ms", ws, delay(two), 64, 8),
        case(
            "WebSocket, stalls of 100 ms every second",
            ws,
            stall,
            1,
            4096,
        ),
    ]
}

/// The quantile `q` of the response time in an M/D/1 queue in its steady state, in the unit of
/// `service`: the service time, and the wait whose distribution Erlang found,
/// P(W ≤ t) = (1 − ρ) Σ ((λ(kD − t))^k / k!) e^(−λ(kD − t)), k from 0 to ⌊t/D⌋.
fn md1_response(rate: f64, service: f64, q: f64) -> f64 {
    let load = rate * service;
    let at_most = |t: f64| {
        let mut sum = 0.0;
        for k in 0..=(t / service) as u32 {
            let x = rate * (f64::from(k) * service - t);
            let factorial: f64 = (1..=k).map(f64::from).product();
            sum += x.powi(k as i32) / factorial * (-x).exp();
        }
        (1.0 - load) * sum
    };
    let (mut low, mut high) = (0.0, service);
    while at_most(high) < q {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if at_most(middle) < q {
            low = middle;
        } else {
            high = middle;
        }
    }
    service + high
}

/// One percentile in one round, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Compared {
    quantile: f64,
    implied_us: f64,
    measured_us: f64,
    within: bool,
}

impl Compared {
    fn new(quantile: f64, implied_us: f64, measured_us: f64, tolerance_us: f64) -> Self {
        let off = (measured_us - implied_us).abs();
        Self {
            quantile,
            implied_us,
            measured_us,
            within: off <= TOLERANCE * implied_us + tolerance_us,
        }
    }

    fn off_us(&self) -> f64 {
        self.measured_us - self.implied_us
    }
}

/// One round of one case.
#[derive(Debug, Serialize)]
struct Round {
    /// Against the script, and against what the clockwork did.
    script: Vec<Compared>,
    done: Vec<Compared>,
    /// Requests that were due in the measurement, and of how many a response time was recorded.
    due: usize,
    recorded: u64,
    clockwork: Lateness,
    /// The generator's own, in µs.
    lateness_p50_us: f64,
    lateness_p99_us: f64,
    lateness_max_us: f64,
}

/// One case over one transport, over all rounds.
#[derive(Debug, Serialize)]
struct Row {
    case: &'static str,
    rate: f64,
    transport: String,
    rounds: Vec<Round>,
}

/// Results of this benchmark.
#[derive(Debug, Serialize)]
pub struct Truth {
    rows: Vec<Row>,
}

/// Loads the clockwork with every script over every transport, each time a fresh one; `over`: only those over it.
///
/// # Errors
/// When a load cannot be carried out.
pub fn run(rig: Rig, rounds: u32, seconds: f64, over: Option<Protocol>) -> Result<Truth> {
    // A whole number of periods holds each phase of the stall equally often, wherever it begins.
    let seconds = seconds.ceil().max(1.0);
    let scratch = tempfile::tempdir().map_err(Error::io("cannot make a temporary folder"))?;
    let certificate =
        Certificate::below(scratch.path(), KeyKind::EcdsaP256).map_err(Error::Unusable)?;
    let mut rows = Vec::new();
    let wanted = |case: &&Case| over.is_none_or(|over| case.over == over);
    for case in cases().iter().filter(wanted) {
        for rate in RATES {
            for transport in load::transports_of(case.over) {
                let mut seen = Vec::new();
                for round in 1..=rounds {
                    eprintln!(
                        "truth: {}, {rate:.0}/s, {transport}, round {round} of {rounds}",
                        case.name
                    );
                    seen.push(case.round(
                        &certificate,
                        transport,
                        rig,
                        rate,
                        seconds,
                        u64::from(round),
                    )?);
                }
                rows.push(Row {
                    case: case.name,
                    rate,
                    transport: transport.to_string(),
                    rounds: seen,
                });
            }
        }
    }
    Ok(Truth { rows })
}

impl Case {
    /// For the way there and back.
    fn tolerance_us(&self) -> f64 {
        match self.over {
            Protocol::H3 => QUIC_US,
            Protocol::Plain if self.contract != Contract::WsEcho => TOLERANCE_US,
            _ => FRAMED_US,
        }
    }

    fn round(
        &self,
        certificate: &Certificate,
        transport: Transport,
        rig: Rig,
        rate: f64,
        seconds: f64,
        seed: u64,
    ) -> Result<Round> {
        let script = ReplyScript {
            seed,
            ..self.script
        };
        let what = Clockworks {
            contract: self.contract,
            script,
            message: NonZeroUsize::new(MESSAGE.len()).unwrap_or(NonZeroUsize::MIN),
            over: self.over,
            certificate: self.over.is_tls().then_some(certificate),
        };
        let clockwork = Clockwork::start(&what, rig.server)?;
        let origin = clockwork.origin_ns;
        let dialogue = match self.contract {
            Contract::TcpEcho => Dialogue::Echo(MESSAGE.to_vec()),
            Contract::HttpEcho if self.over.has_streams() => {
                load::streams(clockwork.address, self.over)
            }
            Contract::HttpEcho => load::http(clockwork.address),
            Contract::WsEcho => load::ws(clockwork.address, MESSAGE.len()),
        };
        let mut plan = Plan::closed(Target::Tcp(clockwork.address), dialogue, self.connections);
        plan.tls = what.certificate.map(|it| it.options(self.over));
        plan.load.rate = Some(rate);
        plan.load.arrival = if self.poisson {
            Spacing::Poisson
        } else {
            Spacing::Constant
        };
        // Each request has its connection, so that the clockwork's notes can be matched with the schedule.
        plan.load.assignment = Assignment::RoundRobin;
        plan.load.pipeline = self.pipeline;
        plan.load.transport = transport;
        (plan.seed, plan.cpus) = (seed, vec![rig.client]);
        let seen = load::measure(&plan, load::span(seconds))?;
        let Kept { lateness, released } = clockwork.stop()?;
        let (from, until) = (seen.detail.from, seen.detail.until);
        let share = Share {
            worker: 0,
            workers: 1,
            total: self.connections,
        };
        // From the schedule, which is pure, and not from what was sent.
        let due = if self.poisson {
            due_until(seen.start, until, Poisson::new(rate, share, seed))
        } else {
            due_until(seen.start, until, Constant::new(rate, share))
        };
        let expected = expected(&script, origin, &due, from);
        let done = done(&released, origin, &due, from).ok_or_else(|| {
            Error::Unusable("the clockwork has not answered every request".into())
        })?;
        if expected.is_empty() {
            return Err(Error::Unusable("no request was due".into()));
        }
        let times = &seen.observation.times;
        let compare = |truth: &[u64]| -> Vec<Compared> {
            let one = |q| {
                let measured = times.response.value_at_quantile(q) as f64 / 1e3;
                let implied = quantile(truth, q) as f64 / 1e3;
                Compared::new(q, implied, measured, self.tolerance_us())
            };
            QUANTILES.into_iter().map(one).collect()
        };
        let late = &times.late;
        Ok(Round {
            script: compare(&expected),
            done: compare(&done),
            due: expected.len(),
            recorded: times.response.len(),
            clockwork: lateness,
            lateness_p50_us: late.value_at_quantile(0.5) as f64 / 1e3,
            lateness_p99_us: late.value_at_quantile(0.99) as f64 / 1e3,
            lateness_max_us: late.max() as f64 / 1e3,
        })
    }
}

/// A request: when it is due, on the engine's clock, and over which connection.
pub type Due = (u64, u32);

/// The requests that are due before `until`.
pub fn due_until(start: u64, until: u64, mut schedule: impl Schedule) -> Vec<Due> {
    let mut due = Vec::new();
    while let Some(arrival) = schedule.peek() {
        let at = start + arrival.due;
        if at >= until {
            break;
        }
        due.push((at, arrival.connection));
        schedule.advance();
    }
    due
}

/// The response times, sorted, that a script implies for the requests due since `from`. Those before
/// are given to it as well: a queue remembers them, and random delays were drawn for them.
fn expected(script: &ReplyScript, origin: u64, due: &[Due], from: u64) -> Vec<u64> {
    let mut timeline = Timeline::new(script);
    let mut times = Vec::new();
    for &(due, _) in due {
        let arrival = due.saturating_sub(origin);
        let time = timeline.reply(arrival) - arrival;
        if due >= from {
            times.push(time);
        }
    }
    times.sort_unstable();
    times
}

/// The response times, sorted, that the clockwork's replies had, for the requests due since `from`: to when
/// each was released. Connections are accepted in the order in which they are made, and each is answered
/// in order. None if a request was not answered.
pub fn done(released: &[Vec<u64>], origin: u64, due: &[Due], from: u64) -> Option<Vec<u64>> {
    let mut next: Vec<_> = released.iter().map(|times| times.iter()).collect();
    let mut times = Vec::new();
    for &(due, connection) in due {
        let released = origin + next.get_mut(connection as usize)?.next()?;
        if due >= from {
            times.push(released.saturating_sub(due));
        }
    }
    times.sort_unstable();
    Some(times)
}

/// One of the truths that a round is compared with.
type Truths = fn(&Round) -> &[Compared];

/// How far off each row's percentiles are.
fn off(rows: &[Row], compared: Truths) -> (Table, usize, usize) {
    let mut table = Table::new([
        "script, rate, transport",
        "p50 off",
        "p89",
        "p90",
        "p91",
        "p95",
        "p99",
        "p99.9",
        "within",
        "clockwork late p99",
        "generator late p99",
    ]);
    let (mut within, mut all) = (0, 0);
    for row in rows {
        let off: [String; QUANTILES.len()] = std::array::from_fn(|index| {
            let off = row.rounds.iter().map(|it| compared(it)[index].off_us());
            Spread::of(off).map_or_else(String::new, |spread| number(spread.median, 0))
        });
        let each = || row.rounds.iter().flat_map(compared);
        let (right, of) = (each().filter(|it| it.within).count(), each().count());
        (within, all) = (within + right, all + of);
        let [p50, p89, p90, p91, p95, p99, p999] = off;
        table.row([
            format!("{}, {}/s, {}", row.case, number(row.rate, 0), row.transport),
            p50,
            p89,
            p90,
            p91,
            p95,
            p99,
            p999,
            format!("{right} of {of}"),
            row.show(0, |it| it.clockwork.p99 as f64 / 1e3),
            row.show(0, |it| it.lateness_p99_us),
        ]);
    }
    (table, within, all)
}

impl Row {
    fn show(&self, decimals: usize, value: impl Fn(&Round) -> f64) -> String {
        show(Spread::of(self.rounds.iter().map(value)), decimals)
    }

    fn is_queue(&self, rate: f64) -> bool {
        let queue = cases().into_iter().find(|case| case.poisson);
        self.rate.total_cmp(&rate).is_eq() && queue.is_some_and(|case| case.name == self.case)
    }
}

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Open loop. Off: what is reported less what is true for the schedule's due times, in µs, median\n\
             over the rounds. Within: of all rounds' percentiles, those off by at most {}% and\n\
             {TOLERANCE_US:.0} µs ({FRAMED_US:.0} µs over TLS, HTTP/2 and WebSocket), the way there and back included.",
            TOLERANCE * 100.0
        )?;
        // Printed, because a row that is rarely within would look like the generator's fault.
        writeln!(
            f,
            "Under stalls p90 lies on an edge: they delay exactly a tenth of the requests, so each additional\n\
             request per second that is delayed, on either side, moves it by one gap between two requests.\n\
             p89 and p91 lie next to the edge."
        )?;
        let truths: [(&str, Truths); 2] = [
            ("what the script implies", |round| &round.script),
            (
                "what the clockwork did, which is the script and its own lateness",
                |round| &round.done,
            ),
        ];
        for (truth, compared) in truths {
            let (table, within, all) = off(&self.rows, compared);
            writeln!(
                f,
                "\nTrue is {truth}:\n\n{table}\n{within} of {all} percentiles within"
            )?;
        }
        writeln!(f)?;
        for rate in RATES {
            let service = SERVICE.as_secs_f64();
            let quantiles = [0.5, 0.99, 0.999].map(|q| md1_response(rate, service, q) * 1e6);
            let [p50, p99, p999] = quantiles.map(|us| number(us, 1));
            writeln!(
                f,
                "M/D/1 in its steady state at {}/s: p50 {p50}, p99 {p99}, p99.9 {p999} µs",
                number(rate, 0)
            )?;
            for row in self.rows.iter().filter(|row| row.is_queue(rate)) {
                let seen = [0, 5, 6].map(|index| row.show(1, |it| it.script[index].measured_us));
                let [p50, p99, p999] = seen;
                writeln!(
                    f,
                    "  measured, {}: p50 {p50}, p99 {p99}, p99.9 {p999}",
                    row.transport
                )?;
            }
        }
        for row in &self.rows {
            for round in &row.rounds {
                if round.recorded != round.due as u64 {
                    writeln!(
                        f,
                        "{}, {}: {} requests were due, and {} response times were recorded",
                        row.case, row.transport, round.due, round.recorded
                    )?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn constant(start: u64, from: u64, until: u64) -> Vec<Due> {
        let share = Share {
            worker: 0,
            workers: 1,
            total: 8,
        };
        let mut due = due_until(start, until, Constant::new(10_000.0, share));
        due.retain(|&(due, _)| due >= from);
        due
    }

    #[test]
    fn due_times_of_whole_seconds_are_as_many_as_the_rate_says() {
        let due = constant(7_777, SECOND + 7_777, 4 * SECOND + 7_777);
        assert_eq!(due.len(), 30_000);
        assert_eq!(due[0].0, SECOND + 7_777);
        assert!(due.windows(2).all(|pair| pair[1].0 - pair[0].0 == 100_000));
    }

    #[test]
    fn stalls_imply_what_they_should_wherever_the_measurement_begins() {
        let script = cases()[4].script;
        for phase in [0, SECOND / 20, SECOND / 2] {
            let from = 5 * SECOND + phase;
            let due = constant(from, from, from + 3 * SECOND);
            let expected = expected(&script, 0, &due, from);
            assert_eq!(quantile(&expected, 0.5), 0);
            assert_eq!(quantile(&expected, 0.95), 50_000_000);
            assert_eq!(quantile(&expected, 0.99), 90_000_000);
        }
    }

    #[test]
    fn a_long_queue_is_as_erlang_says() {
        let script = cases()[6].script;
        let share = Share {
            worker: 0,
            workers: 1,
            total: 8,
        };
        let due = due_until(0, 200 * SECOND, Poisson::new(10_000.0, share, 1));
        let expected = expected(&script, 0, &due, SECOND);
        for q in [0.5, 0.9, 0.99] {
            let (exact, seen) = (md1_response(1e4, 50e-6, q), quantile(&expected, q));
            let off = (seen as f64 * 1e-9 / exact - 1.0).abs();
            assert!(off < 0.02, "p{}: {exact} and {seen} ns", q * 100.0);
        }
        // A server that is free half of the time makes half of the requests wait not at all.
        assert!((md1_response(1e4, 50e-6, 0.49) - 50e-6).abs() < 1e-9);
    }

    #[test]
    fn what_was_done_is_matched_by_connection() {
        let due = [(100, 0), (110, 1), (120, 0), (130, 1)];
        let released = [vec![7, 60], vec![9, 31]];
        // In the order of due times: 107, 109, 160 and 131, of which the last two count.
        assert_eq!(done(&released, 100, &due, 120), Some(vec![1, 40]));
        assert_eq!(done(&released[..1], 100, &due, 120), None);
        assert_eq!(done(&[vec![7], vec![9, 31]], 100, &due, 120), None);
    }

    #[test]
    fn tolerance_is_a_part_and_a_little() {
        assert!(Compared::new(0.5, 0.0, 20.0, 20.0).within);
        assert!(!Compared::new(0.5, 0.0, 20.1, 20.0).within);
        assert!(Compared::new(0.5, 10_000.0, 9_880.0, 20.0).within);
        assert!(!Compared::new(0.5, 10_000.0, 10_121.0, 20.0).within);
    }

    #[test]
    fn the_echo_is_cut_where_it_should_be() {
        assert_eq!(MESSAGE.len(), 16);
    }
}

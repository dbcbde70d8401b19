//! Streams of events: are first events and gaps as the clockwork made them, what does an event cost, and how much memory do
//! open streams take?

use crate::claims::bare::{self, Exchange};
use crate::claims::memory;
use crate::error::{Error, Result};
use crate::load;
use crate::place::{self, Rig};
use crate::server::{Clockwork, Clockworks, ourselves};
use crate::spread::{Spread, show};
use crate::table::Table;
use prony_engine::protocol::{EventFormat, EventStream, Expect, Limits, Mix};
use prony_engine::{Dialogue, Plan};
use prony_record::load::Protocol;
use prony_record::{Observation, Times, Transport};
use prony_reference::Contract;
use prony_reference::clockwork::{Delay, EventScript, ReplyScript, quantile};
use serde::Serialize;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Streams that are open at once where truth and cost are measured.
const STREAMS: u32 = 64;
/// Events of each.
const EVENTS: u32 = 100;
/// Percentiles that are compared.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
/// How far a percentile may lie off: this part of the clockwork's, and this much for the way there and back.
const TOLERANCE: f64 = 0.01;
const TOLERANCE_US: f64 = 50.0;
/// Streams of the process whose memory is measured, and of the one that it is compared with.
const OPEN: u32 = 10_000;
const FEW: u32 = 10;
/// The most memory that these streams may take.
const MOST_MIB: f64 = 64.0;

/// A percentile of a time, in µs.
#[derive(Debug, Clone, Copy, Serialize)]
struct Compared {
    quantile: f64,
    made_us: f64,
    measured_us: f64,
    within: bool,
}

/// Percentiles of a round.
#[derive(Debug, Serialize)]
struct Round {
    first_event: Vec<Compared>,
    gap: Vec<Compared>,
    events: u64,
}

/// One transport over all rounds.
#[derive(Debug, Serialize)]
struct Row {
    transport: String,
    truth: Vec<Round>,
    /// CPU time per event, in µs: prony's and the bare loop's of the same rounds.
    cpu_us: Vec<(f64, f64)>,
    /// Peak memory in bytes: with few streams and with many.
    resident: (u64, u64),
}

/// Results of this benchmark.
#[derive(Debug, Serialize)]
pub struct Streams {
    rows: Vec<Row>,
}

/// Measures all three for each transport.
///
/// # Errors
/// When a load cannot be carried out.
pub fn run(rig: Rig, rounds: u32, seconds: f64) -> Result<Streams> {
    let limit =
        place::raise_open_files().map_err(Error::io("cannot raise the limit of open files"))?;
    if limit < u64::from(OPEN) + 64 {
        return Err(Error::Unusable(format!(
            "{OPEN} streams need as many open files, and the limit is {limit}"
        )));
    }
    let mut rows = Vec::new();
    for transport in load::transports() {
        let (mut truth, mut cpu_us) = (Vec::new(), Vec::new());
        for round in 1..=rounds {
            eprintln!("streams: round {round} of {rounds}, {transport}");
            truth.push(compared(rig, transport, seconds, u64::from(round))?);
            cpu_us.push(cost(rig, transport, seconds, round)?);
        }
        eprintln!("streams: memory, {transport}");
        let resident = (
            resident(rig, transport, FEW)?,
            resident(rig, transport, OPEN)?,
        );
        rows.push(Row {
            transport: transport.to_string(),
            truth,
            cpu_us,
            resident,
        });
    }
    Ok(Streams { rows })
}

fn clockwork(rig: Rig, script: ReplyScript) -> Result<Clockwork> {
    let what = Clockworks {
        contract: Contract::HttpEcho,
        script,
        message: NonZeroUsize::MIN,
        over: Protocol::Plain,
        certificate: None,
    };
    Clockwork::start(&what, rig.server)
}

/// Streams as the clockwork makes them.
pub fn dialogue(address: SocketAddr) -> Dialogue {
    let request = load::request(address);
    let mut mix = Mix::one("stream", &request, &Expect::default(), Limits::default());
    mix.requests[0].stream = Some(EventStream {
        format: Some(EventFormat::Sse),
        end: Some(b"[DONE]".to_vec()),
        ..EventStream::default()
    });
    Dialogue::Mix(Box::new(mix))
}

fn plan(address: SocketAddr, transport: Transport, rig: Rig) -> Plan {
    let mut plan = load::closed(address, STREAMS, transport, rig);
    plan.dialogue = dialogue(address);
    plan
}

/// First events and gaps of a load, against those of the clockwork.
fn compared(rig: Rig, transport: Transport, seconds: f64, seed: u64) -> Result<Round> {
    let ms = Duration::from_millis;
    let (least, most) = (ms(2), ms(10));
    let script = ReplyScript {
        delay: Delay::Uniform {
            min: least,
            max: most,
        },
        events: Some(EventScript {
            number: EVENTS,
            gap: Delay::Bimodal {
                fast: ms(1),
                slow: ms(5),
                slow_share: 0.03,
            },
        }),
        seed,
        ..ReplyScript::default()
    };
    let server = clockwork(rig, script)?;
    let mut plan = plan(server.address, transport, rig);
    // Spread, so that streams do not begin and end together.
    plan.spread = 100_000_000;
    let seen = load::measure(&plan, load::span(seconds))?.observation;
    let kept = server.stop()?;
    // What the clockwork did: the times between its releases within a stream.
    let streams = kept
        .released
        .iter()
        .flat_map(|all| all.chunks_exact(EVENTS as usize));
    let mut gaps: Vec<u64> = streams
        .flat_map(|stream| stream.windows(2).map(|two| two[1] - two[0]))
        .collect();
    gaps.sort_unstable();
    // The script's own quantiles of a uniform delay, late by what the clockwork says.
    let late = kept.lateness.p50 as f64;
    let first = |q: f64| {
        let (least, most) = (least.as_nanos() as f64, most.as_nanos() as f64);
        least + q * (most - least) + late
    };
    let made_gaps = |q: f64| quantile(&gaps, q) as f64;
    Ok(Round {
        first_event: QUANTILES
            .into_iter()
            .filter_map(|q| Compared::of(q, first(q), &seen.times.first_event))
            .collect(),
        gap: QUANTILES
            .into_iter()
            .filter_map(|q| Compared::of(q, made_gaps(q), &seen.times.gap))
            .collect(),
        events: seen.streams.events,
    })
}

impl Compared {
    /// None where too few samples lie beyond.
    fn of(quantile: f64, made_ns: f64, times: &Times) -> Option<Self> {
        // A quantile of few samples is uncertain by itself.
        let beyond = times.len() as f64 * (1.0 - quantile);
        let measured = times.value_at_quantile(quantile) as f64;
        let off = (measured - made_ns).abs() / 1e3;
        (beyond >= 100.0).then(|| Self {
            quantile,
            made_us: made_ns / 1e3,
            measured_us: measured / 1e3,
            within: off <= TOLERANCE * made_ns / 1e3 + TOLERANCE_US,
        })
    }
}

/// CPU time per event of prony and of the bare loop, which takes the same bytes without a look at them.
fn cost(rig: Rig, transport: Transport, seconds: f64, round: u32) -> Result<(f64, f64)> {
    let script = ReplyScript {
        events: Some(EventScript {
            number: EVENTS,
            gap: Delay::Constant(Duration::from_millis(1)),
        }),
        ..ReplyScript::default()
    };
    let server = clockwork(rig, script)?;
    let ours = || -> Result<f64> {
        let mut plan = plan(server.address, transport, rig);
        plan.spread = 100_000_000;
        let seen = load::measure(&plan, load::span(seconds))?.observation;
        Ok(per_event(&seen))
    };
    let floor = || -> Result<f64> {
        let request = load::request(server.address).encode();
        let exchange = Exchange::ask(server.address, &request)
            .map_err(Error::io("the clockwork does not answer"))?;
        let bare = match transport {
            Transport::IoUring => bare::uring,
            _ => bare::epoll,
        };
        let span = load::span(seconds);
        let address = server.address;
        let floor = std::thread::spawn(move || {
            place::pin(rig.client)?;
            bare(address, STREAMS as usize, &exchange, span)
        });
        let floor = floor.join().expect("a bare loop does not panic");
        let floor = floor.map_err(Error::io("the bare loop failed"))?;
        Ok(floor.cpu_ns as f64 / 1e3 / (floor.answers as f64 * f64::from(EVENTS)))
    };
    // In turn first and second, so that a drift of the machine affects both.
    if round.is_multiple_of(2) {
        let floor = floor()?;
        Ok((ours()?, floor))
    } else {
        Ok((ours()?, floor()?))
    }
}

fn per_event(seen: &Observation) -> f64 {
    seen.generator.work_ns as f64 / 1e3 / seen.streams.events.max(1) as f64
}

/// Peak memory of a generator process with so many streams open.
fn resident(rig: Rig, transport: Transport, streams: u32) -> Result<u64> {
    let script = ReplyScript {
        events: Some(EventScript {
            number: 5,
            gap: Delay::Constant(Duration::from_secs(1)),
        }),
        ..ReplyScript::default()
    };
    let server = clockwork(rig, script)?;
    let seconds = 8.0;
    let mut command = ourselves("generate")?;
    command
        .args(["--address", &server.address.to_string()])
        .args(["--connections", &streams.to_string()])
        .args(["--streams", "1", "--over", Protocol::Plain.word()])
        .args(["--seconds", &seconds.to_string(), "--events"]);
    if transport == Transport::IoUring {
        command.arg("--io-uring");
    }
    let peak = memory::generated(command, rig, seconds)?;
    if peak.connections_in_use < u64::from(streams) {
        return Err(Error::Unusable(format!(
            "only {} of {streams} streams ended",
            peak.connections_in_use
        )));
    }
    Ok(peak.resident)
}

impl fmt::Display for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{STREAMS} streams of {EVENTS} server-sent events at a time, in a closed loop. Median (least–greatest) over the \
             rounds.\n\
             Times against those that the clockwork made: within {:.0}% and {TOLERANCE_US} µs. First events after 2 to 10 ms,\n\
             evenly spread; gaps of 1 ms, and 3% of 5 ms.\n",
            TOLERANCE * 100.0
        )?;
        let mut times = Table::new(["", "made, µs", "measured, µs", "within"]);
        let mut costs = Table::new(["", "CPU µs/event", "bare loop", "ratio"]);
        let mut kept = Table::new(["", "10 streams, MiB", "10,000 streams, MiB", "limit"]);
        for row in &self.rows {
            for (what, of) in [
                (
                    "first event",
                    (|it| &it.first_event) as fn(&Round) -> &Vec<Compared>,
                ),
                ("gap", |it| &it.gap),
            ] {
                for quantile in QUANTILES {
                    let all: Vec<&Compared> = row
                        .truth
                        .iter()
                        .flat_map(of)
                        .filter(|it| it.quantile == quantile)
                        .collect();
                    if all.is_empty() {
                        continue;
                    }
                    let within = all.iter().filter(|it| it.within).count();
                    times.row([
                        format!("{} {what} p{}", row.transport, quantile * 100.0),
                        show(Spread::of(all.iter().map(|it| it.made_us)), 1),
                        show(Spread::of(all.iter().map(|it| it.measured_us)), 1),
                        format!("{within} of {}", all.len()),
                    ]);
                }
            }
            costs.row([
                row.transport.clone(),
                show(Spread::of(row.cpu_us.iter().map(|it| it.0)), 2),
                show(Spread::of(row.cpu_us.iter().map(|it| it.1)), 2),
                show(Spread::of(row.cpu_us.iter().map(|it| it.0 / it.1)), 2),
            ]);
            let mib = |bytes: u64| format!("{:.1}", bytes as f64 / 1_048_576.0);
            kept.row([
                row.transport.clone(),
                mib(row.resident.0),
                mib(row.resident.1),
                format!("{MOST_MIB:.0}"),
            ]);
        }
        write!(f, "{times}\n{costs}\n{kept}")
    }
}

//! Does prony report what happened? Against the clockwork, whose delays are known, in an open loop:
//! what is reported beside what the script implies for the due times of the schedule.

use crate::error::{Error, Result};
use crate::load::{self, Seen};
use crate::place::Rig;
use crate::server::{Clockwork, Clockworks, Lateness};
use crate::spread::{Spread, number, show};
use crate::table::Table;
use prony_engine::schedule::{Constant, Schedule, Share};
use prony_engine::{Arrival, Dialogue, Plan, Target, TransportKind};
use prony_reference::Contract;
use prony_reference::clockwork::{Delay, Script, Stall, implied, quantile};
use serde::Serialize;
use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Requests per second.
const RATE: f64 = 10_000.0;
/// What an echo request is.
const MESSAGE: &[u8] = b"prony's echo...\n";
/// The percentiles that are compared.
const QUANTILES: [f64; 7] = [0.5, 0.89, 0.9, 0.91, 0.95, 0.99, 0.999];
/// How far a percentile may lie off: this part of what is implied, and this much for the way there
/// and back, which the script knows nothing of.
const TOLERANCE: f64 = 0.02;
const TOLERANCE_US: f64 = 50.0;

/// A script, and how it is loaded.
struct Case {
    name: &'static str,
    contract: Contract,
    script: Script,
    connections: u32,
    pipeline: u32,
}

/// The stalls' requests all have to be in flight at once, or they would wait inside the client:
/// 1,000 of them, over one connection, so that they leave and come all together when a stall ends. Random delays need connections on which no reply waits for
/// one before it: at 64 each has a request every 6.4 ms.
fn cases() -> [Case; 4] {
    let ms = Duration::from_millis;
    let stall = Script {
        stall: Some(Stall {
            every: ms(1_000),
            length: ms(100),
        }),
        ..Script::default()
    };
    let delay = |delay| Script {
        delay,
        ..Script::default()
    };
    [
        Case {
            name: "echo, stalls of 100 ms every second",
            contract: Contract::TcpEcho,
            script: stall,
            connections: 1,
            pipeline: 4096,
        },
        Case {
            name: "HTTP, stalls of 100 ms every second",
            contract: Contract::HttpEcho,
            script: stall,
            connections: 1,
            pipeline: 4096,
        },
        Case {
            name: "echo, 1 ms each",
            contract: Contract::TcpEcho,
            script: delay(Delay::Constant(ms(1))),
            connections: 8,
            pipeline: 512,
        },
        Case {
            name: "HTTP, 0.5 to 2 ms each, uniform",
            contract: Contract::HttpEcho,
            script: delay(Delay::Uniform {
                min: Duration::from_micros(500),
                max: ms(2),
            }),
            connections: 64,
            pipeline: 8,
        },
    ]
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
    fn new(quantile: f64, implied_us: f64, measured_us: f64) -> Self {
        let off = (measured_us - implied_us).abs();
        Self {
            quantile,
            implied_us,
            measured_us,
            within: off <= TOLERANCE * implied_us + TOLERANCE_US,
        }
    }

    fn off_us(&self) -> f64 {
        self.measured_us - self.implied_us
    }
}

/// One round of one case.
#[derive(Debug, Serialize)]
struct Round {
    compared: Vec<Compared>,
    /// Requests that were due in the measured part, and of how many a response time was recorded.
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
    transport: String,
    rounds: Vec<Round>,
}

/// What this benchmark has shown.
#[derive(Debug, Serialize)]
pub struct Truth {
    rows: Vec<Row>,
}

/// Loads the clockwork with every script over every transport, each time a fresh one.
///
/// # Errors
/// When a load cannot be carried out.
pub fn run(rig: Rig, rounds: u32, seconds: f64) -> Result<Truth> {
    // A whole number of periods holds each phase of the stall equally often, wherever it begins.
    let seconds = seconds.ceil().max(1.0);
    let mut rows = Vec::new();
    for case in &cases() {
        for transport in load::transports() {
            let mut seen = Vec::new();
            for round in 1..=rounds {
                eprintln!(
                    "truth: {}, {transport}, round {round} of {rounds}",
                    case.name
                );
                seen.push(case.round(transport, rig, seconds, u64::from(round))?);
            }
            rows.push(Row {
                case: case.name,
                transport: transport.to_string(),
                rounds: seen,
            });
        }
    }
    Ok(Truth { rows })
}

impl Case {
    fn round(&self, transport: TransportKind, rig: Rig, seconds: f64, seed: u64) -> Result<Round> {
        let script = Script {
            seed,
            ..self.script
        };
        let what = Clockworks {
            contract: self.contract,
            script,
            message: NonZeroUsize::new(MESSAGE.len()).unwrap_or(NonZeroUsize::MIN),
        };
        let clockwork = Clockwork::start(&what, rig.server)?;
        let origin = clockwork.origin_ns;
        let dialogue = match self.contract {
            Contract::TcpEcho => Dialogue::Echo(MESSAGE.to_vec()),
            Contract::HttpEcho => load::http(clockwork.address),
        };
        let mut plan = Plan::closed(Target::Tcp(clockwork.address), dialogue, self.connections);
        plan.arrival = Arrival::Constant(RATE);
        plan.pipeline = self.pipeline;
        plan.cpus = vec![rig.client];
        plan.transport = transport;
        let seen = load::measure(&plan, load::span(seconds))?;
        let lateness = clockwork.stop()?;
        let due = due_times(&seen, self.connections);
        if due.is_empty() {
            return Err(Error::Unusable("no request was due".into()));
        }
        let arrivals = due.iter().map(|due| due.saturating_sub(origin));
        let expected = implied(&script, arrivals);
        let observation = &seen.observation;
        let compare = |q| {
            let measured = observation.response.value_at_quantile(q) as f64 / 1e3;
            Compared::new(q, quantile(&expected, q) as f64 / 1e3, measured)
        };
        let late = &observation.late;
        Ok(Round {
            compared: QUANTILES.into_iter().map(compare).collect(),
            due: due.len(),
            recorded: observation.response.len(),
            clockwork: lateness,
            lateness_p50_us: late.value_at_quantile(0.5) as f64 / 1e3,
            lateness_p99_us: late.value_at_quantile(0.99) as f64 / 1e3,
            lateness_max_us: late.max() as f64 / 1e3,
        })
    }
}

/// When the requests of the measured part were due, on the engine's clock: from the schedule, which
/// is pure, and not from what was sent.
fn due_times(seen: &Seen, connections: u32) -> Vec<u64> {
    let (from, until) = (seen.observation.from, seen.observation.until);
    due_between(seen.start, from, until, connections)
}

fn due_between(start: u64, from: u64, until: u64, connections: u32) -> Vec<u64> {
    let share = Share {
        worker: 0,
        workers: 1,
        total: connections,
    };
    let mut schedule = Constant::new(RATE, share);
    let mut due = Vec::new();
    while let Some(arrival) = schedule.peek() {
        let at = start + arrival.due;
        if at >= until {
            break;
        }
        if at >= from {
            due.push(at);
        }
        schedule.advance();
    }
    due
}

impl Row {
    fn show(&self, decimals: usize, value: impl Fn(&Round) -> f64) -> String {
        show(Spread::of(self.rounds.iter().map(value)), decimals)
    }
}

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Open loop at {} requests/s, constant. Implied: what the script makes of the schedule's due\n\
             times. Within: at most {} % and {TOLERANCE_US:.0} µs off. Median (least–greatest) over the rounds, µs.",
            number(RATE, 0),
            TOLERANCE * 100.0
        )?;
        // Said, because a row that is hardly ever within would pass for the generator's fault.
        writeln!(
            f,
            "Under stalls p90 stands on an edge: they hold exactly a tenth of the requests, so each further\n\
             request a second that is held up by anything, on either side, moves it by 100 µs. p89 and p91\n\
             stand beside the edge."
        )?;
        for row in &self.rows {
            writeln!(f, "\n{}, {}", row.case, row.transport)?;
            let mut table =
                Table::new(["response", "implied", "measured", "off", "off %", "within"]);
            for (index, q) in QUANTILES.into_iter().enumerate() {
                let within = row.rounds.iter().filter(|it| it.compared[index].within);
                let percent = row.rounds.iter().filter_map(|it| {
                    let it = it.compared[index];
                    (it.implied_us > 0.0).then(|| it.off_us() / it.implied_us * 100.0)
                });
                table.row([
                    format!("p{}", number(q * 100.0, usize::from(q == 0.999))),
                    row.show(1, |it| it.compared[index].implied_us),
                    row.show(1, |it| it.compared[index].measured_us),
                    row.show(1, |it| it.compared[index].off_us()),
                    show(Spread::of(percent), 2),
                    format!("{} of {}", within.count(), row.rounds.len()),
                ]);
            }
            write!(f, "{table}")?;
            writeln!(
                f,
                "  clockwork late: p50 {}, p99 {}, max {}",
                row.show(1, |it| it.clockwork.p50 as f64 / 1e3),
                row.show(1, |it| it.clockwork.p99 as f64 / 1e3),
                row.show(1, |it| it.clockwork.max as f64 / 1e3),
            )?;
            writeln!(
                f,
                "  generator late: p50 {}, p99 {}, max {}",
                row.show(1, |it| it.lateness_p50_us),
                row.show(1, |it| it.lateness_p99_us),
                row.show(1, |it| it.lateness_max_us),
            )?;
            for round in &row.rounds {
                if round.recorded != round.due as u64 {
                    writeln!(
                        f,
                        "  {} requests were due, and {} response times were recorded",
                        round.due, round.recorded
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

    #[test]
    fn due_times_of_whole_seconds_are_as_many_as_the_rate_says() {
        let due = due_between(7_777, SECOND + 7_777, 4 * SECOND + 7_777, 8);
        assert_eq!(due.len(), 30_000);
        assert_eq!(due[0], SECOND + 7_777);
        assert!(due.windows(2).all(|pair| pair[1] - pair[0] == 100_000));
    }

    #[test]
    fn stalls_imply_what_they_should_wherever_the_measurement_begins() {
        let script = cases()[0].script;
        for phase in [0, SECOND / 20, SECOND / 2] {
            let from = 5 * SECOND + phase;
            let due = due_between(from, from, from + 3 * SECOND, 8);
            let expected = implied(&script, due);
            assert_eq!(quantile(&expected, 0.5), 0);
            assert_eq!(quantile(&expected, 0.95), 50_000_000);
            assert_eq!(quantile(&expected, 0.99), 90_000_000);
        }
    }

    #[test]
    fn tolerance_is_a_part_and_a_little() {
        assert!(Compared::new(0.5, 0.0, 50.0).within);
        assert!(!Compared::new(0.5, 0.0, 50.1).within);
        assert!(Compared::new(0.5, 10_000.0, 9_750.0).within);
        assert!(!Compared::new(0.5, 10_000.0, 10_251.0).within);
    }

    #[test]
    fn the_echo_is_cut_where_it_should_be() {
        assert_eq!(MESSAGE.len(), 16);
    }
}

//! The clockwork, loaded from two agents: is what they report together what it did?

use super::registry;
use crate::claims::truth::{done, due_until};
use crate::error::{Error, Result};
use crate::place::Rig;
use crate::server::{Clockwork, Clockworks, Kept};
use crate::spread::{Spread, number};
use crate::table::Table;
use prony_engine::schedule::{Constant, Share};
use prony_engine::{Dialogue, Nanos, Plan, Target, clock};
use prony_lab::generator::{Generator, LoadControl, LoadController};
use prony_lab::interrupt::Interrupt;
use prony_record::load::{Assignment, Protocol};
use prony_record::{Extent, Span, Window};
use prony_reference::Contract;
use prony_reference::clockwork::{Delay, ReplyScript, quantile};
use prony_remote::Fleet;
use serde::Serialize;
use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Requests per second of both together.
const RATE: f64 = 10_000.0;
const CONNECTIONS: u32 = 64;
const MESSAGE: &[u8] = b"prony's echo...\n";
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];
/// How far a percentile may lie off: this part of what was done, and this much for the way there and back.
const TOLERANCE: f64 = 0.01;
const TOLERANCE_US: f64 = 50.0;

/// A percentile in a round, in µs.
#[derive(Debug, Clone, Copy, Serialize)]
struct Compared {
    quantile: f64,
    done_us: f64,
    measured_us: f64,
    within: bool,
}

/// Percentiles by round, as they were measured and as the clockwork made them.
#[derive(Debug, Serialize)]
pub struct ClockworkFound {
    rounds: Vec<[Compared; QUANTILES.len()]>,
}

/// Measures as soon as the load begins, and remembers when that was.
struct Began {
    length: Nanos,
    at: Nanos,
}

impl LoadController for Began {
    fn at_once(&self) -> Option<Nanos> {
        Some(self.length)
    }

    fn began(&mut self, start: Nanos, _control: &dyn LoadControl) {
        self.at = start;
    }

    fn window(&mut self, _window: &Window, _control: &dyn LoadControl) {}
}

/// Loads it at 10,000/s, with 0.5 ms for each reply and 5 ms for 3% of them.
///
/// # Errors
/// When a load cannot be carried out.
pub fn run(rig: Rig, rounds: u32, length: Duration) -> Result<ClockworkFound> {
    let fleet = Fleet::new(registry(2)?, vec!["agent0".into(), "agent1".into()]);
    let mut all = Vec::new();
    for round in 1..=rounds {
        eprintln!("hosts: the clockwork from 2 agents, round {round} of {rounds}");
        all.push(self::round(&fleet, rig, length, u64::from(round))?);
    }
    Ok(ClockworkFound { rounds: all })
}

fn round(
    fleet: &Fleet,
    rig: Rig,
    length: Duration,
    seed: u64,
) -> Result<[Compared; QUANTILES.len()]> {
    let script = ReplyScript {
        delay: Delay::Bimodal {
            fast: Duration::from_micros(500),
            slow: Duration::from_millis(5),
            slow_share: 0.03,
        },
        seed,
        ..ReplyScript::default()
    };
    let clockwork = Clockwork::start(
        &Clockworks {
            contract: Contract::TcpEcho,
            script,
            message: NonZeroUsize::new(MESSAGE.len()).unwrap_or(NonZeroUsize::MIN),
            over: Protocol::Plain,
            certificate: None,
        },
        rig.server,
    )?;
    let origin = clockwork.origin_ns;
    let dialogue = Dialogue::Echo(MESSAGE.to_vec());
    let mut plan = Plan::closed(Target::Tcp(clockwork.address), dialogue, CONNECTIONS);
    plan.load.rate = Some(RATE);
    // Each request has its connection, so that the clockwork's notes can be matched with the schedule.
    plan.load.assignment = Assignment::RoundRobin;
    // No request waits for a connection, or a stall of this machine would be the client's.
    plan.load.pipeline = 512;
    plan.load.extent = Extent::Duration(Span(length));
    plan.cpus = vec![rig.client];
    let mut began = Began {
        length: clock::nanos(length),
        at: 0,
    };
    let seen = fleet.load(&plan, &Interrupt::default(), &mut began)?;
    let Kept { released, .. } = clockwork.stop()?;
    let share = Share {
        worker: 0,
        workers: 1,
        total: CONNECTIONS,
    };
    let due = due_until(
        began.at,
        began.at + began.length,
        Constant::new(RATE, share),
    );
    let truth = done(&in_order(released), origin, &due, began.at)
        .ok_or_else(|| Error::Unusable("the clockwork has not answered every request".into()))?;
    if seen.times.response.len() != truth.len() as u64 {
        return Err(Error::Unusable(format!(
            "{} requests were due, and {} are recorded",
            truth.len(),
            seen.times.response.len()
        )));
    }
    Ok(QUANTILES.map(|q| {
        let done_us = quantile(&truth, q) as f64 / 1e3;
        let measured_us = seen.times.response.value_at_quantile(q) as f64 / 1e3;
        Compared {
            quantile: q,
            done_us,
            measured_us,
            within: (measured_us - done_us).abs() <= TOLERANCE * done_us + TOLERANCE_US,
        }
    }))
}

/// The replies of each connection, in the order of the schedule's connections. They were made by two agents, in whatever
/// order; but connection i is due i/rate after the first, and its fastest reply comes as long after that as that of every other.
fn in_order(mut released: Vec<Vec<u64>>) -> Vec<Vec<u64>> {
    released.retain(|times| !times.is_empty());
    let period = f64::from(CONNECTIONS) / RATE * 1e9;
    let phase = |times: &Vec<u64>| {
        let since = times.iter().zip(0_u32..);
        let each = since.map(|(at, k)| *at as f64 - f64::from(k) * period);
        each.fold(f64::INFINITY, f64::min)
    };
    released.sort_by(|a, b| phase(a).total_cmp(&phase(b)));
    released
}

impl fmt::Display for ClockworkFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "the clockwork at 10,000/s from 2 agents",
            "done, µs",
            "off, µs",
            "within 1% + 50 µs",
        ]);
        for (index, q) in QUANTILES.iter().enumerate() {
            let each = || self.rounds.iter().map(|round| round[index]);
            let median = |of: fn(Compared) -> f64| {
                Spread::of(each().map(of))
                    .map_or_else(String::new, |spread| number(spread.median, 1))
            };
            table.row([
                format!("p{}", number(q * 100.0, 1)),
                median(|it| it.done_us),
                median(|it| it.measured_us - it.done_us),
                format!(
                    "{} of {}",
                    each().filter(|it| it.within).count(),
                    self.rounds.len()
                ),
            ]);
        }
        write!(f, "{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_put_in_the_schedules_order() {
        let period = (f64::from(CONNECTIONS) / RATE * 1e9) as u64;
        // The first reply of connection 0 is a slow one.
        let of = |connection: u64| -> Vec<u64> {
            (0..5)
                .map(|k| {
                    let slow = if (connection, k) == (0, 0) {
                        5_000_000
                    } else {
                        500_000
                    };
                    connection * 100_000 + k * period + slow
                })
                .collect()
        };
        let ordered = in_order(vec![of(2), Vec::new(), of(0), of(1)]);
        assert_eq!(ordered, [of(0), of(1), of(2)]);
    }
}

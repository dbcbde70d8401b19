//! How well prony keeps its own schedule: open loop at parts of the capacity.

use crate::error::{Error, Result};
use crate::load;
use crate::place::Rig;
use crate::server::Ceiling;
use crate::spread::{Spread, show};
use crate::table::Table;
use prony_record::{Observation, Spacing, Times, Transport};
use rand::seq::SliceRandom;
use serde::Serialize;
use std::fmt;
use std::thread;
use std::time::Duration;

/// Connections of the capacity's closed loop and of the open loops.
const CONNECTIONS: u32 = 64;
/// Parts of the capacity that are asked for.
const LOADS: [f64; 3] = [0.1, 0.5, 0.8];
/// A percentile with fewer samples beyond it says nothing.
const LEAST_BEYOND: f64 = 10.0;
/// Between two loads: the server closes the connections of the one before meanwhile.
const PAUSE: Duration = Duration::from_millis(100);

/// How requests arrive, in words.
fn name(arrival: Spacing) -> &'static str {
    match arrival {
        Spacing::Constant => "constant",
        Spacing::Poisson => "Poisson",
    }
}

/// One load of one transport.
#[derive(Debug, Clone, Copy)]
struct Cell {
    transport: Transport,
    arrival: Spacing,
    part: f64,
}

/// Percentiles in µs; none where too few samples lie beyond.
#[derive(Debug, Clone, Copy, Serialize)]
struct Percentiles {
    p50: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
}

impl Percentiles {
    fn of(times: &Times) -> Self {
        let at = |q: f64| {
            let beyond = times.len() as f64 * (1.0 - q);
            (beyond >= LEAST_BEYOND).then(|| times.value_at_quantile(q) as f64 / 1e3)
        };
        Self {
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
        }
    }
}

/// Results of a cell in one round.
#[derive(Debug, Clone, Copy, Serialize)]
struct Sample {
    capacity: f64,
    target: f64,
    achieved_to_target: f64,
    send_delay_us: Percentiles,
    lateness_us: Percentiles,
    response_us: Percentiles,
    cpu_us_per_request: f64,
    spin_share: f64,
}

impl Sample {
    fn of(seen: &Observation, capacity: f64, target: f64) -> Self {
        Self {
            capacity,
            target,
            achieved_to_target: seen.throughput() / target,
            send_delay_us: Percentiles::of(&seen.times.send_delay),
            lateness_us: Percentiles::of(&seen.times.late),
            response_us: Percentiles::of(&seen.times.response),
            cpu_us_per_request: load::cpu_us(seen),
            spin_share: seen.generator.spin_ns as f64 / seen.measured_ns as f64,
        }
    }
}

/// A cell over all rounds.
#[derive(Debug, Serialize)]
struct Row {
    transport: String,
    arrivals: &'static str,
    part_of_capacity: f64,
    rounds: Vec<Sample>,
}

/// Results of this benchmark.
#[derive(Debug, Serialize)]
pub struct SendDelay {
    rows: Vec<Row>,
}

/// Measures the capacity of each transport, then all loads in a fresh random order, each round.
///
/// # Errors
/// When a load cannot be carried out.
pub fn run(rig: Rig, rounds: u32, seconds: f64) -> Result<SendDelay> {
    let transports = load::transports();
    let cells: Vec<Cell> = transports
        .iter()
        .flat_map(|&transport| {
            [Spacing::Constant, Spacing::Poisson]
                .into_iter()
                .flat_map(move |arrival| {
                    LOADS.map(|part| Cell {
                        transport,
                        arrival,
                        part,
                    })
                })
        })
        .collect();
    let mut samples = vec![Vec::new(); cells.len()];
    let mut random = rand::rng();
    for round in 1..=rounds {
        let server = Ceiling::start(rig.server)?;
        let closed = |transport| load::closed(server.address, CONNECTIONS, transport, rig);
        for &transport in &transports {
            eprintln!("send-delay: round {round} of {rounds}, capacity over {transport}");
            let seen = load::measure(&closed(transport), load::span(seconds))?;
            let capacity = seen.observation.throughput();
            if capacity <= 0.0 {
                return Err(Error::Unusable("the capacity is zero".into()));
            }
            let mut order: Vec<usize> = (0..cells.len())
                .filter(|&index| cells[index].transport == transport)
                .collect();
            order.shuffle(&mut random);
            for index in order {
                let cell = cells[index];
                let target = capacity * cell.part;
                eprintln!(
                    "send-delay: round {round} of {rounds}, {transport}, {} arrivals at {:.0}%",
                    name(cell.arrival),
                    cell.part * 100.0
                );
                let mut plan = closed(transport);
                (plan.load.rate, plan.load.arrival) = (Some(target), cell.arrival);
                plan.seed = u64::from(round);
                thread::sleep(PAUSE);
                let seen = load::measure(&plan, load::span(seconds))?;
                samples[index].push(Sample::of(&seen.observation, capacity, target));
            }
        }
    }
    let rows = cells.into_iter().zip(samples).map(|(cell, rounds)| Row {
        transport: cell.transport.to_string(),
        arrivals: name(cell.arrival),
        part_of_capacity: cell.part,
        rounds,
    });
    Ok(SendDelay {
        rows: rows.collect(),
    })
}

impl Row {
    fn name(&self) -> String {
        format!(
            "{} {} {:.0}%",
            self.transport,
            self.arrivals,
            self.part_of_capacity * 100.0
        )
    }

    fn show(&self, decimals: usize, value: impl Fn(&Sample) -> Option<f64>) -> String {
        show(Spread::of(self.rounds.iter().filter_map(value)), decimals)
    }
}

impl fmt::Display for SendDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Open loop over {CONNECTIONS} connections with one request in flight each, at parts of the rate that the same\n\
             transport reached in a closed loop just before. Median (least–greatest) over the rounds.\n\
             Send delay is sent − due: it holds the time that a request waited for a free connection. Lateness is\n\
             sent − max(due, when the connection was free): the generator's own fault alone.\n\n\
             µs"
        )?;
        let mut times = Table::new([
            "",
            "send delay p50",
            "p99",
            "p99.9",
            "lateness p50",
            "p99",
            "p99.9",
        ]);
        let mut rates = Table::new([
            "",
            "target/s",
            "achieved ÷ target",
            "response p50 µs",
            "p99 µs",
            "CPU µs/request",
            "spinning",
        ]);
        for row in &self.rows {
            times.row([
                row.name(),
                row.show(1, |it| it.send_delay_us.p50),
                row.show(1, |it| it.send_delay_us.p99),
                row.show(1, |it| it.send_delay_us.p999),
                row.show(1, |it| it.lateness_us.p50),
                row.show(1, |it| it.lateness_us.p99),
                row.show(1, |it| it.lateness_us.p999),
            ]);
            rates.row([
                row.name(),
                row.show(0, |it| Some(it.target)),
                row.show(4, |it| Some(it.achieved_to_target)),
                row.show(0, |it| it.response_us.p50),
                row.show(0, |it| it.response_us.p99),
                row.show(2, |it| Some(it.cpu_us_per_request)),
                row.show(2, |it| Some(it.spin_share)),
            ]);
        }
        write!(f, "{times}\n{rates}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_need_samples_beyond_them() {
        let mut times = prony_record::times::times();
        for us in 1..=1_000 {
            times.record(us * 1_000).unwrap();
        }
        let found = Percentiles::of(&times);
        assert!((found.p50.unwrap() - 500.0).abs() < 1.0);
        assert!(found.p99.is_some(), "exactly ten lie beyond");
        assert_eq!(found.p999, None);
    }
}

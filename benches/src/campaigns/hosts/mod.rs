//! Costs of several generators for the one that coordinates them, and how well they act together. All of them are
//! processes on this machine, reached through a launcher that does nothing: this shows prony's part, without any
//! network.

mod clockwork;
mod connections;

use crate::error::{Error, Result};
use crate::place::Rig;
use crate::prony;
use crate::server::Ceiling;
use crate::spread::{Spread, show};
use crate::table::Table;
use prony_engine::clock::process_cpu;
use prony_engine::{Plan, Target};
use prony_lab::generator::{Briefly, Generator, Local};
use prony_lab::interrupt::Interrupt;
use prony_record::{Extent, Observation, Span};
use prony_remote::{Fleet, HostSpec, Hosts, Registry};
use serde::Serialize;
use std::fmt;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Requests per second of each agent: enough for full windows, little enough that many agents fit on two CPUs.
const RATE: f64 = 100.0;
/// A short load, of which trials' costs are taken.
const SHORT: Duration = Duration::from_millis(200);

/// Results of this campaign.
#[derive(Debug, Serialize)]
pub struct HostsFound {
    fleets: Vec<Row>,
    /// Wall time of a load beyond its length, in milliseconds: in this process, and from one agent.
    beyond_ms_here: Vec<f64>,
    beyond_ms_agent: Vec<f64>,
    clockwork: clockwork::ClockworkFound,
    /// None where a process may not have enough open files; that is said.
    connections: Option<connections::ConnectionsFound>,
}

/// With so many agents.
#[derive(Debug, Serialize)]
struct Row {
    agents: u32,
    /// CPU time of the coordinator, as a part of one CPU, by round.
    coordinator_cpu: Vec<f64>,
    /// Bytes per second from each agent, by round.
    bytes_per_second: Vec<f64>,
    /// Windows that were expected and came, all rounds.
    windows: (u64, u64),
    /// How much too late agents heard when a load begins, in milliseconds, every agent of every round.
    late_start_ms: Vec<f64>,
    /// Requests that were due, and those that are accounted for, all rounds.
    requests: (u64, u64),
}

/// Loads prony's ceiling server from 3 and from `most` agents, the clockwork from 2, and a server of several processes over
/// so many connections from 3.
///
/// # Errors
/// When a load cannot be carried out.
pub fn run(rig: Rig, rounds: u32, seconds: f64, most: u32, connections: u32) -> Result<HostsFound> {
    let seconds = seconds.ceil().max(2.0);
    let length = Duration::from_secs_f64(seconds);
    let server = Ceiling::start(rig.server)?;
    let registry = registry(most)?;
    let mut fleets = Vec::new();
    for agents in [3, most] {
        let names: Vec<String> = (0..agents).map(|i| format!("agent{i}")).collect();
        let fleet = Fleet::new(Arc::clone(&registry), names);
        let links = fleet.links().map_err(Error::Unusable)?;
        let heard = || links.iter().map(|link| link.bytes()).sum::<u64>();
        let mut row = Row {
            agents,
            coordinator_cpu: Vec::new(),
            bytes_per_second: Vec::new(),
            windows: (0, 0),
            late_start_ms: Vec::new(),
            requests: (0, 0),
        };
        for round in 1..=rounds {
            eprintln!("hosts: {agents} agents, round {round} of {rounds}");
            let mut plan = plan(&server, agents, length);
            plan.load.rate = Some(RATE * f64::from(agents));
            let (cpu, bytes) = (cpu(), heard());
            let (seen, _) = load(&fleet, &plan, length)?;
            row.coordinator_cpu.push((self::cpu() - cpu) / seconds);
            let bytes = (heard() - bytes) as f64 / f64::from(agents);
            row.bytes_per_second.push(bytes / seconds);
            let due = (RATE * f64::from(agents) * seconds).round() as u64;
            let outcomes = &seen.outcomes;
            row.requests.0 += due;
            row.requests.1 +=
                outcomes.finished() + outcomes.in_flight_at_end + outcomes.unsent_at_end;
            row.windows.0 += seconds as u64;
            row.windows.1 += seen.measured_windows().count() as u64;
            let late = |host: &prony_record::ByHost| host.late_start_ns as f64 / 1e6;
            row.late_start_ms.extend(seen.by_host.iter().map(late));
        }
        fleets.push(row);
    }
    let one = Fleet::new(registry, vec!["agent0".into()]);
    let plan = plan(&server, 1, SHORT);
    let (mut here, mut agent) = (Vec::new(), Vec::new());
    for _ in 0..rounds * 4 {
        here.push(beyond(&Local, &plan)?);
        agent.push(beyond(&one, &plan)?);
    }
    drop(server);
    let clockwork = clockwork::run(rig, rounds, length)?;
    let connections = match connections::run(rig, connections, length) {
        Ok(found) => Some(found),
        Err(Error::Unusable(why)) => {
            eprintln!("hosts: {why}");
            None
        }
        Err(error) => return Err(error),
    };
    Ok(HostsFound {
        fleets,
        beyond_ms_here: here,
        beyond_ms_agent: agent,
        clockwork,
        connections,
    })
}

/// Agents of this machine, as many as are asked for.
fn registry(agents: u32) -> Result<Arc<Registry>> {
    let program = prony::program()?;
    let version = Command::new(&program)
        .arg("--version")
        .output()
        .map_err(Error::io("cannot start prony"))?;
    let version = String::from_utf8_lossy(&version.stdout);
    let version = version.trim().trim_start_matches("prony ");
    let mut hosts = Hosts::default();
    for i in 0..agents {
        hosts.add(HostSpec {
            name: format!("agent{i}"),
            ..HostSpec::local()
        });
    }
    let told = Box::new(|text: &str| eprintln!("{text}"));
    Ok(Arc::new(Registry::new(hosts, &program, version, told)))
}

fn plan(server: &Ceiling, connections: u32, length: Duration) -> Plan {
    let mut plan = Plan::closed(
        Target::Tcp(server.address),
        crate::load::http(server.address),
        connections,
    );
    plan.load.extent = Extent::Duration(Span(length));
    plan
}

/// CPU time of this process, in seconds.
fn cpu() -> f64 {
    let (user, system) = process_cpu();
    (user + system).as_secs_f64()
}

/// Carries out a load; gives how long that took.
fn load(
    generator: &impl Generator,
    plan: &Plan,
    length: Duration,
) -> Result<(Observation, Duration)> {
    let begun = Instant::now();
    let seen = generator.load(plan, &Interrupt::default(), &mut Briefly(length))?;
    match seen.outcomes.failed() {
        0 => Ok((seen, begun.elapsed())),
        n => Err(Error::Unusable(format!(
            "{n} requests failed: {:?}",
            seen.errors
        ))),
    }
}

fn beyond(generator: &impl Generator, plan: &Plan) -> Result<f64> {
    let (_, took) = load(generator, plan, SHORT)?;
    Ok(took.saturating_sub(SHORT).as_secs_f64() * 1e3)
}

impl fmt::Display for HostsFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "agents",
            "coordinator, % of a CPU",
            "kB/s from each",
            "windows",
            "late start p99, ms",
            "requests",
        ]);
        for row in &self.fleets {
            let mut late = row.late_start_ms.clone();
            late.sort_by(f64::total_cmp);
            let p99 = late.get((late.len() * 99 / 100).min(late.len().saturating_sub(1)));
            table.row([
                row.agents.to_string(),
                show(
                    Spread::of(row.coordinator_cpu.iter().map(|part| part * 100.0)),
                    2,
                ),
                show(
                    Spread::of(row.bytes_per_second.iter().map(|bytes| bytes / 1e3)),
                    2,
                ),
                format!("{} of {}", row.windows.1, row.windows.0),
                p99.map_or("–".into(), |late| format!("{late:.2}")),
                format!("{} of {}", row.requests.1, row.requests.0),
            ]);
        }
        write!(f, "{table}")?;
        writeln!(
            f,
            "a load of {SHORT:?} takes this much longer, in ms: here {}, from an agent {}",
            show(Spread::of(self.beyond_ms_here.iter().copied()), 1),
            show(Spread::of(self.beyond_ms_agent.iter().copied()), 1)
        )?;
        write!(f, "{}", self.clockwork)?;
        match &self.connections {
            Some(connections) => write!(f, "{connections}"),
            None => Ok(()),
        }
    }
}

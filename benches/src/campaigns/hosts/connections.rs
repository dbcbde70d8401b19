//! More connections than one process may have: from three agents, to a server of three processes at one port.

use super::registry;
use crate::child::Child;
use crate::error::{Error, Result};
use crate::place::{Rig, raise_open_files};
use crate::prony;
use crate::spread::number;
use crate::status;
use prony_engine::{Plan, Target};
use prony_lab::generator::{Briefly, Generator};
use prony_lab::interrupt::Interrupt;
use prony_record::{Extent, Span};
use prony_remote::Fleet;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::process::Command;
use std::time::{Duration, Instant};

/// Agents, and processes of the server.
const PROCESSES: u32 = 3;
/// Workers of each of these: with several, a port can be shared.
const WORKERS: u32 = 2;
/// Connections of the smaller load: what agents need without them.
const FEW: u32 = 30;
/// Descriptors that a process needs beside its connections.
const SPARE: u64 = 200;
/// The server's processes do not get the same number each: the kernel draws one for each connection.
const UNEVEN: f64 = 1.1;
/// A process of the server is waited for so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Results with many connections.
#[derive(Debug, Serialize)]
pub struct ConnectionsFound {
    connections: u32,
    /// Connections that had an answer in the measurement.
    in_use: u64,
    answers: u64,
    failed: u64,
    /// Memory of all agents' processes for each connection, in bytes: their peak beyond that with few connections.
    bytes_per_connection: f64,
    /// Wall time of the whole load, in seconds, connecting included.
    seconds: f64,
}

/// Opens so many connections, and sends a request on each about once a second.
///
/// # Errors
/// When a process may not have as many as its part, or the load cannot be carried out.
pub fn run(rig: Rig, connections: u32, length: Duration) -> Result<ConnectionsFound> {
    let most = raise_open_files().map_err(Error::io("cannot raise the limit of open files"))?;
    let each = f64::from(connections) / f64::from(PROCESSES) * UNEVEN;
    if most < each as u64 + SPARE {
        return Err(Error::Unusable(format!(
            "{connections} connections need {each:.0} open files in each of {PROCESSES} processes, and {most} are allowed"
        )));
    }
    eprintln!("hosts: {connections} connections from {PROCESSES} agents");
    let (address, _server) = server(rig)?;
    let names: Vec<String> = (0..PROCESSES).map(|i| format!("agent{i}")).collect();
    let fleet = Fleet::new(registry(PROCESSES)?, names);
    fleet.links().map_err(Error::Unusable)?;
    let load = |connections: u32| {
        let dialogue = crate::load::http(address);
        let mut plan = Plan::closed(Target::Tcp(address), dialogue, connections);
        // One address has fewer ports than that.
        plan.sources = (1..=4)
            .map(|i| IpAddr::from(Ipv4Addr::new(127, 0, 0, i)))
            .collect();
        plan.load.rate = Some(f64::from(connections));
        plan.load.extent = Extent::Duration(Span(length));
        fleet
            .load(&plan, &Interrupt::default(), &mut Briefly(length))
            .map_err(Error::from)
    };
    load(FEW)?;
    let before = agents_peak()?;
    let begun = Instant::now();
    let seen = load(connections)?;
    let seconds = begun.elapsed().as_secs_f64();
    let after = agents_peak()?;
    Ok(ConnectionsFound {
        connections,
        in_use: seen.per_connection.iter().filter(|n| **n > 0).count() as u64,
        answers: seen.outcomes.ok,
        failed: seen.outcomes.failed(),
        bytes_per_connection: after.saturating_sub(before) as f64 / f64::from(connections - FEW),
        seconds,
    })
}

/// A reference server of several processes that share a port.
fn server(rig: Rig) -> Result<(SocketAddr, Vec<Child>)> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
    let address = free.map_err(Error::io("cannot find a free port"))?;
    let program = prony::program()?;
    let mut all = Vec::new();
    for _ in 0..PROCESSES {
        let mut command = Command::new(&program);
        command
            .args(["serve", "http-echo"])
            .args(["--workers", &WORKERS.to_string()])
            .args(["--listen", &address.port().to_string()]);
        all.push(Child::start(command, rig.server)?);
    }
    let begun = Instant::now();
    while listeners(address.port())? < PROCESSES * WORKERS {
        if begun.elapsed() > PATIENCE {
            return Err(Error::Unusable(format!(
                "not all processes of the server listen on {address}"
            )));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok((address, all))
}

/// Sockets that listen on this port.
fn listeners(port: u16) -> Result<u32> {
    const LISTENS: &str = "0A";
    let sockets =
        fs::read_to_string("/proc/net/tcp").map_err(Error::io("cannot read /proc/net/tcp"))?;
    let ends = format!(":{port:04X}");
    let of = |line: &&str| {
        let mut fields = line.split_whitespace().skip(1);
        fields.next().is_some_and(|local| local.ends_with(&ends)) && fields.nth(1) == Some(LISTENS)
    };
    Ok(sockets.lines().filter(of).count() as u32)
}

/// The sum of the most memory that each agent of this process has had, in bytes.
fn agents_peak() -> Result<u64> {
    let own = std::process::id();
    let children = fs::read_dir("/proc").map_err(Error::io("cannot read /proc"))?;
    let mut sum = 0;
    for entry in children.flatten() {
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else {
            continue;
        };
        let parent = status
            .lines()
            .find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_agent = command.split(|byte| *byte == 0).nth(1) == Some(&b"agent"[..]);
        if parent == Some(own) && is_agent {
            sum += status::bytes_in(&status, "VmHWM").unwrap_or(0);
        }
    }
    Ok(sum)
}

impl fmt::Display for ConnectionsFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} connections from {PROCESSES} agents to one server of {PROCESSES} processes: {} in use, {} answers, {} failed, {} \
             bytes of user memory for each in the agents, {} s with connecting",
            self.connections,
            self.in_use,
            self.answers,
            self.failed,
            number(self.bytes_per_connection, 0),
            number(self.seconds, 1)
        )
    }
}

//! Checks of a user's machines and of the network between them, with prony's own server and generator.

use crate::clocks::Offset;
use crate::fleet::Fleet;
use crate::link::Link;
use crate::message::{Call, Hello, Reply};
use crate::reach::reached;
use crate::registry::Registry;
use prony_engine::{Dialogue, Nanos, Plan, Target};
use prony_lab::generator::{Briefly, Generator};
use prony_lab::interrupt::Interrupt;
use prony_record::{Extent, Observation, Span};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long each of the two loads of a pair is measured.
const LENGTH: Duration = Duration::from_secs(1);
/// How long the network is tried before a run.
const MOMENT: Duration = Duration::from_millis(300);
/// Size of the message that is echoed to measure round trips, in bytes.
const SMALL: usize = 64;
/// Size of the message that is echoed to measure bandwidth, in bytes, on [`STREAMS`] connections for each generator.
const LARGE: usize = 256 << 10;
const STREAMS: u32 = 4;

/// A machine that was reached.
#[derive(Debug, Clone)]
pub struct ReachedHost {
    /// How long it took to start prony there, and to copy it if that was needed.
    pub started: Duration,
    /// First message of its agent, which describes the machine.
    pub hello: Hello,
    /// Offset of its clock from this machine's.
    pub clock: Offset,
}

/// The network between two machines, one with a server and one with a generator.
#[derive(Debug, Clone)]
pub struct Path {
    /// The server's address.
    pub address: IpAddr,
    /// The round trip of 64 bytes on one connection: median, in nanoseconds.
    pub p50: Nanos,
    /// 99th percentile of the same round trip, in nanoseconds; none with too few samples.
    pub p99: Option<Nanos>,
    /// Bytes per second in each direction at the same time, of large messages on four connections.
    pub bytes_per_second: f64,
}

/// Starts prony on a machine, and looks at it.
///
/// # Errors
/// What was tried, what was found, and what can be done.
pub fn host(registry: &Registry, name: &str) -> Result<ReachedHost, String> {
    let begun = Instant::now();
    let link = registry.link(name)?;
    let started = begun.elapsed();
    Ok(ReachedHost {
        started,
        hello: link.hello().clone(),
        clock: link.offset()?,
    })
}

/// Measures from one machine to another.
///
/// # Errors
/// When they do not reach each other.
pub fn pair(
    registry: &Arc<Registry>,
    server: &str,
    generator: &str,
    interrupt: &Interrupt,
) -> Result<Path, String> {
    let (to, from) = (registry.link(server)?, registry.link(generator)?);
    let address = reached(&to, std::slice::from_ref(&from))?;
    let fleet = Fleet::new(Arc::clone(registry), vec![generator.to_owned()]);
    let small = echo(&fleet, &to, address, (SMALL, 1, LENGTH), interrupt)?;
    let times = small.times.percentiles(0).response;
    let p50 = times
        .p50
        .ok_or_else(|| failed(generator, server, address, &small))?;
    let large = echo(&fleet, &to, address, (LARGE, STREAMS, LENGTH), interrupt)?;
    Ok(Path {
        address,
        p50,
        p99: times.p99,
        bytes_per_second: large.throughput() * LARGE as f64,
    })
}

/// How many bytes per second all of a fleet's machines together move each way to and from another, at this address: tried for
/// a moment.
///
/// # Errors
/// When they do not reach it.
pub fn network(
    fleet: &Fleet,
    to: &Link,
    address: IpAddr,
    interrupt: &Interrupt,
) -> Result<f64, String> {
    let streams = STREAMS * fleet.names().len() as u32;
    let seen = echo(fleet, to, address, (LARGE, streams, MOMENT), interrupt)?;
    Ok(seen.throughput() * LARGE as f64)
}

fn failed(from: &str, to: &str, address: IpAddr, seen: &Observation) -> String {
    let error = seen.errors.keys().next();
    let why = error.map_or_else(
        || "too few answers came".to_owned(),
        std::clone::Clone::clone,
    );
    format!("{from} to {to} ({address}): {why}")
}

/// Echoes of so many bytes, on so many connections, for so long.
fn echo(
    fleet: &Fleet,
    to: &Link,
    address: IpAddr,
    (size, connections, length): (usize, u32, Duration),
    interrupt: &Interrupt,
) -> Result<Observation, String> {
    let Reply::Address(target) = to.call(Call::Serve(address))? else {
        return Err(format!("host {} started no echo server", to.name()));
    };
    let message = (0..size).map(|i| (i % 251) as u8).collect();
    let mut plan = Plan::closed(Target::Tcp(target), Dialogue::Echo(message), connections);
    plan.load.extent = Extent::Duration(Span(length));
    fleet
        .load(&plan, interrupt, &mut Briefly(length))
        .map_err(|error| error.to_string())
}

//! Memory of the client for each connection: a fresh process with few connections compared with one with many.

use crate::child::Child;
use crate::error::{Error, Result};
use crate::load;
use crate::place::{self, Rig};
use crate::server::{Ceiling, ourselves, say};
use crate::spread::{Spread, number, show};
use crate::status;
use crate::table::Table;
use prony_engine::protocol::tls::TlsOptions;
use prony_lab::contract::Certificate;
use prony_record::Transport;
use prony_record::load::{KeyKind, Protocol};
use prony_reference::Contract;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Connections of the smaller process.
const FEW: u32 = 10;
/// Descriptors that a process needs beside its connections.
const SPARE: u64 = 64;
/// A generator process is given so long beyond what it measures: connecting takes a while.
const PATIENCE: Duration = Duration::from_secs(30);

/// Report that a generator process prints at its end.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Peak {
    /// The most memory that was ever resident, in bytes (`VmHWM`).
    pub resident: u64,
    answers: u64,
    /// Connections that had at least one answer in the measurement.
    pub connections_in_use: u64,
}

/// One transport in one round.
#[derive(Debug, Clone, Copy, Serialize)]
struct Sample {
    few: Peak,
    many: Peak,
    bytes_per_connection: f64,
}

/// One transport over all rounds.
#[derive(Debug, Serialize)]
struct Row {
    transport: String,
    rounds: Vec<Sample>,
    bytes_per_connection: Option<Spread>,
}

/// Results of this benchmark.
#[derive(Debug, Serialize)]
pub struct Memory {
    over: String,
    /// Streams are counted, on few connections.
    streamed: bool,
    /// Connections, or streams.
    connections: u32,
    rows: Vec<Row>,
}

/// Runs a generator process with few and one with `connections` connections, per transport and
/// round. Over HTTP/2 and HTTP/3 there are [`FEW`] connections, and as many streams on them instead, unless `each` connection
/// is asked for.
///
/// # Errors
/// When not all `connections` can be opened, or not all of them are used.
pub fn run(
    rig: Rig,
    rounds: u32,
    seconds: f64,
    connections: u32,
    (over, each): (Protocol, bool),
) -> Result<Memory> {
    let limit =
        place::raise_open_files().map_err(Error::io("cannot raise the limit of open files"))?;
    enough(limit, connections)?;
    let scratch = tempfile::tempdir().map_err(Error::io("cannot make a temporary folder"))?;
    let certificate = match over.is_tls() {
        true => {
            Some(Certificate::below(scratch.path(), KeyKind::EcdsaP256).map_err(Error::Unusable)?)
        }
        false => None,
    };
    let bench = Bench {
        rig,
        over,
        certificate,
        seconds,
    };
    let streams = connections / FEW;
    // Connections, and requests in flight on each.
    let streamed = over.has_streams() && !each;
    let all = match streamed {
        true => (FEW, streams),
        false => (connections, 1),
    };
    let mut rows = Vec::new();
    for transport in load::transports_of(over) {
        let mut samples = Vec::new();
        for round in 1..=rounds {
            eprintln!("memory: round {round} of {rounds}, {transport}");
            let few = bench.peak(transport, (FEW, 1))?;
            let many = bench.peak(transport, all)?;
            let growth = many.resident as f64 - few.resident as f64;
            samples.push(Sample {
                few,
                many,
                bytes_per_connection: growth / f64::from(all.0 * all.1 - FEW),
            });
        }
        rows.push(Row {
            transport: transport.to_string(),
            bytes_per_connection: Spread::of(samples.iter().map(|it| it.bytes_per_connection)),
            rounds: samples,
        });
    }
    Ok(Memory {
        over: over.phrase().to_owned(),
        streamed,
        connections: all.0 * all.1,
        rows,
    })
}

/// Are `limit` open files per process enough?
fn enough(limit: u64, connections: u32) -> Result<()> {
    let needed = u64::from(connections) + SPARE;
    if connections <= FEW {
        return Err(Error::Unusable(format!(
            "--connections must be above {FEW}, which it is compared with"
        )));
    }
    if limit < needed {
        return Err(Error::Unusable(format!(
            "{connections} connections need {needed} open files in the client and as many in the \
             server, and the hard limit of a process is {limit} here: raise it (`ulimit -Hn` as \
             root, or nofile in limits.conf), or give --connections {} or fewer",
            limit.saturating_sub(SPARE)
        )));
    }
    Ok(())
}

struct Bench {
    rig: Rig,
    over: Protocol,
    certificate: Option<Certificate>,
    seconds: f64,
}

impl Bench {
    /// The peak of a process with so many connections, and requests in flight on each.
    fn peak(&self, transport: Transport, (connections, streams): (u32, u32)) -> Result<Peak> {
        let (rig, seconds) = (self.rig, self.seconds);
        // A server of its own for each: no connection of the one before is still being closed, and the
        // addresses that it left in TIME_WAIT are not in the way.
        let certificate = self.certificate.as_ref();
        let spoken = (self.over, certificate);
        let server = Ceiling::start_over(Contract::HttpEcho, spoken, rig.server)?;
        let mut command = ourselves("generate")?;
        command
            .args(["--address", &server.address.to_string()])
            .args(["--connections", &connections.to_string()])
            .args(["--streams", &streams.to_string()])
            .args(["--seconds", &seconds.to_string()])
            .args(["--over", self.over.word()]);
        if let Some(certificate) = certificate {
            command.arg("--ca").arg(certificate.path());
        }
        if transport == Transport::IoUring {
            command.arg("--io-uring");
        }
        let peak = generated(command, rig, seconds)?;
        if peak.connections_in_use < u64::from(connections) {
            return Err(Error::Unusable(format!(
                "only {} of {connections} connections over {transport} had an answer: measure for longer (--seconds)",
                peak.connections_in_use
            )));
        }
        Ok(peak)
    }
}

/// Runs a generator process, which measures for so many seconds.
///
/// # Errors
/// When it fails.
pub fn generated(command: Command, rig: Rig, seconds: f64) -> Result<Peak> {
    let mut child = Child::start(command, rig.client)?;
    let ended = child.end(Duration::from_secs_f64(seconds) + PATIENCE)?;
    serde_json::from_str(&ended.stdout)
        .map_err(|_| child.complaint(&ended, "the generator process failed"))
}

/// The generator process's command line.
#[derive(Debug, clap::Args)]
pub struct GenerateArgs {
    #[arg(long)]
    address: SocketAddr,
    #[arg(long)]
    connections: u32,
    #[arg(long)]
    streams: u32,
    #[arg(long)]
    seconds: f64,
    #[arg(long)]
    over: Protocol,
    #[arg(long)]
    ca: Option<PathBuf>,
    #[arg(long)]
    io_uring: bool,
    /// Answers are streams of events.
    #[arg(long)]
    events: bool,
}

/// Carries out the hidden subcommand: runs a closed loop in this process, then reports its peak memory.
///
/// # Errors
/// When the load cannot be carried out.
pub fn generate(args: &GenerateArgs) -> Result<()> {
    let transport = if args.io_uring {
        Transport::IoUring
    } else {
        Transport::Epoll
    };
    let rig = Rig::here().map_err(Error::io("cannot see the CPUs"))?;
    let mut plan = load::closed(args.address, args.connections, transport, rig);
    if args.over.has_streams() {
        plan.dialogue = load::streams(args.address, args.over);
        plan.load.pipeline = args.streams;
    }
    if args.events {
        plan.dialogue = super::streams::dialogue(args.address);
    }
    if let Some(ca) = &args.ca {
        let ca = std::fs::read_to_string(ca).map_err(Error::io("cannot read the certificate"))?;
        plan.tls = Some(TlsOptions {
            ca: Some(ca),
            alpn: vec![args.over.alpn().to_owned()],
            ..TlsOptions::default()
        });
    }
    let seen = load::measure(&plan, load::span(args.seconds))?.observation;
    let resident = status::bytes(std::process::id(), "VmHWM")
        .ok_or_else(|| Error::Unusable("/proc/self/status has no VmHWM".into()))?;
    say(&Peak {
        resident,
        answers: seen.outcomes.ok,
        connections_in_use: seen.per_connection.iter().filter(|&&n| n > 0).count() as u64,
    })
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: peak resident memory of a fresh generator process (closed loop, every connection in use){}.\n\
             The kernel's own memory for sockets is not in it.",
            self.over,
            match self.streamed {
                true => format!(", by streams in flight on {FEW} connections"),
                false => String::new(),
            }
        )?;
        let many = format!("at {}, MiB", number(f64::from(self.connections), 0));
        let few = format!("at {FEW}, MiB");
        let mut table = Table::new(["", &few, &many, "bytes each"]);
        let mib = |rounds: &[Sample], which: fn(&Sample) -> u64| {
            let values = rounds.iter().map(|it| which(it) as f64 / 1_048_576.0);
            show(Spread::of(values), 2)
        };
        for row in &self.rows {
            table.row([
                row.transport.clone(),
                mib(&row.rounds, |it| it.few.resident),
                mib(&row.rounds, |it| it.many.resident),
                show(row.bytes_per_connection, 0),
            ]);
        }
        write!(f, "{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_descriptors_are_said() {
        assert!(enough(10_064, 10_000).is_ok());
        let error = enough(1_024, 10_000).unwrap_err().to_string();
        assert!(
            error.contains("10064") && error.contains("--connections 960"),
            "{error}"
        );
        assert!(enough(10_064, 10).is_err());
    }
}

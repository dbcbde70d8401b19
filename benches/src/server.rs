//! prony's reference servers as processes of their own: this program starts itself again with a
//! hidden subcommand, which says in one line of JSON where it listens.

use crate::child::Child;
use crate::error::{Error, Result};
use prony_lab::contract::Certificate;
use prony_record::load::Protocol;
use prony_reference::clockwork::{self, EventScript, ReplyScript, Stall};
use prony_reference::{Contract, Layers, ceiling, http3};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// A server that was told to end has so long to do it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Message that a server prints when it is ready.
#[derive(Debug, Serialize, Deserialize)]
struct Ready {
    address: SocketAddr,
    /// Origin of the clockwork's script on `CLOCK_MONOTONIC`, in nanoseconds; 0 for the ceiling.
    origin_ns: u64,
}

/// Report that the clockwork prints at its end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kept {
    /// How well it kept time.
    pub lateness: Lateness,
    /// When it released each reply, in nanoseconds since the script's origin, by connection.
    pub released: Vec<Vec<u64>>,
}

/// How late the clockwork was, in nanoseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Lateness {
    /// Requests that came.
    pub requests: u64,
    /// Replies that left.
    pub replies: u64,
    /// Half of the replies left at most so late.
    pub p50: u64,
    /// 99% of them.
    pub p99: u64,
    /// The latest.
    pub max: u64,
}

/// The ceiling, running.
#[derive(Debug)]
pub struct Ceiling {
    /// Where it listens.
    pub address: SocketAddr,
    /// Killed with this.
    child: Child,
}

/// How a server's memory is laid out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    /// At the same addresses at each start.
    pub fixed: bool,
    /// Bytes that its environment has more.
    pub padding: usize,
}

impl Ceiling {
    /// Starts the epoll server with HTTP echo on `cpu`.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(cpu: usize) -> Result<Self> {
        Self::start_with(Contract::HttpEcho, cpu)
    }

    /// The same with this contract.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_with(contract: Contract, cpu: usize) -> Result<Self> {
        Self::start_over(contract, (Protocol::Plain, None), cpu)
    }

    /// Starts a server of this protocol, with the certificate that it needs; over HTTP/3 that is the server on quinn.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_over(
        contract: Contract,
        (over, certificate): (Protocol, Option<&Certificate>),
        cpu: usize,
    ) -> Result<Self> {
        let mut command = ourselves("serve")?;
        command.arg(contract.to_string());
        spoken(over, certificate, &mut command);
        let (child, ready) = start(command, cpu)?;
        Ok(Self {
            address: ready.address,
            child,
        })
    }

    /// The epoll server with HTTP echo on `cpu`, which works for so long for each request.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_working(cpu: usize, work: Duration, layout: Layout) -> Result<Self> {
        let ours = ourselves("serve")?;
        let mut command = match layout.fixed {
            true => {
                let mut command = Command::new("setarch");
                command.arg("-R").arg(ours.get_program());
                command.args(ours.get_args());
                command
            }
            false => ours,
        };
        command
            .arg(Contract::HttpEcho.to_string())
            .args(["--busy", &work.as_nanos().to_string()])
            .env("PADDING", "x".repeat(layout.padding));
        let (child, ready) = start(command, cpu)?;
        Ok(Self {
            address: ready.address,
            child,
        })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

/// Carries out the hidden subcommand: serves until the process is killed.
///
/// # Errors
/// When it cannot listen or serve.
pub fn serve_ceiling(contract: Contract, busy: Duration, spoken: &SpokenArgs) -> Result<()> {
    if spoken.over == Protocol::H3 {
        let server = http3::Http3Server::bind(loopback(), 1, busy, &spoken.layers())?;
        say(&Ready {
            address: server.local_addr(),
            origin_ns: 0,
        })?;
        return Ok(server.run()?);
    }
    let server = ceiling::Server::bind(&ceiling::Options {
        contract,
        over: spoken.layers(),
        busy,
        ..ceiling::Options::new(loopback())
    })?;
    say(&Ready {
        address: server.local_addr(),
        origin_ns: 0,
    })?;
    Ok(server.run()?)
}

/// Options of a clockwork.
#[derive(Debug, Clone, Copy)]
pub struct Clockworks<'a> {
    /// Contract of the answers.
    pub contract: Contract,
    /// When.
    pub script: ReplyScript,
    /// Bytes of an echo's request.
    pub message: NonZeroUsize,
    /// Protocol of HTTP.
    pub over: Protocol,
    /// Certificate, where the protocol needs one.
    pub certificate: Option<&'a Certificate>,
}

/// The clockwork, running.
#[derive(Debug)]
pub struct Clockwork {
    /// Where it listens.
    pub address: SocketAddr,
    /// The script's origin on `CLOCK_MONOTONIC`.
    pub origin_ns: u64,
    child: Child,
}

impl Clockwork {
    /// Starts it on `cpu`, which it keeps busy all the time.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(what: &Clockworks<'_>, cpu: usize) -> Result<Self> {
        let mut command = ourselves("clockwork")?;
        command
            .args(["--contract", &what.contract.to_string()])
            .args(["--delay", &what.script.delay.to_string()])
            .args(["--seed", &what.script.seed.to_string()])
            .args(["--message", &what.message.to_string()]);
        spoken(what.over, what.certificate, &mut command);
        if what.script.queue {
            command.arg("--queue");
        }
        if let Some(events) = what.script.events {
            command.args(["--events", &events.number.to_string()]);
            command.args(["--gap", &events.gap.to_string()]);
        }
        if let Some(stall) = what.script.stall {
            command.args(["--stall", &stall.to_string()]);
        }
        let (child, ready) = start(command, cpu)?;
        Ok(Self {
            address: ready.address,
            origin_ns: ready.origin_ns,
            child,
        })
    }

    /// Ends it, and asks what it did when.
    ///
    /// # Errors
    /// When it does not end, or does not say.
    pub fn stop(mut self) -> Result<Kept> {
        self.child.terminate();
        let ended = self.child.end(PATIENCE)?;
        serde_json::from_str(&ended.stdout)
            .map_err(|_| self.child.complaint(&ended, "did not report"))
    }
}

/// The clockwork's command line.
#[derive(Debug, clap::Args)]
pub struct ClockworkArgs {
    #[arg(long)]
    contract: Contract,
    #[arg(long)]
    delay: clockwork::Delay,
    #[arg(long)]
    stall: Option<Stall>,
    #[arg(long)]
    queue: bool,
    #[arg(long)]
    events: Option<u32>,
    #[arg(long, default_value = "none")]
    gap: clockwork::Delay,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    message: NonZeroUsize,
    #[command(flatten)]
    spoken: SpokenArgs,
}

/// Protocols that a server speaks, as options on its command line.
#[derive(Debug, clap::Args)]
pub struct SpokenArgs {
    #[arg(long, default_value = "plain")]
    over: Protocol,
    #[arg(long, requires = "key")]
    cert: Option<PathBuf>,
    #[arg(long)]
    key: Option<PathBuf>,
}

impl SpokenArgs {
    fn layers(&self) -> Layers {
        Layers {
            http2: self.over.is_http2(),
            tls: self.cert.clone().zip(self.key.clone()),
        }
    }
}

/// Says on a server's command line what it speaks.
fn spoken(over: Protocol, certificate: Option<&Certificate>, command: &mut Command) {
    command.args(["--over", over.word()]);
    if let Some(certificate) = certificate {
        command.arg("--cert").arg(certificate.path());
        command.arg("--key").arg(certificate.key_path());
    }
}

/// Carries out the hidden subcommand: keeps the script until a signal ends it, and reports.
///
/// # Errors
/// When it cannot listen or serve.
pub fn serve_clockwork(args: &ClockworkArgs) -> Result<()> {
    let stop = clockwork::stop_on_signals()?;
    let server = clockwork::ClockworkServer::bind(&clockwork::Options {
        contract: args.contract,
        script: ReplyScript {
            delay: args.delay,
            stall: args.stall,
            queue: args.queue,
            events: args.events.map(|number| EventScript {
                number,
                gap: args.gap,
            }),
            seed: args.seed,
        },
        message: Some(args.message),
        over: args.spoken.layers(),
        http3: args.spoken.over == Protocol::H3,
        note: true,
        ..clockwork::Options::new(loopback())
    })?;
    say(&Ready {
        address: server.local_addr(),
        origin_ns: server.origin_ns(),
    })?;
    let report = server.run(stop)?;
    let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    say(&Kept {
        lateness: Lateness {
            requests: report.requests,
            replies: report.replies,
            p50: ns(report.late_p50),
            p99: ns(report.late_p99),
            max: ns(report.late_max),
        },
        released: report.released,
    })
}

/// A command that runs this program with a subcommand.
///
/// # Errors
/// When the system does not tell where this program is.
pub fn ourselves(subcommand: &str) -> Result<Command> {
    let program = std::env::current_exe().map_err(Error::io("cannot find this program"))?;
    let mut command = Command::new(program);
    command.arg(subcommand);
    Ok(command)
}

/// Writes one line of JSON to standard output.
///
/// # Errors
/// When standard output is closed.
pub fn say(what: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(what).map_err(|error| Error::Unusable(error.to_string()))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(Error::io("cannot write"))
}

fn start(command: Command, cpu: usize) -> Result<(Child, Ready)> {
    let mut child = Child::start(command, cpu)?;
    let line = child.line()?;
    let ready = serde_json::from_str(&line)
        .map_err(|_| Error::process("server", format!("said `{line}` instead of an address")))?;
    Ok((child, ready))
}

fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

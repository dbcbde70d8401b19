//! Compares prony over TLS, HTTP/2, HTTP/3 and WebSocket with wrk, oha, h2load, gcannon and bare loops. All load the same
//! server, alternately; server and client are pinned to one CPU each.

use crate::child::Child;
use crate::claims::bare::{self, Exchange};
use crate::claims::external::{self, Done, Tool};
use crate::error::{Error, Result};
use crate::load;
use crate::place::{self, Rig};
use crate::prony;
use crate::spread::{Spread, paired, show};
use crate::table::Table;
use prony_engine::Target;
use prony_engine::protocol::h3;
use prony_lab::contract::Certificate;
use prony_record::load::{KeyKind, Protocol};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

/// Between two contestants: the server closes the connections of the one before meanwhile.
const PAUSE: Duration = Duration::from_millis(100);
/// A load that takes so much longer than it was told to has hung.
const GRACE: Duration = Duration::from_secs(15);
/// Connections that h2load makes at once, where handshakes are measured. The first datagrams of more would not fit into the
/// buffer of the server's socket.
const HANDSHAKES: u32 = 128;
/// Looks whether the server is up, and between two of them.
const LOOKS: u32 = 500;
const LOOK: Duration = Duration::from_millis(10);

/// Protocol that is spoken with the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoken {
    /// HTTP, over this.
    Http(Protocol),
    /// WebSocket: messages that come back.
    Ws,
}

impl FromStr for Spoken {
    type Err = String;

    fn from_str(word: &str) -> std::result::Result<Self, String> {
        match (word, word.parse()) {
            ("ws", _) => Ok(Self::Ws),
            (_, Ok(over)) if over != Protocol::Plain => Ok(Self::Http(over)),
            _ => Err("expected tls, h2c, h2, h3 or ws".into()),
        }
    }
}

impl fmt::Display for Spoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(over) => over.fmt(f),
            Self::Ws => f.write_str("ws"),
        }
    }
}

/// Length of the messages over WebSocket, in bytes.
const MESSAGE: usize = 16;

/// A load that all are asked for.
#[derive(Debug, Clone, Copy)]
struct Case {
    name: &'static str,
    connections: u32,
    streams: u32,
    /// A connection of its own for each request, with a full handshake.
    handshakes: bool,
}

const fn case(name: &'static str, connections: u32, streams: u32, handshakes: bool) -> Case {
    Case {
        name,
        connections,
        streams,
        handshakes,
    }
}

/// Over HTTP/1.1: against wrk.
const TLS: [Case; 2] = [
    case("64 connections", 64, 1, false),
    case("handshakes, 64 connections", 64, 1, true),
];
/// Over HTTP/2: against h2load.
const HTTP2: [Case; 2] = [
    case("8 connections, 32 streams", 8, 32, false),
    case("64 connections, 1 stream", 64, 1, false),
];

/// Over HTTP/3: against h2load, oha and a bare loop.
const HTTP3: [Case; 3] = [
    HTTP2[0],
    HTTP2[1],
    case("handshakes, 64 connections", 64, 1, true),
];

/// Over WebSocket: against gcannon and a bare loop.
const WS: [Case; 1] = [case("64 connections, 16 bytes", 64, 1, false)];

/// Contestant with which prony is compared.
#[derive(Debug)]
enum Other {
    Tool(Tool, PathBuf),
    /// `recv` and `send` of the same bytes again and again; over HTTP/3, of the same requests over quinn-proto.
    Bare,
}

impl Other {
    fn name(&self) -> &'static str {
        match self {
            Self::Tool(tool, _) => tool.name(),
            Self::Bare => "bare loop",
        }
    }
}

/// Results of a contestant in one round.
#[derive(Debug, Clone, Copy, Serialize)]
struct Sample {
    requests_per_second: f64,
    cpu_us_per_request: f64,
}

/// prony and another in one case.
#[derive(Debug, Serialize)]
struct Block {
    case: &'static str,
    other: &'static str,
    prony_requests_per_second: Option<Spread>,
    prony_cpu_us: Option<Spread>,
    other_requests_per_second: Option<Spread>,
    other_cpu_us: Option<Spread>,
    /// Paired within rounds.
    rate_to_other: Option<Spread>,
    cpu_to_other: Option<Spread>,
}

/// Results of this benchmark.
#[derive(Debug, Serialize)]
pub struct OverPeers {
    over: String,
    blocks: Vec<Block>,
    missing: Vec<String>,
}

/// Runs all once per round and case, in a fresh random order.
///
/// # Errors
/// When the server, prony or another tool fails, or the only one is not installed.
pub fn run(rig: Rig, rounds: u32, seconds: f64, spoken: Spoken) -> Result<OverPeers> {
    let (tools, cases) = match spoken {
        Spoken::Http(Protocol::Plain | Protocol::Tls) => (&[Tool::Wrk, Tool::Oha][..], &TLS[..]),
        Spoken::Http(Protocol::H2c | Protocol::H2) => (&[Tool::H2load][..], &HTTP2[..]),
        Spoken::Http(Protocol::H3) => (&[Tool::H2load, Tool::Oha][..], &HTTP3[..]),
        Spoken::Ws => (&[Tool::Gcannon][..], &WS[..]),
    };
    let over = match spoken {
        Spoken::Http(over) => over,
        Spoken::Ws => Protocol::Plain,
    };
    let mut others = Vec::new();
    let mut missing = Vec::new();
    for &tool in tools {
        match tool.find() {
            Some(program) if over == Protocol::H3 && !speaks_http3(tool, &program) => {
                missing.push(format!("{} was built without HTTP/3", tool.name()));
            }
            Some(program) => others.push(Other::Tool(tool, program)),
            None => missing.push(format!(
                "{} is not installed (Debian: {})",
                tool.name(),
                tool.package()
            )),
        }
    }
    if has_bare_loop(spoken) {
        others.push(Other::Bare);
    } else if others.is_empty() {
        return Err(Error::Unusable(missing.join("; ")));
    }
    let scratch = tempfile::tempdir().map_err(Error::io("cannot make a temporary folder"))?;
    let certificate = match over.is_tls() {
        true => {
            Some(Certificate::below(scratch.path(), KeyKind::EcdsaP256).map_err(Error::Unusable)?)
        }
        false => None,
    };
    let bench = Bench {
        rig,
        spoken,
        over,
        program: prony::program()?,
        certificate,
        seconds: seconds.ceil() as u64,
    };
    // samples[case][contestant][round]: prony, and the others.
    let mut samples = vec![vec![Vec::new(); others.len() + 1]; cases.len()];
    for round in 1..=rounds {
        let (_server, port) = bench.serve()?;
        for (case, samples) in cases.iter().zip(&mut samples) {
            let mut order: Vec<usize> = (0..=others.len()).collect();
            order.shuffle(&mut rand::rng());
            for index in order {
                let other = index.checked_sub(1).map(|index| &others[index]);
                let name = other.map_or("prony", Other::name);
                eprintln!(
                    "peers over {spoken}: round {round} of {rounds}, {}, {name}",
                    case.name
                );
                let sample = match other {
                    None => Some(bench.prony(*case, port)?),
                    // It resumes sessions, and cannot be told not to.
                    Some(Other::Tool(Tool::Oha, _)) if case.handshakes => continue,
                    Some(Other::Bare) if case.handshakes => continue,
                    Some(Other::Tool(tool, program)) => {
                        Some(bench.tool(*tool, program, *case, port)?)
                    }
                    Some(Other::Bare) => Some(bench.bare(*case, port)?),
                };
                samples[index].push(sample);
                thread::sleep(PAUSE);
            }
        }
    }
    let mut blocks = Vec::new();
    for (case, samples) in cases.iter().zip(&samples) {
        let told = others.iter().zip(&samples[1..]);
        for (other, theirs) in told.filter(|(_, samples)| !samples.is_empty()) {
            blocks.push(block(case.name, other.name(), &samples[0], theirs));
        }
    }
    Ok(OverPeers {
        over: match spoken {
            Spoken::Http(over) => over.phrase().to_owned(),
            Spoken::Ws => "WebSocket".to_owned(),
        },
        blocks,
        missing,
    })
}

/// Is prony compared with a bare loop?
fn has_bare_loop(spoken: Spoken) -> bool {
    matches!(spoken, Spoken::Ws | Spoken::Http(Protocol::H3))
}

/// prony and another in one case, over all rounds.
fn block(
    case: &'static str,
    other: &'static str,
    ours: &[Option<Sample>],
    theirs: &[Option<Sample>],
) -> Block {
    let column = |samples: &[Option<Sample>], of: fn(&Sample) -> f64| -> Vec<Option<f64>> {
        samples.iter().map(|it| it.as_ref().map(of)).collect()
    };
    let rate = |it: &Sample| it.requests_per_second;
    let cpu = |it: &Sample| it.cpu_us_per_request;
    let (our_rate, their_rate) = (column(ours, rate), column(theirs, rate));
    let (our_cpu, their_cpu) = (column(ours, cpu), column(theirs, cpu));
    let spread = |values: &[Option<f64>]| Spread::of(values.iter().copied().flatten());
    Block {
        case,
        other,
        prony_requests_per_second: spread(&our_rate),
        prony_cpu_us: spread(&our_cpu),
        other_requests_per_second: spread(&their_rate),
        other_cpu_us: spread(&their_cpu),
        rate_to_other: paired(&our_rate, &their_rate),
        cpu_to_other: paired(&our_cpu, &their_cpu),
    }
}

struct Bench {
    rig: Rig,
    spoken: Spoken,
    over: Protocol,
    program: PathBuf,
    certificate: Option<Certificate>,
    seconds: u64,
}

/// Output of `prony load --json`, reduced to the fields that are read here.
#[derive(Deserialize)]
struct Loaded {
    throughput: Throughput,
    outcomes: Outcomes,
}

#[derive(Deserialize)]
struct Throughput {
    value: f64,
}

#[derive(Deserialize)]
struct Outcomes {
    ok: u64,
}

impl Bench {
    /// Starts the reference server on a free port.
    fn serve(&self) -> Result<(Child, u16)> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
        let port = free.map_err(Error::io("no port is free"))?.port();
        let mut command = Command::new(&self.program);
        let contract = match self.spoken {
            Spoken::Http(_) => "http-echo",
            Spoken::Ws => "ws-echo",
        };
        command.args(["serve", contract, "--listen", &port.to_string()]);
        command.args(["--protocol", self.over.word()]);
        if let Some(certificate) = &self.certificate {
            command.arg("--cert").arg(certificate.path());
            command.arg("--key").arg(certificate.key_path());
        }
        let server = Child::start_saying(command, self.rig.server, Stdio::null())?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let tls = self.certificate.as_ref().map(|it| it.options(self.over));
        let is_up = || match &tls {
            Some(tls) if self.over == Protocol::H3 => {
                h3::probe(&Target::Tcp(address), tls, Duration::from_secs(1)).is_ok()
            }
            _ => TcpStream::connect(address).is_ok(),
        };
        for _ in 0..LOOKS {
            if is_up() {
                return Ok((server, port));
            }
            thread::sleep(LOOK);
        }
        Err(Error::Unusable(
            "the reference server does not answer".into(),
        ))
    }

    fn url(&self, scheme: &str, port: u16) -> String {
        format!("{scheme}://localhost:{port}{}", crate::load::PATH)
    }

    /// Runs `prony load`. Its CPU time is that of its whole life, as with the other tools.
    fn prony(&self, case: Case, port: u16) -> Result<Sample> {
        let scheme = match self.spoken {
            Spoken::Ws => "ws",
            Spoken::Http(over) if over.is_tls() => "https",
            Spoken::Http(_) => "h2c",
        };
        let mut command = Command::new(&self.program);
        command
            .args(["load", "--json", "--quiet", "-t", "1", "-d"])
            .arg(format!("{}s", self.seconds))
            .args(["-c", &case.connections.to_string(), "--warmup", "0s"]);
        if let Some(certificate) = &self.certificate {
            command.arg("--ca").arg(certificate.path());
        }
        if let Protocol::H2 | Protocol::H3 = self.over {
            command.args(["--protocol", self.over.word()]);
        }
        if self.over.has_streams() {
            command.args(["--streams", &case.streams.to_string()]);
        }
        if case.handshakes {
            command.args(["--no-keepalive", "--no-resumption"]);
        }
        if self.spoken == Spoken::Ws {
            command.args(["--size", &MESSAGE.to_string()]);
        }
        command.arg(self.url(scheme, port));
        let mut child = Child::start(command, self.rig.client)?;
        let ended = child.end(Duration::from_secs(self.seconds) + GRACE)?;
        let loaded: Loaded = serde_json::from_str(&ended.stdout)
            .map_err(|error| child.complaint(&ended, &error.to_string()))?;
        Ok(Sample {
            requests_per_second: loaded.throughput.value,
            cpu_us_per_request: ended.cpu_ns as f64 / 1e3 / loaded.outcomes.ok.max(1) as f64,
        })
    }

    fn tool(&self, tool: Tool, program: &Path, case: Case, port: u16) -> Result<Sample> {
        let scheme = if self.over.is_tls() { "https" } else { "http" };
        let once = || {
            let mut command = command(tool, program, (case, self.over), self.seconds);
            command.arg(self.url(scheme, port));
            external::measure(tool, command, self.seconds, self.rig.client)
        };
        let began = Instant::now();
        let mut all = vec![once()?];
        // Handshakes of h2load are a number, and not a time.
        while tool == Tool::H2load
            && case.handshakes
            && began.elapsed() < Duration::from_secs(self.seconds)
        {
            all.push(once()?);
        }
        let mean = |of: fn(&Done) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        Ok(Sample {
            requests_per_second: mean(|done| done.per_second),
            cpu_us_per_request: mean(|done| done.cpu_us),
        })
    }

    /// Runs a bare loop, of which only the time after its warm-up counts.
    fn bare(&self, case: Case, port: u16) -> Result<Sample> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let exchange = frames();
        let span = load::span(self.seconds as f64);
        let tls = self.certificate.as_ref().map(|it| it.options(self.over));
        let floor = thread::scope(|scope| {
            let run = || {
                place::pin(self.rig.client)?;
                if let Some(tls) = &tls {
                    let many = (case.connections as usize, case.streams as usize);
                    return bare::quic(address, many, (tls, load::PATH), span);
                }
                bare::epoll(address, case.connections as usize, &exchange, span)
            };
            scope.spawn(run).join()
        });
        let floor = floor
            .map_err(|_| Error::Unusable("a bare loop panicked".into()))?
            .map_err(Error::io("a bare loop"))?;
        Ok(Sample {
            requests_per_second: floor.answers as f64 / floor.elapsed.as_secs_f64(),
            cpu_us_per_request: floor.cpu_ns as f64 / floor.answers as f64 / 1e3,
        })
    }
}

/// One masked binary frame, always the same, after a handshake whose answer is not looked at.
fn frames() -> Exchange {
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    let payload = (0..MESSAGE).map(|at| b'a' ^ mask[at % 4]);
    let request = [0x82, 0x80 | MESSAGE as u8].into_iter().chain(mask);
    Exchange {
        request: request.chain(payload).collect(),
        answer: 2 + MESSAGE,
        handshake: format!(
            "GET {} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            load::PATH
        )
        .into_bytes(),
    }
}

/// Is HTTP/3 in the program? Both are built without it by default.
fn speaks_http3(tool: Tool, program: &Path) -> bool {
    let word = match tool {
        Tool::H2load => "--h3",
        _ => "http-version",
    };
    let help = Command::new(program).arg("--help").output();
    help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains(word))
}

fn command(tool: Tool, program: &Path, (case, over): (Case, Protocol), seconds: u64) -> Command {
    let mut command = Command::new(program);
    command.args(["-t", "1", "-c", &case.connections.to_string()]);
    match tool {
        Tool::Wrk => {
            command.args(["-d", &format!("{seconds}s")]);
            if case.handshakes {
                command.args(["-H", "Connection: close"]);
            }
        }
        Tool::Oha => {
            command = Command::new(program);
            command.args(["--no-tui", "--output-format", "json", "--insecure"]);
            command.args(["--worker-threads", "1"]);
            command.args(["-c", &case.connections.to_string()]);
            command.args(["-z", &format!("{seconds}s")]);
            if over == Protocol::H3 {
                command.args(["--http-version", "3", "-p", &case.streams.to_string()]);
            }
        }
        Tool::Gcannon => {
            let message = "a".repeat(MESSAGE);
            command.args(["-d", &format!("{seconds}s"), "--ws", "--json"]);
            command.args(["--ws-msg", &message]);
        }
        _ if case.handshakes => {
            // It has no other way to make connections again and again: one request for each of so many clients.
            command = Command::new(program);
            let clients = HANDSHAKES.to_string();
            command.args(["-t", "1", "-c", &clients, "-n", &clients, "-m", "1"]);
            command.arg("--alpn-list=h3");
        }
        _ => {
            command.args(["-D", &seconds.to_string(), "-m", &case.streams.to_string()]);
            if over == Protocol::H3 {
                command.arg("--alpn-list=h3");
            }
        }
    }
    command
}

impl fmt::Display for OverPeers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: prony's epoll server, one CPU for it and one for the client. Median (least–greatest) over the\n\
             rounds; ratios are taken within rounds. Of prony and of tools the whole life counts, with its start. prony\n\
             verifies certificates and judges every answer.",
            self.over
        )?;
        let mut table = Table::new([
            "",
            "other",
            "prony requests/s",
            "other requests/s",
            "prony CPU µs",
            "other CPU µs",
            "rate ÷ other",
            "CPU ÷ other",
        ]);
        for block in &self.blocks {
            table.row([
                block.case.to_owned(),
                block.other.to_owned(),
                show(block.prony_requests_per_second, 0),
                show(block.other_requests_per_second, 0),
                show(block.prony_cpu_us, 2),
                show(block.other_cpu_us, 2),
                show(block.rate_to_other, 2),
                show(block.cpu_to_other, 2),
            ]);
        }
        write!(f, "{table}")?;
        for why in &self.missing {
            write!(f, "\n{why}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_asked_for_the_same() {
        let words = |tool, case, over| {
            let command = command(tool, Path::new("it"), (case, over), 3);
            let words = command.get_args().map(|it| it.to_str().unwrap().to_owned());
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            words(Tool::Wrk, TLS[1], Protocol::Tls),
            "-t 1 -c 64 -d 3s -H Connection: close"
        );
        assert_eq!(
            words(Tool::Oha, TLS[0], Protocol::Tls),
            "--no-tui --output-format json --insecure --worker-threads 1 -c 64 -z 3s"
        );
        assert_eq!(
            words(Tool::H2load, HTTP2[0], Protocol::H2),
            "-t 1 -c 8 -D 3 -m 32"
        );
        assert_eq!(
            words(Tool::Gcannon, WS[0], Protocol::Plain),
            "-t 1 -c 64 -d 3s --ws --json --ws-msg aaaaaaaaaaaaaaaa"
        );
    }
}

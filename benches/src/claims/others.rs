//! One server, several load generators: what each of them says of it. The tools' outputs are read as `prony
//! audit` reads them.

use crate::child::Child;
use crate::claims::external;
use crate::error::{Error, Result};
use crate::load;
use crate::place::{self, Rig};
use crate::server::{Ceiling, Clockwork, Clockworks};
use crate::spread::{Spread, number, show};
use crate::table::Table;
use prony_record::load::Protocol;
use prony_reference::Contract;
use prony_reference::clockwork::{Delay, ReplyScript, Stall};
use rand::seq::SliceRandom;
use serde::Serialize;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Connections of every generator.
const CONNECTIONS: u32 = 64;
/// Requests per second of prony's open loop against the server that stalls, which could answer 64,000 in a second.
const STALLED_RATE: f64 = 4_000.0;
/// Between two contestants: the server closes the connections of the one before meanwhile.
const PAUSE: Duration = Duration::from_millis(100);
/// A tool that takes so much longer than it was told to has hung.
const GRACE: Duration = Duration::from_secs(20);
/// ab is bounded by number too, and keeps some bytes for each.
const AB_MOST_PER_SECOND: u64 = 400_000;
/// httperf has no duration: each of its connections makes so many requests for each second.
const HTTPERF_CALLS_PER_SECOND: u64 = 1_000;

/// How a server is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Prony,
    PronyConnecting,
    /// At a rate: an open loop.
    PronyRate(f64),
    Wrk,
    Hey,
    Oha,
    AbKept,
    Ab,
    Httperf,
}

impl Way {
    /// The tool, unless it is prony.
    fn program(self) -> Option<&'static str> {
        match self {
            Self::Prony | Self::PronyConnecting | Self::PronyRate(_) => None,
            Self::Wrk => Some("wrk"),
            Self::Hey => Some("hey"),
            Self::Oha => Some("oha"),
            Self::AbKept | Self::Ab => Some("ab"),
            Self::Httperf => Some("httperf"),
        }
    }

    /// The tool's command line, all of it closed loops.
    fn command(self, program: &str, address: SocketAddr, seconds: u64) -> Command {
        let url = format!("http://{address}{}", load::PATH);
        let connections = CONNECTIONS.to_string();
        let time = format!("{seconds}s");
        let mut command = Command::new(program);
        match self {
            Self::Wrk => command.args(["--latency", "-t1", "-c", &connections, "-d", &time, &url]),
            Self::Hey => command.args(["-c", &connections, "-z", &time, &url]),
            Self::Oha => command.args(["--no-tui", "-c", &connections, "-z", &time, &url]),
            Self::AbKept | Self::Ab => {
                // -n after -t, which would else set it to 50,000.
                let most = (AB_MOST_PER_SECOND * seconds).to_string();
                if self == Self::AbKept {
                    command.arg("-k");
                }
                let seconds = seconds.to_string();
                command.args(["-q", "-t", &seconds, "-n", &most, "-c", &connections, &url])
            }
            // All connections at once.
            _ => command.args([
                "--hog",
                "--server",
                &address.ip().to_string(),
                "--port",
                &address.port().to_string(),
                "--uri",
                load::PATH,
                "--rate",
                "1000000",
                "--num-conns",
                &connections,
                "--num-calls",
                &(HTTPERF_CALLS_PER_SECOND * seconds).to_string(),
            ]),
        };
        command
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prony => f.write_str("prony"),
            Self::PronyConnecting => f.write_str("prony, connecting"),
            Self::PronyRate(rate) => write!(f, "prony, {}/s", number(*rate, 0)),
            Self::AbKept => f.write_str("ab -k"),
            other => f.write_str(other.program().unwrap_or_default()),
        }
    }
}

/// Results of a generator in one round, as it reports them, with times in µs. None where it does not report one.
#[derive(Debug, Clone, Copy, Serialize)]
struct Said {
    requests_per_second: f64,
    mean_us: Option<f64>,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    /// CPU time of the whole generator; for prony, of its threads while it measured.
    cpu_us_per_request: f64,
}

/// One generator over all rounds.
#[derive(Debug, Serialize)]
struct Row {
    who: String,
    /// By round; none where it failed.
    rounds: Vec<Option<Said>>,
}

/// One server.
#[derive(Debug, Serialize)]
struct Block {
    server: String,
    rows: Vec<Row>,
}

/// Results of this benchmark.
#[derive(Debug, Serialize)]
pub struct Others {
    blocks: Vec<Block>,
    failures: Vec<String>,
    missing: Vec<&'static str>,
}

/// Every generator once per round against a server that answers at once, and against one that stalls; in
/// a fresh random order, and each time the same server.
///
/// # Errors
/// When prony or a server fails; a failing tool only misses its round.
pub fn run(rig: Rig, rounds: u32, seconds: f64) -> Result<Others> {
    place::raise_open_files().map_err(Error::io("cannot raise the limit of open files"))?;
    let mut others = Others {
        blocks: Vec::new(),
        failures: Vec::new(),
        missing: Vec::new(),
    };
    let mut at_once = vec![Way::Prony, Way::PronyConnecting];
    let mut stalls = vec![Way::Prony, Way::PronyRate(STALLED_RATE)];
    for way in [
        Way::Wrk,
        Way::Oha,
        Way::Hey,
        Way::AbKept,
        Way::Ab,
        Way::Httperf,
    ] {
        let program = way.program().unwrap_or_default();
        if external::find(program).is_none() {
            others.missing.push(program);
            continue;
        }
        at_once.push(way);
        // httperf prints neither percentiles nor, with so few connections, anything else that is of use here.
        if !matches!(way, Way::Ab | Way::Httperf) {
            stalls.push(way);
        }
    }
    others.missing.dedup();
    let trial = |way, address| Trial {
        way,
        address,
        seconds,
        rig,
    };
    let block = others.block("answers at once", &at_once, rounds, |way| {
        let server = Ceiling::start(rig.server)?;
        trial(way, server.address).run()
    })?;
    others.blocks.push(block);
    let script = ReplyScript {
        delay: Delay::Constant(Duration::from_millis(1)),
        stall: Some(Stall {
            every: Duration::from_secs(1),
            length: Duration::from_millis(100),
        }),
        ..ReplyScript::default()
    };
    let what = Clockworks {
        contract: Contract::HttpEcho,
        script,
        message: NonZeroUsize::MIN,
        over: Protocol::Plain,
        certificate: None,
    };
    let name = "answers after 1 ms, but stands still for 100 ms in every second";
    let block = others.block(name, &stalls, rounds, |way| {
        let server = Clockwork::start(&what, rig.server)?;
        let said = trial(way, server.address).run();
        server.stop()?;
        said
    })?;
    others.blocks.push(block);
    Ok(others)
}

impl Others {
    fn block(
        &mut self,
        server: &str,
        ways: &[Way],
        rounds: u32,
        run: impl Fn(Way) -> Result<Said>,
    ) -> Result<Block> {
        let mut rows: Vec<Row> = ways
            .iter()
            .map(|way| Row {
                who: way.to_string(),
                rounds: Vec::new(),
            })
            .collect();
        let mut random = rand::rng();
        for round in 1..=rounds {
            let mut order: Vec<usize> = (0..ways.len()).collect();
            order.shuffle(&mut random);
            for index in order {
                let way = ways[index];
                eprintln!("others: {server}: round {round} of {rounds}, {way}");
                let said = match (run(way), way.program()) {
                    (Ok(said), _) => Some(said),
                    (Err(error), Some(_)) => {
                        self.failures.push(format!("round {round}, {error}"));
                        None
                    }
                    (Err(error), None) => return Err(error),
                };
                rows[index].rounds.push(said);
                thread::sleep(PAUSE);
            }
        }
        Ok(Block {
            server: server.to_owned(),
            rows,
        })
    }
}

struct Trial {
    way: Way,
    address: SocketAddr,
    seconds: f64,
    rig: Rig,
}

impl Trial {
    fn run(&self) -> Result<Said> {
        match self.way.program() {
            None => self.prony(),
            Some(name) => {
                let program: PathBuf = external::find(name)
                    .ok_or_else(|| Error::process(name, "is not installed any more"))?;
                self.tool(name, &program.display().to_string())
            }
        }
    }

    fn prony(&self) -> Result<Said> {
        let kind = load::transports()[0];
        let mut plan = load::closed(self.address, CONNECTIONS, kind, self.rig);
        match self.way {
            Way::PronyRate(rate) => plan.load.rate = Some(rate),
            Way::PronyConnecting => plan.load.keepalive = false,
            _ => {}
        }
        let seen = load::measure(&plan, load::span(self.seconds))?.observation;
        let times = &seen.times.response;
        let us = |q| Some(times.value_at_quantile(q) as f64 / 1e3);
        Ok(Said {
            requests_per_second: seen.throughput(),
            mean_us: Some(times.mean() / 1e3),
            p50_us: us(0.5),
            p99_us: us(0.99),
            cpu_us_per_request: load::cpu_us(&seen),
        })
    }

    fn tool(&self, name: &str, program: &str) -> Result<Said> {
        let seconds = self.seconds.ceil() as u64;
        let command = self.way.command(program, self.address, seconds);
        let mut child = Child::start(command, self.rig.client)?;
        let ended = child.end(Duration::from_secs(seconds) + GRACE)?;
        if !ended.status.success() {
            return Err(child.complaint(&ended, "failed"));
        }
        read(name, &ended.stdout, ended.cpu_ns).map_err(|problem| Error::process(name, problem))
    }
}

/// Parses a tool's output.
fn read(name: &str, output: &str, cpu_ns: u64) -> std::result::Result<Said, String> {
    let document = prony_audit::read(name, output);
    let found = document.outputs.first().map(|output| &output.block);
    let block = found.ok_or_else(|| format!("said what is not understood:\n{}", output.trim()))?;
    // hey and oha do not wait for the last requests.
    let mut errors = block.errors.iter().map(|error| &error.what);
    if let Some(error) = errors.find(|error| error.count > u64::from(CONNECTIONS)) {
        return Err(format!("{} {}", error.count, error.how));
    }
    let us = |time: Option<prony_audit::model::At<prony_audit::Printed>>| {
        time.map(|time| time.what.value * 1e6)
    };
    let rate = block.rate.ok_or("no rate in its output")?.what.value;
    // hey and oha do not print how many there were in all.
    let seconds = block.seconds.map(|seconds| seconds.what.value);
    let requests = match (block.requests, seconds) {
        (Some(requests), _) => requests.what as f64,
        (None, Some(seconds)) => rate * seconds,
        (None, None) => return Err("no number of requests in its output".into()),
    };
    Ok(Said {
        requests_per_second: rate,
        mean_us: us(block.latency.mean),
        p50_us: us(block.latency.percentile(50.0)),
        p99_us: us(block.latency.percentile(99.0)),
        cpu_us_per_request: cpu_ns as f64 / 1e3 / requests,
    })
}

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{CONNECTIONS} connections. Median (least–greatest) over the rounds, as each generator says it; CPU is what the\n\
             generator used for a request. --json has all rounds. In flight: requests/s × mean, by Little's law; in a closed loop that measures\n\
             from one answer to the next it is the number of connections."
        )?;
        for block in &self.blocks {
            writeln!(f, "\nA server that {}:\n", block.server)?;
            let mut table = Table::new([
                "",
                "requests/s",
                "mean µs",
                "p50 µs",
                "p99 µs",
                "in flight",
                "CPU µs",
            ]);
            for row in &block.rows {
                let spread = |value: &dyn Fn(&Said) -> Option<f64>| {
                    Spread::of(row.rounds.iter().flatten().filter_map(value))
                };
                table.row([
                    row.who.clone(),
                    show(spread(&|it| Some(it.requests_per_second)), 0),
                    middle(spread(&|it| it.mean_us), 0),
                    middle(spread(&|it| it.p50_us), 0),
                    show(spread(&|it| it.p99_us), 0),
                    middle(
                        spread(&|it| Some(it.mean_us? * it.requests_per_second / 1e6)),
                        1,
                    ),
                    show(spread(&|it| Some(it.cpu_us_per_request)), 1),
                ]);
            }
            write!(f, "{table}")?;
        }
        for name in &self.missing {
            writeln!(f, "\nNot installed: {name}")?;
        }
        for failure in &self.failures {
            writeln!(f, "\nLeft out: {failure}")?;
        }
        Ok(())
    }
}

/// Only the value in the middle.
fn middle(spread: Option<Spread>, decimals: usize) -> String {
    spread.map_or_else(|| "–".into(), |spread| number(spread.median, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_read() {
        let said = read("ab", include_str!("../../samples/ab.txt"), 2_758_690_000).unwrap();
        assert!((said.requests_per_second - 137_916.92).abs() < 1e-6);
        assert!((said.cpu_us_per_request - 10.0).abs() < 1e-6);
        assert_eq!(said.p50_us, Some(0.0), "ab prints whole milliseconds");
        let hey = include_str!("../../../crates/audit/tests/audit/golden/hey.txt");
        let said = read("hey", hey, 1_000_000).unwrap();
        assert!(said.p50_us.is_some() && said.mean_us.is_some());
        let oha = include_str!("../../../crates/audit/tests/audit/golden/oha.txt");
        let said = read("oha", oha, 1_000_000).unwrap();
        let near = |time: Option<f64>, us: f64| time.is_some_and(|it| (it - us).abs() < 1e-6);
        assert!(
            near(said.p50_us, 72.8) && near(said.p99_us, 3_750.8),
            "{said:?}"
        );
        let problem = read("wrk", "nothing of use", 1).unwrap_err();
        assert!(problem.contains("nothing of use"), "{problem}");
    }

    #[test]
    fn requests_that_fail_are_no_figures() {
        let failed = include_str!("../../samples/wrk-errors.txt");
        assert!(read("wrk", failed, 1).is_err());
    }
}

//! Costs of `prony wrk`. Without a script it is compared with `prony load`; with a script that creates every request,
//! with wrk running the same script.

use crate::child::Child;
use crate::claims::external::{self, Tool};
use crate::error::{Error, Result};
use crate::load;
use crate::place::{self, Rig};
use crate::prony;
use crate::server::Ceiling;
use crate::spread::{Spread, paired, show};
use crate::table::Table;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

const CONNECTIONS: usize = 64;
/// Between two contestants: the server closes the connections of the one before meanwhile.
const PAUSE: Duration = Duration::from_millis(100);
/// How much longer than its duration `prony load` may take.
const GRACE: Duration = Duration::from_secs(15);

/// Makes every request anew.
const SCRIPT: &str = "\
local n = 0
function request()
  n = n + 1
  return wrk.format('GET', '/prony/bench/' .. n)
end
";

/// Two who do the same, taking turns.
#[derive(Debug, Serialize)]
struct Pair {
    question: &'static str,
    /// Range that is required of the ratio, in words.
    asked: &'static str,
    ours: &'static str,
    theirs: &'static str,
    /// CPU time of the whole process per request, in µs, by round.
    our_cpu_us: Vec<Option<f64>>,
    their_cpu_us: Vec<Option<f64>>,
    /// Ours to theirs, paired within rounds.
    ratio: Option<Spread>,
}

/// Results of this benchmark.
#[derive(Debug, Serialize)]
pub struct Compat {
    connections: usize,
    seconds: u64,
    pairs: Vec<Pair>,
    missing: Option<String>,
}

/// Function that loads the server at an address, and returns the contestant's CPU time per request, in µs.
type Contestant<'a> = &'a dyn Fn(SocketAddr) -> Result<f64>;

/// Runs every pair once per round, each round in another order.
///
/// # Errors
/// When one of the contestants fails, or the command has not been built.
pub fn run(rig: Rig, rounds: u32, seconds: f64) -> Result<Compat> {
    place::raise_open_files().map_err(Error::io("cannot raise the limit of open files"))?;
    let prony = prony::program()?;
    let scratch = tempfile::tempdir().map_err(Error::io("no temporary folder"))?;
    let script = scratch.path().join("request.lua");
    std::fs::write(&script, SCRIPT).map_err(Error::io("cannot write the script"))?;
    // wrk takes whole seconds.
    let seconds = seconds.ceil() as u64;
    let command = |script| {
        let prony = prony.clone();
        move |address| {
            let mut command = Command::new(&prony);
            command.args(["wrk", "--quiet"]);
            wrk(command, script, address, seconds, rig)
        }
    };
    let load = |address| load_command(&prony, address, seconds, rig);
    let mut pairs = vec![measure(
        "prony wrk compared with prony load, without a script",
        "0.98 to 1.02",
        ("prony wrk", &command(None)),
        ("prony load", &load),
        rounds,
        rig,
    )?];
    let real: Option<PathBuf> = Tool::Wrk.find();
    if let Some(real) = &real {
        let original = |address| wrk(Command::new(real), Some(&script), address, seconds, rig);
        pairs.push(measure(
            "prony wrk compared with wrk, a script that makes every request",
            "at most 0.90",
            ("prony wrk -s", &command(Some(&script))),
            ("wrk -s", &original),
            rounds,
            rig,
        )?);
    }
    Ok(Compat {
        connections: CONNECTIONS,
        seconds,
        pairs,
        missing: real
            .is_none()
            .then(|| format!("wrk is not installed (Debian: {})", Tool::Wrk.package())),
    })
}

/// Two contestants, by turns.
///
/// # Errors
/// When one of them fails.
fn measure(
    question: &'static str,
    asked: &'static str,
    (ours, our): (&'static str, Contestant<'_>),
    (theirs, their): (&'static str, Contestant<'_>),
    rounds: u32,
    rig: Rig,
) -> Result<Pair> {
    let (mut our_cpu_us, mut their_cpu_us) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}, {ours} and {theirs}");
        // A fresh start of the server per round, the same for both.
        let server = Ceiling::start(rig.server)?;
        let take = |contestant: Contestant<'_>, into: &mut Vec<Option<f64>>| -> Result<()> {
            into.push(Some(contestant(server.address)?));
            thread::sleep(PAUSE);
            Ok(())
        };
        if round % 2 == 0 {
            take(our, &mut our_cpu_us)?;
            take(their, &mut their_cpu_us)?;
        } else {
            take(their, &mut their_cpu_us)?;
            take(our, &mut our_cpu_us)?;
        }
    }
    Ok(Pair {
        question,
        asked,
        ours,
        theirs,
        ratio: paired(&our_cpu_us, &their_cpu_us),
        our_cpu_us,
        their_cpu_us,
    })
}

/// wrk's command line, behind whatever speaks it.
///
/// # Errors
/// When it fails.
fn wrk(
    mut command: Command,
    script: Option<&Path>,
    address: SocketAddr,
    seconds: u64,
    rig: Rig,
) -> Result<f64> {
    command
        .args(["-t", "1", "-c", &CONNECTIONS.to_string()])
        .args(["-d", &format!("{seconds}s")]);
    if let Some(script) = script {
        command.arg("-s").arg(script);
    }
    command.arg(url(address));
    Ok(external::measure(Tool::Wrk, command, seconds, rig.client)?.cpu_us)
}

/// The part of what `prony load --json` prints that is needed here.
#[derive(Debug, Deserialize)]
struct Loaded {
    outcomes: Outcomes,
}

#[derive(Debug, Deserialize)]
struct Outcomes {
    ok: u64,
}

/// `prony load`.
///
/// # Errors
/// When it fails.
fn load_command(prony: &Path, address: SocketAddr, seconds: u64, rig: Rig) -> Result<f64> {
    let mut command = Command::new(prony);
    command
        .args(["load", "--json", "-t", "1", "-c", &CONNECTIONS.to_string()])
        .args(["--no-keep", "-d", &format!("{seconds}s"), &url(address)]);
    let mut child = Child::start(command, rig.client)?;
    let ended = child.end(Duration::from_secs(seconds) + GRACE)?;
    if !ended.status.success() {
        return Err(child.complaint(&ended, "failed"));
    }
    let loaded: Loaded =
        serde_json::from_str(&ended.stdout).map_err(|error| Error::process("prony load", error))?;
    Ok(ended.cpu_ns as f64 / 1e3 / loaded.outcomes.ok as f64)
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}{}", load::PATH)
}

impl fmt::Display for Compat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "CPU time of the whole process per request, start and connecting included: {} connections, one\n\
             thread, {} s each, by turns against the same server. Median (least–greatest); ratios are\n\
             taken within rounds.",
            self.connections, self.seconds
        )?;
        for pair in &self.pairs {
            writeln!(f, "\n{}: asked {}", pair.question, pair.asked)?;
            let mut table = Table::new(["", "CPU µs/request", "ratio"]);
            let cpu =
                |rounds: &[Option<f64>]| show(Spread::of(rounds.iter().copied().flatten()), 3);
            table.row([pair.ours.into(), cpu(&pair.our_cpu_us), show(pair.ratio, 3)]);
            table.row([pair.theirs.into(), cpu(&pair.their_cpu_us), "1".into()]);
            write!(f, "{table}")?;
        }
        if let Some(missing) = &self.missing {
            writeln!(f, "\nLeft out: {missing}")?;
        }
        Ok(())
    }
}

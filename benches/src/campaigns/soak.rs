//! A load of hours, of a server that is killed and started again all the while: does the generator's
//! memory stay as it was, does the schedule keep its rate, is every window there?

use crate::child::Child;
use crate::error::{Error, Result};
use crate::place::Rig;
use crate::prony;
use crate::status;
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Between two looks at the generator's memory.
const LOOK: Duration = Duration::from_secs(5);
/// The share of the load after which memory should not grow any more.
const SETTLED: f64 = 1.0 / 12.0;
/// The command may need so long to print and keep its result.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long, and how much.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Length of the load.
    pub minutes: f64,
    /// Requests per second.
    pub rate: u32,
    /// The server is killed and started again so often, in seconds.
    pub restart: f64,
}

/// Results of a long load. Memory is resident memory of `prony load`, in bytes.
#[derive(Debug, Serialize)]
pub struct Soak {
    minutes: f64,
    rate: u32,
    restarts: u32,
    memory: Vec<Look>,
    /// After a twelfth of the load: ten minutes of two hours.
    settled_bytes: u64,
    /// The most after that.
    most_bytes: u64,
    /// At the end of the load.
    last_bytes: u64,
    /// Requests that were due: rate times length.
    due: u64,
    /// By class, as prony counted them.
    outcomes: Value,
    windows: Windows,
}

/// How much memory the generator had, and when.
#[derive(Debug, Serialize)]
struct Look {
    seconds: f64,
    bytes: u64,
}

/// Windows that the load recorded.
#[derive(Debug, Serialize)]
struct Windows {
    /// Windows that should be there: one for each second.
    expected: u64,
    found: u64,
    /// Numbers between the first and the last that are not there.
    missing: u64,
    /// Windows that do not begin where the one before ended.
    gaps: u64,
    /// Answers of the median window without an error, per second, in the first and in the last tenth of the
    /// load: what a drift of the schedule would tell apart.
    first_rate: f64,
    last_rate: f64,
}

/// Carries out the load.
///
/// # Errors
/// When the command or the server cannot be started, or the load ends without a result.
pub fn run(rig: Rig, options: Options) -> Result<Soak> {
    let program = prony::program()?;
    let folder = tempfile::tempdir().map_err(Error::io("cannot make a folder"))?;
    let notebook = folder.path().join("notebook.db");
    let port = free_port()?;
    let serve = || {
        let mut command = Command::new(&program);
        command
            .args(["serve", "http-echo", "--model", "epoll", "--listen"])
            .arg(port.to_string());
        let server = Child::start(command, rig.server)?;
        listens(port).map(|()| server)
    };
    let mut server = serve()?;
    let length = Duration::from_secs_f64(options.minutes * 60.0);
    let mut command = Command::new(&program);
    command
        .args(["load", "--quiet", "--json", "--rate"])
        .arg(options.rate.to_string())
        .args(["-d", &format!("{}s", length.as_secs()), "--notebook"])
        .arg(&notebook)
        .arg(format!("http://127.0.0.1:{port}/"));
    let mut load = Child::start(command, rig.client)?;
    let began = Instant::now();
    let mut restarts = 0;
    let mut memory = Vec::new();
    while let Some(bytes) = status::bytes(load.id(), "VmRSS") {
        let seconds = began.elapsed().as_secs_f64();
        memory.push(Look { seconds, bytes });
        let due = (seconds / options.restart) as u32;
        if due > restarts && began.elapsed() + LOOK < length {
            drop(server);
            server = serve()?;
            restarts += 1;
            eprintln!(
                "soak: {:.0} of {:.0} s, {:.1} MiB",
                seconds,
                length.as_secs_f64(),
                mebibytes(bytes)
            );
        }
        std::thread::sleep(LOOK);
    }
    let ended = load.end(PATIENCE)?;
    let report: Value = serde_json::from_str(&ended.stdout)
        .map_err(|_| load.complaint(&ended, "did not report"))?;
    drop(server);
    // What comes after the load (percentiles, the notebook) is not the load's memory.
    let of_load = memory
        .iter()
        .filter(|look| look.seconds < length.as_secs_f64());
    let of_load: Vec<&Look> = of_load.collect();
    let settled = length.as_secs_f64() * SETTLED;
    let later = || of_load.iter().filter(|look| look.seconds >= settled);
    Ok(Soak {
        minutes: options.minutes,
        rate: options.rate,
        restarts,
        settled_bytes: later().next().map_or(0, |look| look.bytes),
        most_bytes: later().map(|look| look.bytes).max().unwrap_or(0),
        last_bytes: of_load.last().map_or(0, |look| look.bytes),
        memory,
        due: u64::from(options.rate) * length.as_secs(),
        outcomes: report["outcomes"].clone(),
        windows: windows(&program, &notebook, length.as_secs())?,
    })
}

/// A port that nothing listens on now.
fn free_port() -> Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(Error::io("cannot listen"))
}

/// Waits until a connection is accepted.
fn listens(port: u16) -> Result<()> {
    let began = Instant::now();
    while let Err(error) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
        if began.elapsed() > PATIENCE {
            return Err(Error::io("the server does not listen")(error));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn windows(program: &Path, notebook: &Path, expected: u64) -> Result<Windows> {
    let mut export = Command::new(program);
    export
        .args(["export", "latest", "--format", "json", "--notebook"])
        .arg(notebook);
    let all: Value = prony::json(&mut export)?;
    let windows = all["trials"][0]["windows"].as_array();
    let windows = windows.map_or(&[][..], Vec::as_slice);
    let number = |window: &Value, key: &str| window[key].as_u64().unwrap_or(0);
    let end = |window: &Value| number(window, "start_ns") + number(window, "length_ns");
    let pairs = || windows.windows(2);
    let index = |window: &Value| number(window, "index");
    let missing = pairs().map(|pair| index(&pair[1]).saturating_sub(index(&pair[0]) + 1));
    let gaps = pairs().filter(|pair| end(&pair[0]) != number(&pair[1], "start_ns"));
    let tenth = windows.len() / 10;
    let rate = |windows: &[Value]| {
        let undisturbed = windows
            .iter()
            .filter(|it| number(it, "errors") + number(it, "timeouts") == 0);
        let mut rates: Vec<f64> = undisturbed
            .map(|it| {
                number(it, "verified_answers") as f64 * 1e9 / number(it, "length_ns").max(1) as f64
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(0.0)
    };
    Ok(Windows {
        expected,
        found: windows.len() as u64,
        missing: missing.sum(),
        gaps: gaps.count() as u64,
        first_rate: rate(&windows[..tenth]),
        last_rate: rate(&windows[windows.len() - tenth..]),
    })
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl fmt::Display for Soak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} requests/s for {} minutes, the server killed and started again {} times\n",
            self.rate, self.minutes, self.restarts
        )?;
        writeln!(
            f,
            "memory    {:.2} MiB after a twelfth of it, {:.2} MiB at the end, {:.2} MiB at most in between ({:+.2} MiB)",
            mebibytes(self.settled_bytes),
            mebibytes(self.last_bytes),
            mebibytes(self.most_bytes),
            mebibytes(self.most_bytes) - mebibytes(self.settled_bytes)
        )?;
        let of = |key: &str| self.outcomes[key].as_u64().unwrap_or(0);
        let failed = ["timeout", "connect_error", "read_error", "write_error"];
        let failed: u64 = failed.into_iter().map(of).sum();
        writeln!(
            f,
            "requests  {} due; {} answered as expected, {} wrongly, {failed} failed, {} not sent at the end",
            self.due,
            of("ok"),
            of("wrong_answer"),
            of("unsent_at_end") + of("in_flight_at_end")
        )?;
        let windows = &self.windows;
        writeln!(
            f,
            "windows   {} of {} there, {} missing, {} not where the one before ended",
            windows.found, windows.expected, windows.missing, windows.gaps
        )?;
        write!(
            f,
            "schedule  {:.1} answers/s in the median undisturbed window of the first tenth, {:.1} in the last",
            windows.first_rate, windows.last_rate
        )
    }
}

//! What the live view costs: the same load with it and without, in turns, in a pseudo-terminal whose
//! output is discarded.
//!
//! The command has one CPU, that of the client, as on a machine where server and generator leave none
//! free: the live view shares it with the generator, which is the worst case.

use crate::child::Child;
use crate::error::{Error, Result};
use crate::load;
use crate::place::{self, Rig};
use crate::prony;
use crate::pty;
use crate::server::Ceiling;
use crate::spread::{Spread, show};
use crate::table::Table;
use prony_stats::Estimate;
use prony_stats::ratio::paired_log_ratio;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const CONNECTIONS: usize = 64;
/// How much longer than its duration `prony load` may take.
const GRACE: Duration = Duration::from_secs(15);

/// What one load has shown.
#[derive(Debug, Clone, Copy, Serialize)]
struct Sample {
    /// Answers per second.
    throughput: f64,
    /// CPU time of the generator's threads per request, in µs.
    generator_us: f64,
    /// CPU time of the whole process per request, in µs: start, set-up and display included.
    process_us: f64,
    /// Bytes written to the terminal.
    bytes: u64,
}

/// What this benchmark has shown.
#[derive(Debug, Serialize)]
pub struct Display {
    connections: usize,
    seconds: f64,
    on: Vec<Sample>,
    off: Vec<Sample>,
    /// With the live view to without, paired.
    throughput: Option<Estimate>,
    generator: Option<Estimate>,
    process: Option<Estimate>,
}

/// Runs `pairs` pairs, each in the reverse order of the one before.
///
/// # Errors
/// When the command has not been built or fails, or shows nothing where it should.
pub fn run(rig: Rig, pairs: u32, seconds: f64) -> Result<Display> {
    place::raise_open_files().map_err(Error::io("cannot raise the limit of open files"))?;
    let prony = prony::program()?;
    let server = Ceiling::start(rig.server)?;
    let take = |shown| sample(&prony, server.address, seconds, shown, rig);
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        eprintln!("display: pair {} of {pairs}", pair + 1);
        if pair % 2 == 0 {
            on.push(take(true)?);
            off.push(take(false)?);
        } else {
            off.push(take(false)?);
            on.push(take(true)?);
        }
    }
    let ratio = |of: fn(&Sample) -> f64| {
        let values = |side: &[Sample]| {
            side.iter()
                .map(|sample| Some(of(sample)))
                .collect::<Vec<_>>()
        };
        paired_log_ratio(&values(&on), &values(&off)).ok()
    };
    Ok(Display {
        connections: CONNECTIONS,
        seconds,
        throughput: ratio(|sample| sample.throughput),
        generator: ratio(|sample| sample.generator_us),
        process: ratio(|sample| sample.process_us),
        on,
        off,
    })
}

/// The part of what `prony load --json` prints that is needed here.
#[derive(Debug, Deserialize)]
struct Loaded {
    throughput: Value,
    outcomes: Outcomes,
    generator: Generator,
}

#[derive(Debug, Deserialize)]
struct Value {
    value: f64,
}

#[derive(Debug, Deserialize)]
struct Outcomes {
    ok: u64,
}

#[derive(Debug, Deserialize)]
struct Generator {
    cpu_us_per_request: Option<f64>,
}

fn sample(
    prony: &Path,
    address: SocketAddr,
    seconds: f64,
    shown: bool,
    rig: Rig,
) -> Result<Sample> {
    let mut command = Command::new(prony);
    command
        .args(["load", "--json", "-t", "1", "-c", &CONNECTIONS.to_string()])
        .args(["--cpus", &rig.client.to_string()])
        .args(["-d", &format!("{}ms", (seconds * 1e3).round())])
        .args(["--warmup", &format!("{}ms", (seconds * 200.0).round())])
        .arg(format!("http://{address}{}", load::PATH))
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8")
        .env_remove("LC_ALL");
    if !shown {
        command.arg("--quiet");
    }
    let (terminal, written) = pty::open()?;
    let mut child = Child::start_saying(command, rig.client, terminal.into())?;
    let ended = child.end(Duration::from_secs_f64(seconds) + GRACE)?;
    if !ended.status.success() {
        return Err(child.complaint(&ended, "failed"));
    }
    let bytes = written.join().unwrap_or(0);
    if (bytes > 0) != shown {
        let problem = format!("wrote {bytes} bytes to its terminal, live view: {shown}");
        return Err(child.complaint(&ended, &problem));
    }
    let loaded: Loaded =
        serde_json::from_str(&ended.stdout).map_err(|error| Error::process("prony load", error))?;
    Ok(Sample {
        throughput: loaded.throughput.value,
        generator_us: loaded.generator.cpu_us_per_request.unwrap_or(f64::NAN),
        process_us: ended.cpu_ns as f64 / 1e3 / loaded.outcomes.ok as f64,
        bytes,
    })
}

impl fmt::Display for Display {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "prony load with its live view and without, in turns, both in a pseudo-terminal and on the one CPU\n\
             of the client: {} connections, one thread, {} s each. Median (least–greatest) of\n\
             {} pairs; ratios are paired, with 95 % intervals. Asked: throughput above 0.995.\n",
            self.connections,
            self.seconds,
            self.on.len()
        )?;
        let mut table = Table::new(["", "with", "without", "ratio"]);
        let spread = |side: &[Sample], of: fn(&Sample) -> f64, decimals| {
            show(Spread::of(side.iter().map(of)), decimals)
        };
        let mut row = |name: &str, of: fn(&Sample) -> f64, decimals, ratio: Option<Estimate>| {
            let (on, off) = (
                spread(&self.on, of, decimals),
                spread(&self.off, of, decimals),
            );
            table.row([name.to_owned(), on, off, told(ratio)]);
        };
        row("answers/s", |s| s.throughput, 0, self.throughput);
        row(
            "generator CPU µs/request",
            |s| s.generator_us,
            3,
            self.generator,
        );
        row("process CPU µs/request", |s| s.process_us, 3, self.process);
        row("bytes written", |s| s.bytes as f64, 0, None);
        write!(f, "{table}")
    }
}

fn told(ratio: Option<Estimate>) -> String {
    ratio.map_or_else(String::new, |ratio| {
        let interval = ratio.interval().map_or_else(String::new, |interval| {
            format!(" ({:.4} to {:.4})", interval.low(), interval.high())
        });
        format!("{:.4}{interval}", ratio.value())
    })
}

//! Cost of a change of the load loop: the instructions per request of two builds of the command, counted by valgrind.
//!
//! Instructions per request are the difference between many requests and few, so that start and set-up cancel out. Some
//! instructions depend on the time that a load takes (ticks, turns of the loop in which nothing comes). They only add
//! to a total, so each total is the least of all rounds. An open loop is not counted: it waits without sleep, and that
//! is all instructions; `peers` has its CPU time.

use crate::child::Child;
use crate::error::{Error, Result};
use crate::load;
use crate::place::Rig;
use crate::prony;
use crate::server::Ceiling;
use crate::table::Table;
use prony_lab::contract::Certificate;
use prony_record::load::{KeyKind, Protocol};
use prony_reference::Contract;
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const FEW: u64 = 5_000;
const MANY: u64 = 25_000;
const CONNECTIONS: [u32; 2] = [1, 64];
const TRANSPORTS: [&str; 2] = ["io_uring", "epoll"];
/// Under valgrind a load takes some fifty times as long as without.
const PATIENCE: Duration = Duration::from_secs(300);

/// One protocol, transport and number of connections.
#[derive(Debug, Serialize)]
struct Row {
    contract: String,
    transport: &'static str,
    connections: u32,
    before: Counted,
    after: Counted,
}

/// Instructions of the thread that loads in one build, by round.
#[derive(Debug, Default, Serialize)]
struct Counted {
    few: Vec<u64>,
    many: Vec<u64>,
}

impl Counted {
    /// Instructions per request.
    fn per_request(&self) -> f64 {
        let least = |totals: &[u64]| totals.iter().min().map_or(f64::NAN, |&least| least as f64);
        (least(&self.many) - least(&self.few)) / (MANY - FEW) as f64
    }
}

/// Results of this benchmark.
#[derive(Debug, Serialize)]
pub struct Instructions {
    rows: Vec<Row>,
    /// Cases that could not be counted, each with the reason.
    missing: Vec<String>,
}

/// Counts the instructions of `before` and of the command in this program's folder, alternately. `only`: schemes of URLs;
/// empty: all.
///
/// # Errors
/// When valgrind is not installed, the command has not been built, or a server does not start.
pub fn run(rig: Rig, before: &Path, only: &[String], rounds: u32) -> Result<Instructions> {
    let after = prony::program()?;
    let mut seen = Instructions {
        rows: Vec::new(),
        missing: Vec::new(),
    };
    let scratch = tempfile::tempdir().map_err(Error::io("cannot make a temporary folder"))?;
    let certificate =
        Certificate::below(scratch.path(), KeyKind::EcdsaP256).map_err(Error::Unusable)?;
    for (contract, scheme, path, over) in [
        (Contract::TcpEcho, "tcp", "", Protocol::Plain),
        (Contract::HttpEcho, "http", load::PATH, Protocol::Plain),
        (Contract::HttpEcho, "h2c", load::PATH, Protocol::H2c),
        (Contract::HttpEcho, "https", load::PATH, Protocol::Tls),
    ] {
        let certificate = over.is_tls().then_some(&certificate);
        if !only.is_empty() && !only.iter().any(|it| it == scheme) {
            continue;
        }
        let server = Ceiling::start_over(contract, (over, certificate), rig.server)?;
        let url = format!("{scheme}://{}{path}", server.address);
        let contract = format!("{contract} ({scheme})");
        for transport in TRANSPORTS {
            for connections in CONNECTIONS {
                let mut row = Row {
                    contract: contract.clone(),
                    transport,
                    connections,
                    before: Counted::default(),
                    after: Counted::default(),
                };
                let total = |program: &Path, requests| {
                    let count = connections.to_string();
                    let args = ["--transport", transport, "--connections", &count, &url];
                    let insecure = certificate.map(|_| "--insecure");
                    let args: Vec<&str> = args.into_iter().chain(insecure).collect();
                    total(program, &args, requests, rig)
                };
                let counted: Result<()> = (1..=rounds).try_for_each(|round| {
                    eprintln!(
                        "instructions: {contract}, {transport}, {connections} connections: \
                         round {round} of {rounds}"
                    );
                    for (program, into) in [(before, &mut row.before), (&after, &mut row.after)] {
                        into.few.push(total(program, FEW)?);
                        into.many.push(total(program, MANY)?);
                    }
                    Ok(())
                });
                match counted {
                    Ok(()) => seen.rows.push(row),
                    Err(error) => {
                        let why = ends(&error.to_string());
                        let what = format!("{contract}, {transport}, {connections}: {why}");
                        seen.missing.push(what);
                    }
                }
            }
        }
    }
    Ok(seen)
}

/// The instructions of the thread that loads, which is started last. The first starts, gathers windows and reports, and under
/// valgrind there are some fifty times as many windows for each request as there are otherwise; others watch the server.
fn total(program: &Path, args: &[&str], requests: u64, rig: Rig) -> Result<u64> {
    let folder = tempfile::tempdir().map_err(Error::io("cannot make a temporary folder"))?;
    let out = folder.path().join("out");
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--separate-threads=yes"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .args(["load", "--quiet", "--requests", &requests.to_string()])
        .args(args);
    let mut child = Child::start(command, rig.client)?;
    let ended = child.end(PATIENCE)?;
    if !ended.status.success() {
        return Err(child.complaint(&ended, "failed"));
    }
    let threads = (2..).map_while(|thread| {
        let text = std::fs::read_to_string(format!("{}-{thread:02}", out.display())).ok()?;
        counted(&text)
    });
    match threads.last() {
        None | Some(0) => Err(child.complaint(&ended, "counted nothing")),
        Some(last) => Ok(last),
    }
}

/// The first and the last line: what was tried, and what the program said last. Valgrind says much between, and after it.
fn ends(text: &str) -> String {
    let own = |line: &&str| !line.trim().is_empty() && !line.starts_with("==");
    let mut lines = text.lines().filter(own);
    let first = lines.next().unwrap_or_default();
    match lines.next_back() {
        Some(last) => format!("{first} … {last}"),
        None => first.to_owned(),
    }
}

/// The number of instructions of a thread, as callgrind's file has it.
fn counted(file: &str) -> Option<u64> {
    file.lines()
        .find_map(|line| line.strip_prefix("totals: "))?
        .parse()
        .ok()
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Instructions in user space per request, of the thread that loads, closed loop: {MANY} requests less {FEW},\n\
             each the least of {} rounds.",
            self.rows.first().map_or(0, |row| row.before.few.len())
        )?;
        let mut table = Table::new(["", "connections", "before", "after", "ratio"]);
        for row in &self.rows {
            let (before, after) = (row.before.per_request(), row.after.per_request());
            table.row([
                format!("{}, {}", row.contract, row.transport),
                row.connections.to_string(),
                format!("{before:.1}"),
                format!("{after:.1}"),
                format!("{:.4}", after / before),
            ]);
        }
        write!(f, "{table}")?;
        for missing in &self.missing {
            writeln!(f, "Left out: {missing}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_in_a_file_of_callgrind() {
        let text = "# callgrind format\nthread: 3\n\nsummary: 6\n\ntotals: 34607306\n";
        assert_eq!(counted(text), Some(34_607_306));
        assert_eq!(counted("thread: 2\n"), None);
    }
}

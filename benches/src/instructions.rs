//! What a change of the load loop costs: the instructions per request of two builds of the command,
//! counted by valgrind, which a busy machine does not change much.
//!
//! Instructions per request are the difference between many requests and few, so that start,
//! set-up and report cancel out. One connection gives the same number again and again; with many,
//! it depends a little on how many answers come in one turn of the loop. An open loop is not counted: it
//! waits without sleep, and that is all instructions. `peers` has its CPU time.

use crate::child::Child;
use crate::error::Result;
use crate::load;
use crate::place::Rig;
use crate::prony;
use crate::spread::{Spread, paired, show};
use crate::table::Table;
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
    contract: &'static str,
    transport: &'static str,
    connections: u32,
    /// Instructions per request, by round.
    before: Vec<Option<f64>>,
    after: Vec<Option<f64>>,
    /// After to before, paired within rounds.
    ratio: Option<Spread>,
}

/// What this benchmark has shown.
#[derive(Debug, Serialize)]
pub struct Instructions {
    rows: Vec<Row>,
    /// What could not be counted, and why.
    missing: Vec<String>,
}

/// Counts the instructions of `before` and of the command beside this program, in turns.
///
/// # Errors
/// When valgrind is not installed, the command has not been built, or a server does not start.
pub fn run(rig: Rig, before: &Path, rounds: u32) -> Result<Instructions> {
    let after = prony::program()?;
    let mut seen = Instructions {
        rows: Vec::new(),
        missing: Vec::new(),
    };
    for (contract, scheme, path) in [("tcp-echo", "tcp", ""), ("http-echo", "http", load::PATH)] {
        let mut command = Command::new(&after);
        command.args(["serve", contract, "--port", "0"]);
        let mut server = Child::start(command, rig.server)?;
        let line = server.line()?;
        let address = line.rsplit(' ').next().unwrap_or_default();
        let url = format!("{scheme}://{address}{path}");
        for transport in TRANSPORTS {
            for connections in CONNECTIONS {
                let count =
                    |program: &Path| per_request(program, transport, connections, &url, rig);
                let (mut old, mut new) = (Vec::new(), Vec::new());
                let counted: Result<()> = (1..=rounds).try_for_each(|round| {
                    eprintln!(
                        "instructions: {contract}, {transport}, {connections} connections: \
                         round {round} of {rounds}"
                    );
                    old.push(Some(count(before)?));
                    new.push(Some(count(&after)?));
                    Ok(())
                });
                if let Err(error) = counted {
                    let what = format!("{contract}, {transport}, {connections}: {error:#}");
                    seen.missing.push(what);
                    continue;
                }
                seen.rows.push(Row {
                    contract,
                    transport,
                    connections,
                    ratio: paired(&new, &old),
                    before: old,
                    after: new,
                });
            }
        }
    }
    Ok(seen)
}

fn per_request(
    program: &Path,
    transport: &str,
    connections: u32,
    url: &str,
    rig: Rig,
) -> Result<f64> {
    let total = |requests: u64| -> Result<u64> {
        let mut command = Command::new("valgrind");
        command
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args(["load", "--quiet", "--transport", transport])
            .args(["--connections", &connections.to_string()])
            .args(["--requests", &requests.to_string(), url]);
        let mut child = Child::start(command, rig.client)?;
        let ended = child.end(PATIENCE)?;
        collected(&ended.stderr)
            .filter(|_| ended.status.success())
            .ok_or_else(|| child.complaint(&ended, "failed"))
    };
    Ok((total(MANY)? - total(FEW)?) as f64 / (MANY - FEW) as f64)
}

/// The number of instructions that callgrind says at its end.
fn collected(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Instructions in user space per request, closed loop: {MANY} requests less {FEW}. Median\n\
             (least–greatest); ratios are taken within rounds."
        )?;
        let mut table = Table::new(["", "connections", "before", "after", "ratio"]);
        for row in &self.rows {
            let number =
                |rounds: &[Option<f64>]| show(Spread::of(rounds.iter().copied().flatten()), 1);
            table.row([
                format!("{}, {}", row.contract, row.transport),
                row.connections.to_string(),
                number(&row.before),
                number(&row.after),
                show(row.ratio, 4),
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
    fn the_count_is_found_in_what_callgrind_says() {
        let text = "==7== Events    : Ir\n==7== Collected : 34607306\n==7== \n";
        assert_eq!(collected(text), Some(34_607_306));
        assert_eq!(collected("valgrind: not found"), None);
    }
}

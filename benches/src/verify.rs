//! Verification on a busy machine: does every server of the catalog pass each time?

use crate::child::Child;
use crate::error::{Error, Result};
use crate::place::Rig;
use crate::prony;
use crate::server;
use crate::spread::{Spread, show};
use crate::table::Table;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::process::Command;
use std::time::Instant;

/// What checks of the whole catalog have shown. A failure is a false one where the server keeps its
/// contract on a quiet machine.
#[derive(Debug, Serialize)]
pub struct Verify {
    under_load: u32,
    checks: Vec<Check>,
    failures: Vec<Failure>,
    /// Not set up here, and not among what is verified.
    missing: BTreeSet<String>,
}

/// One `prony servers check`.
#[derive(Debug, Serialize)]
struct Check {
    seconds: f64,
    verified: usize,
    failed: usize,
}

/// A server that did not pass.
#[derive(Debug, Serialize)]
struct Failure {
    check: u32,
    server: String,
    contract: String,
    step: Option<String>,
    message: String,
}

/// What `prony servers check --json` says of a server under one of its contracts.
#[derive(Debug, Deserialize)]
struct Row {
    server: String,
    contract: String,
    state: State,
    step: Option<String>,
    message: String,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum State {
    Ready,
    Missing,
    Failing,
}

/// Checks the whole catalog `times` times, beside `under_load` processes that never sleep.
///
/// # Errors
/// When a process cannot be started, or nothing of the catalog is set up.
pub fn run(rig: Rig, times: u32, under_load: u32) -> Result<Verify> {
    let prony = prony::program()?;
    let cpus = rig.cpus();
    let hogs = cpus.iter().cycle().take(under_load as usize);
    let _hogs = hogs
        .map(|&cpu| {
            let mut hog = server::ourselves("plant")?;
            hog.arg("hog");
            Child::start(hog, cpu)
        })
        .collect::<Result<Vec<Child>>>()?;
    let mut seen = Verify {
        under_load,
        checks: Vec::new(),
        failures: Vec::new(),
        missing: BTreeSet::new(),
    };
    for check in 1..=times {
        let begun = Instant::now();
        let rows = prony::json(Command::new(&prony).args(["servers", "check", "--json"]))?;
        seen.add(check, begun.elapsed().as_secs_f64(), rows);
        let Check {
            seconds,
            verified,
            failed,
        } = &seen.checks[seen.checks.len() - 1];
        eprintln!(
            "verify: check {check} of {times}: {verified} verified, {failed} failed, {seconds:.0} s"
        );
        if verified + failed == 0 {
            let message = "nothing of the catalog is set up: `prony servers setup` does that";
            return Err(Error::Unusable(message.into()));
        }
    }
    Ok(seen)
}

impl Verify {
    fn add(&mut self, check: u32, seconds: f64, rows: Vec<Row>) {
        let count = |state| rows.iter().filter(|row| row.state == state).count();
        self.checks.push(Check {
            seconds,
            verified: count(State::Ready),
            failed: count(State::Failing),
        });
        for row in rows {
            match row.state {
                State::Ready => {}
                State::Missing => {
                    self.missing.insert(row.server);
                }
                State::Failing => self.failures.push(Failure {
                    check,
                    server: row.server,
                    contract: row.contract,
                    step: row.step,
                    message: row.message,
                }),
            }
        }
    }
}

impl fmt::Display for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |which: fn(&Check) -> usize| self.checks.iter().map(which).sum::<usize>();
        let seconds = self.checks.iter().map(|check| check.seconds);
        writeln!(
            f,
            "Checks of the whole catalog beside processes that never sleep.\n"
        )?;
        let mut table = Table::new(["busy processes", "checks", "verified", "failed", "s each"]);
        table.row([
            self.under_load.to_string(),
            self.checks.len().to_string(),
            sum(|check| check.verified).to_string(),
            sum(|check| check.failed).to_string(),
            show(Spread::of(seconds), 0),
        ]);
        write!(f, "{table}")?;
        for Failure {
            check,
            server,
            contract,
            step,
            message,
        } in &self.failures
        {
            let step = step.as_deref().unwrap_or("?");
            writeln!(
                f,
                "  check {check}: {server} ({contract}): {step}: {message}"
            )?;
        }
        if !self.missing.is_empty() {
            let names: Vec<&str> = self.missing.iter().map(String::as_str).collect();
            writeln!(f, "  not set up: {}", names.join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(server: &str, state: &str) -> Row {
        serde_json::from_value(serde_json::json!({
            "server": server, "contract": "tcp-echo", "state": state,
            "step": null, "message": "why", "output": "", "limits": [],
        }))
        .unwrap()
    }

    #[test]
    fn failures_are_counted_and_named_and_missing_ones_are_not() {
        let mut seen = Verify {
            under_load: 6,
            checks: Vec::new(),
            failures: Vec::new(),
            missing: BTreeSet::new(),
        };
        for check in 1..=2 {
            let failing = if check == 1 { "ready" } else { "failing" };
            seen.add(
                check,
                10.0,
                vec![row("a", "ready"), row("b", failing), row("c", "missing")],
            );
        }
        let verified: usize = seen.checks.iter().map(|check| check.verified).sum();
        assert_eq!((verified, seen.failures.len()), (3, 1));
        let text = seen.to_string();
        assert!(text.contains("check 2: b (tcp-echo): ?: why"), "{text}");
        assert!(text.contains("not set up: c\n"), "{text}");
    }
}

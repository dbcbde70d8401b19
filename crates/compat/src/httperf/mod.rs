//! `httperf`: connections at a rate, a number of calls on each.
//!
//! Without a rate connections follow one another; with one, each is due at its time whatever the
//! others do. The original never sleeps and never yields the CPU; this one sleeps when nothing
//! is due.

mod flags;
mod report;
mod request;

use crate::Console;
use crate::shared::address::{Family, resolve};
use crate::shared::evidence::{evidence, remark};
use crate::shared::flags::take_quiet;
use crate::shared::load::carry_out;
use flags::Flags;
use prony_checks::Evidence;
use prony_engine::clock::{SECOND, process_cpu};
use prony_engine::protocol::{Expect, HttpExchange, Limits};
use prony_engine::{
    Arrival, Dialogue, Nanos, Observation, Plan, Target, Window, automatic, descriptors,
};
use report::{Cpu, Report};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

/// Runs `httperf` with `args` (without the program's name) and gives its exit status.
pub fn main(args: Vec<OsString>, console: &mut Console<'_>) -> u8 {
    let (args, quiet) = take_quiet(args);
    let flags = match flags::parse(args) {
        Ok(flags) => flags,
        Err(instead) => return instead.say(console.out, console.err),
    };
    if !quiet {
        for note in notes(&flags) {
            let _ = writeln!(console.err, "prony: note: {note}");
        }
    }
    let _ = writeln!(console.out, "{}", flags.echo());
    match measure(&flags, console) {
        Ok((plan, seen, cpu)) => {
            let report = Report::new(&seen, request::bytes(&flags).len(), cpu);
            let _ = console.out.write_all(report.text().as_bytes());
            if !quiet {
                remark(&judged(&plan, &seen), console.err);
            }
            0
        }
        Err(error) => {
            let _ = writeln!(console.err, "httperf: {error}");
            1
        }
    }
}

/// What a reader of the command line may take it for, and is not.
fn notes(flags: &Flags) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(rate) = flags.arrival.rate() {
        let calls = flags.calls;
        notes.push(format!(
            "--rate is connections per second: with {calls} calls on each, {rate} connections per second ask for \
             {} requests per second",
            rate * f64::from(calls)
        ));
    }
    if flags.buffers {
        notes.push("--send-buffer and --recv-buffer have no effect: the kernel sizes the buffers of sockets".into());
    }
    notes
}

fn measure(flags: &Flags, console: &mut Console<'_>) -> Result<(Plan, Observation, Cpu), String> {
    let server = &flags.server;
    // The original knows IPv4 only; what has no such address is tried as anything else.
    let find = |family| resolve(server, flags.port, family, false, flags.patience());
    let address = find(Family::V4)
        .or_else(|_| find(Family::Any))
        .map_err(|error| format!("invalid server address {server}: {error}"))?;
    let plan = plan(flags, address);
    let before = process_cpu();
    let seen = carry_out(&plan, Nanos::MAX, console, |window, _, out, _| {
        if flags.verbose && window.length == report::SAMPLE {
            let _ = writeln!(out, "reply-rate = {:<8.1}", replies(window));
        }
    })
    .map_err(|error| error.to_string())?;
    let after = process_cpu();
    let cpu = Cpu {
        user: (after.0 - before.0).as_secs_f64(),
        system: (after.1 - before.1).as_secs_f64(),
    };
    Ok((plan, seen, cpu))
}

/// Answers per second in a window, right or wrong.
fn replies(window: &Window) -> f64 {
    let answers = window.outcomes.ok + window.outcomes.wrong_answer;
    answers as f64 * SECOND as f64 / window.length as f64
}

fn plan(flags: &Flags, address: SocketAddr) -> Plan {
    let exchange = HttpExchange::raw(request::bytes(flags), Expect::default());
    // At a rate each connection has a place of its own, so that none waits for another; without
    // one there is one place, and the next connection is made when it is free.
    let places = match flags.arrival {
        Arrival::Closed => 1,
        _ => flags.connections.min(descriptors::most()),
    };
    Plan {
        target: Target::Tcp(address),
        dialogue: Dialogue::Http {
            exchanges: vec![exchange],
            limits: Limits::default(),
        },
        arrival: flags.arrival,
        connections: u32::try_from(places).unwrap_or(u32::MAX),
        threads: 1,
        cpus: Vec::new(),
        pipeline: flags.burst.min(flags.calls),
        keepalive: false,
        calls: flags.calls,
        trace: true,
        timeout: flags.patience(),
        window: Duration::from_nanos(report::SAMPLE),
        requests: Some(flags.connections),
        transport: automatic(&flags.arrival),
    }
}

/// Evidence of a load whose rate is one of connections, so that it says nothing of requests.
fn judged(plan: &Plan, seen: &Observation) -> Evidence {
    Evidence {
        rate: None,
        ..evidence(plan, seen)
    }
}

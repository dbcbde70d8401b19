//! `httperf`: connections at a rate, a number of calls on each.
//!
//! Without a rate connections follow one another; with one, each is due at its time whatever the
//! others do. The original never sleeps and never yields the CPU; this one sleeps when nothing
//! is due.

mod flags;
mod report;
mod request;
mod session;
mod working_set;

use crate::Console;
use crate::shared::address::{Family, resolve};
use crate::shared::flags::take_quiet;
use crate::shared::load::{When, WindowEvent, carry_out, carry_out_with};
use crate::shared::remarks::remark;
use flags::HttperfFlags;
use prony_checks::Evidence;
use prony_engine::clock::process_cpu;
use prony_engine::protocol::{Expect, Http, HttpExchange, Limits};
use prony_engine::{Detail, Dialogue, Nanos, Plan, Target, Trace, descriptors};
use prony_record::load::MOST_IN_FLIGHT;
use prony_record::{Extent, Load, Observation, Span, Window};
use report::{Cpu, HttperfReport};
use session::Files;
use std::ffi::OsString;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;
use working_set::Digits;

/// Connections that have separate places, whether there are file descriptors for them or not.
const PLACES: u64 = 1 << 16;

/// Reads a command line as [`main`] does, and shows what it stands for or what is wrong with it, without a load: for fuzzing.
#[cfg(fuzzing)]
pub fn read(args: Vec<OsString>, console: &mut Console<'_>) {
    match flags::parse(take_quiet(args).0) {
        Ok(flags) => {
            let _ = (flags.echo(), request::bytes(&flags));
        }
        Err(instead) => {
            instead.say(console.out, console.err);
        }
    }
}

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
        Ok(MeasuredLoad {
            load,
            seen,
            detail,
            cpu,
        }) => {
            let report = HttperfReport::new(
                &seen,
                &detail,
                request::bytes(&flags).len(),
                flags.calls,
                cpu,
            );
            let _ = console.out.write_all(report.text().as_bytes());
            if !quiet {
                remark(&judged(&load, &seen), console.err);
            }
            0
        }
        Err(error) => {
            let _ = writeln!(console.err, "httperf: {error}");
            1
        }
    }
}

/// Returns notes about options that a reader of the command line may misunderstand.
fn notes(flags: &HttperfFlags) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(rate) = flags.rate {
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

/// A load that was carried out, what was seen of it, and what it cost.
struct MeasuredLoad {
    load: Load,
    seen: Observation,
    detail: Detail,
    cpu: Cpu,
}

fn measure(flags: &HttperfFlags, console: &mut Console<'_>) -> Result<MeasuredLoad, String> {
    let server = &flags.server;
    // The original knows IPv4 only; what has no such address is tried as anything else.
    let find = |family| resolve(server, flags.port, family, false, flags.patience());
    let address = find(Family::V4)
        .or_else(|_| find(Family::Any))
        .map_err(|error| format!("invalid server address {server}: {error}"))?;
    let plan = plan(flags, address);
    let before = process_cpu();
    let (seen, detail) = load(flags, &plan, console)?;
    let after = process_cpu();
    let cpu = Cpu {
        user: (after.0 - before.0).as_secs_f64(),
        system: (after.1 - before.1).as_secs_f64(),
    };
    Ok(MeasuredLoad {
        load: plan.load,
        seen,
        detail,
        cpu,
    })
}

fn load(
    flags: &HttperfFlags,
    plan: &Plan,
    console: &mut Console<'_>,
) -> Result<(Observation, Detail), String> {
    let (accessed, heard) = mpsc::channel();
    let when = When::at_once(Nanos::MAX);
    let uris = |out: &mut dyn Write| {
        for file in heard.try_iter() {
            let _ = writeln!(
                out,
                "httperf: accessing URI `{}'",
                request::uri(flags, file)
            );
        }
    };
    let told = |told: &mut WindowEvent<'_>| {
        uris(told.out);
        if flags.verbose && told.window.length_ns == report::SAMPLE {
            let _ = writeln!(told.out, "reply-rate = {:<8.1}", replies(told.window));
        }
    };
    let done = match flags.files {
        None => carry_out(plan, when, console, told),
        Some(set) => {
            let bytes = request::bytes(flags);
            let (_, digits) = set.first_uri(&flags.uri)?;
            let at = flags.method.len() + 1 + digits.at;
            let part = |_| {
                let exchange = HttpExchange::raw(bytes.clone(), Expect::default());
                let files = Files::new(
                    Http::new(vec![exchange], Limits::default()),
                    set.order(flags.client),
                    Digits { at, ..digits },
                    flags.verbose.then(|| accessed.clone()),
                );
                (plan.target.clone(), files)
            };
            carry_out_with(plan, when, console, part, told)
        }
    };
    uris(console.out);
    done.map_err(|error| error.to_string())
}

/// Answers per second in a window, right or wrong.
fn replies(window: &Window) -> f64 {
    let answers = window.verified_answers + window.wrong_answers;
    answers as f64 / window.seconds()
}

fn plan(flags: &HttperfFlags, address: SocketAddr) -> Plan {
    let exchange = HttpExchange::raw(request::bytes(flags), Expect::default());
    let pipeline = flags.burst.min(flags.calls);
    // At a rate each connection has a place of its own, so that none waits for another, and one without a
    // file descriptor is an error; without a rate there is one place, and the next connection is made when
    // it is free.
    let places = match flags.rate {
        None => 1,
        Some(_) => {
            let most = descriptors::room(1).max(PLACES);
            let most = most.min(MOST_IN_FLIGHT / u64::from(pipeline.max(1)));
            flags.connections.min(most)
        }
    };
    let dialogue = Dialogue::Http {
        exchanges: vec![exchange],
        limits: Limits::default(),
    };
    let load = Load {
        rate: flags.rate,
        arrival: flags.spacing,
        connections: u32::try_from(places).unwrap_or(u32::MAX),
        pipeline,
        keepalive: false,
        calls: flags.calls,
        extent: Extent::Requests(flags.connections),
        timeout: Span(flags.patience()),
        window: Span(Duration::from_nanos(report::SAMPLE)),
        ..Load::default()
    };
    Plan {
        trace: Trace::All,
        // The seed of the gaps stays 0: the original repeats itself too.
        ..Plan::new(load, Target::Tcp(address), dialogue)
    }
}

/// Evidence of a load whose rate is one of connections, so that it says nothing of requests.
fn judged(load: &Load, seen: &Observation) -> Evidence {
    Evidence {
        rate: None,
        ..Evidence::of(load, seen)
    }
}

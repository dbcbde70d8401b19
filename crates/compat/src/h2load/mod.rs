//! `h2load`, the benchmarking tool of nghttp2, for HTTP/3, HTTP/2 and HTTP/1.1.
//!
//! All clients share the requests: each goes on as soon as it is free. The original gives each client its part
//! beforehand, so that the slowest one decides how long a load takes.

mod flags;
mod log;
mod place;
mod progress;
mod reach;
mod report;
mod request;
mod units;
mod usage;
mod values;

use crate::Console;
use crate::shared::flags::take_quiet;
use crate::shared::load::{When, WindowEvent, carry_out, carry_out_with, reserve};
use crate::shared::remarks::remark;
use flags::H2loadFlags;
use log::Log;
use progress::ProgressPrinter;
use prony_checks::Evidence;
use prony_engine::clock::nanos;
use prony_engine::protocol::Limits;
use prony_engine::protocol::h2::{H2, Plain};
use prony_engine::{Control, Detail, Dialogue, Nanos, Plan, StreamedRequests, Trace};
use prony_record::{Extent, Load, Observation, Span};
use reach::{ReachedServer, Spoken, Unreached, reach};
use report::{H2loadReport, LoadEnd};
use std::cell::OnceCell;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

/// How often progress is looked at.
const WINDOW: Duration = Duration::from_millis(100);
/// The original waits for ever.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Reads a command line as [`main`] does, and shows what it stands for or what is wrong with it, without a load: for fuzzing.
#[cfg(fuzzing)]
pub fn read(args: Vec<OsString>, console: &mut Console<'_>) {
    match flags::parse(take_quiet(args).0) {
        Ok(flags) => {
            let _ = progress::opening(&flags);
        }
        Err(instead) => {
            instead.say(console.out, console.err);
        }
    }
}

/// Runs `h2load` with `args` (without the program's name) and gives its exit status.
pub fn main(args: Vec<OsString>, console: &mut Console<'_>) -> u8 {
    let (args, quiet) = take_quiet(args);
    let flags = match flags::parse(args) {
        Ok(flags) => flags,
        Err(instead) => return instead.say(console.out, console.err),
    };
    if !quiet {
        for note in &flags.notes {
            let _ = writeln!(console.err, "prony: {note}");
        }
    }
    match measure(&flags, quiet, console) {
        Ok(()) => 0,
        Err(why) => {
            let _ = writeln!(console.err, "{why}");
            1
        }
    }
}

/// Carries the load out and reports it.
///
/// # Errors
/// Why there is no report.
fn measure(flags: &H2loadFlags, quiet: bool, console: &mut Console<'_>) -> Result<(), String> {
    let log = flags.log.as_deref().map(Log::create).transpose()?;
    let reached = reach(flags);
    if let Err(Unreached::Unknown(why)) = reached {
        return Err(why);
    }
    let _ = console.out.write_all(progress::opening(flags).as_bytes());
    let reached = match reached {
        Ok(reached) => reached,
        Err(Unreached::Unknown(why) | Unreached::Failed(why)) => {
            let report = H2loadReport::nothing(flags).text();
            let _ = console.out.write_all(report.as_bytes());
            let _ = writeln!(console.err, "prony: {}: {why}", flags.place.authority());
            return Ok(());
        }
    };
    let plan = plan(flags, &reached)?;
    let (seen, detail, ended) = load(flags, &reached, &plan, console)?;
    let report = H2loadReport::new(flags, reached.spoken, &seen, &detail, ended);
    let _ = console.out.write_all(report.text().as_bytes());
    if let Some(log) = log {
        let path = flags.log.as_deref().unwrap_or("".as_ref()).display();
        log.write(&detail.trace)
            .map_err(|error| format!("prony: cannot write {path}: {error}"))?;
        let missing = seen
            .outcomes
            .finished()
            .saturating_sub(detail.trace.len() as u64);
        if missing > 0 && !quiet {
            let _ = writeln!(
                console.err,
                "prony: {path} does not have the {missing} requests whose connections failed or whose answers broke \
                 the protocol"
            );
        }
    }
    if !quiet {
        remark(&judged(flags, &plan.load, &seen), console.err);
    }
    Ok(())
}

/// Evidence of the load; a rate of connections says nothing of requests.
fn judged(flags: &H2loadFlags, load: &Load, seen: &Observation) -> Evidence {
    let evidence = Evidence::of(load, seen);
    match flags.rate {
        0 => evidence,
        _ => Evidence {
            rate: None,
            ..evidence
        },
    }
}

/// # Errors
/// When a header field cannot be sent over HTTP/2.
fn plan(flags: &H2loadFlags, reached: &ReachedServer) -> Result<Plan, String> {
    let at_a_rate = flags.rate > 0;
    let calls = match at_a_rate {
        true => u32::try_from(flags.calls()).unwrap_or(u32::MAX),
        false => 1,
    };
    let posts = flags.data.is_some() && reached.spoken == Spoken::Http1;
    let streams = match (posts, at_a_rate) {
        // As in the original: a request that has a body waits for the answer to the one before.
        (true, _) => 1,
        (false, true) => flags.streams.min(calls),
        (false, false) => flags.streams,
    };
    let rate = match flags.rps {
        _ if at_a_rate => Some(f64::from(flags.rate) / flags.period.as_secs_f64()),
        rps => rps.map(|rps| rps * f64::from(flags.clients)),
    };
    let extent = match flags.duration {
        Some(main) => Extent::Duration(Span(main)),
        None if at_a_rate => Extent::Requests(u64::from(flags.clients)),
        None => Extent::Requests(flags.requests),
    };
    let load = Load {
        connections: flags.clients,
        threads: flags.threads,
        rate,
        pipeline: streams,
        keepalive: !at_a_rate,
        calls,
        extent,
        timeout: Span(flags.inactive.unwrap_or(TIMEOUT)),
        window: Span(WINDOW),
        ..Load::default()
    };
    let dialogue = match reached.spoken {
        Spoken::Http1 => Dialogue::Http {
            exchanges: request::http1(flags),
            limits: Limits::default(),
        },
        Spoken::Http2 => Dialogue::H2(streamed(flags)?),
        Spoken::Http3 => Dialogue::H3(streamed(flags)?),
    };
    Ok(Plan {
        tls: reached.tls.clone(),
        trace: match at_a_rate || flags.log.is_some() {
            true => Trace::All,
            false => Trace::FirstOnConnection,
        },
        ..Plan::new(load, reached.target.clone(), dialogue)
    })
}

/// # Errors
/// When a header field cannot be sent over HTTP/2 and HTTP/3.
fn streamed(flags: &H2loadFlags) -> Result<Box<StreamedRequests>, String> {
    Ok(Box::new(StreamedRequests {
        exchanges: request::http2(flags).map_err(|error| format!("prony: -H: {error}"))?,
        limits: Limits::default(),
        window: window(flags.window_bits),
    }))
}

/// Returns the size of a flow-control window, in bytes.
fn window(bits: u32) -> u32 {
    (1 << bits) - 1
}

/// When the load is measured.
fn when(flags: &H2loadFlags) -> When {
    let most = flags.duration.or(flags.active);
    When {
        warmup: nanos(flags.warmup),
        length: most.map_or(Nanos::MAX, nanos),
    }
}

fn load(
    flags: &H2loadFlags,
    reached: &ReachedServer,
    plan: &Plan,
    console: &mut Console<'_>,
) -> Result<(Observation, Detail, LoadEnd), String> {
    if flags.duration.is_none() {
        let _ = console.out.write_all(reached.said.as_bytes());
    }
    let mut progress = ProgressPrinter::new(flags, &reached.said);
    let told = |told: &mut WindowEvent<'_>| progress.window(told.window, told.out);
    let kept = OnceCell::new();
    let outer = console.guard;
    let guard = |control: &Arc<Control>| {
        let _ = kept.set(Arc::clone(control));
        outer(control);
    };
    let mut watched = Console {
        out: &mut *console.out,
        err: &mut *console.err,
        guard: &guard,
    };
    let when = when(flags);
    reserve(&plan.load).map_err(|error| format!("prony: {error}"))?;
    let done = match &plan.dialogue {
        // A window for connections that is not that of their streams makes it a session of its own.
        Dialogue::H2(it) => {
            let part = |_| {
                let session = H2::<Plain>::new(it.exchanges.clone(), it.limits, it.window)
                    .with_connection_window(window(flags.connection_window_bits));
                (plan.target.clone(), session)
            };
            carry_out_with(plan, when, &mut watched, part, told)
        }
        _ => carry_out(plan, when, &mut watched, told),
    };
    let (seen, detail) = done.map_err(|error| format!("prony: {error}"))?;
    let _ = console.out.write_all(progress.end().as_bytes());
    let ended = match flags.active {
        _ if kept.get().is_some_and(|control| control.stopped()) => LoadEnd::Stopped,
        Some(most) if seen.measured_ns >= nanos(most) => LoadEnd::Expired,
        _ => LoadEnd::Itself,
    };
    Ok((seen, detail, ended))
}

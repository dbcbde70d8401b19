//! `prony wrk`: the command line of wrk 4.2, and with a rate that of wrk2.

mod args;
mod failure;
#[cfg(fuzzing)]
pub mod fuzz;
mod place;
mod protocol;
mod report;
mod requests;
#[cfg(feature = "lua")]
mod script;
#[cfg(not(feature = "lua"))]
#[path = "script_absent.rs"]
mod script;
mod spectrum;
mod units;
mod url;

use crate::console::Console;
use crate::shared::flags::take_quiet;
use crate::shared::remarks::remark;
use args::{Args, Parsed, USAGE};
use failure::ScriptFailure;
use prony_checks::Evidence;
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::protocol::{Expect, Http, HttpExchange, Limits};
use prony_engine::{
    Control, Detail, Dialogue, Plan, Target, clock, descriptors, run_with, transport,
};
use prony_record::{Load, Observation, Span, Window};
use protocol::{Alarm, Parts, Scripted};
use report::WrkResults;
use requests::split;
use script::Script;
use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

/// wrk's: each thread's rate is taken so often.
const SAMPLING: Duration = Duration::from_millis(100);
/// More samples than this of each thread say nothing more; a longer run takes them less often.
const SAMPLES: u32 = 1_000;

/// Runs a load as `wrk` would with these arguments (without the program's name), and gives the exit
/// status: 0, or 1 when there is nothing to run, the server cannot be reached, or the script fails.
pub fn main(args: Vec<OsString>, console: &mut Console<'_>) -> u8 {
    said(speak(args, false, console), console)
}

/// The same by the name of wrk2, which always wants a rate.
pub fn main_wrk2(args: Vec<OsString>, console: &mut Console<'_>) -> u8 {
    said(speak(args, true, console), console)
}

fn said(done: Result<(), WrkError>, console: &mut Console<'_>) -> u8 {
    match done {
        Ok(()) => 0,
        Err(WrkError::Usage(None)) => 1,
        Err(error) => {
            // When even that cannot be said, the status says it.
            let _ = writeln!(console.err, "{error}");
            1
        }
    }
}

/// Why there is nothing more to print.
#[derive(Debug, thiserror::Error)]
enum WrkError {
    /// The usage has been printed; what else there is to say.
    #[error("{}", .0.as_deref().unwrap_or_default())]
    Usage(Option<String>),
    #[error(transparent)]
    Script(#[from] ScriptFailure),
    #[error(transparent)]
    Descriptors(#[from] descriptors::TooFewDescriptors),
    #[error(transparent)]
    Engine(#[from] prony_engine::Error),
    #[error(transparent)]
    Print(#[from] io::Error),
}

fn speak(args: Vec<OsString>, wrk2: bool, console: &mut Console<'_>) -> Result<(), WrkError> {
    let (args, quiet) = take_quiet(args);
    let mut parsed = Parsed::from(args);
    if wrk2 && matches!(&parsed.args, Ok(args) if args.rate.is_none()) {
        parsed.args = Err(Some(args::NO_RATE.to_owned()));
    }
    if parsed.version {
        console.out.write_all(version().as_bytes())?;
    }
    match parsed.args {
        Ok(args) => run(&args, quiet, console),
        Err(complaint) => {
            console.out.write_all(USAGE.as_bytes())?;
            Err(WrkError::Usage(complaint))
        }
    }
}

fn version() -> String {
    format!(
        "wrk 4.2.0 [{}] as spoken by prony {}\n",
        transport(&Load::default()),
        env!("CARGO_PKG_VERSION")
    )
}

fn run(args: &Args, quiet: bool, console: &mut Console<'_>) -> Result<(), WrkError> {
    // Like wrk, measures with the connections that there are descriptors for.
    let most = u32::try_from(descriptors::room(args.threads)).unwrap_or(u32::MAX);
    let opened = args.connections.min(most.max(args.threads));
    descriptors::reserve_closely(u64::from(opened), args.threads)?;
    // What a script prints itself does not pass through the console.
    console.out.flush()?;
    let script = Script::load(args)?;
    let parts = parts(&script)?;
    if !quiet {
        overlooked(args, parts, console.err)?;
    }
    let mut plan = plan(args, parts);
    plan.load.connections = opened;
    script.flush();
    write!(console.out, "{}", report::heading(args))?;
    console.out.flush()?;
    let control = Arc::new(Control::at_once(clock::nanos(args.duration)));
    (console.guard)(&control);
    let (seen, detail) = carry_out(&plan, &control, &script, parts)?;
    let mut outcome = WrkResults::of(&seen, &detail, args.timeout);
    outcome.errors.connect += u64::from(args.connections - opened);
    script.flush();
    write!(console.out, "{}", report::report(args, &outcome, &seen))?;
    console.out.flush()?;
    let done = script.done(&outcome);
    if !quiet {
        let evidence = Evidence {
            rests: parts.delay,
            ..Evidence::of(&plan.load, &seen)
        };
        remark(&evidence, console.err);
    }
    Ok(done?)
}

/// Finds the parts of a load in which the script takes part. Like wrk, asks the first thread for its first text, and
/// discards it.
fn parts(script: &Script) -> Result<Parts, ScriptFailure> {
    let first = script.functions(0);
    let requests = first.request(split)?;
    let requests = requests.map_err(|malformed| first.bad_request(&malformed.to_string()))?;
    Ok(Parts {
        request: first.has("request"),
        response: first.has("response"),
        delay: first.has("delay"),
        batch: u32::try_from(requests.len()).unwrap_or(u32::MAX),
    })
}

fn plan(args: &Args, parts: Parts) -> Plan {
    // The target is each thread's own.
    let nowhere = Target::Tcp(([0, 0, 0, 0], 0).into());
    let load = Load {
        rate: args.rate.map(|rate| rate as f64),
        arrival: args.arrival,
        connections: args.connections,
        threads: args.threads,
        pipeline: parts.batch,
        timeout: Span(args.timeout),
        window: Span(SAMPLING.max(args.duration / SAMPLES)),
        ..Load::default()
    };
    Plan {
        tls: tls(args),
        // wrk connects again at once.
        retry: 0,
        ..Plan::new(load, nowhere, Dialogue::Own)
    }
}

/// Returns the TLS options of wrk: it asks for the URL's host, accepts every certificate, resumes sessions and offers
/// no application protocol. `None` without TLS.
fn tls(args: &Args) -> Option<TlsOptions> {
    args.url.scheme.starts_with("https").then(|| TlsOptions {
        server_name: args.url.host.clone(),
        insecure: true,
        ..TlsOptions::default()
    })
}

fn carry_out(
    plan: &Plan,
    control: &Arc<Control>,
    script: &Script,
    parts: Parts,
) -> Result<(Observation, Detail), WrkError> {
    let target = |worker| Target::Tcp(script.address(worker));
    let mut always = Vec::new();
    for worker in 0..plan.load.threads {
        let functions = script.functions(worker);
        always.push(if parts.request {
            Vec::new()
        } else {
            functions.request(<[u8]>::to_vec)?
        });
    }
    let said = |worker: u32| always[worker as usize].clone();
    if !parts.request && !parts.response && !parts.delay && parts.batch == 1 {
        // Nothing that the script could say any more: it costs nothing.
        let part = |worker| {
            let exchange = HttpExchange::raw(said(worker), Expect::default());
            (target(worker), Http::new(vec![exchange], Limits::default()))
        };
        return Ok(run_with(plan, control, part, |_: &Window| {})?);
    }
    let alarm = Alarm::new(control.clone());
    let part = |worker| {
        let functions = script.functions(worker).clone();
        let stop = script.stop_flag(worker);
        let scripted = Scripted::new(functions, parts, said(worker), stop, &alarm);
        (target(worker), scripted)
    };
    let seen = run_with(plan, control, part, |_: &Window| {});
    match alarm.failure() {
        Some(failure) => Err(failure.into()),
        None => Ok(seen?),
    }
}

/// Says what was asked for and is not done.
fn overlooked(args: &Args, parts: Parts, err: &mut dyn Write) -> io::Result<()> {
    if args.batches {
        writeln!(
            err,
            "prony: -B is not supported: each response is measured separately"
        )?;
    }
    if parts.delay && args.rate.is_some() {
        writeln!(
            err,
            "prony: delay() is not called: with a rate, requests have their times"
        )?;
    }
    for header in args.headers.iter().filter(|header| !header.contains(": ")) {
        writeln!(
            err,
            "prony: -H '{header}' is not sent: expected 'Name: value'"
        )?;
    }
    Ok(())
}

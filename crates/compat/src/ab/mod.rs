//! `ab`, the Apache HTTP server benchmarking tool.
//!
//! The request is byte for byte the original's, HTTP/1.0 included, so that a server has the same
//! work with it. A request is over when its answer is complete, whether the server then closes the
//! connection or not; the original waits for that, and hangs where it does not happen.

mod files;
mod flags;
mod html;
mod report;
mod request;
mod text;
mod tls;
mod usage;
mod verbose;

use crate::Console;
use crate::shared::address::{Family, resolve};
use crate::shared::flags::take_quiet;
use crate::shared::load::{
    self, Met, When, WindowEvent, carry_out, carry_out_with, errors, reserve, words,
};
use crate::shared::remarks::remark;
use crate::shared::remedy::ImitatedTool;
use flags::AbFlags;
use prony_checks::Evidence;
use prony_engine::clock::{SECOND, nanos};
use prony_engine::protocol::tls::{ProbeError, TlsInvalid, TlsOptions, probe};
use prony_engine::protocol::{Expect, HttpExchange, Limits};
use prony_engine::{Control, Detail, Dialogue, IoActivity, Nanos, Plan, Target, Trace};
use prony_record::{Extent, Load, Observation, Span};
use report::AbReport;
use std::cell::OnceCell;
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use verbose::{Log, Verbose};

/// How often progress is looked at.
const WINDOW: Duration = Duration::from_millis(100);
/// The exit status of the original when nothing came for its time-out: the low byte of APR's
/// number for that, 70007.
const STATUS_TIMEOUT: u8 = 119;
/// Messages of the resolver for a host that it cannot look up, with APR's numbers for them.
const UNKNOWN: [(&str, u32); 3] = [
    ("Name or service not known", 670_002),
    ("Temporary failure in name resolution", 670_003),
    ("No address associated with hostname", 670_005),
];
/// The system's numbers for errors.
const EPERM: i32 = 1;
const EACCES: i32 = 13;
const EINVAL: i32 = 22;
const EMFILE: i32 = 24;
const EADDRNOTAVAIL: i32 = 99;
const ENETUNREACH: i32 = 101;

/// Reads a command line as [`main`] does, and shows what it stands for or what is wrong with it, without a load: for fuzzing.
#[cfg(fuzzing)]
pub fn read(args: Vec<OsString>, console: &mut Console<'_>) {
    match flags::parse(take_quiet(args).0) {
        Ok(flags) => {
            let _ = (
                flags.method(),
                flags.connect_to(),
                flags.port(),
                banner(&flags),
            );
        }
        Err(instead) => {
            instead.say(console.out, console.err);
        }
    }
}

/// Runs `ab` with `args` (without the program's name) and gives its exit status.
pub fn main(args: Vec<OsString>, console: &mut Console<'_>) -> u8 {
    let (args, quiet) = take_quiet(args);
    let flags = match flags::parse(args) {
        Ok(flags) => flags,
        Err(instead) => return instead.say(console.out, console.err),
    };
    if let Some(bytes) = &flags.socket_buffer
        && !quiet
    {
        let _ = writeln!(
            console.err,
            "prony: -b {bytes} has no effect: the kernel sizes the buffers of sockets"
        );
    }
    if !quiet {
        for note in &flags.notes {
            let _ = writeln!(console.err, "prony: {note}");
        }
    }
    let _ = console.out.write_all(banner(&flags).as_bytes());
    match measure(&flags, console) {
        Ok(measured) => finish(&flags, &measured, quiet, console),
        Err(end) => end.say(console),
    }
}

/// The run has ended without a report.
struct End {
    text: String,
    status: u8,
    /// Requests that were answered before that.
    done: u64,
}

impl End {
    fn new(text: String, status: u8) -> Self {
        Self {
            text,
            status,
            done: 0,
        }
    }

    fn say(&self, console: &mut Console<'_>) -> u8 {
        let _ = writeln!(console.err, "{}", self.text);
        if self.done > 0 {
            let _ = writeln!(console.out, "Total of {} requests completed", self.done);
        }
        self.status
    }
}

/// Identification of this program, in as many lines as the original has: parsers count them.
fn who() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "This is ApacheBench, Version 2.3 <$Revision: prony {version} $>\n\
         Spoken by prony {version}, which is not the original\n\
         Its figures differ in meaning where its manual says so\n\n"
    )
}

/// Returns the text that is printed before anything is measured.
fn banner(flags: &AbFlags) -> String {
    if flags.html {
        let version = env!("CARGO_PKG_VERSION");
        return format!(
            "<p>\n This is ApacheBench, Version 2.3 <i>&lt;$Revision: prony {version} $&gt;</i><br>\n \
             Spoken by prony {version}, which is not the original<br>\n \
             Its figures differ in meaning where its manual says so<br>\n</p>\n<p>\n"
        );
    }
    let through = flags
        .proxy
        .as_ref()
        .map_or_else(String::new, |(host, port)| {
            format!("[through {host}:{port}] ")
        });
    let tail = if flags.heartbeat().is_some() {
        "\n"
    } else {
        "..."
    };
    format!(
        "{}Benchmarking {} {through}(be patient){tail}",
        who(),
        flags.url.host
    )
}

/// A load that was carried out, and what was seen of it.
struct MeasuredLoad {
    load: Load,
    seen: Observation,
    detail: Detail,
}

fn measure(flags: &AbFlags, console: &mut Console<'_>) -> Result<MeasuredLoad, End> {
    let timeout = Duration::from_secs(flags.timeout);
    let (host, port) = flags.connect_to();
    // With keep-alive connections are made before the load: without one that succeeds there would
    // be nothing to wait for.
    let address = resolve(host, port, Family::Any, flags.keepalive, timeout)
        .map_err(|error| not_resolved(host, &error))?;
    let plan = plan(flags, address, timeout);
    if let Some(options) = &plan.tls {
        shake_hands(&plan.target, options, timeout)?;
    }
    let length = flags
        .time_limit
        .map_or(Nanos::MAX, |seconds| seconds.saturating_mul(SECOND));
    let when = When::at_once(length);
    let mut watch = Watch::new(flags, nanos(timeout));
    let kept = OnceCell::new();
    let outer = console.guard;
    let guard = |control: &Arc<Control>| {
        let _ = kept.set(Arc::clone(control));
        outer(control);
    };
    let console = &mut Console {
        out: &mut *console.out,
        err: &mut *console.err,
        guard: &guard,
    };
    let _ = console.out.write_all(text::log(flags).as_bytes());
    let log = Log::default();
    reserve(&plan.load).map_err(|error| not_carried_out(&error))?;
    let carried_out = if flags.verbosity >= 2 {
        let own = Plan {
            dialogue: Dialogue::Own,
            ..plan.clone()
        };
        let part = |_| {
            let request = request::bytes(flags);
            let verbose = Verbose::new(request, flags.verbosity >= 3, log.clone());
            (Target::Tcp(address), verbose)
        };
        carry_out_with(&own, when, console, part, |told| watch.window(told))
    } else {
        carry_out(&plan, when, console, |told| watch.window(told))
    };
    let (seen, detail) = carried_out.map_err(|error| not_carried_out(&error))?;
    let _ = console.out.write_all(log.text().as_bytes());
    for _ in 0..seen.outcomes.write_error {
        let _ = writeln!(console.out, "Send request failed!");
    }
    if let Some(end) = fatal(flags, (&seen, &detail), watch.gave_up) {
        return Err(end);
    }
    // The original says nothing of the end of a run that was broken off.
    if !kept.get().is_some_and(|control| control.stopped()) {
        watch.end(console);
    }
    Ok(MeasuredLoad {
        load: plan.load,
        seen,
        detail,
    })
}

fn not_carried_out(error: &load::LoadError) -> End {
    match error {
        // The original ends with the system's number for it.
        load::LoadError::Descriptors(_) => {
            let End { text, status, .. } = broken(EMFILE);
            End::new(format!("{text}\nprony: {error}"), status)
        }
        load::LoadError::Engine(_) => End::new(format!("ab: {error}"), 1),
    }
}

fn not_resolved(host: &str, error: &io::Error) -> End {
    match error.raw_os_error() {
        Some(number) => broken(number),
        None => {
            let text = error.to_string();
            let why = text.strip_prefix("failed to lookup address information: ");
            let why = why.unwrap_or(&text);
            // APR's numbers for what the resolver says.
            let number = UNKNOWN
                .iter()
                .find(|(words, _)| *words == why)
                .map_or(670_002, |(_, number)| *number);
            End::new(
                format!("apr_sockaddr_info_get() for {host}: {why} ({number})"),
                (number & 0xff) as u8,
            )
        }
    }
}

/// Makes one connection before the load. Where the handshake fails, the original reports a load without answers; one
/// that cannot be made fails in the load.
fn shake_hands(target: &Target, options: &TlsOptions, timeout: Duration) -> Result<(), End> {
    match probe(target, options, timeout) {
        Ok(_) | Err(ProbeError::Connection(_)) => Ok(()),
        Err(error @ ProbeError::Invalid(TlsInvalid::Cipher { .. })) => {
            let list = options.cipher.as_deref().unwrap_or_default();
            let text = format!("error setting ciphersuite list [{list}]\n{error}");
            Err(End::new(text, 1))
        }
        Err(error) => {
            let why = ImitatedTool::Ab.advise(&error, error.remedy());
            Err(End::new(format!("SSL handshake failed (1).\n{why}"), 1))
        }
    }
}

/// The end after a socket error: what the original was doing when it learns of it. It makes connections without
/// waiting for them, so that a refusal comes with its first receive; only what fails at once, because
/// nothing can be sent there, comes from connecting, and is tried a few times.
fn broken(number: i32) -> End {
    let call = match number {
        EMFILE => "socket",
        EPERM | EACCES | EINVAL | EADDRNOTAVAIL | ENETUNREACH => {
            "\nTest aborted after 10 failures\n\napr_socket_connect()"
        }
        _ => "apr_socket_recv",
    };
    let met = Met {
        doing: IoActivity::Connecting,
        number: Some(number),
        count: 1,
    };
    End::new(
        format!("{call}: {} ({number})", met.words()),
        u8::try_from(number & 0xff).unwrap_or(1),
    )
}

fn plan(flags: &AbFlags, address: SocketAddr, timeout: Duration) -> Plan {
    let exchange = HttpExchange::raw(
        request::bytes(flags),
        // To ab every status is an answer; those that are none of 2xx are counted apart.
        Expect::default(),
    );
    let dialogue = Dialogue::Http {
        exchanges: vec![exchange],
        limits: Limits::default(),
    };
    let load = Load {
        connections: flags.concurrency,
        keepalive: flags.keepalive,
        extent: Extent::Requests(flags.requests),
        timeout: Span(timeout),
        window: Span(WINDOW),
        ..Load::default()
    };
    Plan {
        tls: flags.tls.as_ref().map(|tls| tls.options(flags, address)),
        trace: Trace::All,
        ..Plan::new(load, Target::Tcp(address), dialogue)
    }
}

/// Prints progress, and gives up where the original does.
struct Watch {
    /// Between two lines of progress, in requests.
    heartbeat: Option<u64>,
    done: u64,
    next: u64,
    keep_going: bool,
    timeout: Nanos,
    /// How long no answer has come.
    silent: Nanos,
    gave_up: bool,
}

impl Watch {
    fn new(flags: &AbFlags, timeout: Nanos) -> Self {
        let heartbeat = flags.heartbeat();
        Self {
            heartbeat,
            done: 0,
            next: heartbeat.unwrap_or(0),
            keep_going: flags.keep_going,
            timeout,
            silent: 0,
            gave_up: false,
        }
    }

    fn window(&mut self, told: &mut WindowEvent<'_>) {
        let outcomes = told.outcomes;
        let answers = outcomes.ok + outcomes.wrong_answer;
        self.done += outcomes.finished();
        if let Some(step) = self.heartbeat {
            while self.done >= self.next {
                let _ = writeln!(told.err, "Completed {} requests", self.next);
                self.next += step;
            }
        }
        self.silent = if answers > 0 {
            0
        } else {
            self.silent + told.window.length_ns
        };
        if outcomes.timeout > 0 && self.silent >= self.timeout {
            self.gave_up = true;
            told.control.stop();
        }
        if outcomes.connect_error > 0 && !self.keep_going {
            told.control.stop();
        }
    }

    fn end(&self, console: &mut Console<'_>) {
        if self.heartbeat.is_some() {
            let _ = writeln!(console.err, "Finished {} requests", self.done);
        } else {
            let _ = writeln!(console.out, "..done");
        }
    }
}

/// Has the run met something that the original ends with?
fn fatal(flags: &AbFlags, (seen, detail): (&Observation, &Detail), gave_up: bool) -> Option<End> {
    let done = seen.outcomes.ok + seen.outcomes.wrong_answer;
    if gave_up {
        let text = "apr_pollset_poll: The timeout specified has expired (70007)".to_owned();
        return Some(End {
            done,
            ..End::new(text, STATUS_TIMEOUT)
        });
    }
    if flags.keep_going {
        return None;
    }
    // A request that could not be sent is only counted, and a server that closes has answered.
    let met = errors(detail)
        .into_iter()
        .filter(|met| met.doing != IoActivity::Writing && met.number.is_some() && !met.timed_out());
    // The first one ends the run. A load is stopped soon after the first connection that cannot be made, so
    // that a connection in use was lost before that, if one was.
    let number = met
        .min_by_key(|met| met.doing != IoActivity::Reading)
        .and_then(|met| met.number)?;
    Some(End {
        done,
        ..broken(number)
    })
}

fn finish(flags: &AbFlags, measured: &MeasuredLoad, quiet: bool, console: &mut Console<'_>) -> u8 {
    let MeasuredLoad { load, seen, detail } = measured;
    let report = AbReport::new(flags, seen, detail);
    let shown = if flags.html {
        html::html(&report, flags)
    } else {
        text::text(&report, flags)
    };
    let _ = console.out.write_all(shown.as_bytes());
    if !quiet {
        remark(&report.judged(Evidence::of(load, seen)), console.err);
    }
    let mut status = 0;
    for (path, content) in files::files(flags, &report) {
        if let Err(error) = std::fs::write(path, content) {
            let what = match flags.csv.as_deref() == Some(path) {
                true => "CSV",
                false => "gnuplot",
            };
            let why = words(&error);
            let _ = writeln!(console.err, "Cannot open {what} output file: {why}");
            status = 1;
            // The original ends here.
            break;
        }
    }
    status
}

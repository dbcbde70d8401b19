//! `weighttp`, the small benchmarking tool of the lighttpd project, versions 0.3 and 0.4.
//!
//! Its clients share a thread's requests: each goes on as soon as it is free, until all are done.

mod flags;

use crate::Console;
use crate::shared::address::{Family, resolve};
use crate::shared::flags::take_quiet;
use crate::shared::load::{When, carry_out, reserve, share};
use crate::shared::remarks::remark;
use flags::WeighttpFlags;
use prony_checks::Evidence;
use prony_engine::clock::SECOND;
use prony_engine::protocol::{Expect, HttpExchange, Limits};
use prony_engine::{Dialogue, Nanos, Plan, Target};
use prony_record::{Extent, Load, Observation, Span, Window};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write;
use std::net::SocketAddr;
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
            let _ = flags.request();
        }
        Err(instead) => {
            instead.say(console.out, console.err);
        }
    }
}

/// Runs `weighttp` with `args` (without the program's name) and gives its exit status.
pub fn main(args: Vec<OsString>, console: &mut Console<'_>) -> u8 {
    let (args, quiet) = take_quiet(args);
    let _ = console.out.write_all(flags::version().as_bytes());
    let flags = match flags::parse(args) {
        Ok(flags) => flags,
        Err(instead) => return instead.say(console.out, console.err),
    };
    match measure(&flags, console) {
        Ok((plan, seen)) => {
            let _ = console.out.write_all(report(&flags, &seen).as_bytes());
            if !quiet {
                remark(&Evidence::of(&plan.load, &seen), console.err);
            }
            0
        }
        Err(error) => {
            let _ = writeln!(console.err, "error: {error}");
            1
        }
    }
}

fn measure(
    flags: &WeighttpFlags,
    console: &mut Console<'_>,
) -> Result<(Plan, Observation), String> {
    let host = &flags.url.host;
    let family = if flags.ipv6 { Family::V6 } else { Family::V4 };
    let port = flags.url.port.unwrap_or(80);
    // With keep-alive connections are made before the load: without one that succeeds there would
    // be nothing to wait for.
    let address =
        resolve(host, port, family, flags.keepalive, TIMEOUT).map_err(|error| {
            match error.raw_os_error() {
                Some(_) => format!("connect() failed: {error}"),
                None => format!("could not resolve hostname: {host}: {error}"),
            }
        })?;
    let plan = plan(flags, address);
    let _ = console.out.write_all(opening(flags).as_bytes());
    let mut progress = ProgressPrinter::new(flags);
    reserve(&plan.load).map_err(|error| error.to_string())?;
    let (seen, _) = carry_out(&plan, When::at_once(Nanos::MAX), console, |told| {
        progress.window(told.window, told.out);
    })
    .map_err(|error| error.to_string())?;
    Ok((plan, seen))
}

fn plan(flags: &WeighttpFlags, address: SocketAddr) -> Plan {
    let exchange = HttpExchange::raw(flags.request(), Expect::default());
    let dialogue = Dialogue::Http {
        exchanges: vec![exchange],
        limits: Limits::default(),
    };
    let load = Load {
        connections: flags.clients,
        threads: flags.threads,
        keepalive: flags.keepalive,
        extent: Extent::Requests(flags.requests),
        timeout: Span(TIMEOUT),
        window: Span(WINDOW),
        ..Load::default()
    };
    Plan::new(load, Target::Tcp(address), dialogue)
}

/// Returns the text before the load: how requests and clients are shared between the threads.
fn opening(flags: &WeighttpFlags) -> String {
    let mut out = String::from("starting benchmark...\n");
    for thread in 0..flags.threads {
        let share = |all| share(all, flags.threads, thread);
        let _ = writeln!(
            out,
            "spawning thread #{}: {} concurrent requests, {} total requests",
            thread + 1,
            share(u64::from(flags.clients)),
            share(flags.requests)
        );
    }
    out
}

/// A line for each tenth of the first thread's requests.
struct ProgressPrinter {
    all: u64,
    first: u64,
    step: u64,
    next: u64,
    done: u64,
}

impl ProgressPrinter {
    fn new(flags: &WeighttpFlags) -> Self {
        let first = share(flags.requests, flags.threads, 0);
        let step = (first / 10).max(1);
        Self {
            all: flags.requests,
            first,
            step,
            next: step,
            done: 0,
        }
    }

    fn window(&mut self, window: &Window, out: &mut dyn Write) {
        self.done += window.verified_answers + window.failed();
        // Threads advance alike, near enough for a line of progress.
        let first = u128::from(self.done) * u128::from(self.first) / u128::from(self.all);
        while first >= u128::from(self.next) {
            let _ = writeln!(out, "progress: {:3}% done", self.next * 100 / self.first);
            self.next += self.step;
        }
        // A number of requests that no step meets ends with all of them as well.
        if self.done >= self.all && self.next > self.first && self.next < self.first + self.step {
            let _ = writeln!(out, "progress: 100% done");
            self.next = self.first + self.step;
        }
        let _ = out.flush();
    }
}

fn report(flags: &WeighttpFlags, seen: &Observation) -> String {
    let nanos = seen.measured_ns;
    let (sec, rest) = (nanos / SECOND, nanos % SECOND);
    let (millisec, microsec) = (rest / 1_000_000, rest / 1_000 % 1_000);
    let per_second = |amount: u64| {
        if nanos == 0 {
            0
        } else {
            (amount as f64 * SECOND as f64 / nanos as f64) as u64
        }
    };
    let outcomes = &seen.outcomes;
    let done = outcomes.finished();
    let started = done + outcomes.in_flight_at_end;
    let errored = outcomes.timeout + outcomes.socket_errors();
    // 1xx never ends an answer, but for 101, which the original counts here as well.
    let [switching, ok, redirect, client, server] =
        [1, 2, 3, 4, 5].map(|digit| outcomes.status.class(digit));
    let (received, body) = (seen.bytes_received, seen.body_bytes);
    format!(
        "\nfinished in {sec} sec, {millisec} millisec and {microsec} microsec, {} req/s, {} kbyte/s\n\
         requests: {} total, {started} started, {done} done, {} succeeded, {} failed, {errored} errored\n\
         status codes: {ok} 2xx, {} 3xx, {client} 4xx, {server} 5xx\n\
         traffic: {received} bytes total, {} bytes http, {body} bytes data\n",
        per_second(done),
        per_second(received) / 1024,
        flags.requests,
        outcomes.ok,
        done - outcomes.ok,
        redirect + switching,
        received.saturating_sub(body),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(line: &str) -> WeighttpFlags {
        flags::parse(line.split(' ').map(OsString::from).collect()).unwrap()
    }

    #[test]
    fn threads_share_requests_and_clients() {
        assert_eq!(
            opening(&flags("-n 10 -c 4 -t 3 h")),
            "starting benchmark...\n\
             spawning thread #1: 2 concurrent requests, 4 total requests\n\
             spawning thread #2: 1 concurrent requests, 3 total requests\n\
             spawning thread #3: 1 concurrent requests, 3 total requests\n"
        );
    }

    #[test]
    fn progress_is_shown_at_every_tenth() {
        let mut out = Vec::new();
        let mut progress = ProgressPrinter::new(&flags("-n 100 -c 4 -t 2 h"));
        for ok in [25, 75] {
            let mut window = Window::empty(0, 0, 1);
            window.verified_answers = ok;
            progress.window(&window, &mut out);
        }
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out.lines().count(), 10);
        assert!(out.starts_with("progress:  10% done\n") && out.ends_with("progress: 100% done\n"));
        for requests in ["7", "19", "95", "101"] {
            let mut out = Vec::new();
            let mut progress = ProgressPrinter::new(&flags(&format!("-n {requests} -c 1 -t 1 h")));
            let mut window = Window::empty(0, 0, 1);
            window.verified_answers = requests.parse().unwrap();
            progress.window(&window, &mut out);
            let out = String::from_utf8(out).unwrap();
            assert!(out.ends_with("progress: 100% done\n"), "{requests}: {out}");
            assert_eq!(out.matches("100%").count(), 1, "{requests}: {out}");
        }
    }
}

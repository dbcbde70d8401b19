//! Output before and during a load.

use super::flags::H2loadFlags;
use super::units::whole;
use crate::shared::load::share;
use prony_engine::clock::nanos;
use prony_record::Window;
use std::fmt::Write as _;
use std::io::Write;

/// Returns the text before the load: how requests and clients are shared between the threads.
pub(super) fn opening(flags: &H2loadFlags) -> String {
    let mut out = String::from("starting benchmark...\n");
    for thread in 0..flags.threads {
        let share = |all| share(all, flags.threads, thread);
        let clients = share(u64::from(flags.clients));
        let what = match flags.duration {
            Some(main) => format!(
                "Timing-based test with {}s of warm-up time and {}s of main duration for measurements.",
                flags.warmup.as_secs_f64(),
                main.as_secs_f64()
            ),
            None if flags.rate > 0 => format!(
                "Up to {} client(s) will be created every {} {} total requests",
                share(u64::from(flags.rate)),
                whole(flags.period),
                share(flags.requests)
            ),
            None => format!("{} total requests", share(flags.requests)),
        };
        let _ = writeln!(
            out,
            "spawning thread #{thread}: {clients} total client(s). {what}"
        );
    }
    out
}

/// Tells how the load goes, in the original's words.
#[derive(Debug)]
pub(super) enum ProgressPrinter {
    Counting(Steps),
    Timing(Phases),
}

impl ProgressPrinter {
    /// `said` is what is said of the first connection.
    pub(super) fn new(flags: &H2loadFlags, said: &str) -> Self {
        match flags.duration {
            Some(_) => Self::Timing(Phases::new(flags, said)),
            None => Self::Counting(Steps::new(flags)),
        }
    }

    pub(super) fn window(&mut self, window: &Window, out: &mut dyn Write) {
        let text = match self {
            Self::Counting(steps) => steps.passed(window),
            Self::Timing(phases) => phases.passed(window.end_ns()),
        };
        let _ = out.write_all(text.as_bytes());
        let _ = out.flush();
    }

    /// Returns the text that remains to be printed when the load is over.
    pub(super) fn end(&mut self) -> String {
        match self {
            Self::Counting(_) => String::new(),
            Self::Timing(phases) => phases.end(),
        }
    }
}

/// A line for each tenth of the first thread's requests, or of its connections where these are opened at a rate.
#[derive(Debug)]
pub(super) struct Steps {
    /// Requests of all threads.
    all: u64,
    /// Requests of the first thread, or its connections where these are opened at a rate.
    first: u64,
    step: u64,
    next: u64,
    done: u64,
    what: &'static str,
}

impl Steps {
    fn new(flags: &H2loadFlags) -> Self {
        let (counted, what) = match flags.rate {
            0 => (flags.requests, "done"),
            _ => (u64::from(flags.clients), "of clients started"),
        };
        let first = share(counted, flags.threads, 0);
        let step = (first / 10).max(1);
        Self {
            all: flags.requests,
            first,
            step,
            next: step,
            done: 0,
            what,
        }
    }

    fn passed(&mut self, window: &Window) -> String {
        self.done += window.verified_answers + window.wrong_answers;
        // Threads advance alike, near enough for a line of progress.
        let first = u128::from(self.done) * u128::from(self.first) / u128::from(self.all);
        let mut out = String::new();
        while first >= u128::from(self.next) && self.next <= self.first {
            let percent = self.next * 100 / self.first;
            let _ = writeln!(out, "progress: {percent}% {}", self.what);
            self.next += self.step;
        }
        out
    }
}

/// The phases of a load that ends by time. The clients are connected when it begins.
#[derive(Debug)]
pub(super) struct Phases {
    threads: u32,
    /// Clients of the first thread.
    clients: u64,
    /// In nanoseconds.
    warmup: u64,
    said: String,
    begun: bool,
    measured: bool,
}

impl Phases {
    fn new(flags: &H2loadFlags, said: &str) -> Self {
        Self {
            threads: flags.threads,
            clients: share(u64::from(flags.clients), flags.threads, 0),
            warmup: nanos(flags.warmup),
            said: said.to_owned(),
            begun: false,
            measured: false,
        }
    }

    /// Returns the lines that are due when `since` nanoseconds have passed.
    fn passed(&mut self, since: u64) -> String {
        let mut out = String::new();
        if !self.begun {
            self.begun = true;
            self.say(&mut out, "Warm-up started for thread #", ".");
            let step = (self.clients / 10).max(1);
            for started in (step..=self.clients).step_by(step as usize) {
                let percent = started * 100 / self.clients;
                let _ = writeln!(out, "progress: {percent}% of clients started");
            }
            if self.warmup > 0 {
                out += &self.said;
            }
        }
        if !self.measured && since >= self.warmup {
            self.measured = true;
            self.say(&mut out, "Warm-up phase is over for thread #", ".");
            self.say(
                &mut out,
                "Main benchmark duration is started for thread #",
                ".",
            );
            if self.warmup == 0 {
                out += &self.said;
            }
        }
        out
    }

    fn end(&mut self) -> String {
        let mut out = self.passed(0);
        if self.measured {
            let over = ". Stopping all clients.";
            self.say(
                &mut out,
                "Main benchmark duration is over for thread #",
                over,
            );
        }
        self.say(&mut out, "Stopped all clients for thread #", "");
        out
    }

    fn say(&self, out: &mut String, before: &str, after: &str) {
        for thread in 0..self.threads {
            let _ = writeln!(out, "{before}{thread}{after}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::flags::parse;
    use super::*;
    use std::ffi::OsString;

    fn flags(line: &str) -> H2loadFlags {
        parse(line.split(' ').map(OsString::from).collect()).unwrap()
    }

    /// Expected texts are those that the original printed.
    #[test]
    fn threads_share_requests_and_clients() {
        for (line, shares) in [
            (
                "-n 23 -c 4 -t 2 http://h",
                [
                    "2 total client(s). 12 total requests",
                    "2 total client(s). 11 total requests",
                ],
            ),
            (
                "-n 16 -c 4 -t 2 -r 2 --rate-period=100ms http://h",
                ["2 total client(s). Up to 1 client(s) will be created every 100ms 8 total requests";
                    2],
            ),
            (
                "-D 2m --warm-up-time=1500ms -c 2 -t 2 http://h",
                ["1 total client(s). Timing-based test with 1.5s of warm-up time and 120s of main duration for measurements.";
                    2],
            ),
        ] {
            let [first, second] = shares;
            assert_eq!(
                opening(&flags(line)),
                format!(
                    "starting benchmark...\nspawning thread #0: {first}\nspawning thread #1: {second}\n"
                )
            );
        }
    }

    fn window(ok: u64) -> Window {
        let mut window = Window::empty(0, 0, 1);
        window.verified_answers = ok;
        window
    }

    /// Every step is reported once and in order, whatever the number of requests and however they come.
    #[test]
    fn every_step_is_told_once() {
        for requests in 1..60_u64 {
            for piece in [1, 3, requests] {
                let line = format!("-n {requests} -c 1 -t 1 http://h");
                let mut steps = Steps::new(&flags(&line));
                let mut told = String::new();
                let mut left = requests;
                while left > 0 {
                    let now = piece.min(left);
                    told += &steps.passed(&window(now));
                    left -= now;
                }
                let step = (requests / 10).max(1);
                let expected: String = (1..=requests / step)
                    .map(|n| format!("progress: {}% done\n", n * step * 100 / requests))
                    .collect();
                assert_eq!(told, expected, "{requests}, {piece} at a time");
            }
        }
    }

    #[test]
    fn phases_are_told_in_order() {
        let mut phases = Phases::new(&flags("-D 1 --warm-up-time=1 -c 3 http://h"), "said\n");
        let mut told = phases.passed(1);
        told += &phases.passed(999_999_999);
        told += &phases.passed(1_000_000_000);
        told += &phases.passed(1_500_000_000);
        told += &phases.end();
        assert_eq!(
            told,
            "Warm-up started for thread #0.\nprogress: 33% of clients started\n\
             progress: 66% of clients started\nprogress: 100% of clients started\nsaid\n\
             Warm-up phase is over for thread #0.\nMain benchmark duration is started for thread #0.\n\
             Main benchmark duration is over for thread #0. Stopping all clients.\n\
             Stopped all clients for thread #0\n"
        );
        // One that was stopped in its warm-up.
        let mut phases = Phases::new(&flags("-D 1 --warm-up-time=1 http://h"), "said\n");
        assert!(!phases.end().contains("Main"));
    }
}

//! Servers that do what they should not: is everything that they do told as it is?
//!
//! Each server is loaded in several ways over each transport. Whatever it does, the load comes to its end, every
//! request is accounted for, and no more answers are right than the server has read requests; what else must be said
//! stands beside each server ([`judge::Say`]). The same servers speak through TLS as well; HTTP/3 has its own.

#[path = "../../../../crates/engine/tests/load/breaking.rs"]
mod breaking;
mod cases;
mod h3;
#[path = "../../../../crates/engine/tests/load/h3_server/mod.rs"]
mod h3_server;
mod judge;
mod line;
mod script;
mod secured;

use crate::error::{Error, Result};
use crate::table::Table;
use judge::{Case, Say, Serving, Shown, WAYS, Way, judge};
use prony_engine::available;
use prony_record::Transport;
use secured::Secured;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Loads under way at once: most of them wait.
const AT_ONCE: usize = 4;

/// Protocol below, or instead of, that which the servers break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    Tls,
    H3,
}

impl FromStr for Over {
    type Err = String;

    fn from_str(word: &str) -> std::result::Result<Self, String> {
        match word {
            "tls" => Ok(Self::Tls),
            "h3" => Ok(Self::H3),
            _ => Err("expected tls or h3".into()),
        }
    }
}

/// Results of all loads.
#[derive(Debug, Default, Serialize)]
pub struct Hostile {
    /// Servers.
    servers: usize,
    /// Protocol of the servers, besides HTTP/1.1 over TCP: TLS below that, or HTTP/3 instead.
    over: Option<&'static str>,
    /// By class of server: loads that were told as they should be, and others.
    classes: BTreeMap<&'static str, Told>,
    /// The longest that a load lasted beyond its length and time-out, in seconds.
    longest_overrun_s: f64,
    /// The most that the generator worked where a server never answered, as a part of the time.
    busiest_idle: f64,
    /// The most memory that this process held, servers included, in bytes.
    memory_peak: u64,
    /// Descriptions of the loads that were reported wrongly.
    wrong: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
struct Told {
    right: usize,
    wrong: usize,
}

/// Loads every server in every way; `short`: in one way each, a different one for each server. `over`: all of it over that.
///
/// # Errors
/// When something was not told as it is, or a server could not be started.
pub fn run(short: bool, over: Option<Over>) -> Result<Hostile> {
    let both: Vec<Transport> = [Transport::Epoll, Transport::IoUring]
        .into_iter()
        .filter(|&kind| available(kind))
        .collect();
    match over {
        None => load_all(&cases::all(None), &both, short, None),
        Some(Over::Tls) => {
            let secured = Secured::new()?;
            load_all(&cases::all(Some(&secured)), &both, short, Some("tls"))
        }
        // Datagrams are not sent by io_uring.
        Some(Over::H3) => load_all(&h3::all(), &[Transport::Epoll], short, Some("h3")),
    }
}

fn load_all<S: Serving>(
    cases: &[Case<S>],
    transports: &[Transport],
    short: bool,
    over: Option<&'static str>,
) -> Result<Hostile> {
    let ways = |nth: usize| -> Vec<(Transport, Way, &'static str)> {
        let all = transports
            .iter()
            .flat_map(|&kind| WAYS.map(|(way, name)| (kind, way, name)));
        let all: Vec<_> = all.collect();
        match short {
            true => vec![all[nth % all.len()]],
            false => all,
        }
    };
    let jobs: Vec<_> = cases
        .iter()
        .enumerate()
        .flat_map(|(nth, case)| ways(nth).into_iter().map(move |way| (case, way)))
        .collect();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Hostile {
        servers: cases.len(),
        over,
        ..Hostile::default()
    });
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Relaxed);
                    let Some((case, (kind, way, name))) = jobs.get(nth) else {
                        return;
                    };
                    if nth.is_multiple_of(250) {
                        eprintln!("hostile: {nth} of {} loads", jobs.len());
                    }
                    let told = judge(case, *kind, *way);
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.add(case, &format!("{name}, {kind}"), told);
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.memory_peak = memory_peak();
    if found.wrong.is_empty() {
        return Ok(found);
    }
    Err(Error::Unusable(format!("{found}")))
}

impl Hostile {
    fn add<S>(&mut self, case: &Case<S>, how: &str, told: std::result::Result<Shown, String>) {
        let class = self.classes.entry(case.class).or_default();
        match told {
            Ok(shown) => {
                class.right += 1;
                self.longest_overrun_s = self.longest_overrun_s.max(shown.overrun.as_secs_f64());
                if case.say == Say::TimesOut {
                    self.busiest_idle = self.busiest_idle.max(shown.seen.generator.busy);
                }
            }
            Err(why) => {
                class.wrong += 1;
                self.wrong
                    .push(format!("{}: {} ({how}): {why}", case.class, case.name));
            }
        }
    }
}

/// The most memory that this process has held, in bytes.
fn memory_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1_024
}

impl fmt::Display for Hostile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} servers{} that do what they should not, or what is seldom done.\n",
            self.servers,
            match self.over {
                Some("tls") => " behind TLS",
                Some("h3") => " over HTTP/3",
                _ => "",
            }
        )?;
        let mut table = Table::new(["class", "loads", "correct", "wrong"]);
        for (class, told) in &self.classes {
            table.row([
                (*class).to_owned(),
                (told.right + told.wrong).to_string(),
                told.right.to_string(),
                told.wrong.to_string(),
            ]);
        }
        let sum = |of: fn(&Told) -> usize| self.classes.values().map(of).sum::<usize>();
        let (right, wrong) = (sum(|told| told.right), sum(|told| told.wrong));
        table.row([
            "all".into(),
            (right + wrong).to_string(),
            right.to_string(),
            wrong.to_string(),
        ]);
        writeln!(f, "{table}")?;
        writeln!(
            f,
            "  longest time beyond a load's length and time-out: {:.0} ms\n  \
             busiest generator where nothing was answered: {:.0}% of a CPU\n  \
             most memory of the generators and servers together: {} MiB",
            self.longest_overrun_s * 1e3,
            self.busiest_idle * 100.0,
            self.memory_peak >> 20
        )?;
        for wrong in &self.wrong {
            writeln!(f, "  {wrong}")?;
        }
        Ok(())
    }
}

//! Servers that do what they should not: is everything that they do told as it is?
//!
//! Each server is loaded in several ways over each transport. Whatever it does, the load comes to its end, every
//! request is accounted for, and no more answers are right than the server has read requests; what else must be said
//! stands beside each server ([`cases::Say`]). The same servers speak through TLS as well.

#[path = "../../../../crates/engine/tests/load/breaking.rs"]
mod breaking;
mod cases;
mod line;
mod script;

use crate::error::{Error, Result};
use crate::table::Table;
use cases::{Case, Say};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Control, Nanos, Plan, Target, available, run as load};
use prony_lab::contract::Certificate;
use prony_record::load::{KeyKind, Protocol};
use prony_record::{Extent, Observation, Span, Transport, Window};
use prony_reference::Layers;
use rustls::ServerConfig;
use script::Scripted;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Requests of loads of a number.
const N: u64 = 16;
/// Connections.
const CONNECTIONS: u32 = 2;
/// Requests in flight on a connection where there are several.
const PIPELINE: u32 = 4;
/// Requests per second of loads at a rate.
const RATE: f64 = 200.0;
/// Length of loads of a time.
const LENGTH: Duration = Duration::from_millis(150);
/// When a request is given up: where that has to happen, soon; elsewhere late, so that a busy machine does not
/// make a right answer late.
const SOON: Duration = Duration::from_millis(60);
const LATE: Duration = Duration::from_secs(20);
/// Longer than this, and it hangs.
const HANGS: Duration = Duration::from_secs(120);
/// How often a load is repeated at most in which it is chance when bytes come.
const TRIES: u32 = 8;
/// Loads under way at once: most of them wait.
const AT_ONCE: usize = 4;

/// A way of loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Closed,
    Rate,
    Number,
    Pipelined,
    NoKeepalive,
}

const WAYS: [(Way, &str); 5] = [
    (Way::Closed, "closed loop"),
    (Way::Rate, "at a rate"),
    (Way::Number, "a number"),
    (Way::Pipelined, "pipelined"),
    (Way::NoKeepalive, "no keep-alive"),
];

/// Results of all loads.
#[derive(Debug, Default, Serialize)]
pub struct Hostile {
    /// Servers.
    servers: usize,
    /// Whether the servers spoke through TLS.
    tls: bool,
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

/// Results of one load.
struct Shown {
    seen: Observation,
    requests: u64,
    overrun: Duration,
}

/// How the servers speak through TLS, and are verified.
struct Secured {
    config: Arc<ServerConfig>,
    options: TlsOptions,
}

impl Secured {
    fn new() -> Result<Self> {
        let scratch = tempfile::tempdir().map_err(Error::io("cannot make a temporary folder"))?;
        let own =
            Certificate::below(scratch.path(), KeyKind::EcdsaP256).map_err(Error::Unusable)?;
        let over = Layers {
            http2: false,
            tls: Some((own.path(), own.key_path())),
        };
        let config = over
            .config(&["http/1.1"])
            .map_err(|error| Error::Unusable(error.to_string()))?;
        Ok(Self {
            config: config.ok_or_else(|| Error::Unusable("no configuration of TLS".into()))?,
            options: own.options(Protocol::Tls),
        })
    }
}

/// Loads every server in every way; `short`: in one way each, a different one for each server. `tls`: all of it through TLS.
///
/// # Errors
/// When something was not told as it is, or a server could not be started.
pub fn run(short: bool, tls: bool) -> Result<Hostile> {
    let cases = cases::all();
    let secured = match tls {
        true => Some(Secured::new()?),
        false => None,
    };
    let secured = secured.as_ref();
    let transports: Vec<Transport> = [Transport::Epoll, Transport::IoUring]
        .into_iter()
        .filter(|&kind| available(kind))
        .collect();
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
        tls,
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
                    let told = judge(case, secured, *kind, *way);
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
    fn add(&mut self, case: &Case, how: &str, told: std::result::Result<Shown, String>) {
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

fn plan(case: &Case, at: std::net::SocketAddr, kind: Transport, way: Way) -> Plan {
    let mut plan = Plan::closed(Target::Tcp(at), case.dialogue.clone(), CONNECTIONS);
    plan.load.transport = kind;
    let timeout = match case.say {
        Say::TimesOut | Say::Fails | Say::AllOrNone => SOON,
        Say::Right | Say::Limited | Say::Wrong | Say::Unsolicited | Say::UnsolicitedLater => LATE,
    };
    plan.load.timeout = Span(timeout);
    plan.load.window = Span(Duration::from_millis(50));
    match way {
        Way::Closed => plan.load.extent = Extent::Duration(Span(LENGTH)),
        Way::Rate => {
            plan.load.extent = Extent::Duration(Span(LENGTH));
            plan.load.rate = Some(RATE);
        }
        Way::Number => plan.load.extent = Extent::Requests(N),
        Way::Pipelined => {
            plan.load.extent = Extent::Requests(N);
            plan.load.pipeline = PIPELINE;
        }
        Way::NoKeepalive => {
            plan.load.extent = Extent::Requests(N);
            plan.load.keepalive = false;
        }
    }
    plan
}

fn judge(
    case: &Case,
    secured: Option<&Secured>,
    kind: Transport,
    way: Way,
) -> std::result::Result<Shown, String> {
    let mut tries = 1;
    loop {
        let shown = show(case, secured, kind, way)?;
        let verdict = verdict(case.say, way, &shown);
        // When bytes come that nothing asked for is not certain, nor that they come while there is a connection; and on a
        // machine that is busy an answer may be late once, or nothing happen in so short a time.
        let outcomes = &shown.seen.outcomes;
        let nothing = outcomes.finished() + outcomes.unsolicited == 0;
        let chance = nothing || matches!(case.say, Say::UnsolicitedLater | Say::AllOrNone);
        match verdict {
            Err(_) if chance && tries < TRIES => tries += 1,
            Err(why) => {
                return Err(format!(
                    "{why}: {:?}, {} requests read, {:?} {:?} {:?}",
                    shown.seen.outcomes,
                    shown.requests,
                    shown.seen.errors,
                    shown.seen.wrong_answers,
                    shown.seen.unsolicited
                ));
            }
            Ok(()) => return Ok(shown),
        }
    }
}

fn show(
    case: &Case,
    secured: Option<&Secured>,
    kind: Transport,
    way: Way,
) -> std::result::Result<Shown, String> {
    let config = secured.map(|it| Arc::clone(&it.config));
    let server = Scripted::start(case.script.clone(), config)
        .map_err(|error| format!("no server: {error}"))?;
    let mut plan = plan(case, server.at, kind, way);
    plan.tls = secured.map(|it| it.options.clone());
    let length = match plan.load.extent {
        Extent::Duration(length) => Nanos::try_from(length.0.as_nanos()).expect("a short time"),
        Extent::Requests(_) => Nanos::MAX,
    };
    let (sender, receiver) = mpsc::channel();
    let begun = Instant::now();
    let timeout = plan.load.timeout.0;
    thread::spawn(move || {
        let control = Arc::new(Control::at_once(length));
        // The receiver is gone when it has hung.
        let _ = sender.send(load(&plan, &control, |_: &Window| {}));
    });
    let seen = match receiver.recv_timeout(HANGS) {
        Ok(Ok((seen, _))) => seen,
        Ok(Err(error)) => return Err(format!("the load failed: {error}")),
        Err(mpsc::RecvTimeoutError::Timeout) => return Err("the load hangs".into()),
        Err(mpsc::RecvTimeoutError::Disconnected) => return Err("the load panicked".into()),
    };
    let overrun = match way {
        Way::Closed | Way::Rate => begun.elapsed().saturating_sub(LENGTH + timeout),
        _ => Duration::ZERO,
    };
    Ok(Shown {
        requests: server.requests.load(Relaxed),
        seen,
        overrun,
    })
}

fn verdict(say: Say, way: Way, shown: &Shown) -> std::result::Result<(), String> {
    let all = &shown.seen.outcomes;
    let must = |holds: bool, what: &str| match holds {
        true => Ok(()),
        false => Err(what.to_owned()),
    };
    // Several in flight, and a copy of a right answer: it is taken for the next one's until the surplus shows.
    let copies = say == Say::UnsolicitedLater && way == Way::Pipelined && all.unsolicited > 0;
    must(
        copies || all.ok <= shown.requests,
        "more right answers than requests were read",
    )?;
    if matches!(way, Way::Number | Way::Pipelined | Way::NoKeepalive) {
        must(all.finished() == N, "not every request is accounted for")?;
    }
    must(
        shown.seen.unsolicited.is_empty() == (all.unsolicited == 0),
        "unsolicited bytes without words, or words without them",
    )?;
    must(
        shown.seen.wrong_answers.is_empty() == (all.wrong_answer == 0),
        "wrong answers without words, or words without them",
    )?;
    let alone = way != Way::Pipelined;
    match say {
        Say::Right => {
            must(all.ok > 0, "no right answer")?;
            must(
                all.failed() + all.unsolicited == 0,
                "failures of a server that is right",
            )
        }
        Say::Wrong => {
            must(all.ok == 0, "a right answer")?;
            must(all.wrong_answer > 0, "no wrong answer")
        }
        Say::Fails => {
            must(all.ok == 0, "a right answer")?;
            must(all.failed() + all.unsolicited > 0, "nothing failed")
        }
        Say::TimesOut => {
            must(all.ok == 0, "a right answer")?;
            // A generator that has no CPU gives up later than at the end.
            must(all.timeout + all.in_flight_at_end > 0, "no time-out")
        }
        // With several in flight such bytes may be taken for the beginning of the next answer, which is a wrong one then.
        Say::Unsolicited if alone => {
            must(all.ok == 0, "a right answer before unsolicited bytes")?;
            must(all.unsolicited > 0, "no unsolicited bytes")
        }
        Say::Unsolicited => must(
            all.unsolicited + all.wrong_answer > 0,
            "nothing was seen of unsolicited bytes",
        ),
        Say::Limited => {
            must(all.ok > 0, "no right answer")?;
            let failed = all.failed() - all.read_error + all.unsolicited;
            must(failed == 0, "failures of a server that is right")?;
            must(
                !alone || all.read_error == 0,
                "requests failed that were never in one go",
            )
        }
        Say::UnsolicitedLater => must(
            way == Way::NoKeepalive || all.unsolicited + all.wrong_answer > 0,
            "nothing was seen of unsolicited bytes",
        ),
        Say::AllOrNone => must(
            all.ok == 0 || all.failed() + all.unsolicited == 0,
            "some answers are right and some not",
        ),
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
            if self.tls { " behind TLS" } else { "" }
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

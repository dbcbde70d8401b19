//! Two ways to scatter less, and whether they pay: both sides loaded at the same moment (a *duet*: Bulej et al., "Duet
//! Benchmarking", ICPE 2020) in the place of turns, and another layout of memory at each start (Mytkowicz et al., ASPLOS 2009).

use crate::error::{Error, Result};
use crate::load::{self, Span};
use crate::place::{self, Rig};
use crate::server::{Ceiling, Layout};
use crate::table::Table;
use prony_record::Transport;
use prony_stats::summary::{average, standard_deviation};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// CPU work that the servers of a pair add to each request, in microseconds: one for which it is nearly all, and one that
/// does little besides reading and writing.
const WORK: [[u64; 2]; 2] = [[40, 44], [5, 10]];
const CONNECTIONS: u32 = 16;
/// Longest burst of the other process, and longest pause between bursts.
const BURST: Duration = Duration::from_millis(300);

/// Pairs of sides and starts of servers, measured.
#[derive(Debug, Serialize)]
pub struct Pairing {
    pairs: Vec<Pairs>,
    layouts: Vec<Starts>,
}

/// Pairs of measurements in one situation.
#[derive(Debug, Serialize)]
struct Pairs {
    situation: &'static str,
    /// CPU work for each request, in microseconds, of the first side and of the second.
    work_us: [u64; 2],
    way: Way,
    /// ln(second side ÷ first side) of each pair: requests per second.
    throughput: Vec<f64>,
    /// The same of CPU time per request.
    cpu: Vec<f64>,
}

/// How the sides of a pair are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Way {
    /// First, second, second, first.
    Turns,
    /// Both for as long as four turns take.
    Duet,
}

/// Starts of one server with one kind of layout.
#[derive(Debug, Serialize)]
struct Starts {
    layout: &'static str,
    /// CPU time per request of each start, in nanoseconds.
    cpu_ns: Vec<f64>,
}

/// One side of a pair: answers per second, and CPU time per answer in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Seen {
    rate: f64,
    cpu_ns: f64,
}

/// Measures `pairs` pairs in each situation and way, and as many starts with each layout; four segments of `seconds` make a
/// pair.
///
/// # Errors
/// When a server does not start, or does not answer everything rightly.
pub fn run(rig: Rig, pairs: u32, seconds: f64) -> Result<Pairing> {
    let mut all = Vec::new();
    for (situation, neighbour) in [("quiet", false), ("beside bursts", true)] {
        let bursts = Bursts::begin(neighbour.then_some(rig.server));
        for (work_us, way) in WORK
            .iter()
            .flat_map(|work| [(*work, Way::Turns), (*work, Way::Duet)])
        {
            let mut found = Pairs {
                situation,
                work_us,
                way,
                throughput: Vec::new(),
                cpu: Vec::new(),
            };
            for number in 1..=pairs {
                let [first, second] = pair(rig, work_us, way, seconds)?;
                found.throughput.push((second.rate / first.rate).ln());
                found.cpu.push((second.cpu_ns / first.cpu_ns).ln());
                eprintln!(
                    "pairing: {situation}, {work_us:?} µs, {way:?}: pair {number} of {pairs}"
                );
            }
            all.push(found);
        }
        bursts.end();
    }
    Ok(Pairing {
        pairs: all,
        layouts: layouts(rig, pairs, seconds)?,
    })
}

/// Fresh servers, loaded one way.
fn pair(rig: Rig, work_us: [u64; 2], way: Way, seconds: f64) -> Result<[Seen; 2]> {
    let layout = Layout::default();
    let start = |us| Ceiling::start_working(rig.server, Duration::from_micros(us), layout);
    let (first, second) = (start(work_us[0])?, start(work_us[1])?);
    match way {
        Way::Turns => {
            let one = |server: &Ceiling| segment(rig, server, seconds);
            let (a, b) = (one(&first)?, one(&second)?);
            let (d, c) = (one(&second)?, one(&first)?);
            Ok([mean(a, c), mean(b, d)])
        }
        Way::Duet => thread::scope(|scope| {
            let other = scope.spawn(|| segment(rig, &second, 4.0 * seconds));
            let a = segment(rig, &first, 4.0 * seconds)?;
            let b = other
                .join()
                .map_err(|_| Error::Unusable("a load ended".into()))??;
            Ok([a, b])
        }),
    }
}

fn mean(a: Seen, b: Seen) -> Seen {
    Seen {
        rate: f64::midpoint(a.rate, b.rate),
        cpu_ns: f64::midpoint(a.cpu_ns, b.cpu_ns),
    }
}

/// Loads a server as fast as answers come.
fn segment(rig: Rig, server: &Ceiling, seconds: f64) -> Result<Seen> {
    let plan = load::closed(server.address, CONNECTIONS, Transport::Epoll, rig);
    let span = Span {
        warmup: Duration::ZERO,
        measured: Duration::from_secs_f64(seconds),
    };
    let before = cpu_time(server)?;
    let seen = load::measure(&plan, span)?.observation;
    let used = cpu_time(server)? - before;
    Ok(Seen {
        rate: seen.throughput(),
        cpu_ns: used as f64 / seen.outcomes.ok as f64,
    })
}

/// CPU time of a server's threads so far, in nanoseconds, as the scheduler counts it.
fn cpu_time(server: &Ceiling) -> Result<u64> {
    let tasks = format!("/proc/{}/task", server.id());
    let unseen = || Error::io("cannot see the server's CPU time");
    let mut sum = 0;
    for task in fs::read_dir(&tasks).map_err(unseen())? {
        let path = task.map_err(unseen())?.path().join("schedstat");
        let text = fs::read_to_string(&path).map_err(unseen())?;
        let first = text.split_ascii_whitespace().next();
        let ns: Option<u64> = first.and_then(|ns| ns.parse().ok());
        sum += ns.ok_or_else(|| Error::Unusable(format!("{} has no CPU time", path.display())))?;
    }
    Ok(sum)
}

/// A neighbour on a CPU that works and rests for random times.
struct Bursts {
    over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Bursts {
    fn begin(cpu: Option<usize>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let burn = move |cpu| {
            let _ = place::pin(cpu);
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
            while !ended.load(Ordering::Relaxed) {
                let mut length = || BURST.mul_f64(random.random::<f64>());
                let (work, rest) = (length(), length());
                let begun = Instant::now();
                while begun.elapsed() < work {
                    std::hint::spin_loop();
                }
                thread::sleep(rest);
            }
        };
        Self {
            over,
            thread: cpu.map(|cpu| thread::spawn(move || burn(cpu))),
        }
    }

    fn end(self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread {
            let _ = thread.join();
        }
    }
}

/// Starts of one server, in turns, with addresses that are the same at each start or not.
fn layouts(rig: Rig, starts: u32, seconds: f64) -> Result<Vec<Starts>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut all = [
        ("addresses fixed", false, false),
        ("addresses fixed, environment of random size", false, true),
        ("addresses random (usual)", true, false),
        ("addresses random, environment of random size", true, true),
    ]
    .map(|(layout, randomised, padded)| {
        (
            randomised,
            padded,
            Starts {
                layout,
                cpu_ns: Vec::new(),
            },
        )
    });
    for number in 1..=starts {
        for (randomised, padded, starts) in &mut all {
            let padding = if *padded {
                random.random_range(0..4_096)
            } else {
                0
            };
            let layout = Layout {
                fixed: !*randomised,
                padding,
            };
            let work = Duration::from_micros(WORK[0][0]);
            let server = Ceiling::start_working(rig.server, work, layout)?;
            // Its first requests touch its memory.
            segment(rig, &server, seconds / 5.0)?;
            starts.cpu_ns.push(segment(rig, &server, seconds)?.cpu_ns);
        }
        eprintln!("pairing: layouts: start {number} of {starts}");
    }
    Ok(all.map(|(_, _, starts)| starts).into())
}

/// `9.8% ± 0.6%`: the mean change, and its standard deviation from pair to pair.
fn change(logs: &[f64]) -> (String, f64) {
    let deviation = standard_deviation(logs).unwrap_or(0.0);
    let mean = average(logs).unwrap_or(0.0).exp() - 1.0;
    (format!("{:+.2}%", 100.0 * mean), 100.0 * deviation)
}

impl fmt::Display for Pairing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Two servers on one CPU that differ in their work for each request, and how the second compares. A pair takes as \
             long either way."
        )?;
        let mut table = Table::new([
            "",
            "work",
            "pairs",
            "requests/s",
            "s.d.",
            "CPU/request",
            "s.d.",
        ]);
        for it in &self.pairs {
            let way = match it.way {
                Way::Turns => "in turns",
                Way::Duet => "duet",
            };
            let (throughput, deviation) = change(&it.throughput);
            let (cpu, cpu_deviation) = change(&it.cpu);
            table.row([
                format!("{}, {way}", it.situation),
                format!("{} and {} µs", it.work_us[0], it.work_us[1]),
                it.throughput.len().to_string(),
                throughput,
                format!("{deviation:.2}%"),
                cpu,
                format!("{cpu_deviation:.2}%"),
            ]);
        }
        writeln!(f, "{table}")?;
        writeln!(
            f,
            "CPU time per request of one server, from start to start:"
        )?;
        let mut table = Table::new(["", "starts", "mean", "s.d."]);
        for it in &self.layouts {
            let mean = average(&it.cpu_ns).unwrap_or(0.0);
            let deviation = standard_deviation(&it.cpu_ns).unwrap_or(0.0);
            table.row([
                it.layout.to_owned(),
                it.cpu_ns.len().to_string(),
                format!("{:.2} µs", mean / 1e3),
                format!("{:.2}%", 100.0 * deviation / mean),
            ]);
        }
        write!(f, "{table}")
    }
}

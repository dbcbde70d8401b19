//! Can `prony capacity` be believed? Searches of one server, on a quiet machine and beside a CPU hog that
//! has the server's CPU for half of the time.

use crate::child::Child;
use crate::error::{Error, Result};
use crate::place::Rig;
use crate::prony;
use crate::server;
use crate::spread::{Spread, number};
use crate::table::Table;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the hog works, and then pauses: longer than a trial, so that some trials are quiet.
const TURN: Duration = Duration::from_secs(5);
/// How often it is looked at whether a search is over, or the hog's turn.
const LOOK: Duration = Duration::from_millis(20);
/// A capacity this close to the median repeats it.
const REPEATS: f64 = 0.10;
/// A figure further from the quiet median than this misleads.
const MISLEADS: f64 = 0.15;

/// Number, length and circumstances of the searches.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Searches of each kind.
    pub searches: u32,
    /// Length of a trial, in seconds.
    pub seconds: f64,
    /// Whether to repeat the searches while another process uses the server's CPU.
    pub hog: bool,
    /// CPU time of the server for each request, in microseconds.
    pub busy_us: u64,
}

/// Results of the searches.
#[derive(Debug, Serialize)]
pub struct Searches {
    busy_us: u64,
    seconds: f64,
    quiet: Vec<Search>,
    beside_a_hog: Vec<Search>,
}

/// One search.
#[derive(Debug, Clone, Serialize)]
struct Search {
    capacity: Option<f64>,
    known: Known,
    trials: usize,
    seconds: f64,
}

/// Output of `prony capacity --json`, reduced to the fields that are needed here.
#[derive(Debug, Deserialize)]
struct Printed {
    capacity: Option<f64>,
    known: Known,
    steps: Vec<serde_json::Value>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known {
    low: Option<f64>,
    high: Option<f64>,
    because: Vec<String>,
}

/// Searches the capacity of the reference server, made slower so that the generator is no limit.
///
/// # Errors
/// When a process cannot be started, or a search ends without a result.
pub fn run(rig: Rig, options: Options) -> Result<Searches> {
    let mut all = Searches {
        busy_us: options.busy_us,
        seconds: options.seconds,
        quiet: Vec::new(),
        beside_a_hog: Vec::new(),
    };
    for n in 1..=options.searches {
        let found = search(&options, None)?;
        eprintln!(
            "capacity: search {n} of {}: {}",
            options.searches,
            found.told()
        );
        all.quiet.push(found);
        if options.hog {
            let found = search(&options, Some(rig.server))?;
            eprintln!(
                "capacity: search {n} of {} beside a hog: {}",
                options.searches,
                found.told()
            );
            all.beside_a_hog.push(found);
        }
    }
    Ok(all)
}

/// One search; with `hog`, beside a process that has this CPU for every other turn.
fn search(options: &Options, hog: Option<usize>) -> Result<Search> {
    let prony = prony::program()?;
    let server = format!(
        "'{}' serve http-echo --listen :{{port}} --busy {}us",
        prony.display(),
        options.busy_us
    );
    let scratch = tempfile::tempdir().map_err(Error::io("no temporary folder"))?;
    let mut command = Command::new(&prony);
    command
        .args(["capacity", &server, "--contract", "http-echo"])
        .args(["--p99", "10ms", "--json", "--quiet"])
        .args(["-d", &format!("{}ms", (options.seconds * 1e3) as u64)])
        .env("PRONY_NOTEBOOK", scratch.path().join("notebook.db"));
    let begun = Instant::now();
    let over = AtomicBool::new(false);
    // The hog is started by this thread, with which it would die; the search is waited for by another.
    let printed: Result<Printed> = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let printed = prony::json(&mut command);
            over.store(true, Ordering::Release);
            printed
        });
        let hogged = hog.map_or(Ok(()), |cpu| take_turns(cpu, &over));
        let printed = waiting
            .join()
            .map_err(|_| Error::Unusable("a thread has panicked".into()))?;
        hogged.and(printed)
    });
    let Printed {
        capacity,
        known,
        steps,
    } = printed?;
    Ok(Search {
        capacity,
        known,
        trials: steps.len(),
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// Has a CPU busy for a turn and leaves it alone for a turn, until `over`.
fn take_turns(cpu: usize, over: &AtomicBool) -> Result<()> {
    while !over.load(Ordering::Acquire) {
        let mut hog = server::ourselves("plant")?;
        hog.arg("hog");
        let hog = Child::start(hog, cpu)?;
        wait(TURN, over);
        // It is killed, by its id.
        drop(hog);
        wait(TURN, over);
    }
    Ok(())
}

fn wait(length: Duration, over: &AtomicBool) {
    let end = Instant::now() + length;
    while Instant::now() < end && !over.load(Ordering::Acquire) {
        std::thread::sleep(LOOK);
    }
}

impl Search {
    /// In a line.
    fn told(&self) -> String {
        let bound = |rate: Option<f64>| rate.map_or("?".into(), |rate| number(rate, 0));
        let Known { low, high, because } = &self.known;
        let (trials, seconds) = (self.trials, self.seconds);
        match self.capacity {
            Some(rate) => format!("{}/s, {trials} trials, {seconds:.0} s", number(rate, 0)),
            None => format!(
                "not known, {} to {}/s ({}), {trials} trials, {seconds:.0} s",
                bound(*low),
                bound(*high),
                because.join("; ")
            ),
        }
    }

    /// Is this rate within what it said? None where it said a figure.
    fn contains(&self, rate: f64) -> Option<bool> {
        let Known { low, high, .. } = &self.known;
        let within = low.is_none_or(|low| low <= rate * (1.0 + REPEATS))
            && high.is_none_or(|high| high >= rate * (1.0 - REPEATS));
        self.capacity.is_none().then_some(within)
    }
}

/// Summary of some searches.
struct Summary {
    spread: Option<Spread>,
    repeat: usize,
    unknown: usize,
    within: usize,
    mislead: usize,
}

/// Held against `truth`, the median of the quiet searches.
fn summary(searches: &[Search], truth: Option<f64>) -> Summary {
    let figures: Vec<f64> = searches.iter().filter_map(|it| it.capacity).collect();
    let spread = Spread::of(figures.iter().copied());
    let off = |rate: f64, centre: f64| (rate / centre - 1.0).abs();
    let count = |far: &dyn Fn(f64) -> bool| figures.iter().filter(|rate| far(**rate)).count();
    let median = spread.map(|spread| spread.median);
    Summary {
        spread,
        repeat: count(&|rate| median.is_some_and(|median| off(rate, median) <= REPEATS)),
        unknown: searches.len() - figures.len(),
        within: searches
            .iter()
            .filter(|it| truth.and_then(|truth| it.contains(truth)) == Some(true))
            .count(),
        mislead: count(&|rate| truth.is_some_and(|truth| off(rate, truth) > MISLEADS)),
    }
}

impl fmt::Display for Searches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { busy_us, .. } = self;
        writeln!(
            f,
            "Searches of a server whose answers take {busy_us} µs of CPU each, p99 within 10 ms.\n"
        )?;
        let truth = summary(&self.quiet, None).spread.map(|it| it.median);
        let mut table = Table::new([
            "machine",
            "searches",
            "median/s (range)",
            "within ±10% of it",
            "\"not known\"",
            "of these the range holds the quiet median ±10%",
            "figures > 15% off the quiet median",
            "s each",
        ]);
        let kinds = [
            ("as it is", &self.quiet),
            ("a hog half of the time", &self.beside_a_hog),
        ];
        for (name, searches) in kinds {
            if searches.is_empty() {
                continue;
            }
            let Summary {
                spread,
                repeat,
                unknown,
                within,
                mislead,
            } = summary(searches, truth);
            let all = searches.len();
            let seconds = Spread::of(searches.iter().map(|it| it.seconds));
            table.row([
                name.into(),
                all.to_string(),
                crate::spread::show(spread, 0),
                format!("{repeat} of {}", all - unknown),
                format!("{unknown} of {all}"),
                // Without a figure of a quiet search there is nothing to hold them against.
                truth.map_or("–".into(), |_| format!("{within} of {unknown}")),
                truth.map_or("–".into(), |_| format!("{mislead} of {}", all - unknown)),
                crate::spread::show(seconds, 0),
            ]);
        }
        write!(f, "{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(capacity: Option<f64>, low: f64, high: Option<f64>) -> Search {
        Search {
            capacity,
            known: Known {
                low: Some(low),
                high,
                because: Vec::new(),
            },
            trials: 30,
            seconds: 60.0,
        }
    }

    #[test]
    fn figures_and_ranges_are_held_against_the_quiet_median() {
        let known = |rate| search(Some(rate), rate, Some(rate * 1.01));
        let all = Searches {
            busy_us: 100,
            seconds: 1.0,
            quiet: vec![known(9_000.0), known(9_100.0), known(7_000.0)],
            beside_a_hog: vec![
                known(4_000.0),
                search(None, 4_000.0, Some(12_000.0)),
                search(None, 4_000.0, Some(5_000.0)),
                search(None, 4_000.0, None),
            ],
        };
        let quiet = summary(&all.quiet, Some(9_000.0));
        assert_eq!(quiet.spread.map(|it| it.median), Some(9_000.0));
        assert_eq!((quiet.repeat, quiet.unknown, quiet.mislead), (2, 0, 1));
        let noisy = summary(&all.beside_a_hog, Some(9_000.0));
        assert_eq!((noisy.unknown, noisy.within, noisy.mislead), (3, 2, 1));
        let shown = all.to_string();
        assert!(shown.contains("9,000 (7,000–9,100)"), "{shown}");
        assert!(shown.contains("3 of 4"), "{shown}");
    }
}

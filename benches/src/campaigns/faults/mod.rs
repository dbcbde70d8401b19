//! Faults at random moments: signals to prony and to what it started, notebooks and outputs that cannot be
//! written, too little of everything, a clock that jumps. Is every finished trial kept, is every process
//! ended, does the next run work?

mod fault;
mod scene;

use crate::error::{Error, Result};
use crate::prony;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use scene::{Scene, Verb, Whom};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// Within this long after the start a fault happens: as long as a run here takes, and a little less than a
/// duel or a capacity search.
const MOMENTS: Duration = Duration::from_millis(2_500);

/// How long a process is stopped.
const MOMENT: Duration = Duration::from_millis(300);
/// How long an agent is stopped that is to be lost by it: silence is borne for ten seconds.
const LONG: Duration = Duration::from_secs(12);
/// For so many signals to runs on other machines there is one such stop.
const LONG_EVERY: u32 = 20;

/// How much, and from which seed.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Signals at random moments.
    pub signals: u32,
    /// Only in runs on other machines.
    pub apart: bool,
    /// Times of every other fault, for `run` and `duel`.
    pub times: u32,
    /// Seed for the choice of moments, of signals, and of the processes that get them.
    pub seed: u64,
}

/// Results of a campaign.
#[derive(Debug, Default, Serialize)]
pub struct Faults {
    /// By fault: how often it was made, and how often everything was as it has to be.
    kinds: BTreeMap<String, Kept>,
    /// Reason why a fault could not be tried here, by fault.
    skipped: BTreeMap<String, String>,
    /// Problems that were found, each with its fault and case.
    wrong: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
struct Kept {
    made: u32,
    right: u32,
}

impl Faults {
    fn book(&mut self, kind: &str, case: &str, wrong: &[String]) {
        let row = self.kinds.entry(kind.into()).or_default();
        row.made += 1;
        row.right += u32::from(wrong.is_empty());
        for problem in wrong {
            self.wrong.push(format!("{kind}, {case}: {problem}"));
        }
    }
}

/// Makes all of them.
///
/// # Errors
/// When prony was not built, or something was not as it has to be.
pub fn run(options: Options) -> Result<Faults> {
    let program = prony::program()?;
    let mut draw = Xoshiro256PlusPlus::seed_from_u64(options.seed);
    let mut found = Faults::default();
    for nth in 0..options.signals {
        let verb = match options.apart {
            true => Verb::Apart,
            false => Verb::ALL[nth as usize % Verb::ALL.len()],
        };
        let (signal, name) = fault::SIGNALS[draw.random_range(0..fault::SIGNALS.len())];
        let whom = match verb {
            Verb::View => Whom::Prony,
            Verb::Apart => Whom::APART[draw.random_range(0..Whom::APART.len())],
            Verb::Services => Whom::WITH_SERVICES[draw.random_range(0..Whom::WITH_SERVICES.len())],
            _ => Whom::ALL[draw.random_range(0..Whom::ALL.len())],
        };
        // A cluster has to be made first.
        let moments = if verb == Verb::Services {
            3 * MOMENTS
        } else {
            MOMENTS
        };
        let moment = moments.mul_f64(draw.random());
        let case = format!("{verb:?} after {} ms", moment.as_millis());
        let wrong = signalled(&program, verb, whom, signal, moment, MOMENT)?;
        found.book(&format!("{name} to {whom:?}"), &case, &wrong);
        progress(nth + 1, options.signals, "signals", &found);
    }
    // Stopped for longer than the other side waits, an agent is lost, and must not come back with figures.
    let long = match options.apart {
        true => options.signals.div_ceil(LONG_EVERY),
        false => 0,
    };
    for nth in 0..long {
        let moment = MOMENTS.mul_f64(draw.random());
        let case = format!("after {} ms", moment.as_millis());
        let wrong = signalled(
            &program,
            Verb::Apart,
            Whom::Agent,
            libc::SIGSTOP,
            moment,
            LONG,
        )?;
        found.book("STOP for 12 s, CONT to Agent", &case, &wrong);
        progress(nth + 1, long, "long stops", &found);
    }
    let faults = fault::ALL.len() as u32 * options.times;
    for nth in 0..faults {
        let fault = fault::ALL[nth as usize % fault::ALL.len()];
        if let Some(why) = fault.impossible() {
            found.skipped.insert(fault.name().into(), why.into());
            continue;
        }
        let verb = [Verb::Run, Verb::Duel][draw.random_range(0..2)];
        let moment = MOMENTS.mul_f64(draw.random());
        let wrong = fault.make(&program, verb, moment)?;
        found.book(fault.name(), &format!("{verb:?}"), &wrong);
        progress(nth + 1, faults, "other faults", &found);
    }
    match found.wrong.is_empty() {
        true => Ok(found),
        false => Err(Error::Unusable(format!("{found}"))),
    }
}

fn progress(done: u32, all: u32, what: &str, found: &Faults) {
    if done.is_multiple_of(10) || done == all {
        let wrong = found.wrong.len();
        eprintln!("faults: {done} of {all} {what}, {wrong} wrong");
    }
}

/// A signal to one of the processes. One that is stopped goes on after `hold`.
fn signalled(
    program: &Path,
    verb: Verb,
    whom: Whom,
    signal: i32,
    moment: Duration,
    hold: Duration,
) -> Result<Vec<String>> {
    let scene = Scene::new(program)?;
    let mut started = scene.start(verb, |command, _| command)?;
    std::thread::sleep(moment);
    let prony = started.child.id();
    // Between two trials prony may be the only process there.
    let target = scene.processes(prony);
    let target = target.iter().find(|(_, it)| *it == whom);
    let (pid, hit) = target.copied().unwrap_or((prony as i32, Whom::Prony));
    let send = |signal| {
        // SAFETY: a plain system call; for a process that has just ended it fails, which does no harm.
        unsafe { libc::kill(pid, signal) };
    };
    send(signal);
    if signal == libc::SIGSTOP {
        std::thread::sleep(hold);
        send(libc::SIGCONT);
    }
    let ends_by_it = hit == Whom::Prony && signal != libc::SIGSTOP && signal != libc::SIGHUP;
    if verb == Verb::View && !ends_by_it {
        // It would go on for ever.
        send(libc::SIGTERM);
    }
    if verb == Verb::Capacity && !ends_by_it {
        // A search takes a minute; what is asked is whether it survives the signal.
        std::thread::sleep(Duration::from_millis(500));
        // SAFETY: a plain system call.
        unsafe { libc::kill(prony as i32, libc::SIGINT) };
    }
    let mut wrong = Vec::new();
    match scene.end(&mut started) {
        None => wrong.push("it did not end".into()),
        Some(status) => {
            let survived = hit != Whom::Prony || signal == libc::SIGSTOP;
            if survived && status.code().is_none() {
                wrong.push(format!("it ended by a signal: {status}"));
            }
            let excused = status.success() || status.code().is_none();
            if !excused && scene.complaint().trim().is_empty() {
                wrong.push(format!("it failed without a word: {status}"));
            }
        }
    }
    wrong.extend(scene.wrong(&started, true));
    scene.sweep();
    wrong.extend(scene.wrong_afterwards());
    scene.sweep();
    Ok(wrong)
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = crate::table::Table::new(["fault", "made", "right"]);
        for (kind, kept) in &self.kinds {
            table.row([kind.clone(), kept.made.to_string(), kept.right.to_string()]);
        }
        write!(f, "{table}")?;
        for (kind, why) in &self.skipped {
            write!(f, "\nnot tried: {kind}: {why}")?;
        }
        for problem in &self.wrong {
            write!(f, "\nwrong: {problem}")?;
        }
        Ok(())
    }
}

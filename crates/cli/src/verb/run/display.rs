//! What is shown while a run goes on: on a terminal a live view, elsewhere a line per trial.

use crate::args::Shown;
use crate::live::Live;
use prony_lab::experiment::{Entrant, Experiment};
use prony_lab::load::Load;
use prony_lab::placement::Placement;
use prony_lab::trial::{Failure, Progress};
use prony_notebook::TrialFacts;
use prony_report::facts::Finding;
use prony_report::show;
use std::time::Instant;

/// So many servers are shown with what is known of them.
const KNOWN: usize = 12;

pub struct Display {
    live: Live,
    rounds: u32,
    loads: usize,
    /// What the trial under way is.
    trial: String,
    /// When the first trial began, trials that are done, and all of them.
    begun: Instant,
    done: u64,
    all: u64,
    /// What trials have shown so far.
    known: Vec<Known>,
}

/// What is known of an entrant under a load.
struct Known {
    server: String,
    load: String,
    rates: Vec<f64>,
    p99: Option<u64>,
}

impl Display {
    pub fn new(shown: Shown, experiment: &Experiment, placement: &Placement) -> Self {
        let title = format!("run {} · {}", experiment.name, experiment.title);
        let threads = experiment.loads.iter().map(|load| load.threads).max();
        let spare = placement.spare(threads.unwrap_or(1));
        Self {
            live: Live::begin(title, shown, spare),
            rounds: experiment.rounds,
            loads: experiment.loads.len(),
            trial: String::new(),
            begun: Instant::now(),
            done: 0,
            all: 0,
            known: Vec::new(),
        }
    }

    pub fn building(&self, entrant: &Entrant) {
        let text = format!("building {}", entrant.server.name);
        self.live.line(|| text.clone());
        self.live.change(move |frame| frame.doing = text);
    }

    pub fn begin(&mut self, servers: usize) {
        self.all = servers as u64 * u64::from(self.rounds) * self.loads as u64;
        // Servers that could not be built have been told of, and have no trials.
        self.done = 0;
        self.begun = Instant::now();
        self.count();
    }

    pub fn trial(&mut self, round: u32, entrant: &Entrant, load: &Load) {
        let (label, rounds) = (entrant.label(), self.rounds);
        self.trial = format!("round {}/{rounds} {label}", round + 1);
        let mut known: Vec<(String, String)> = Vec::new();
        for one in self.known.iter().filter(|one| one.load == load.to_string()) {
            known.push((one.server.clone(), one.text()));
        }
        known.truncate(KNOWN);
        if self.loads > 1 {
            self.trial += &format!(" under {load}");
        }
        self.live.change(move |frame| {
            frame.load = crate::live::frame::Load::default();
            frame.known = known;
        });
    }

    pub fn progress(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Step(step) => {
                let text = format!("{}: {step}", self.trial);
                self.live.change(move |frame| frame.doing = text);
            }
            Progress::Window {
                window,
                warmup,
                server,
            } => {
                self.live.window(window, *warmup);
                let server = *server;
                self.live.change(move |frame| frame.load.server = server);
            }
        }
    }

    pub fn finished(&mut self, entrant: &Entrant, facts: &TrialFacts, checks: &[Finding]) {
        let (label, rounds) = (entrant.label(), self.rounds);
        self.live.line(|| {
            let rate = facts.throughput.map_or("no figures".into(), show::rate);
            let p99 = show::time_or_dash(facts.p99_ns);
            format!(
                "round {}/{rounds} {label}: {rate}, p99 {p99}",
                facts.round + 1
            )
        });
        if let Some(rate) = facts.throughput {
            let same = |one: &&mut Known| one.server == label && one.load == facts.cell;
            match self.known.iter_mut().find(same) {
                Some(one) => {
                    one.rates.push(rate);
                    one.p99 = facts.p99_ns;
                }
                None => self.known.push(Known {
                    server: label.clone(),
                    load: facts.cell.clone(),
                    rates: vec![rate],
                    p99: facts.p99_ns,
                }),
            }
        }
        let found: Vec<(String, String)> = checks
            .iter()
            .map(|check| (check.name.clone(), format!("{label}: {}", check.text)))
            .collect();
        self.live.change(move |frame| {
            // The latest first, and each check once for a server.
            let about = format!("{label}: ");
            let old = |(name, text): &(String, String)| {
                !text.starts_with(&about) || !found.iter().any(|(new, _)| new == name)
            };
            frame.checks.retain(old);
            frame.checks.splice(0..0, found);
        });
        self.one_more();
    }

    pub fn failed(&mut self, entrant: &Entrant, failure: &Failure) {
        self.live.say(&format!("{}: {failure}", entrant.label()));
        self.one_more();
    }

    pub fn skip(&mut self) {
        self.one_more();
    }

    fn one_more(&mut self) {
        self.done += 1;
        if self.all > 0 {
            self.count();
        }
    }

    fn count(&self) {
        let (done, all, begun) = (self.done, self.all, self.begun);
        let now = Instant::now();
        self.live.change(move |frame| {
            frame.parts = Some((done, all));
            frame.extrapolate(begun, now);
        });
    }
}

impl Known {
    fn text(&self) -> String {
        let n = self.rates.len();
        let mean = show::rate(self.rates.iter().sum::<f64>() / n as f64);
        let trials = if n == 1 { "trial" } else { "trials" };
        let last = show::time_or_dash(self.p99);
        format!("{mean:>9} in {n} {trials}, p99 {last} in the last")
    }
}

//! Progress of a run: a live view on a terminal, elsewhere one line per trial.

use crate::args::DisplayArgs;
use crate::live::Live;
use prony_lab::event::Event;
use prony_lab::experiment::Experiment;
use prony_lab::trial::Progress;
use prony_record::{CheckId, Failure, Load, Trial, TrialStatus};
use prony_report::show;
use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A server whose build takes longer than this is named.
const LONG_BUILD: Duration = Duration::from_secs(1);

/// The most servers that are shown with what is known of them.
const KNOWN: usize = 12;

pub struct RunDisplay {
    live: Live,
    rounds: u32,
    loads: usize,
    /// Round, entrant and load of the current trial, in words.
    trial: String,
    /// When the first trial began, trials that are done, and all of them.
    begun: Instant,
    done: u64,
    all: u64,
    /// Results of the trials so far.
    known: Vec<EntrantResults>,
    builds: Builds,
    /// Current activity of each of several rigs, by the rig's name.
    rigs: BTreeMap<String, String>,
    /// The one that is told of.
    rig: Option<String>,
}

/// Names the server that is being built, once that has taken a while.
struct Builds(Option<Watching>);

struct Watching {
    done: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Builds {
    fn begin(&mut self, live: &Live, text: String) {
        self.done();
        let Some(say) = live.lines() else { return };
        let (done, over) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            if over.recv_timeout(LONG_BUILD) == Err(RecvTimeoutError::Timeout) {
                say(&text);
            }
        });
        self.0 = Some(Watching { done, thread });
    }

    fn done(&mut self) {
        if let Some(Watching { done, thread }) = self.0.take() {
            drop(done);
            let _ = thread.join();
        }
    }
}

/// Results of an entrant under a load so far.
struct EntrantResults {
    server: String,
    load: String,
    rates: Vec<f64>,
    p99: Option<u64>,
}

impl RunDisplay {
    pub fn new(shown: &DisplayArgs, experiment: &Experiment, spare: &[usize]) -> Self {
        let title = format!("run {} · {}", experiment.name, experiment.title);
        Self {
            live: Live::begin(title, shown, spare),
            rounds: experiment.rounds,
            loads: experiment.loads.len(),
            trial: String::new(),
            begun: Instant::now(),
            done: 0,
            all: 0,
            known: Vec::new(),
            builds: Builds(None),
            rigs: BTreeMap::new(),
            rig: None,
        }
    }

    /// Something has happened.
    pub fn on_event(&mut self, event: &Event<'_>) {
        if !matches!(event, Event::Building(_)) {
            self.builds.done();
        }
        match event {
            Event::Building(server) => self.building(server),
            Event::Trials(all) => self.begin(*all),
            Event::Trial { round, label, load } => self.trial(*round, label, load),
            Event::Progress(_, progress) => self.progress(progress),
            Event::Recorded { label, trial } => self.recorded(label, trial),
            Event::Failed {
                label,
                status,
                failure,
            } => self.failed(label, *status, failure),
            Event::LeftOut => self.one_more(),
            Event::OnRig { rig, event } => self.on_rig(rig, event),
            Event::RoundAgain {
                round,
                number,
                trials,
            } => {
                self.all += trials;
                self.rounds = self.rounds.max(number + 1);
                let on = self.on();
                let (round, number) = (round + 1, number + 1);
                self.live.say(&format!(
                    "{on}round {round} is measured again, as round {number}"
                ));
            }
            Event::RigLost { rig, why } => {
                self.rigs.remove(*rig);
                self.live
                    .say(&format!("rig {rig} is lost, and measures no more: {why}"));
            }
            _ => {}
        }
    }

    /// Something has happened on one of several rigs. What each of them does is shown, and no windows: they would be those of
    /// several loads.
    fn on_rig(&mut self, rig: &str, event: &Event<'_>) {
        let doing = match event {
            Event::Building(server) => format!("building {server}"),
            Event::Trial { round, label, load } => {
                self.trial(*round, label, load);
                self.trial.clone()
            }
            Event::Recorded { .. }
            | Event::Failed { .. }
            | Event::LeftOut
            | Event::RoundAgain { .. } => {
                self.rig = Some(rig.to_owned());
                self.on_event(event);
                self.rig = None;
                return;
            }
            _ => return,
        };
        self.rigs.insert(rig.to_owned(), doing);
        let each = self.rigs.iter();
        let all: Vec<String> = each.map(|(rig, doing)| format!("{rig}: {doing}")).collect();
        let text = all.join("; ");
        self.live.change(move |frame| frame.doing = text);
    }

    /// The rig that something has happened on, in front of what is said of it.
    fn on(&self) -> String {
        let rig = self.rig.as_ref();
        rig.map_or_else(String::new, |rig| format!("{rig}: "))
    }

    fn building(&mut self, server: &str) {
        let text = format!("building {server}");
        self.builds.begin(&self.live, text.clone());
        self.live.change(move |frame| frame.doing = text);
    }

    fn begin(&mut self, trials: u64) {
        self.all = trials;
        // Servers that could not be built have been told of, and have no trials.
        self.done = 0;
        self.begun = Instant::now();
        self.count();
    }

    fn trial(&mut self, round: u32, label: &str, load: &Load) {
        let rounds = self.rounds;
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
            frame.load = crate::live::frame::LoadProgress::default();
            frame.known = known;
        });
    }

    fn progress(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Doing(doing) => {
                let text = format!("{}: {}", self.trial, doing.phrase());
                self.live.change(move |frame| frame.doing = text);
            }
            Progress::Measured { .. } => {}
            Progress::Window { window, server } => self.live.window(window, *server),
        }
    }

    fn recorded(&mut self, label: &str, trial: &Trial) {
        let rounds = self.rounds;
        let figures = &trial.figures;
        let on = self.on();
        self.live.line(|| {
            let rate = figures.throughput.map_or("no figures".into(), show::rate);
            let p99 = show::time_or_dash(figures.p99_ns);
            format!(
                "{on}round {}/{rounds} {label}: {rate}, p99 {p99}",
                trial.round + 1
            )
        });
        if let Some(rate) = figures.throughput {
            let same = |one: &&mut EntrantResults| one.server == label && one.load == trial.cell;
            match self.known.iter_mut().find(same) {
                Some(one) => {
                    one.rates.push(rate);
                    one.p99 = figures.p99_ns;
                }
                None => self.known.push(EntrantResults {
                    server: label.to_owned(),
                    load: trial.cell.clone(),
                    rates: vec![rate],
                    p99: figures.p99_ns,
                }),
            }
        }
        let checks = trial.observation.iter().flat_map(|seen| &seen.checks);
        let found: Vec<(CheckId, String)> = checks
            .map(|check| (check.name, format!("{label}: {}", check.text)))
            .collect();
        let about = format!("{label}: ");
        self.live.change(move |frame| {
            // The latest first, and each check once for a server.
            let old = |(name, text): &(CheckId, String)| {
                !text.starts_with(&about) || !found.iter().any(|(new, _)| new == name)
            };
            frame.checks.retain(old);
            frame.checks.splice(0..0, found);
        });
        self.one_more();
    }

    fn failed(&mut self, label: &str, status: TrialStatus, failure: &Failure) {
        // Servers that are not set up are counted in the result, in one line.
        if status != TrialStatus::Skipped {
            self.live.say(&format!("{label}: {failure}"));
        }
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

impl EntrantResults {
    fn text(&self) -> String {
        let n = self.rates.len();
        let mean = show::rate(self.rates.iter().sum::<f64>() / n as f64);
        let trials = if n == 1 { "trial" } else { "trials" };
        let last = show::time_or_dash(self.p99);
        format!("{mean:>9} in {n} {trials}, p99 {last} in the last")
    }
}

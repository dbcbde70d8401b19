//! `prony run`: an experiment.

mod display;

use crate::Ended;
use crate::args::{Places, Run};
use crate::measured::keep;
use crate::place::{bench, on_signal};
use display::Display;
use jiff::Timestamp;
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::builder::{Builder, Built};
use prony_lab::contract::Contract;
use prony_lab::experiment::{Cell, Entrant, Experiment};
use prony_lab::host::Environment;
use prony_lab::load::{Extent, Load};
use prony_lab::source::Source;
use prony_lab::text::Span;
use prony_lab::trial::{Bench, Candidate, Failure, Interrupt, Step};
use prony_notebook::{NewTrial, Notebook, RunFacts, RunId, RunStatus, TrialFacts, TrialStatus};
use prony_report::facts::Facts;
use prony_report::kept::About;
use prony_report::latency::Percentiles;
use prony_report::published::Published;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// `--quick` divides the work by this.
const QUICK: u32 = 10;
/// The longest warm-up of `--quick`.
const QUICK_WARMUP: Duration = Duration::from_secs(3);

pub fn main(places: &Places, args: &Run) -> Result<Ended> {
    let catalog = places.catalog()?;
    let mut experiment =
        Experiment::find(&args.experiment, &catalog, &|name| places.imported(name))?;
    adapt(&mut experiment, args)?;
    let published = experiment
        .published
        .as_ref()
        .map(Source::parse::<Published>)
        .transpose()?;
    let mut notebook = places.notebook()?;
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let cache = places.cache()?;
    let seed = args.seed.unwrap_or_else(rand::random);
    let placement = experiment.placement();
    let (bench, _scratch) = bench(Arc::clone(&interrupt), placement)?;
    let id = notebook
        .begin_run(&facts(&experiment, published, &bench, seed))
        .into_diagnostic()?;
    let mut session = Session {
        display: Display::new(args.shown, &experiment, &bench.placement),
        notebook: &mut notebook,
        bench: &bench,
        experiment: &experiment,
        id,
        ordinal: 0,
        upstream: None,
    };
    let outcome = session.carry_out(&Builder::new(&cache), seed);
    // The live view ends before the result is printed.
    drop(session);
    let status = match &outcome {
        Err(_) => RunStatus::Failed,
        Ok(()) if interrupt.fired() => RunStatus::Interrupted,
        Ok(()) => RunStatus::Finished,
    };
    notebook
        .finish_run(id, status, Timestamp::now())
        .into_diagnostic()?;
    outcome?;
    let run = notebook.run(id).into_diagnostic()?;
    let complete = super::report::print(&notebook, &run, args.json)?;
    if !args.no_html {
        // The run is done and kept: a page that cannot be written does not undo that.
        let path = super::report::page_path(&notebook, &run);
        match super::report::write_page(&notebook, &run, None, &path) {
            Ok(()) if args.shown.quiet => {}
            Ok(()) => eprintln!("\nreport: {}", path.display()),
            Err(error) => eprintln!("\nno page: {error}"),
        }
    }
    if !args.json {
        eprintln!(
            "\nrun {id} is kept in {}: `prony report {id}`",
            notebook.path().display()
        );
    }
    Ok(if complete && !interrupt.fired() {
        Ended::Done
    } else {
        Ended::Incomplete
    })
}

/// What the command line changes in an experiment.
fn adapt(experiment: &mut Experiment, args: &Run) -> Result<()> {
    if args.quick {
        experiment.rounds = 1;
        for load in &mut experiment.loads {
            load.extent = match load.extent {
                Extent::Duration(span) => Extent::Duration(Span(span.0 / QUICK)),
                Extent::Requests(n) => Extent::Requests((n / u64::from(QUICK)).max(1)),
            };
            load.window = Span((load.window.0 / QUICK).max(Duration::from_millis(10)));
            load.warmup = Span(load.warmup.0.min(QUICK_WARMUP));
        }
    }
    if let Some(rounds) = args.rounds {
        experiment.rounds = rounds;
    }
    if !args.load.is_empty() {
        let labels: Vec<String> = experiment.loads.iter().map(ToString::to_string).collect();
        if let Some(unknown) = args.load.iter().find(|label| !labels.contains(label)) {
            return Err(miette!(
                help = format!("its loads are: {}", labels.join(", ")),
                "{unknown:?} is no load of {}",
                experiment.name
            ));
        }
        let wanted = |load: &Load| args.load.contains(&load.to_string());
        experiment.loads.retain(wanted);
    }
    if !args.only.is_empty() {
        let labels: Vec<String> = experiment.entrants.iter().map(Entrant::label).collect();
        if let Some(unknown) = args.only.iter().find(|name| !labels.contains(name)) {
            return Err(miette!(
                help = format!("in it are: {}", labels.join(", ")),
                "{unknown:?} does not take part in {}",
                experiment.name
            ));
        }
        let baseline = experiment.baseline.clone();
        experiment.entrants.retain(|entrant| {
            let label = entrant.label();
            label == baseline || args.only.contains(&label)
        });
    }
    Ok(())
}

fn facts(
    experiment: &Experiment,
    published: Option<Published>,
    bench: &Bench,
    seed: u64,
) -> RunFacts {
    let servers = || experiment.entrants.iter().map(|entrant| &entrant.server);
    let limited = servers().filter(|server| !server.manifest.expected_failures.is_empty());
    let about = About {
        contract: experiment.contract.to_string(),
        baseline: experiment.baseline.clone(),
        rounds: experiment.rounds,
        placement: bench.placement.to_string(),
        servers: experiment.entrants.iter().map(Entrant::label).collect(),
        published,
        upstream: experiment
            .upstream
            .as_ref()
            .map(|server| server.name.clone()),
        expected_failures: limited
            .map(|server| {
                (
                    server.name.clone(),
                    server.manifest.expected_failures.clone(),
                )
            })
            .collect(),
        manifests: servers()
            .map(|server| (server.name.clone(), json!(server.manifest)))
            .collect(),
        service: None,
        duel: None,
    };
    let json = |value: Result<Value, serde_json::Error>| value.expect("plain data becomes JSON");
    RunFacts {
        name: experiment.name.clone(),
        title: experiment.title.clone(),
        started: Timestamp::now(),
        seed,
        experiment: json(serde_json::to_value(about)),
        host: json(serde_json::to_value(Environment::read())),
        prony_version: env!("CARGO_PKG_VERSION").into(),
        prony_commit: Some(env!("PRONY_COMMIT").to_owned()).filter(|commit| !commit.is_empty()),
        command_line: std::env::args().collect::<Vec<_>>().join(" "),
    }
}

/// A run under way.
struct Session<'a> {
    notebook: &'a mut Notebook,
    bench: &'a Bench,
    experiment: &'a Experiment,
    id: RunId,
    ordinal: u32,
    upstream: Option<Built>,
    display: Display,
}

impl Session<'_> {
    fn carry_out(&mut self, builder: &Builder, seed: u64) -> Result<()> {
        if let Some(upstream) = &self.experiment.upstream {
            // Without it no gateway can be loaded, so nothing is left to be done.
            let built = builder.build(upstream);
            self.upstream = Some(built.map_err(|error| {
                let help = format!("`prony servers setup {}`", upstream.name);
                miette!(help = help, "the upstream {}: {error}", upstream.name)
            })?);
        }
        let built = self.build(builder)?;
        // A server that breaks its contract breaks it again: one trial tells that.
        let mut out: HashSet<Cell> = HashSet::new();
        for (round, cell) in self.experiment.plan(seed) {
            if self.bench.interrupt.fired() {
                break;
            }
            let Some(built) = &built[cell.entrant] else {
                continue;
            };
            if out.contains(&cell) {
                self.display.skip();
                continue;
            }
            if let Some(Step::Verify) = self.trial(round, cell, built)? {
                out.insert(cell);
            }
        }
        Ok(())
    }

    /// Builds every server; those that cannot be built are written down and left out.
    fn build(&mut self, builder: &Builder) -> Result<Vec<Option<Built>>> {
        let mut all = Vec::new();
        let experiment = self.experiment;
        for (index, entrant) in experiment.entrants.iter().enumerate() {
            if self.bench.interrupt.fired() {
                all.push(None);
                continue;
            }
            self.display.building(entrant);
            let result = builder.build(&entrant.server);
            let cell = Cell {
                entrant: index,
                load: 0,
            };
            match result {
                Ok(built) => all.push(Some(built)),
                Err(error) => {
                    // A server that is not set up takes no part, which is not its failure.
                    let status = if error.is_missing() {
                        TrialStatus::Skipped
                    } else {
                        TrialStatus::Failed
                    };
                    let failure = Failure::from(error);
                    self.display.failed(entrant, &failure);
                    self.write(self.failed(0, cell, status, &failure))?;
                    all.push(None);
                }
            }
        }
        self.display.begin(all.iter().flatten().count());
        Ok(all)
    }

    /// One trial; gives the step at which it failed.
    fn trial(&mut self, round: u32, cell: Cell, built: &Built) -> Result<Option<Step>> {
        let experiment = self.experiment;
        let entrant = &experiment.entrants[cell.entrant];
        let load = &experiment.loads[cell.load];
        let started = Timestamp::now();
        self.display.trial(round, entrant, load);
        let display = &mut self.display;
        let placement = &self.bench.placement;
        let upstream = experiment.upstream.as_ref().zip(self.upstream.as_ref());
        let upstream = upstream.map(|(server, built)| Candidate {
            server,
            built,
            workers: server.manifest.default_workers(),
            contract: Contract::WeatherUpstream,
            cpus: &placement.upstream,
        });
        let candidate = match upstream {
            Some(upstream) if upstream.server.name == entrant.server.name => upstream,
            _ => Candidate {
                server: &entrant.server,
                built,
                workers: entrant.workers,
                contract: entrant.contract,
                cpus: &placement.server,
            },
        };
        let result = self
            .bench
            .trial(&candidate, upstream.as_ref(), load, &mut |progress| {
                display.progress(&progress);
            });
        let trial = match result {
            Ok(trial) => trial,
            Err(_) if self.bench.interrupt.fired() => return Ok(None),
            Err(failure) => {
                self.display.failed(entrant, &failure);
                self.write(self.failed(round, cell, TrialStatus::Failed, &failure))?;
                return Ok(Some(failure.step));
            }
        };
        let kept = keep(&trial, entrant.workers, &self.bench.placement);
        let seen = &trial.observation;
        let response = Percentiles::of(&seen.response);
        // A load that was cut off before it was measured has no figures.
        let measured = seen.outcomes.ok > 0;
        let facts = TrialFacts {
            command_line: trial.command.join(" "),
            server_version: Some(built.version.clone()).filter(|version| !version.is_empty()),
            measured_seconds: Some(seen.measured() as f64 / 1e9),
            verified_answers: Some(seen.outcomes.ok),
            throughput: measured.then(|| seen.throughput()),
            cpu_ns_per_request: kept.cpu_ns_per_request,
            rss_peak_bytes: Some(trial.resources.rss_peak),
            p50_ns: response.p50,
            p99_ns: response.p99,
            max_ns: response.max,
            observation: serde_json::to_value(&kept.facts).into_diagnostic()?,
            ..self.blank(round, cell, status(trial.interrupted, measured), started)
        };
        let facts = match facts.status {
            TrialStatus::Failed => {
                let failure = Failure {
                    step: Step::Load,
                    message: no_answer(&kept.facts),
                    output: trial.output,
                };
                self.display.failed(entrant, &failure);
                TrialFacts {
                    failed_step: Some(failure.step.to_string()),
                    message: Some(failure.message),
                    last_output: Some(failure.output).filter(|output| !output.is_empty()),
                    ..facts
                }
            }
            _ => {
                self.display.finished(entrant, &facts, &kept.facts.checks);
                facts
            }
        };
        self.write(NewTrial {
            facts,
            windows: kept.windows,
            histograms: kept.histograms,
        })?;
        Ok(None)
    }

    fn write(&mut self, mut trial: NewTrial) -> Result<()> {
        trial.facts.ordinal = self.ordinal;
        self.ordinal += 1;
        self.notebook.add_trial(self.id, &trial).into_diagnostic()?;
        Ok(())
    }

    fn failed(&self, round: u32, cell: Cell, status: TrialStatus, failure: &Failure) -> NewTrial {
        let facts = TrialFacts {
            failed_step: Some(failure.step.to_string()),
            message: Some(failure.message.clone()),
            last_output: Some(failure.output.clone()).filter(|output| !output.is_empty()),
            ..self.blank(round, cell, status, Timestamp::now())
        };
        NewTrial {
            facts,
            windows: Vec::new(),
            histograms: Vec::new(),
        }
    }

    /// What every trial has.
    fn blank(&self, round: u32, cell: Cell, status: TrialStatus, started: Timestamp) -> TrialFacts {
        let entrant = &self.experiment.entrants[cell.entrant];
        let load = &self.experiment.loads[cell.load];
        TrialFacts {
            ordinal: 0,
            round,
            server: entrant.server.name.clone(),
            workers: Some(entrant.workers),
            load: json!(load),
            cell: load.to_string(),
            status,
            failed_step: None,
            message: None,
            last_output: None,
            started,
            command_line: String::new(),
            server_version: None,
            measured_seconds: None,
            verified_answers: None,
            throughput: None,
            cpu_ns_per_request: None,
            rss_peak_bytes: None,
            p50_ns: None,
            p99_ns: None,
            max_ns: None,
            observation: Value::Null,
        }
    }
}

fn status(interrupted: bool, measured: bool) -> TrialStatus {
    match (interrupted, measured) {
        (true, _) => TrialStatus::Interrupted,
        (false, true) => TrialStatus::Ok,
        (false, false) => TrialStatus::Failed,
    }
}

/// What was there instead of answers: how the requests ended, the errors in words, and the first
/// wrong answer.
fn no_answer(facts: &Facts) -> String {
    let outcomes = &facts.outcomes;
    let kinds = [
        ("wrong answers", outcomes.wrong_answer),
        ("time-outs", outcomes.timeout),
        ("connect errors", outcomes.connect_error),
        ("read errors", outcomes.read_error),
        ("write errors", outcomes.write_error),
    ];
    let kinds = kinds
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(kind, n)| format!("{kind} {n}"));
    let errors = facts.errors.iter().map(|(text, n)| format!("{text} ×{n}"));
    let wrong = facts
        .wrong_answers
        .first()
        .map(|text| format!("the first wrong one: {text}"));
    let list: Vec<String> = kinds.chain(errors).chain(wrong).collect();
    match list.as_slice() {
        [] => "no request was answered as it should be".into(),
        list => format!(
            "no request was answered as it should be: {}",
            list.join("; ")
        ),
    }
}

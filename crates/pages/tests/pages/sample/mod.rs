//! Made-up runs: for tests, examples and benchmarks of several crates, made from a number.

use jiff::{SignedDuration, Timestamp};
use prony_notebook::{Notebook, NotebookError, RunId};
use prony_record::by_request::RequestReport;
use prony_record::published::Published;
use prony_record::service::Limits;
use prony_record::times::EffectiveSamples;
use prony_record::trial::{Figures, label};
use prony_record::{
    CheckId, Distributions, Durations, Failure, Finding, Generator, Host, HostShare, Load,
    Measurement, Nanos, Outcomes, Percentiles, Phase, Recording, Resources, RunFacts, RunStatus,
    Severity, Step, Subject, Transport, Trial, TrialStatus, Window,
};
use serde_json::json;

/// Plan of a made-up run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The experiment's name.
    pub name: String,
    /// Title of the experiment.
    pub title: String,
    /// When it began.
    pub started: Timestamp,
    /// Seed of the run's noise: runs with different ones differ.
    pub seed: u32,
    /// Servers: name, workers, and about how many answers they give per second.
    pub servers: Vec<(String, u32, f64)>,
    /// Loads: label, and what they are.
    pub loads: Vec<(String, Load)>,
    /// Rounds.
    pub rounds: u32,
    /// Windows of a trial, of which a third is warm-up.
    pub windows: u32,
    /// Answers in a histogram.
    pub samples: u32,
    /// Figures of others.
    pub published: Option<Published>,
    /// A failed trial: the server, why, and what it printed.
    pub failed: Option<(String, String, String)>,
    /// Limits that a capacity run keeps within.
    pub service: Option<Limits>,
    /// Text of a check about the first server.
    pub check: Option<String>,
    /// The names of its requests, which have equal shares; empty: all are of one kind.
    pub requests: Vec<String>,
    /// The machines that send its loads, in equal parts; empty: prony's own does.
    pub machines: Vec<String>,
}

impl Plan {
    /// Servers that are called so, one load, three rounds.
    pub fn of(servers: &[(&str, u32, f64)]) -> Self {
        let servers = servers.iter();
        Self {
            name: "sample".into(),
            title: "A sample".into(),
            started: "2026-11-21T10:00:00Z".parse().expect("a time"),
            seed: 0,
            servers: servers
                .map(|(name, workers, rate)| ((*name).to_owned(), *workers, *rate))
                .collect(),
            loads: vec![("c64".into(), Load::default())],
            rounds: 3,
            windows: 30,
            samples: 5_000,
            published: None,
            failed: None,
            service: None,
            check: None,
            requests: Vec::new(),
            machines: Vec::new(),
        }
    }
}

/// A number from 0 to 1, from a number: the finalizer of SplitMix64.
fn noise(of: u64) -> f64 {
    let mut z = of.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as f64 / u64::MAX as f64
}

/// Writes a made-up run.
///
/// # Errors
/// When the notebook cannot be written.
pub fn write(notebook: &mut Notebook, plan: &Plan) -> Result<RunId, NotebookError> {
    let id = begin(notebook, plan)?;
    for trial in trials(plan) {
        notebook.add_trial(id, &trial)?;
    }
    let finished = plan.started + SignedDuration::from_mins(9);
    notebook.finish_run(id, RunStatus::Finished, finished)?;
    Ok(id)
}

/// Begins a made-up run, without a trial yet.
///
/// # Errors
/// When the notebook cannot be written.
pub fn begin(notebook: &Notebook, plan: &Plan) -> Result<RunId, NotebookError> {
    let label = |(name, workers, _): &(String, u32, f64)| label(name, *workers);
    let about = Subject {
        contract: "http-echo".into(),
        baseline: plan.servers.first().map(label).unwrap_or_default(),
        rounds: plan.rounds,
        placement: "server on CPU 0, generator on CPU 1".into(),
        servers: plan.servers.iter().map(label).collect(),
        published: plan.published.clone(),
        service: plan.service.clone(),
        manifests: plan
            .servers
            .iter()
            .map(|(name, ..)| {
                let manifest = json!({"title": format!("The server {name}"), "language": "any", "model": "event loop"});
                (name.clone(), manifest)
            })
            .collect(),
        ..Subject::default()
    };
    notebook.begin_run(&RunFacts {
        name: plan.name.clone(),
        title: plan.title.clone(),
        started: plan.started,
        seed: 7,
        experiment: about,
        host: Host {
            kernel: "Linux 6.1".into(),
            cpu: "A processor".into(),
            cpus: 2,
            memory: 8 << 30,
            virtual_machine: true,
            ..Host::default()
        },
        prony_version: env!("CARGO_PKG_VERSION").into(),
        prony_commit: None,
        command_line: "prony run sample".into(),
    })
}

/// Makes up the trials of a plan, in its order.
pub fn trials(plan: &Plan) -> Vec<Recording> {
    let mut all = Vec::new();
    let ordinal = |all: &Vec<Recording>| u32::try_from(all.len()).unwrap_or(u32::MAX);
    for round in 0..plan.rounds {
        for (s, server) in plan.servers.iter().enumerate() {
            for (l, load) in plan.loads.iter().enumerate() {
                let seed = (u64::from(round) << 32) + ((s as u64) << 16) + l as u64;
                let seed = seed ^ (u64::from(plan.seed) << 24);
                all.push(trial(plan, server, load, round, ordinal(&all), seed));
            }
        }
    }
    if let Some((server, message, output)) = &plan.failed {
        let blank = (server.clone(), 1, 1.0);
        let mut trial = trial(plan, &blank, &plan.loads[0], 0, ordinal(&all), 1);
        trial.trial.status = TrialStatus::Failed;
        let failure = Failure::new(Step::Build, message).with_output(output.clone());
        trial.trial.failure = Some(failure);
        trial.trial.figures = Figures::default();
        trial.windows.clear();
        trial.histograms = Distributions::default();
        all.push(trial);
    }
    all
}

fn trial(
    plan: &Plan,
    (name, workers, base): &(String, u32, f64),
    (label, load): &(String, Load),
    round: u32,
    ordinal: u32,
    seed: u64,
) -> Recording {
    // More connections bring more up to a point, and a rate is kept while it can be.
    let connections = f64::from(load.connections);
    let able = base * connections / (connections + 12.0) * (0.985 + 0.03 * noise(seed));
    let rate = load.rate.map_or(able, |due| due.min(able));
    let busy = (rate / able).min(0.995);
    let open = load.rate.is_some();
    let typical = match open {
        true => 1e9 / base * (1.0 + 0.25 * busy / (1.0 - busy)),
        false => 1e9 * connections / rate,
    };
    let mut times = Distributions::with_room();
    for i in 0..plan.samples {
        let u = noise(seed ^ (u64::from(i) << 40) ^ 0x55);
        // A long tail, and one pause in a thousand.
        let tail = (1.0 - u).powf(-0.22) * if i % 1_000 == 999 { 8.0 } else { 1.0 };
        let ns = (typical * 0.8 * tail).max(1.0) as u64;
        let waited = if open && i % 50 == 0 { ns / 3 } else { 0 };
        times.service.saturating_record(ns);
        times.response.saturating_record(ns + waited);
        times.send_delay.saturating_record(waited);
    }
    let answers = (rate * 2.0) as u64;
    let cpu = 0.9e9 * f64::from(*workers) / base;
    let response = Percentiles::of(&times.response, 0);
    // As if every fourth answer were independent of the others.
    let worth = times.response.len() as f64 / 4.0;
    times.effective = EffectiveSamples {
        p50: worth,
        p75: worth,
        p90: worth,
        p99: worth,
        p99_9: worth,
    };
    let mut seen = Measurement {
        outcomes: Outcomes {
            ok: answers,
            ..Outcomes::default()
        },
        generator: Generator {
            cpu_us_per_request: Some(2.4),
            busy: 0.6,
            threads: 1,
            transport: Transport::Epoll,
            ..Generator::default()
        },
        resources: Resources {
            watched_ns: 2_000_000_000,
            server_cpu_ns: (cpu * answers as f64) as u64,
            rss_peak_bytes: 4 << 20,
            threads: 1,
            processes: 1,
            connections_per_loop: vec![connections as u32],
            ..Resources::default()
        },
        durations: Durations {
            warmup_ns: 1_000_000_000,
            measured_ns: 2_000_000_000,
            total_ns: 3_200_000_000,
            ..Durations::default()
        },
        warmed_up: true,
        requests: by_name(&plan.requests, answers, &response),
        generators: by_machine(plan, answers, response.p99),
        ..Measurement::default()
    };
    if let Some(text) = plan.check.as_ref().filter(|_| *name == plan.servers[0].0) {
        seen.checks.push(Finding {
            name: CheckId::NoisyHost,
            severity: Severity::Warning,
            text: text.clone(),
        });
    }
    Recording {
        trial: Trial {
            ordinal,
            round,
            server: name.clone(),
            workers: Some(*workers),
            load: load.clone(),
            cell: label.clone(),
            status: TrialStatus::Ok,
            failure: None,
            started: plan.started + SignedDuration::from_secs(4 * i64::from(ordinal)),
            command_line: format!("{name} --port 8000"),
            server_version: Some(format!("{name} 1.2.3")),
            figures: Figures {
                measured_seconds: Some(2.0),
                verified_answers: Some(answers),
                throughput: Some(rate),
                cpu_ns_per_request: Some(cpu * (0.98 + 0.04 * noise(seed ^ 9))),
                rss_peak_bytes: Some(
                    ((4 << 20) as f64
                        * (1.0 + 9.0 * noise(name.len() as u64))
                        * (1.0 + 0.1 * noise(seed))) as u64,
                ),
                p50_ns: response.p50,
                p99_ns: response.p99,
                max_ns: response.max,
            },
            observation: Some(seen),
        },
        windows: windows(plan.windows, rate, seed),
        histograms: times,
    }
}

fn by_machine(plan: &Plan, answers: u64, p99_ns: Option<Nanos>) -> Vec<HostShare> {
    let share = |host: &String| HostShare {
        host: host.clone(),
        connections: 8,
        answers: answers / plan.machines.len() as u64,
        p99_ns,
        clock_error_ns: 30_000,
        ..HostShare::default()
    };
    plan.machines.iter().map(share).collect()
}

/// Results by request: each name's times are longer than those of the one before it.
fn by_name(names: &[String], answers: u64, response: &Percentiles) -> Vec<RequestReport> {
    let share = 1.0 / names.len().max(1) as f64;
    let longer = |ns: Option<u64>, nth: u64| ns.map(|ns| ns * (nth + 1));
    let one = |(nth, name): (u64, &String)| RequestReport {
        name: name.clone(),
        share_asked: share,
        share: Some(share),
        outcomes: Outcomes {
            ok: (answers as f64 * share) as u64,
            ..Outcomes::default()
        },
        response: Percentiles {
            p50: longer(response.p50, nth),
            p90: longer(response.p90, nth),
            p99: longer(response.p99, nth),
            max: longer(response.max, nth),
            ..response.clone()
        },
        searched: 0,
        encodings: std::collections::BTreeMap::new(),
        wrong_answers: Vec::new(),
    };
    (0..).zip(names).map(one).collect()
}

/// Windows of 100 ms; in one trial of five the rate changes while it is measured.
fn windows(n: u32, rate: f64, seed: u64) -> Vec<Window> {
    let warm = n / 3;
    let falls = noise(seed ^ 77) < 0.2;
    (0..n)
        .map(|index| {
            let start = 100_000_000 * u64::from(index);
            let warming = (f64::from(index) + 1.0) / f64::from(warm.max(1));
            let factor = match index {
                i if i < warm => warming.min(1.0).sqrt(),
                i if falls && i > warm + (n - warm) / 2 => 0.8,
                _ => 1.0,
            };
            let jitter = 0.98 + 0.04 * noise(seed ^ (u64::from(index) << 20));
            let phase = if index < warm {
                Phase::Warmup
            } else {
                Phase::Measure
            };
            Window {
                index,
                start_ns: start,
                length_ns: 100_000_000,
                phase,
                verified_answers: (rate * 0.1 * factor * jitter) as u64,
                wrong_answers: 0,
                errors: 0,
                timeouts: 0,
                p50_ns: Some(200_000),
                p99_ns: Some(900_000),
                server_cpu_ns: Some(90_000_000),
                generator_cpu_ns: None,
                rss_bytes: Some(4 << 20),
                outstanding: 0,
                events: 0,
            }
        })
        .collect()
}

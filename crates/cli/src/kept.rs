//! What duel, calibration and capacity measure, in the notebook: runs like any other, whose trials are the
//! parts of their rounds.

use crate::measured;
use crate::measured::response;
use jiff::Timestamp;
use miette::{IntoDiagnostic, Result};
use prony_lab::duel::{Ask, Manner, Part};
use prony_lab::host::Environment;
use prony_lab::trial::Bench;
use prony_notebook::{
    Histogram, HistogramKind, NewTrial, Notebook, RunFacts, RunId, TrialFacts, TrialStatus,
};
use prony_report::facts::{Durations, Facts, Finding, Outcomes, Resources};
use prony_report::kept::About;
use prony_report::latency::{Percentiles, encode};
use serde_json::{Value, json};

/// A run of this kind begins, of these sides and with what else is known of it.
pub fn begin(
    notebook: &mut Notebook,
    kind: &str,
    names: &[String],
    about: About,
    bench: &Bench,
) -> Result<RunId> {
    let about = About {
        baseline: names[0].clone(),
        // Decided while it runs; ratios are paired up to the highest there is.
        rounds: prony_stats::compare::MOST_ROUNDS,
        placement: bench.placement.to_string(),
        servers: names.to_vec(),
        ..about
    };
    let facts = RunFacts {
        name: kind.to_owned(),
        title: names.join(" against "),
        started: Timestamp::now(),
        seed: 0,
        experiment: serde_json::to_value(about).into_diagnostic()?,
        host: host()?,
        prony_version: env!("CARGO_PKG_VERSION").into(),
        prony_commit: Some(env!("PRONY_COMMIT").to_owned()).filter(|commit| !commit.is_empty()),
        command_line: std::env::args().collect::<Vec<_>>().join(" "),
    };
    notebook.begin_run(&facts).into_diagnostic()
}

/// This host, as runs describe it.
pub fn host() -> Result<Value> {
    serde_json::to_value(Environment::read()).into_diagnostic()
}

/// What all sides are asked, in words.
pub fn asked(manner: &Manner) -> String {
    match &manner.ask {
        Ask::Contract(contract) => contract.to_string(),
        Ask::Get(get) => format!("{} {}", get.method, get.path),
    }
}

/// A part as it is written down.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Its place in the run, and its round.
    pub place: (u32, u32),
    /// The side's name.
    pub side: &'a str,
    /// What it was asked.
    pub asked: &'a str,
    /// Its command line.
    pub command: &'a [String],
    /// The most memory of its processes, in bytes.
    pub rss_peak: u64,
    /// What was measured.
    pub part: &'a Part,
    /// What the checks found.
    pub checks: &'a [Finding],
}

/// What tells a part from others of its side.
pub fn label(part: &Part) -> String {
    match part.plan.arrival.rate() {
        None => "saturation".to_owned(),
        Some(rate) => format!("{rate}/s"),
    }
}

/// Writes a part down under the label of a load.
pub fn add(notebook: &mut Notebook, id: RunId, load: &str, row: &Row<'_>) -> Result<()> {
    let Row {
        place: (ordinal, round),
        side,
        asked,
        command,
        rss_peak,
        part,
        checks,
    } = *row;
    let times = response(part);
    let percentiles = Percentiles::of(&times);
    let mut outcomes = Outcomes::default();
    for seen in &part.segments {
        let more = measured::outcomes(&seen.outcomes);
        outcomes.ok += more.ok;
        outcomes.wrong_answer += more.wrong_answer;
        outcomes.timeout += more.timeout;
        outcomes.connect_error += more.connect_error;
        outcomes.read_error += more.read_error;
        outcomes.write_error += more.write_error;
        outcomes.in_flight_at_end += more.in_flight_at_end;
        outcomes.unsent_at_end += more.unsent_at_end;
    }
    let facts = Facts {
        generator: measured::generator(&part.segments[0]),
        resources: Resources {
            server_cpu_ns: part.cpu.unwrap_or(0),
            rss_peak_bytes: rss_peak,
            ..Resources::default()
        },
        durations: Durations {
            measured_ns: (part.seconds() * 1e9) as u64,
            ..Durations::default()
        },
        warmed_up: true,
        checks: checks.to_vec(),
        outcomes,
        ..Facts::default()
    };
    let measured = facts.outcomes.ok > 0;
    let trial = TrialFacts {
        ordinal,
        round,
        server: side.to_owned(),
        workers: Some(1),
        load: json!({
            "connections": part.plan.connections,
            "threads": part.plan.threads,
            "rate": part.plan.arrival.rate(),
            "contract": asked,
        }),
        cell: load.to_owned(),
        status: match measured {
            true => TrialStatus::Ok,
            false => TrialStatus::Failed,
        },
        failed_step: (!measured).then(|| "load".to_owned()),
        message: (!measured).then(|| "no request was answered as it should be".to_owned()),
        last_output: None,
        started: Timestamp::now(),
        command_line: command.join(" "),
        server_version: None,
        measured_seconds: Some(part.seconds()),
        verified_answers: Some(facts.outcomes.ok),
        throughput: measured.then(|| part.throughput()),
        cpu_ns_per_request: part.cpu_per_request(),
        rss_peak_bytes: Some(rss_peak),
        p50_ns: percentiles.p50,
        p99_ns: percentiles.p99,
        max_ns: percentiles.max,
        observation: serde_json::to_value(&facts).into_diagnostic()?,
    };
    let histogram = Histogram {
        kind: HistogramKind::Response,
        count: times.len(),
        data: encode(&times),
    };
    let new = NewTrial {
        facts: trial,
        windows: Vec::new(),
        histograms: vec![histogram],
    };
    notebook.add_trial(id, &new).into_diagnostic()?;
    Ok(())
}
